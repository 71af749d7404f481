//! The buffer of a link, and the buffer space that a packet occupies.
//!
//! The unit matters as much as the size. In a buffer counted in packets, four quarter-sized packets
//! occupy four times the space of the full-sized packet they replace. In a buffer counted in bytes
//! they occupy about the same space. Chunks lie in between: real buffers allocate memory in blocks.

use std::num::{NonZeroU32, NonZeroU64};

use crate::error::ConfigError;

/// The size of a buffer, in its unit of allocation. Never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// Every packet fits.
    Unlimited,
    /// A limit in bytes.
    Bytes(NonZeroU64),
    /// A limit in packets of any size.
    Packets(NonZeroU32),
    /// A limit in bytes, of which each packet occupies a whole number of chunks.
    Chunks(Chunks),
}

/// A buffer divided into chunks of equal size, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks {
    count: u64,
    size: NonZeroU32,
}

impl Buffer {
    /// A buffer of `bytes` bytes.
    ///
    /// # Errors
    /// If `bytes` is zero.
    pub const fn bytes(bytes: u64) -> Result<Self, ConfigError> {
        match NonZeroU64::new(bytes) {
            Some(bytes) => Ok(Self::Bytes(bytes)),
            None => Err(ConfigError::EmptyBuffer),
        }
    }

    /// A buffer of `packets` packets.
    ///
    /// # Errors
    /// If `packets` is zero.
    pub const fn packets(packets: u32) -> Result<Self, ConfigError> {
        match NonZeroU32::new(packets) {
            Some(packets) => Ok(Self::Packets(packets)),
            None => Err(ConfigError::EmptyBuffer),
        }
    }

    /// A buffer of `bytes` bytes in chunks of `chunk` bytes. The rest after the last whole chunk is
    /// unused.
    ///
    /// # Errors
    /// If either is zero or no chunk fits.
    pub const fn chunks(bytes: u64, chunk: u32) -> Result<Self, ConfigError> {
        let Some(size) = NonZeroU32::new(chunk) else {
            return Err(ConfigError::EmptyChunk);
        };
        match bytes / chunk as u64 {
            0 if bytes == 0 => Err(ConfigError::EmptyBuffer),
            0 => Err(ConfigError::ChunkTooLarge { chunk, bytes }),
            count => Ok(Self::Chunks(Chunks { count, size })),
        }
    }

    /// Returns true if a packet of `bytes` fits into the empty buffer.
    pub const fn holds(self, bytes: u32) -> bool {
        self.units(bytes) as u64 <= self.capacity()
    }

    /// The limit in bytes; `None` for a buffer without one, or with one in packets.
    pub const fn limit_bytes(self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.get()),
            Self::Chunks(Chunks { count, size }) => Some(count * size.get() as u64),
            Self::Unlimited | Self::Packets(_) => None,
        }
    }

    /// The limit in packets; `None` for a buffer without one, or with one in bytes.
    pub const fn limit_packets(self) -> Option<u32> {
        match self {
            Self::Packets(packets) => Some(packets.get()),
            Self::Unlimited | Self::Bytes(_) | Self::Chunks(_) => None,
        }
    }

    /// The size of the buffer in units: bytes, packets or chunks.
    pub(crate) const fn capacity(self) -> u64 {
        match self {
            Self::Unlimited => u64::MAX,
            Self::Bytes(bytes) => bytes.get(),
            Self::Packets(packets) => packets.get() as u64,
            Self::Chunks(chunks) => chunks.count,
        }
    }

    /// The units that a packet of `bytes` occupies.
    pub(crate) const fn units(self, bytes: u32) -> u32 {
        match self {
            Self::Unlimited => 0,
            Self::Bytes(_) => bytes,
            Self::Packets(_) => 1,
            Self::Chunks(chunks) => bytes.div_ceil(chunks.size.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_whole_chunks() {
        let buffer = Buffer::chunks(150_000, 256).unwrap();
        assert_eq!(buffer.capacity(), 585);
        assert_eq!(
            (buffer.units(1500), buffer.units(375), buffer.units(256), buffer.units(257)),
            (6, 2, 1, 2)
        );
        assert!(buffer.holds(149_760) && !buffer.holds(149_761));
    }

    #[test]
    fn chunk_sizes_range_from_bytes_to_packets() {
        let (fine, coarse) =
            (Buffer::chunks(150_000, 1).unwrap(), Buffer::chunks(150_000, 1500).unwrap());
        assert_eq!((fine.capacity(), fine.units(375)), (150_000, 375));
        assert_eq!((coarse.capacity(), coarse.units(375)), (100, 1));
    }

    #[test]
    fn empty_buffers_are_refused() {
        assert_eq!(Buffer::bytes(0), Err(ConfigError::EmptyBuffer));
        assert_eq!(Buffer::packets(0), Err(ConfigError::EmptyBuffer));
        assert_eq!(Buffer::chunks(0, 256), Err(ConfigError::EmptyBuffer));
        assert_eq!(Buffer::chunks(1500, 0), Err(ConfigError::EmptyChunk));
        assert_eq!(
            Buffer::chunks(255, 256).unwrap_err().to_string(),
            "a chunk of 256 bytes does not fit in a buffer of 255 bytes"
        );
    }
}

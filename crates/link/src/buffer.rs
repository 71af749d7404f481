//! What a link can store, and how much of it a packet takes.
//!
//! The unit matters as much as the size: with a buffer counted in packets, four quarter-sized
//! packets take four times the room of the full-sized one they replace; counted in bytes they take
//! about the same. Chunks lie in between: real buffers hand out memory in blocks.

use std::num::{NonZeroU32, NonZeroU64};

use crate::error::ConfigError;

/// The size of a buffer, in the unit in which it is handed out. Never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// Everything fits.
    Unlimited,
    /// So many bytes.
    Bytes(NonZeroU64),
    /// So many packets of whatever size.
    Packets(NonZeroU32),
    /// So many bytes, of which each packet takes a whole number of chunks.
    Chunks(Chunks),
}

/// A buffer divided into chunks of equal size, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks {
    count: u64,
    size: NonZeroU32,
}

impl Buffer {
    /// A buffer of `bytes`.
    ///
    /// # Errors
    /// When that is zero.
    pub const fn bytes(bytes: u64) -> Result<Self, ConfigError> {
        match NonZeroU64::new(bytes) {
            Some(bytes) => Ok(Self::Bytes(bytes)),
            None => Err(ConfigError::EmptyBuffer),
        }
    }

    /// A buffer of `packets`.
    ///
    /// # Errors
    /// When that is zero.
    pub const fn packets(packets: u32) -> Result<Self, ConfigError> {
        match NonZeroU32::new(packets) {
            Some(packets) => Ok(Self::Packets(packets)),
            None => Err(ConfigError::EmptyBuffer),
        }
    }

    /// A buffer of `bytes` in chunks of `chunk` bytes. What is left after the last whole chunk goes
    /// unused.
    ///
    /// # Errors
    /// When either is zero or no chunk fits.
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

    /// Whether a packet of `bytes` fits into the empty buffer.
    pub const fn holds(self, bytes: u32) -> bool {
        self.units(bytes) as u64 <= self.capacity()
    }

    /// How many units (bytes, packets, chunks) the buffer has.
    pub(crate) const fn capacity(self) -> u64 {
        match self {
            Self::Unlimited => u64::MAX,
            Self::Bytes(bytes) => bytes.get(),
            Self::Packets(packets) => packets.get() as u64,
            Self::Chunks(chunks) => chunks.count,
        }
    }

    /// How many units a packet of `bytes` takes.
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
    fn chunks_run_from_bytes_to_packets() {
        let (fine, coarse) =
            (Buffer::chunks(150_000, 1).unwrap(), Buffer::chunks(150_000, 1500).unwrap());
        assert_eq!((fine.capacity(), fine.units(375)), (150_000, 375));
        assert_eq!((coarse.capacity(), coarse.units(375)), (100, 1));
    }

    #[test]
    fn a_buffer_of_nothing_is_refused() {
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

//! IPv4 headers (RFC 791): [`Repr`] is a validated header, [`View`] reads received bytes.

use std::net::Ipv4Addr;

use thiserror::Error;

use crate::checksum::Checksum;
use crate::protocol::DEFAULT_HOPS;
pub use crate::protocol::TCP;
use crate::segment::Ecn;

/// Length of a header without options, in bytes.
pub const HEADER_LEN: usize = 20;

/// Maximum header length in bytes: the number of words that four bits count.
pub const MAX_HEADER_LEN: usize = 60;

/// A header without options, of a packet that is not fragmented and has DF set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    payload_len: u16,
    /// Time to live: maximum number of routers.
    pub ttl: u8,
    /// ECN field (RFC 3168 §5).
    pub ecn: Ecn,
    /// Identification. It has no meaning for unfragmented packets (RFC 6864 §4.1).
    pub identification: u16,
}

/// Error for a packet that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot write an IPv4 packet of {len} bytes: its length has 16 bits")]
pub struct TooLong {
    /// Length of the packet in bytes, with the header.
    pub len: usize,
}

impl Repr {
    /// Creates a header before `payload_len` bytes of `protocol`, with a TTL of 64, Not-ECT and the
    /// identification 0.
    ///
    /// # Errors
    /// Returns an error if the packet is longer than 65 535 bytes.
    pub fn new(
        source: Ipv4Addr,
        destination: Ipv4Addr,
        protocol: u8,
        payload_len: usize,
    ) -> Result<Self, TooLong> {
        let len = payload_len.saturating_add(HEADER_LEN);
        let fits = u16::try_from(len).map_err(|_| TooLong { len })?;
        let payload_len = fits - 20;
        let (ttl, ecn) = (DEFAULT_HOPS, Ecn::NotEct);
        Ok(Self { source, destination, protocol, payload_len, ttl, ecn, identification: 0 })
    }

    /// Source address.
    pub fn source(&self) -> Ipv4Addr {
        self.source
    }

    /// Destination address.
    pub fn destination(&self) -> Ipv4Addr {
        self.destination
    }

    /// Protocol of the payload.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Length of the packet in bytes, with the header.
    pub fn packet_len(&self) -> usize {
        HEADER_LEN + usize::from(self.payload_len)
    }

    /// Appends the header.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.header());
    }

    /// Bytes of the header.
    pub fn header(&self) -> [u8; HEADER_LEN] {
        let mut header = [0; HEADER_LEN];
        // Version 4, five words.
        header[0] = 0x45;
        header[1] = self.ecn as u8;
        header[2..4].copy_from_slice(&(self.payload_len + 20).to_be_bytes());
        header[4..6].copy_from_slice(&self.identification.to_be_bytes());
        // RFC 6864 §4.1: DF, so the packet is atomic.
        header[6] = 0x40;
        header[8] = self.ttl;
        header[9] = self.protocol;
        header[12..16].copy_from_slice(&self.source.octets());
        header[16..20].copy_from_slice(&self.destination.octets());
        let checksum = Checksum::of_array(&header).field();
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        header
    }

    /// Sum over the pseudo-header, with which the payload's checksum begins (RFC 9293 §3.1).
    pub fn pseudo_header(&self) -> Checksum {
        pseudo_header(self.source, self.destination, self.protocol, self.payload_len)
    }
}

/// Bytes of a received packet, with a complete header and consistent lengths. Nothing else is
/// validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View<'a> {
    header: &'a [u8],
    payload: &'a [u8],
}

/// Error for bytes that are not an IPv4 packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ViewError {
    /// Fewer bytes than a header.
    #[error("cannot read an IPv4 header: {len} bytes are too few")]
    Truncated {
        /// Number of bytes.
        len: usize,
    },
    /// Another version.
    #[error("cannot read an IPv4 header: its version is {version}")]
    Version {
        /// Version in the header.
        version: u8,
    },
    /// Length of the header or packet that contradicts the other or the number of bytes.
    #[error(
        "cannot read an IPv4 header: a header of {header} bytes, a packet of {packet}, {len} bytes in all"
    )]
    Length {
        /// Length of the header by its own field.
        header: usize,
        /// Length of the packet by its own field.
        packet: usize,
        /// Number of bytes.
        len: usize,
    },
}

impl<'a> View<'a> {
    /// Reads the packet at the start of `bytes`. Bytes after it (the padding of a short Ethernet
    /// frame) are ignored.
    ///
    /// # Errors
    /// Returns an error if there is no complete packet. A wrong checksum is no error: call
    /// [`checksum_is_good`](Self::checksum_is_good).
    pub fn new(bytes: &'a [u8]) -> Result<Self, ViewError> {
        let view = Self::cut_short(bytes)?;
        let (header, packet, len) = (view.header.len(), view.packet_len(), bytes.len());
        if len < packet { Err(ViewError::Length { header, packet, len }) } else { Ok(view) }
    }

    /// Reads a packet that may be truncated, in an ICMP message or a capture.
    ///
    /// # Errors
    /// Returns an error if there is no complete header.
    pub fn cut_short(bytes: &'a [u8]) -> Result<Self, ViewError> {
        let len = bytes.len();
        let Some(fixed) = bytes.first_chunk::<HEADER_LEN>() else {
            return Err(ViewError::Truncated { len });
        };
        if fixed[0] >> 4 != 4 {
            return Err(ViewError::Version { version: fixed[0] >> 4 });
        }
        let header = usize::from(fixed[0] & 0xf) * 4;
        let packet = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        if header < HEADER_LEN || packet < header || len < header {
            return Err(ViewError::Length { header, packet, len });
        }
        Ok(Self { header: &bytes[..header], payload: &bytes[header..packet.min(len)] })
    }

    /// Source address.
    pub fn source(&self) -> Ipv4Addr {
        self.address(12)
    }

    /// Destination address.
    pub fn destination(&self) -> Ipv4Addr {
        self.address(16)
    }

    /// Protocol of the payload, e.g. [`TCP`].
    pub fn protocol(&self) -> u8 {
        self.header[9]
    }

    /// Time to live.
    pub fn ttl(&self) -> u8 {
        self.header[8]
    }

    /// ECN field.
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.header[1])
    }

    /// Identification.
    pub fn identification(&self) -> u16 {
        u16::from_be_bytes([self.header[4], self.header[5]])
    }

    /// Returns whether routers must not fragment the packet (DF).
    pub fn dont_fragment(&self) -> bool {
        self.header[6] & 0x40 != 0
    }

    /// Returns whether the packet is a fragment. The payload then need not begin with a header.
    pub fn is_fragment(&self) -> bool {
        // MF and the offset, without the reserved bit and DF.
        u16::from_be_bytes([self.header[6], self.header[7]]) & 0x3fff != 0
    }

    /// Returns whether the packet is a fragment other than the first. The payload then does not
    /// begin with a header.
    pub fn is_later_fragment(&self) -> bool {
        u16::from_be_bytes([self.header[6], self.header[7]]) & 0x1fff != 0
    }

    /// Returns whether the header checksum is correct.
    pub fn checksum_is_good(&self) -> bool {
        match self.header.first_chunk::<HEADER_LEN>() {
            Some(header) if self.header.len() == HEADER_LEN => Checksum::of_array(header).is_good(),
            _ => Checksum::of(self.header).is_good(),
        }
    }

    /// Checksum field.
    pub(crate) fn checksum(&self) -> u16 {
        u16::from_be_bytes([self.header[10], self.header[11]])
    }

    /// Length of the packet in bytes by its own field, with the header.
    pub fn packet_len(&self) -> usize {
        usize::from(u16::from_be_bytes([self.header[2], self.header[3]]))
    }

    /// Bytes after the header, up to the length of the packet.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Sum over the pseudo-header, with which the payload's checksum begins.
    pub fn pseudo_header(&self) -> Checksum {
        self.pseudo_header_of(self.packet_len() - self.header.len())
    }

    /// Sum over the pseudo-header for a payload of this length.
    pub(crate) fn pseudo_header_of(&self, payload_len: usize) -> Checksum {
        let len = u16::try_from(payload_len).unwrap_or(u16::MAX);
        pseudo_header(self.source(), self.destination(), self.protocol(), len)
    }

    /// Returns the validated header; `None` if a [`Repr`] cannot represent it: options, fragments,
    /// a wrong checksum.
    pub fn repr(&self) -> Option<Repr> {
        if self.header.len() > HEADER_LEN || self.is_fragment() || !self.checksum_is_good() {
            return None;
        }
        let payload_len = self.packet_len() - HEADER_LEN;
        let repr =
            Repr::new(self.source(), self.destination(), self.protocol(), payload_len).ok()?;
        Some(Repr {
            ttl: self.ttl(),
            ecn: self.ecn(),
            identification: self.identification(),
            ..repr
        })
    }

    fn address(&self, at: usize) -> Ipv4Addr {
        let octets = self.header[at..].first_chunk::<4>();
        octets.map_or(Ipv4Addr::UNSPECIFIED, |octets| Ipv4Addr::from(*octets))
    }
}

fn pseudo_header(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    payload_len: u16,
) -> Checksum {
    // RFC 1071 §2 (C): an address is two words, so a sum of addresses holds words too.
    let addresses = u64::from(source.to_bits()) + u64::from(destination.to_bits());
    Checksum::of_words(addresses + u64::from(protocol) + u64::from(payload_len))
}

#[cfg(test)]
mod tests;

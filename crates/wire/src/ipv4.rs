//! IPv4 headers (RFC 791): [`Repr`] is what the stack believes, [`View`] is bytes as they came.

use std::net::Ipv4Addr;

use thiserror::Error;

use crate::checksum::Checksum;
use crate::ip::DEFAULT_HOPS;
pub use crate::ip::TCP;
use crate::segment::Ecn;

/// The bytes of a header without options.
pub const HEADER_LEN: usize = 20;

/// The longest header: as many words as four bits count.
pub const MAX_HEADER_LEN: usize = 60;

/// A header without options, of a packet that is not and must not be fragmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    payload_len: u16,
    /// How many routers it may pass.
    pub ttl: u8,
    /// What routers may do, and have done, about congestion (RFC 3168 §5).
    pub ecn: Ecn,
    /// Tells the packets of a pair of hosts apart. RFC 6864 §4.1 gives it no meaning where there
    /// are no fragments.
    pub identification: u16,
}

/// Why a packet cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot write an IPv4 packet of {len} bytes: its length has 16 bits")]
pub struct TooLong {
    /// The bytes of the packet, header included.
    pub len: usize,
}

impl Repr {
    /// A header before `payload_len` bytes of `protocol`, with a TTL of 64, Not-ECT and the
    /// identification 0.
    ///
    /// # Errors
    /// When the packet is longer than 65 535 bytes.
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

    /// Where it comes from.
    pub fn source(&self) -> Ipv4Addr {
        self.source
    }

    /// Where it goes to.
    pub fn destination(&self) -> Ipv4Addr {
        self.destination
    }

    /// What the payload is.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// The bytes of the packet, header included.
    pub fn packet_len(&self) -> usize {
        HEADER_LEN + usize::from(self.payload_len)
    }

    /// Appends the header.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.header());
    }

    /// The bytes of the header.
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

    /// The sum over the pseudo-header that the payload's checksum begins with (RFC 9293 §3.1).
    pub fn pseudo_header(&self) -> Checksum {
        pseudo_header(self.source, self.destination, self.protocol, self.payload_len)
    }
}

/// A packet's bytes, of which the header is known to be there and to fit its lengths. Everything
/// else is as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View<'a> {
    header: &'a [u8],
    payload: &'a [u8],
}

/// Why bytes are no IPv4 packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ViewError {
    /// Less than a header.
    #[error("cannot read an IPv4 header: {len} bytes are too few")]
    Truncated {
        /// The bytes there are.
        len: usize,
    },
    /// Another version.
    #[error("cannot read an IPv4 header: its version is {version}")]
    Version {
        /// The version.
        version: u8,
    },
    /// The header's or the packet's length contradicts the other, or the bytes there are.
    #[error(
        "cannot read an IPv4 header: a header of {header} bytes, a packet of {packet}, {len} bytes in all"
    )]
    Length {
        /// The header's length by its own field.
        header: usize,
        /// The packet's length by its own field.
        packet: usize,
        /// The bytes there are.
        len: usize,
    },
}

impl<'a> View<'a> {
    /// Looks at a packet at the start of `bytes`; what is behind it (the padding of a short
    /// Ethernet frame) is left.
    ///
    /// # Errors
    /// When there is no whole packet. A wrong checksum is none: ask
    /// [`checksum_is_good`](Self::checksum_is_good).
    pub fn new(bytes: &'a [u8]) -> Result<Self, ViewError> {
        let view = Self::cut_short(bytes)?;
        let (header, packet, len) = (view.header.len(), view.packet_len(), bytes.len());
        if len < packet { Err(ViewError::Length { header, packet, len }) } else { Ok(view) }
    }

    /// The same of a packet whose end may be missing: one that an ICMP message quotes, or a capture
    /// cut off.
    ///
    /// # Errors
    /// When there is no whole header.
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

    /// Where it comes from.
    pub fn source(&self) -> Ipv4Addr {
        self.address(12)
    }

    /// Where it goes to.
    pub fn destination(&self) -> Ipv4Addr {
        self.address(16)
    }

    /// What the payload is, e.g. [`TCP`].
    pub fn protocol(&self) -> u8 {
        self.header[9]
    }

    /// How many routers it may still pass.
    pub fn ttl(&self) -> u8 {
        self.header[8]
    }

    /// The ECN field.
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.header[1])
    }

    /// The identification.
    pub fn identification(&self) -> u16 {
        u16::from_be_bytes([self.header[4], self.header[5]])
    }

    /// Whether routers must not cut it into fragments (DF).
    pub fn dont_fragment(&self) -> bool {
        self.header[6] & 0x40 != 0
    }

    /// Whether it is part of a larger packet: then the payload need not begin with a header.
    pub fn is_fragment(&self) -> bool {
        // MF and the offset, without the reserved bit and DF.
        u16::from_be_bytes([self.header[6], self.header[7]]) & 0x3fff != 0
    }

    /// Whether it is such a part and not the first: then the payload begins with no header.
    pub fn is_later_fragment(&self) -> bool {
        u16::from_be_bytes([self.header[6], self.header[7]]) & 0x1fff != 0
    }

    /// Whether the header is intact.
    pub fn checksum_is_good(&self) -> bool {
        match self.header.first_chunk::<HEADER_LEN>() {
            Some(header) if self.header.len() == HEADER_LEN => Checksum::of_array(header).is_good(),
            _ => Checksum::of(self.header).is_good(),
        }
    }

    /// The checksum's field.
    pub(crate) fn checksum(&self) -> u16 {
        u16::from_be_bytes([self.header[10], self.header[11]])
    }

    /// The packet's bytes by its own field, header included.
    pub fn packet_len(&self) -> usize {
        usize::from(u16::from_be_bytes([self.header[2], self.header[3]]))
    }

    /// What follows the header, up to the packet's own length.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The sum over the pseudo-header that the payload's checksum begins with.
    pub fn pseudo_header(&self) -> Checksum {
        self.pseudo_header_of(self.packet_len() - self.header.len())
    }

    /// The same before as many bytes of payload, of those that 16 bits count.
    pub(crate) fn pseudo_header_of(&self, payload_len: usize) -> Checksum {
        let len = u16::try_from(payload_len).unwrap_or(u16::MAX);
        pseudo_header(self.source(), self.destination(), self.protocol(), len)
    }

    /// What the stack believes of it; `None` for what a [`Repr`] does not hold: options, fragments,
    /// a bad checksum.
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
    // RFC 1071 §2 (C): an address is two words, and so is what holds both.
    let addresses = u64::from(source.to_bits()) + u64::from(destination.to_bits());
    Checksum::of_words(addresses + u64::from(protocol) + u64::from(payload_len))
}

#[cfg(test)]
mod tests;

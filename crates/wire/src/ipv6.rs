//! IPv6 headers (RFC 8200): [`Repr`] is a validated header, [`View`] reads received bytes.

mod extension;

use std::net::Ipv6Addr;

use thiserror::Error;

pub use self::extension::{Extension, Extensions};
use crate::checksum::Checksum;
use crate::protocol::DEFAULT_HOPS;
use crate::segment::Ecn;

/// Length of a header without extensions, in bytes.
pub const HEADER_LEN: usize = 40;

/// Minimum MTU of a link in bytes (RFC 8200 §5).
pub const MIN_MTU: usize = 1280;

/// Flow label: 20 bits that a source assigns to the packets of a flow (RFC 6437). Zero means none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FlowLabel(u32);

impl FlowLabel {
    /// No label.
    pub const NONE: Self = Self(0);

    /// Creates a label. Returns `None` if the value has more than 20 bits.
    pub const fn new(value: u32) -> Option<Self> {
        if value >> 20 == 0 { Some(Self(value)) } else { None }
    }

    /// Value of the label.
    pub const fn value(self) -> u32 {
        self.0
    }
}

/// A header without extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    source: Ipv6Addr,
    destination: Ipv6Addr,
    protocol: u8,
    payload_len: u16,
    /// Hop limit: maximum number of routers.
    pub hop_limit: u8,
    /// ECN field (RFC 3168 §5).
    pub ecn: Ecn,
    /// Flow label.
    pub flow_label: FlowLabel,
}

/// Error for a packet that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot write an IPv6 packet with a payload of {len} bytes: its length has 16 bits")]
pub struct TooLong {
    /// Length of the payload in bytes.
    pub len: usize,
}

impl Repr {
    /// Creates a header before `payload_len` bytes of `protocol`, with a hop limit of 64, Not-ECT
    /// and no flow label.
    ///
    /// # Errors
    /// Returns an error if the payload is longer than 65 535 bytes.
    pub fn new(
        source: Ipv6Addr,
        destination: Ipv6Addr,
        protocol: u8,
        payload_len: usize,
    ) -> Result<Self, TooLong> {
        let payload_len = u16::try_from(payload_len).map_err(|_| TooLong { len: payload_len })?;
        let (hop_limit, ecn, flow_label) = (DEFAULT_HOPS, Ecn::NotEct, FlowLabel::NONE);
        Ok(Self { source, destination, protocol, payload_len, hop_limit, ecn, flow_label })
    }

    /// Source address.
    pub fn source(&self) -> Ipv6Addr {
        self.source
    }

    /// Destination address.
    pub fn destination(&self) -> Ipv6Addr {
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
        // RFC 8200 §3: version, traffic class, whose lowest bits are the ECN field, and flow label.
        let first = 6 << 28 | (self.ecn as u32) << 20 | self.flow_label.0;
        header[..4].copy_from_slice(&first.to_be_bytes());
        header[4..6].copy_from_slice(&self.payload_len.to_be_bytes());
        header[6] = self.protocol;
        header[7] = self.hop_limit;
        header[8..24].copy_from_slice(&self.source.octets());
        header[24..].copy_from_slice(&self.destination.octets());
        header
    }

    /// Sum over the pseudo-header, with which the payload's checksum begins (RFC 8200 §8.1).
    pub fn pseudo_header(&self) -> Checksum {
        pseudo_header(self.source, self.destination, self.protocol, self.payload_len)
    }
}

/// Bytes of a received packet, with a complete header and a consistent length. Nothing else is
/// validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    /// Bytes after the header.
    rest: &'a [u8],
    /// Bytes after the extension headers.
    payload: &'a [u8],
    protocol: u8,
    fragment: bool,
    later_fragment: bool,
}

/// Error for bytes that are not an IPv6 packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ViewError {
    /// Fewer bytes than a header.
    #[error("cannot read an IPv6 header: {len} bytes are too few")]
    Truncated {
        /// Number of bytes.
        len: usize,
    },
    /// Another version.
    #[error("cannot read an IPv6 header: its version is {version}")]
    Version {
        /// Version in the header.
        version: u8,
    },
    /// Length of the packet that contradicts the number of bytes.
    #[error("cannot read an IPv6 header: a packet of {packet} bytes, {len} bytes in all")]
    Length {
        /// Length of the packet by its own field, with the header.
        packet: usize,
        /// Number of bytes.
        len: usize,
    },
}

impl<'a> View<'a> {
    /// Reads the packet at the start of `bytes`. Bytes after it are ignored.
    ///
    /// # Errors
    /// Returns an error if there is no complete packet. Invalid extension headers are no error: see
    /// [`protocol`](Self::protocol).
    pub fn new(bytes: &'a [u8]) -> Result<Self, ViewError> {
        let view = Self::cut_short(bytes)?;
        let (packet, len) = (view.packet_len(), bytes.len());
        if len < packet { Err(ViewError::Length { packet, len }) } else { Ok(view) }
    }

    /// Reads a packet that may be truncated, in an ICMP message or a capture.
    ///
    /// # Errors
    /// Returns an error if there is no complete header.
    pub fn cut_short(bytes: &'a [u8]) -> Result<Self, ViewError> {
        let len = bytes.len();
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER_LEN>() else {
            return Err(ViewError::Truncated { len });
        };
        if header[0] >> 4 != 6 {
            return Err(ViewError::Version { version: header[0] >> 4 });
        }
        let (fragment, later_fragment) = (false, false);
        let mut view =
            Self { header, rest, payload: rest, protocol: header[6], fragment, later_fragment };
        view.rest = rest.get(..view.packet_len() - HEADER_LEN).unwrap_or(rest);
        let mut chain = view.extensions();
        for extension in chain.by_ref() {
            view.fragment |= extension.is_fragment();
            view.later_fragment |= extension.is_later_fragment();
        }
        (view.protocol, view.payload) = chain.next_header();
        Ok(view)
    }

    /// Source address.
    pub fn source(&self) -> Ipv6Addr {
        self.address(8)
    }

    /// Destination address.
    pub fn destination(&self) -> Ipv6Addr {
        self.address(24)
    }

    /// Next header field: an extension, or the protocol of the payload.
    pub fn next_header(&self) -> u8 {
        self.header[6]
    }

    /// Iterates over the extension headers.
    pub fn extensions(&self) -> Extensions<'a> {
        Extensions::new(self.next_header(), self.rest)
    }

    /// Protocol of the payload, e.g. [`TCP`](crate::protocol::TCP), after the extension headers.
    ///
    /// It is the number of an extension header if the iteration ends there: the extension is
    /// incomplete, misplaced, or must not be skipped by a host that does not support it (RFC 8200
    /// §4). The payload then begins with it.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Hop limit.
    pub fn hop_limit(&self) -> u8 {
        self.header[7]
    }

    /// ECN field.
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.header[1] >> 4)
    }

    /// Flow label.
    pub fn flow_label(&self) -> FlowLabel {
        FlowLabel(u32::from_be_bytes([0, self.header[1] & 0xf, self.header[2], self.header[3]]))
    }

    /// Returns whether the packet is a fragment. The payload then need not begin with a header. A
    /// complete packet with a fragment header (RFC 6946) is not a fragment.
    pub fn is_fragment(&self) -> bool {
        self.fragment
    }

    /// Returns whether the packet is a fragment other than the first. The payload then does not
    /// begin with a header.
    pub fn is_later_fragment(&self) -> bool {
        self.later_fragment
    }

    /// Length of the packet in bytes by its own field, with the header.
    pub fn packet_len(&self) -> usize {
        HEADER_LEN + usize::from(u16::from_be_bytes([self.header[4], self.header[5]]))
    }

    /// Bytes after the header and its extensions, up to the length of the packet.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Sum over the pseudo-header, with which the payload's checksum begins (RFC 8200 §8.1).
    pub fn pseudo_header(&self) -> Checksum {
        self.pseudo_header_of(self.packet_len() - HEADER_LEN - self.extensions_len())
    }

    /// Sum over the pseudo-header for a payload of this length.
    pub(crate) fn pseudo_header_of(&self, payload_len: usize) -> Checksum {
        let len = u16::try_from(payload_len).unwrap_or(u16::MAX);
        pseudo_header(self.source(), self.destination(), self.protocol, len)
    }

    /// Returns the validated header; `None` if a [`Repr`] cannot represent it: extension headers.
    pub fn repr(&self) -> Option<Repr> {
        if self.extensions_len() > 0 || extension::is_extension(self.protocol) {
            return None;
        }
        let payload_len = self.packet_len() - HEADER_LEN;
        let repr = Repr::new(self.source(), self.destination(), self.protocol, payload_len).ok()?;
        Some(Repr {
            hop_limit: self.hop_limit(),
            ecn: self.ecn(),
            flow_label: self.flow_label(),
            ..repr
        })
    }

    fn extensions_len(&self) -> usize {
        self.rest.len() - self.payload.len()
    }

    fn address(&self, at: usize) -> Ipv6Addr {
        let octets = self.header[at..].first_chunk::<16>();
        octets.map_or(Ipv6Addr::UNSPECIFIED, |octets| Ipv6Addr::from(*octets))
    }
}

/// Sum over the pseudo-header. The payload length has 32 bits there, of which the upper 16 are
/// zero.
fn pseudo_header(
    source: Ipv6Addr,
    destination: Ipv6Addr,
    protocol: u8,
    payload_len: u16,
) -> Checksum {
    Checksum::of(&source.octets())
        .with(&destination.octets())
        .with_word(u16::from(protocol))
        .with_word(payload_len)
}

#[cfg(test)]
mod tests;

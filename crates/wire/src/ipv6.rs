//! IPv6 headers (RFC 8200): [`Repr`] is what the stack believes, [`View`] is bytes as they came.

mod extension;

use std::net::Ipv6Addr;

use thiserror::Error;

pub use self::extension::{Extension, Extensions};
use crate::checksum::Checksum;
use crate::ip::DEFAULT_HOPS;
use crate::segment::Ecn;

/// The bytes of a header without extensions.
pub const HEADER_LEN: usize = 40;

/// What every link carries whole (RFC 8200 §5).
pub const MIN_MTU: usize = 1280;

/// The label that a source gives the packets of a flow: 20 bits (RFC 6437). Zero for none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FlowLabel(u32);

impl FlowLabel {
    /// No label.
    pub const NONE: Self = Self(0);

    /// The label with this value; `None` when that has more than 20 bits.
    pub const fn new(value: u32) -> Option<Self> {
        if value >> 20 == 0 { Some(Self(value)) } else { None }
    }

    /// The value.
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
    /// How many routers it may pass.
    pub hop_limit: u8,
    /// What routers may do, and have done, about congestion (RFC 3168 §5).
    pub ecn: Ecn,
    /// The flow it belongs to.
    pub flow_label: FlowLabel,
}

/// Why a packet cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot write an IPv6 packet with a payload of {len} bytes: its length has 16 bits")]
pub struct TooLong {
    /// The bytes of the payload.
    pub len: usize,
}

impl Repr {
    /// A header before `payload_len` bytes of `protocol`, with a hop limit of 64, Not-ECT and no
    /// flow label.
    ///
    /// # Errors
    /// When the payload is longer than 65 535 bytes.
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

    /// Where it comes from.
    pub fn source(&self) -> Ipv6Addr {
        self.source
    }

    /// Where it goes to.
    pub fn destination(&self) -> Ipv6Addr {
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

    /// The sum over the pseudo-header that the payload's checksum begins with (RFC 8200 §8.1).
    pub fn pseudo_header(&self) -> Checksum {
        pseudo_header(self.source, self.destination, self.protocol, self.payload_len)
    }
}

/// A packet's bytes, of which the header is known to be there and to fit its length. Everything
/// else is as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    /// All that follows the header.
    rest: &'a [u8],
    /// What follows the extensions.
    payload: &'a [u8],
    protocol: u8,
    fragment: bool,
    later_fragment: bool,
}

/// Why bytes are no IPv6 packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ViewError {
    /// Less than a header.
    #[error("cannot read an IPv6 header: {len} bytes are too few")]
    Truncated {
        /// The bytes there are.
        len: usize,
    },
    /// Another version.
    #[error("cannot read an IPv6 header: its version is {version}")]
    Version {
        /// The version.
        version: u8,
    },
    /// The packet's length contradicts the bytes there are.
    #[error("cannot read an IPv6 header: a packet of {packet} bytes, {len} bytes in all")]
    Length {
        /// The packet's length by its own field, header included.
        packet: usize,
        /// The bytes there are.
        len: usize,
    },
}

impl<'a> View<'a> {
    /// Looks at a packet at the start of `bytes`; what is behind it is left.
    ///
    /// # Errors
    /// When there is no whole packet. Extension headers that make no sense are none: see
    /// [`protocol`](Self::protocol).
    pub fn new(bytes: &'a [u8]) -> Result<Self, ViewError> {
        let view = Self::cut_short(bytes)?;
        let (packet, len) = (view.packet_len(), bytes.len());
        if len < packet { Err(ViewError::Length { packet, len }) } else { Ok(view) }
    }

    /// The same of a packet whose end may be missing: one that an ICMP message quotes, or a capture
    /// cut off.
    ///
    /// # Errors
    /// When there is no whole header.
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
        (view.protocol, view.payload) = chain.what_follows();
        Ok(view)
    }

    /// Where it comes from.
    pub fn source(&self) -> Ipv6Addr {
        self.address(8)
    }

    /// Where it goes to.
    pub fn destination(&self) -> Ipv6Addr {
        self.address(24)
    }

    /// What follows the header itself: an extension, or what the payload is.
    pub fn next_header(&self) -> u8 {
        self.header[6]
    }

    /// The extension headers, one by one.
    pub fn extensions(&self) -> Extensions<'a> {
        Extensions::new(self.next_header(), self.rest)
    }

    /// What the payload is, e.g. [`TCP`](crate::ip::TCP): where the extension headers lead to.
    ///
    /// It is an extension's own number when the walk ends at one that is not whole, stands where it
    /// must not, or forbids a host that does not know it to go on (RFC 8200 §4): the payload
    /// begins with it.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// How many routers it may still pass.
    pub fn hop_limit(&self) -> u8 {
        self.header[7]
    }

    /// The ECN field.
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.header[1] >> 4)
    }

    /// The flow label.
    pub fn flow_label(&self) -> FlowLabel {
        FlowLabel(u32::from_be_bytes([0, self.header[1] & 0xf, self.header[2], self.header[3]]))
    }

    /// Whether it is part of a larger packet: then the payload need not begin with a header. A
    /// packet that is the whole of itself in spite of a fragment header (RFC 6946) is not.
    pub fn is_fragment(&self) -> bool {
        self.fragment
    }

    /// Whether it is such a part and not the first: then the payload begins with no header.
    pub fn is_later_fragment(&self) -> bool {
        self.later_fragment
    }

    /// The packet's bytes by its own field, header included.
    pub fn packet_len(&self) -> usize {
        HEADER_LEN + usize::from(u16::from_be_bytes([self.header[4], self.header[5]]))
    }

    /// What follows the header and its extensions, up to the packet's own length.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The sum over the pseudo-header that the payload's checksum begins with (RFC 8200 §8.1).
    pub fn pseudo_header(&self) -> Checksum {
        self.pseudo_header_of(self.packet_len() - HEADER_LEN - self.extensions_len())
    }

    /// The same before as many bytes of payload, of those that 16 bits count.
    pub(crate) fn pseudo_header_of(&self, payload_len: usize) -> Checksum {
        let len = u16::try_from(payload_len).unwrap_or(u16::MAX);
        pseudo_header(self.source(), self.destination(), self.protocol, len)
    }

    /// What the stack believes of it; `None` for what a [`Repr`] does not hold: extension headers.
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

/// The payload's length has 32 bits there, of which the upper 16 are zero.
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

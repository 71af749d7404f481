//! Common interface of IPv4 and IPv6, so that a host is written once: [`Repr`] and [`View`] hold
//! either version.

use std::net::IpAddr;

use thiserror::Error;

use crate::checksum::Checksum;
use crate::header::Header;
use crate::segment::Ecn;
use crate::{ipv4, ipv6};

pub use crate::protocol::{ICMPV4, ICMPV6, TCP};

/// IP version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// IPv4, RFC 791.
    V4,
    /// IPv6, RFC 8200.
    V6,
}

impl Version {
    /// Version of an address.
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    /// Length of a header without options or extensions, in bytes.
    pub const fn header_len(self) -> usize {
        match self {
            Self::V4 => ipv4::HEADER_LEN,
            Self::V6 => ipv6::HEADER_LEN,
        }
    }

    /// Protocol number of the version's ICMP.
    pub const fn icmp(self) -> u8 {
        match self {
            Self::V4 => ICMPV4,
            Self::V6 => ICMPV6,
        }
    }
}

/// Evaluates an expression for either version.
macro_rules! each {
    ($self:expr, $inner:ident => $call:expr) => {
        match $self {
            Self::V4($inner) => $call,
            Self::V6($inner) => $call,
        }
    };
}

/// A header that can be written: without options or extensions, of an unfragmented packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repr {
    /// IPv4 header.
    V4(ipv4::Repr),
    /// IPv6 header.
    V6(ipv6::Repr),
}

/// Error for a packet that cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unwritable {
    /// Source and destination have different versions.
    #[error(
        "cannot write an IP packet from {source_address} to {destination}: they are of two versions of IP"
    )]
    Families {
        /// Source address.
        source_address: IpAddr,
        /// Destination address.
        destination: IpAddr,
    },
    /// Packet too long for IPv4.
    #[error(transparent)]
    V4(#[from] ipv4::TooLong),
    /// Packet too long for IPv6.
    #[error(transparent)]
    V6(#[from] ipv6::TooLong),
}

impl Repr {
    /// Creates a header before `payload_len` bytes of `protocol`, with a hop limit of 64 and
    /// Not-ECT.
    ///
    /// # Errors
    /// Returns an error if the addresses have different versions, or if the packet is too long for
    /// the version.
    pub fn new(
        source: IpAddr,
        destination: IpAddr,
        protocol: u8,
        payload_len: usize,
    ) -> Result<Self, Unwritable> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                Ok(Self::V4(ipv4::Repr::new(source, destination, protocol, payload_len)?))
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                Ok(Self::V6(ipv6::Repr::new(source, destination, protocol, payload_len)?))
            }
            _ => Err(Unwritable::Families { source_address: source, destination }),
        }
    }

    /// Returns the header with this ECN field.
    #[must_use]
    pub fn with_ecn(mut self, ecn: Ecn) -> Self {
        each!(&mut self, repr => repr.ecn = ecn);
        self
    }

    /// IP version.
    pub fn version(&self) -> Version {
        match self {
            Self::V4(_) => Version::V4,
            Self::V6(_) => Version::V6,
        }
    }

    /// Source address.
    pub fn source(&self) -> IpAddr {
        each!(self, repr => repr.source().into())
    }

    /// Destination address.
    pub fn destination(&self) -> IpAddr {
        each!(self, repr => repr.destination().into())
    }

    /// Protocol of the payload, e.g. [`TCP`].
    pub fn protocol(&self) -> u8 {
        each!(self, repr => repr.protocol())
    }

    /// ECN field.
    pub fn ecn(&self) -> Ecn {
        each!(self, repr => repr.ecn)
    }

    /// Length of the packet in bytes, with the header.
    pub fn packet_len(&self) -> usize {
        each!(self, repr => repr.packet_len())
    }

    /// Bytes of the header.
    pub fn header(&self) -> Header {
        each!(self, repr => repr.header().as_slice().into())
    }

    /// Appends the header.
    pub fn write(&self, out: &mut Vec<u8>) {
        each!(self, repr => repr.write(out));
    }

    /// Sum over the pseudo-header, with which the payload's checksum begins.
    pub fn pseudo_header(&self) -> Checksum {
        each!(self, repr => repr.pseudo_header())
    }
}

/// Bytes of a received packet, with a complete header and consistent lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View<'a> {
    /// IPv4 packet.
    V4(ipv4::View<'a>),
    /// IPv6 packet.
    V6(ipv6::View<'a>),
}

/// Error for bytes that are not an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ViewError {
    /// No bytes.
    #[error("cannot read an IP header: no bytes")]
    Empty,
    /// Unknown version.
    #[error("cannot read an IP header: its version is {version}")]
    Version {
        /// Version in the header.
        version: u8,
    },
    /// Invalid IPv4 packet.
    #[error(transparent)]
    V4(#[from] ipv4::ViewError),
    /// Invalid IPv6 packet.
    #[error(transparent)]
    V6(#[from] ipv6::ViewError),
}

impl<'a> View<'a> {
    /// Reads the packet at the start of `bytes`, of either version.
    ///
    /// # Errors
    /// Returns an error if there is no complete packet. A wrong checksum is no error: call
    /// [`checksum_is_good`](Self::checksum_is_good).
    pub fn new(bytes: &'a [u8]) -> Result<Self, ViewError> {
        match version(bytes)? {
            Version::V4 => Ok(Self::V4(ipv4::View::new(bytes)?)),
            Version::V6 => Ok(Self::V6(ipv6::View::new(bytes)?)),
        }
    }

    /// Reads a packet that may be truncated, in an ICMP message or a capture.
    ///
    /// # Errors
    /// Returns an error if there is no complete header.
    pub fn cut_short(bytes: &'a [u8]) -> Result<Self, ViewError> {
        match version(bytes)? {
            Version::V4 => Ok(Self::V4(ipv4::View::cut_short(bytes)?)),
            Version::V6 => Ok(Self::V6(ipv6::View::cut_short(bytes)?)),
        }
    }

    /// IP version.
    pub fn version(&self) -> Version {
        match self {
            Self::V4(_) => Version::V4,
            Self::V6(_) => Version::V6,
        }
    }

    /// Source address.
    pub fn source(&self) -> IpAddr {
        each!(self, view => view.source().into())
    }

    /// Destination address.
    pub fn destination(&self) -> IpAddr {
        each!(self, view => view.destination().into())
    }

    /// Protocol of the payload, e.g. [`TCP`]. In IPv6 it follows the extension headers
    /// ([`ipv6::View::protocol`]).
    pub fn protocol(&self) -> u8 {
        each!(self, view => view.protocol())
    }

    /// Hop limit or TTL.
    pub fn hops(&self) -> u8 {
        match self {
            Self::V4(view) => view.ttl(),
            Self::V6(view) => view.hop_limit(),
        }
    }

    /// ECN field.
    pub fn ecn(&self) -> Ecn {
        each!(self, view => view.ecn())
    }

    /// Returns whether the packet is a fragment. The payload then need not begin with a header.
    pub fn is_fragment(&self) -> bool {
        each!(self, view => view.is_fragment())
    }

    /// Returns whether the packet is a fragment other than the first. The payload then does not
    /// begin with a header.
    pub fn is_later_fragment(&self) -> bool {
        each!(self, view => view.is_later_fragment())
    }

    /// Returns whether the header checksum is correct. IPv6 has none.
    pub fn checksum_is_good(&self) -> bool {
        match self {
            Self::V4(view) => view.checksum_is_good(),
            Self::V6(_) => true,
        }
    }

    /// Length of the packet in bytes by its own field, with headers.
    pub fn packet_len(&self) -> usize {
        each!(self, view => view.packet_len())
    }

    /// Bytes after the header and its extensions, up to the length of the packet.
    pub fn payload(&self) -> &'a [u8] {
        each!(self, view => view.payload())
    }

    /// Sum over the pseudo-header, with which the payload's checksum begins.
    pub fn pseudo_header(&self) -> Checksum {
        each!(self, view => view.pseudo_header())
    }

    /// Sum over the pseudo-header for a payload of this length.
    pub(crate) fn pseudo_header_of(&self, payload_len: usize) -> Checksum {
        each!(self, view => view.pseudo_header_of(payload_len))
    }

    /// Returns the validated header; `None` if a [`Repr`] cannot represent it.
    pub fn repr(&self) -> Option<Repr> {
        match self {
            Self::V4(view) => view.repr().map(Repr::V4),
            Self::V6(view) => view.repr().map(Repr::V6),
        }
    }
}

fn version(bytes: &[u8]) -> Result<Version, ViewError> {
    match bytes.first().ok_or(ViewError::Empty)? >> 4 {
        4 => Ok(Version::V4),
        6 => Ok(Version::V6),
        version => Err(ViewError::Version { version }),
    }
}

/// Sets the ECN field of the packet at the start of `bytes`, as a router does. A correct checksum
/// remains correct, a wrong one wrong.
///
/// # Errors
/// Returns an error, without changes, if there is no header.
pub fn set_ecn(bytes: &mut [u8], ecn: Ecn) -> Result<(), ViewError> {
    match View::cut_short(bytes)? {
        View::V4(view) => {
            let old = [bytes[0], bytes[1]];
            let new = [old[0], old[1] & !0b11 | ecn as u8];
            // RFC 1624 §3, equation 3.
            let checksum = Checksum::from_field(view.checksum())
                .without_word(u16::from_be_bytes(old))
                .with_word(u16::from_be_bytes(new));
            bytes[1] = new[1];
            bytes[10..12].copy_from_slice(&checksum.field().to_be_bytes());
        }
        // RFC 8200 §7: the lowest two bits of the traffic class, which spans the first two bytes.
        View::V6(_) => bytes[1] = bytes[1] & !0b11_0000 | (ecn as u8) << 4,
    }
    Ok(())
}

#[cfg(test)]
mod tests;

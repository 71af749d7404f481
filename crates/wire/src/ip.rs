//! What IPv4 and IPv6 have in common, so that a host is written once: [`Repr`] and [`View`] are
//! either version's.

use std::net::IpAddr;

use thiserror::Error;

use crate::checksum::Checksum;
use crate::header::Header;
use crate::segment::Ecn;
use crate::{ipv4, ipv6};

/// ICMP over IPv4, as the protocol of a packet (IANA).
pub const ICMPV4: u8 = 1;

/// TCP.
pub const TCP: u8 = 6;

/// ICMP over IPv6.
pub const ICMPV6: u8 = 58;

/// The most routers that a packet passes, unless told otherwise: what IANA recommends (RFC 1122
/// §3.2.1.7, RFC 8200 §3).
pub(crate) const DEFAULT_HOPS: u8 = 64;

/// Which IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// RFC 791.
    V4,
    /// RFC 8200.
    V6,
}

impl Version {
    /// That of an address.
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    /// The bytes of a header without options or extensions.
    pub const fn header_len(self) -> usize {
        match self {
            Self::V4 => ipv4::HEADER_LEN,
            Self::V6 => ipv6::HEADER_LEN,
        }
    }

    /// The protocol number of its ICMP.
    pub const fn icmp(self) -> u8 {
        match self {
            Self::V4 => ICMPV4,
            Self::V6 => ICMPV6,
        }
    }
}

/// What is said of either version in the same way.
macro_rules! each {
    ($self:expr, $inner:ident => $call:expr) => {
        match $self {
            Self::V4($inner) => $call,
            Self::V6($inner) => $call,
        }
    };
}

/// A header that can be written: without options or extensions, of a packet that is no fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repr {
    /// Of IPv4.
    V4(ipv4::Repr),
    /// Of IPv6.
    V6(ipv6::Repr),
}

/// Why a packet cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unwritable {
    /// One address is of IPv4, the other of IPv6.
    #[error(
        "cannot write an IP packet from {source_address} to {destination}: they are of two versions of IP"
    )]
    Families {
        /// Where it would come from.
        source_address: IpAddr,
        /// Where it would go to.
        destination: IpAddr,
    },
    /// Too long for IPv4.
    #[error(transparent)]
    V4(#[from] ipv4::TooLong),
    /// Too long for IPv6.
    #[error(transparent)]
    V6(#[from] ipv6::TooLong),
}

impl Repr {
    /// A header before `payload_len` bytes of `protocol`, for 64 routers and Not-ECT.
    ///
    /// # Errors
    /// When the addresses are not of one version, or the packet is longer than that version allows.
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

    /// The same with this ECN field.
    #[must_use]
    pub fn with_ecn(mut self, ecn: Ecn) -> Self {
        each!(&mut self, repr => repr.ecn = ecn);
        self
    }

    /// Which IP.
    pub fn version(&self) -> Version {
        match self {
            Self::V4(_) => Version::V4,
            Self::V6(_) => Version::V6,
        }
    }

    /// Where it comes from.
    pub fn source(&self) -> IpAddr {
        each!(self, repr => repr.source().into())
    }

    /// Where it goes to.
    pub fn destination(&self) -> IpAddr {
        each!(self, repr => repr.destination().into())
    }

    /// What the payload is, e.g. [`TCP`].
    pub fn protocol(&self) -> u8 {
        each!(self, repr => repr.protocol())
    }

    /// What routers may do, and have done, about congestion.
    pub fn ecn(&self) -> Ecn {
        each!(self, repr => repr.ecn)
    }

    /// The bytes of the packet, header included.
    pub fn packet_len(&self) -> usize {
        each!(self, repr => repr.packet_len())
    }

    /// The bytes of the header.
    pub fn header(&self) -> Header {
        each!(self, repr => repr.header().as_slice().into())
    }

    /// Appends the header.
    pub fn write(&self, out: &mut Vec<u8>) {
        each!(self, repr => repr.write(out));
    }

    /// The sum over the pseudo-header that the payload's checksum begins with.
    pub fn pseudo_header(&self) -> Checksum {
        each!(self, repr => repr.pseudo_header())
    }
}

/// A packet's bytes, of which the header is known to be there and to fit its lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View<'a> {
    /// Of IPv4.
    V4(ipv4::View<'a>),
    /// Of IPv6.
    V6(ipv6::View<'a>),
}

/// Why bytes are no IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ViewError {
    /// Nothing there.
    #[error("cannot read an IP header: no bytes")]
    Empty,
    /// Neither version.
    #[error("cannot read an IP header: its version is {version}")]
    Version {
        /// The version.
        version: u8,
    },
    /// Said to be of IPv4.
    #[error(transparent)]
    V4(#[from] ipv4::ViewError),
    /// Said to be of IPv6.
    #[error(transparent)]
    V6(#[from] ipv6::ViewError),
}

impl<'a> View<'a> {
    /// Looks at a packet at the start of `bytes`, of the version that it says.
    ///
    /// # Errors
    /// When there is no whole packet. A wrong checksum is none: ask
    /// [`checksum_is_good`](Self::checksum_is_good).
    pub fn new(bytes: &'a [u8]) -> Result<Self, ViewError> {
        match version(bytes)? {
            Version::V4 => Ok(Self::V4(ipv4::View::new(bytes)?)),
            Version::V6 => Ok(Self::V6(ipv6::View::new(bytes)?)),
        }
    }

    /// The same of a packet whose end may be missing: one that an ICMP message quotes, or a capture
    /// cut off.
    ///
    /// # Errors
    /// When there is no whole header.
    pub fn cut_short(bytes: &'a [u8]) -> Result<Self, ViewError> {
        match version(bytes)? {
            Version::V4 => Ok(Self::V4(ipv4::View::cut_short(bytes)?)),
            Version::V6 => Ok(Self::V6(ipv6::View::cut_short(bytes)?)),
        }
    }

    /// Which IP.
    pub fn version(&self) -> Version {
        match self {
            Self::V4(_) => Version::V4,
            Self::V6(_) => Version::V6,
        }
    }

    /// Where it comes from.
    pub fn source(&self) -> IpAddr {
        each!(self, view => view.source().into())
    }

    /// Where it goes to.
    pub fn destination(&self) -> IpAddr {
        each!(self, view => view.destination().into())
    }

    /// What the payload is, e.g. [`TCP`]: for IPv6, where the extension headers lead to
    /// ([`ipv6::View::protocol`]).
    pub fn protocol(&self) -> u8 {
        each!(self, view => view.protocol())
    }

    /// How many routers it may still pass.
    pub fn hops(&self) -> u8 {
        match self {
            Self::V4(view) => view.ttl(),
            Self::V6(view) => view.hop_limit(),
        }
    }

    /// The ECN field.
    pub fn ecn(&self) -> Ecn {
        each!(self, view => view.ecn())
    }

    /// Whether it is part of a larger packet: then the payload need not begin with a header.
    pub fn is_fragment(&self) -> bool {
        each!(self, view => view.is_fragment())
    }

    /// Whether it is such a part and not the first: then the payload begins with no header.
    pub fn is_later_fragment(&self) -> bool {
        each!(self, view => view.is_later_fragment())
    }

    /// Whether the header is intact. IPv6 has nothing to tell it by.
    pub fn checksum_is_good(&self) -> bool {
        match self {
            Self::V4(view) => view.checksum_is_good(),
            Self::V6(_) => true,
        }
    }

    /// The packet's bytes by its own field, headers included.
    pub fn packet_len(&self) -> usize {
        each!(self, view => view.packet_len())
    }

    /// What follows the header and its extensions, up to the packet's own length.
    pub fn payload(&self) -> &'a [u8] {
        each!(self, view => view.payload())
    }

    /// The sum over the pseudo-header that the payload's checksum begins with.
    pub fn pseudo_header(&self) -> Checksum {
        each!(self, view => view.pseudo_header())
    }

    /// The same before as many bytes of payload, of those that 16 bits count.
    pub(crate) fn pseudo_header_of(&self, payload_len: usize) -> Checksum {
        each!(self, view => view.pseudo_header_of(payload_len))
    }

    /// What the stack believes of it; `None` for what a [`Repr`] does not hold.
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

/// Sets the ECN field of the packet at the start of `bytes`, as a router does. A good checksum
/// stays good and a bad one bad.
///
/// # Errors
/// When there is no header; nothing is changed then.
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
        // RFC 8200 §7: the lowest two bits of the traffic class, which lies across the first two
        // bytes.
        View::V6(_) => bytes[1] = bytes[1] & !0b11_0000 | (ecn as u8) << 4,
    }
    Ok(())
}

#[cfg(test)]
mod tests;

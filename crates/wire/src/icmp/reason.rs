//! Reasons for undelivered packets, with their ICMP codes (IANA).

use crate::ip::Version;

/// Reason why a destination is unreachable. Both IP versions share names. "Fragmentation needed" is
/// not included: it is [`TooBig`](super::Message::TooBig).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unreachable {
    /// No route to the network.
    Network,
    /// No answer from the host on its own link (IPv6: address unreachable).
    Host,
    /// The host does not support the protocol.
    Protocol,
    /// No process listens at the port.
    Port,
    /// A source route failed (IPv6: an error in its routing header, RFC 6550).
    SourceRoute,
    /// The network is unknown.
    NetworkUnknown,
    /// The host is unknown.
    HostUnknown,
    /// The source is isolated.
    SourceIsolated,
    /// The network is prohibited.
    NetworkProhibited,
    /// The host is prohibited.
    HostProhibited,
    /// The network is unreachable for the type of service.
    NetworkForService,
    /// The host is unreachable for the type of service.
    HostForService,
    /// A filter prohibits the packet.
    Prohibited,
    /// Host precedence violation.
    PrecedenceViolation,
    /// Precedence cutoff in effect.
    PrecedenceCutoff,
    /// The destination is beyond the scope of the source address.
    BeyondScope,
    /// A policy refuses the source address.
    SourcePolicy,
    /// The route to the destination rejects packets.
    RejectRoute,
    /// The headers are too long to be processed (RFC 8883).
    HeadersTooLong,
}

impl Unreachable {
    /// Codes in IPv4 (RFC 792, RFC 1122 §3.2.2.1, RFC 1812 §5.2.7.1) and IPv6 (RFC 4443 §3.1).
    const CODES: [(Self, [Option<u8>; 2]); 19] = [
        (Self::Network, [Some(0), Some(0)]),
        (Self::Host, [Some(1), Some(3)]),
        (Self::Protocol, [Some(2), None]),
        (Self::Port, [Some(3), Some(4)]),
        (Self::SourceRoute, [Some(5), Some(7)]),
        (Self::NetworkUnknown, [Some(6), None]),
        (Self::HostUnknown, [Some(7), None]),
        (Self::SourceIsolated, [Some(8), None]),
        (Self::NetworkProhibited, [Some(9), None]),
        (Self::HostProhibited, [Some(10), None]),
        (Self::NetworkForService, [Some(11), None]),
        (Self::HostForService, [Some(12), None]),
        (Self::Prohibited, [Some(13), Some(1)]),
        (Self::PrecedenceViolation, [Some(14), None]),
        (Self::PrecedenceCutoff, [Some(15), None]),
        (Self::BeyondScope, [None, Some(2)]),
        (Self::SourcePolicy, [None, Some(5)]),
        (Self::RejectRoute, [None, Some(6)]),
        (Self::HeadersTooLong, [None, Some(8)]),
    ];

    /// Code of the reason; `None` if this version has none.
    pub fn code(self, version: Version) -> Option<u8> {
        let found = Self::CODES.into_iter().find(|(reason, _)| *reason == self);
        found.and_then(|(_, codes)| super::of(codes, version))
    }

    /// Reason of a code; `None` if the code is not defined.
    pub fn from_code(version: Version, code: u8) -> Option<Self> {
        let found =
            Self::CODES.into_iter().find(|(_, codes)| super::of(*codes, version) == Some(code));
        found.map(|(reason, _)| reason)
    }

    /// RFC 9293 §3.9.2.2: codes 2 to 4 of IPv4, 1 and 4 of IPv6.
    pub(super) fn is_hard(self, version: Version) -> bool {
        match version {
            Version::V4 => matches!(self, Self::Protocol | Self::Port),
            Version::V6 => matches!(self, Self::Prohibited | Self::Port),
        }
    }
}

/// Limit that a packet exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeExceeded {
    /// Hop limit: a routing loop, or a trace of the route.
    Transit,
    /// Reassembly time of fragments.
    Reassembly,
}

impl TimeExceeded {
    /// Code, equal in both versions.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Transit => 0,
            Self::Reassembly => 1,
        }
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        [Self::Transit, Self::Reassembly].into_iter().find(|reason| reason.code() == code)
    }
}

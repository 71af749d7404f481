//! Protocol numbers, and the default hop limit of IPv4 and IPv6.

/// Protocol number of ICMP over IPv4 (IANA).
pub const ICMPV4: u8 = 1;

/// Protocol number of TCP.
pub const TCP: u8 = 6;

/// Protocol number of ICMP over IPv6.
pub const ICMPV6: u8 = 58;

/// Default hop limit, as IANA recommends (RFC 1122 §3.2.1.7, RFC 8200 §3).
pub(crate) const DEFAULT_HOPS: u8 = 64;

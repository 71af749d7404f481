//! ICMP over IPv4 (RFC 792) and IPv6 (RFC 4443), as far as a TCP host needs it: echo replies,
//! received errors with the connection they belong to, and sent errors.
//!
//! [`Repr`] is a validated message, [`View`] reads received bytes. [`answer`] writes whole packets.

pub mod answer;
mod quote;
mod reason;

use thiserror::Error;

pub use self::quote::{Quote, QuotedSegment};
pub use self::reason::{TimeExceeded, Unreachable};
use crate::checksum::Checksum;
use crate::ip::{self, Version};
use crate::ipv4;
use crate::ipv6;

/// Number of bytes before the quoted packet or the echo data.
pub const HEADER_LEN: usize = 8;

/// Maximum length of an IPv4 packet with an error (RFC 1812 §4.3.2.3). RFC 792 requires at least
/// eight bytes of payload.
const MAX_V4: usize = 576;

/// Types of messages in IPv4 and IPv6. Zero means that a version has none.
mod kind {
    pub(super) const ECHO_REPLY: [u8; 2] = [0, 129];
    pub(super) const ECHO_REQUEST: [u8; 2] = [8, 128];
    pub(super) const UNREACHABLE: [u8; 2] = [3, 1];
    pub(super) const TIME_EXCEEDED: [u8; 2] = [11, 3];
    pub(super) const PARAMETER_PROBLEM: [u8; 2] = [12, 4];
    /// RFC 4443 §3.2. In IPv4 this is "destination unreachable" with a separate code (RFC 1191 §4).
    pub(super) const TOO_BIG_V6: u8 = 2;
    pub(super) const FRAGMENTATION_NEEDED_V4: u8 = 4;
}

/// Selects the number of this version.
fn of<T: Copy>([v4, v6]: [T; 2], version: Version) -> T {
    match version {
        Version::V4 => v4,
        Version::V6 => v6,
    }
}

/// Content of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// Echo request (ping).
    EchoRequest(Echo<'a>),
    /// Echo reply.
    EchoReply(Echo<'a>),
    /// Destination unreachable.
    Unreachable {
        /// Reason.
        reason: Unreachable,
        /// Packet that could not be delivered.
        quote: Quote<'a>,
    },
    /// Packet too big for the next link ("fragmentation needed" in IPv4, RFC 1191).
    TooBig {
        /// MTU of the link in bytes; zero from a router that does not report it (RFC 1191 §5).
        mtu: u32,
        /// Packet that was too big.
        quote: Quote<'a>,
    },
    /// Time exceeded.
    TimeExceeded {
        /// Kind of the limit.
        reason: TimeExceeded,
        /// Packet that was dropped.
        quote: Quote<'a>,
    },
    /// Parameter problem in a header.
    ParameterProblem {
        /// Code, which depends on the version.
        code: u8,
        /// Offset of the problem in the packet, in bytes.
        pointer: u32,
        /// Packet with the problem.
        quote: Quote<'a>,
    },
}

/// An echo request or reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo<'a> {
    /// Identifier of the requesting process.
    pub identifier: u16,
    /// Sequence number of the request.
    pub sequence: u16,
    /// Data that the reply repeats.
    pub data: &'a [u8],
}

impl<'a> Message<'a> {
    /// Bytes after the first eight.
    fn body(&self) -> &'a [u8] {
        match *self {
            Self::EchoRequest(echo) | Self::EchoReply(echo) => echo.data,
            Self::Unreachable { quote, .. }
            | Self::TooBig { quote, .. }
            | Self::TimeExceeded { quote, .. }
            | Self::ParameterProblem { quote, .. } => quote.bytes(),
        }
    }

    /// Quoted packet of an error.
    pub fn quote(&self) -> Option<Quote<'a>> {
        match *self {
            Self::EchoRequest(_) | Self::EchoReply(_) => None,
            Self::Unreachable { quote, .. }
            | Self::TooBig { quote, .. }
            | Self::TimeExceeded { quote, .. }
            | Self::ParameterProblem { quote, .. } => Some(quote),
        }
    }

    /// Truncates the quoted packet to the maximum in an error of this version.
    fn with_short_quote(mut self, version: Version) -> Self {
        match &mut self {
            Self::EchoRequest(_) | Self::EchoReply(_) => {}
            Self::Unreachable { quote, .. }
            | Self::TooBig { quote, .. }
            | Self::TimeExceeded { quote, .. }
            | Self::ParameterProblem { quote, .. } => {
                // RFC 4443 §2.4 (c): as much as fits without exceeding the minimum MTU.
                let most = of([MAX_V4, ipv6::MIN_MTU], version);
                *quote = quote.first(most - version.header_len() - HEADER_LEN);
            }
        }
        self
    }
}

/// A message that can be written for its version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr<'a> {
    version: Version,
    message: Message<'a>,
}

/// Error for a message that cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unwritable {
    /// A reason without a code in this version.
    #[error("cannot write an ICMP message over {version:?}: it has no code for {reason:?}")]
    Reason {
        /// IP version.
        version: Version,
        /// Reason without a code.
        reason: Unreachable,
    },
    /// A number that is too large for the field of IPv4.
    #[error("cannot write an ICMP message over IPv4: {value} has more than {bits} bits")]
    TooLarge {
        /// MTU or pointer.
        value: u32,
        /// Width of the field in bits.
        bits: u8,
    },
}

impl<'a> Repr<'a> {
    /// Creates a message for `version`. Its quoted packet is truncated to the maximum: 576 bytes in
    /// total in IPv4 (RFC 1812 §4.3.2.3), 1280 in IPv6 (RFC 4443 §2.4).
    ///
    /// # Errors
    /// Returns an error if that version cannot represent the message.
    pub fn new(version: Version, message: Message<'a>) -> Result<Self, Unwritable> {
        let fits = |value: u32, bits: u8| match version {
            Version::V4 if value >> bits != 0 => Err(Unwritable::TooLarge { value, bits }),
            _ => Ok(()),
        };
        match message {
            Message::Unreachable { reason, .. } if reason.code(version).is_none() => {
                return Err(Unwritable::Reason { version, reason });
            }
            Message::TooBig { mtu, .. } => fits(mtu, 16)?,
            Message::ParameterProblem { pointer, .. } => fits(pointer, 8)?,
            _ => {}
        }
        Ok(Self { version, message: message.with_short_quote(version) })
    }

    /// IP version of the message.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Content of the message.
    pub fn message(&self) -> Message<'a> {
        self.message
    }

    /// Returns whether the error is permanent (RFC 9293 §3.9.2.2: a hard error). Only a SYN may be
    /// aborted for it (RFC 5927 §5).
    pub fn is_hard_error(&self) -> bool {
        matches!(self.message, Message::Unreachable { reason, .. } if reason.is_hard(self.version))
    }

    /// Length of the message in bytes.
    pub fn len(&self) -> usize {
        HEADER_LEN + self.message.body().len()
    }

    /// Always false: there is a header.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Appends the message. `pseudo_header` is that of the IP header; the ICMP checksum of IPv4
    /// does not include it.
    pub fn write(&self, pseudo_header: Checksum, out: &mut Vec<u8>) {
        let mut header = self.header();
        let body = self.message.body();
        let checksum =
            of([Checksum::EMPTY, pseudo_header], self.version).with(&header).with(body).field();
        header[2..4].copy_from_slice(&checksum.to_be_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(body);
    }

    /// First eight bytes, with a checksum of zero.
    fn header(&self) -> [u8; HEADER_LEN] {
        let version = self.version;
        let (kind, code, [a, b, c, d]) = match self.message {
            Message::EchoRequest(echo) => (of(kind::ECHO_REQUEST, version), 0, echo.words()),
            Message::EchoReply(echo) => (of(kind::ECHO_REPLY, version), 0, echo.words()),
            // The constructor has checked that there is a code.
            Message::Unreachable { reason, .. } => {
                (of(kind::UNREACHABLE, version), reason.code(version).unwrap_or(0), [0; 4])
            }
            Message::TooBig { mtu, .. } => match version {
                // RFC 1191 §4: in the lower half of the field that RFC 792 leaves unused.
                Version::V4 => {
                    (kind::UNREACHABLE[0], kind::FRAGMENTATION_NEEDED_V4, mtu.to_be_bytes())
                }
                Version::V6 => (kind::TOO_BIG_V6, 0, mtu.to_be_bytes()),
            },
            Message::TimeExceeded { reason, .. } => {
                (of(kind::TIME_EXCEEDED, version), reason.code(), [0; 4])
            }
            Message::ParameterProblem { code, pointer, .. } => {
                let pointer = of([pointer << 24, pointer], version);
                (of(kind::PARAMETER_PROBLEM, version), code, pointer.to_be_bytes())
            }
        };
        [kind, code, 0, 0, a, b, c, d]
    }
}

impl Echo<'_> {
    fn words(&self) -> [u8; 4] {
        let ([a, b], [c, d]) = (self.identifier.to_be_bytes(), self.sequence.to_be_bytes());
        [a, b, c, d]
    }
}

/// Bytes of a received message of at least eight bytes. Nothing else is validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View<'a> {
    version: Version,
    pseudo_header: Checksum,
    header: &'a [u8; HEADER_LEN],
    body: &'a [u8],
}

/// Error for a packet without a readable ICMP message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ViewError {
    /// Another protocol, or the ICMP of the other IP version.
    #[error("cannot read an ICMP message: the packet's protocol is {protocol}")]
    Protocol {
        /// Protocol number.
        protocol: u8,
    },
    /// A fragment.
    #[error("cannot read an ICMP message: the packet is a fragment")]
    Fragment,
    /// Fewer than eight bytes.
    #[error("cannot read an ICMP message: {len} bytes are too few")]
    Truncated {
        /// Number of bytes.
        len: usize,
    },
}

impl<'a> View<'a> {
    /// Reads the ICMP message of a packet.
    ///
    /// # Errors
    /// Returns an error if the packet has no ICMP message of its version. A wrong checksum is no
    /// error.
    pub fn new(packet: &ip::View<'a>) -> Result<Self, ViewError> {
        let (version, protocol) = (packet.version(), packet.protocol());
        if protocol != version.icmp() {
            return Err(ViewError::Protocol { protocol });
        }
        if packet.is_fragment() {
            return Err(ViewError::Fragment);
        }
        let bytes = packet.payload();
        let Some((header, body)) = bytes.split_first_chunk() else {
            return Err(ViewError::Truncated { len: bytes.len() });
        };
        // RFC 4443 §2.3; RFC 792 has no pseudo-header.
        let pseudo_header = match packet {
            ip::View::V4(_) => Checksum::EMPTY,
            ip::View::V6(packet) => packet.pseudo_header(),
        };
        Ok(Self { version, pseudo_header, header, body })
    }

    /// IP version of the packet.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Type.
    pub fn kind(&self) -> u8 {
        self.header[0]
    }

    /// Code.
    pub fn code(&self) -> u8 {
        self.header[1]
    }

    /// Bytes after the first eight.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Returns whether the checksum is correct.
    pub fn checksum_is_good(&self) -> bool {
        self.pseudo_header.with(self.header).with(self.body).is_good()
    }

    /// Returns whether the message is an error about another packet. No error may be sent about it
    /// (RFC 1122 §3.2.2, RFC 4443 §2.4 (e)).
    pub fn is_error(&self) -> bool {
        is_error(self.version, self.kind())
    }

    /// Returns the validated message; `None` for unsupported messages and for a wrong checksum.
    pub fn repr(&self) -> Option<Repr<'a>> {
        let (version, code) = (self.version, self.code());
        let is = |kinds: [u8; 2]| self.kind() == of(kinds, version);
        let message = if is(kind::ECHO_REQUEST) && code == 0 {
            Message::EchoRequest(self.echo())
        } else if is(kind::ECHO_REPLY) && code == 0 {
            Message::EchoReply(self.echo())
        } else if version == Version::V4
            && is(kind::UNREACHABLE)
            && code == kind::FRAGMENTATION_NEEDED_V4
        {
            Message::TooBig { mtu: self.number() & 0xffff, quote: self.quote() }
        } else if version == Version::V6 && self.kind() == kind::TOO_BIG_V6 {
            // RFC 4443 §3.2: the code is ignored.
            Message::TooBig { mtu: self.number(), quote: self.quote() }
        } else if is(kind::UNREACHABLE) {
            Message::Unreachable {
                reason: Unreachable::from_code(version, code)?,
                quote: self.quote(),
            }
        } else if is(kind::TIME_EXCEEDED) {
            Message::TimeExceeded { reason: TimeExceeded::from_code(code)?, quote: self.quote() }
        } else if is(kind::PARAMETER_PROBLEM) {
            let pointer = of([self.number() >> 24, self.number()], version);
            Message::ParameterProblem { code, pointer, quote: self.quote() }
        } else {
            return None;
        };
        Repr::new(version, message).ok().filter(|_| self.checksum_is_good())
    }

    fn echo(&self) -> Echo<'a> {
        let [.., a, b, c, d] = *self.header;
        let (identifier, sequence) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        Echo { identifier, sequence, data: self.body }
    }

    /// Number in the second four bytes.
    fn number(&self) -> u32 {
        let [.., a, b, c, d] = *self.header;
        u32::from_be_bytes([a, b, c, d])
    }

    /// Quoted packet.
    fn quote(&self) -> Quote<'a> {
        // RFC 4884 §4: length of the quoted packet in words of 32 bits in IPv4 and 64 in IPv6, if
        // extensions follow it. Older senders write zero. "Packet too big" has its MTU there in
        // IPv6.
        let words = match self.version {
            Version::V4 => usize::from(self.header[5]) * 4,
            Version::V6
                if self.kind() == kind::UNREACHABLE[1] || self.kind() == kind::TIME_EXCEEDED[1] =>
            {
                usize::from(self.header[4]) * 8
            }
            Version::V6 => 0,
        };
        Quote::new(if words == 0 { self.body } else { self.body.get(..words).unwrap_or(self.body) })
    }
}

fn is_error(version: Version, kind: u8) -> bool {
    match version {
        // Destination unreachable, source quench, redirect, time exceeded, parameter problem.
        Version::V4 => matches!(kind, 3 | 4 | 5 | 11 | 12),
        // RFC 4443 §2.1: errors have the lower half of all types. A redirect (RFC 4861) counts as
        // one.
        Version::V6 => kind < 128 || kind == 137,
    }
}

const _: () =
    assert!(MAX_V4 >= 2 * ipv4::MAX_HEADER_LEN + HEADER_LEN, "room for what RFC 792 asks to quote");

#[cfg(test)]
mod tests;

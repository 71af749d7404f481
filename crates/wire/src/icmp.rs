//! ICMP over IPv4 (RFC 792) and IPv6 (RFC 4443), as far as a TCP host needs it: to answer a ping,
//! to hear that a packet did not arrive and of which connection it was, and to say so to others.
//!
//! [`Repr`] is what the stack believes, [`View`] is bytes as they came. [`answer`] writes whole
//! packets.

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

/// The bytes before what a message quotes or echoes.
pub const HEADER_LEN: usize = 8;

/// What a packet with an error may take in IPv4 (RFC 1812 §4.3.2.3). RFC 792 asks for eight bytes
/// of payload at least.
const MOST_V4: usize = 576;

/// The type of a message, in both versions; zero stands for none where there is only one.
mod kind {
    pub(super) const ECHO_REPLY: [u8; 2] = [0, 129];
    pub(super) const ECHO_REQUEST: [u8; 2] = [8, 128];
    pub(super) const UNREACHABLE: [u8; 2] = [3, 1];
    pub(super) const TIME_EXCEEDED: [u8; 2] = [11, 3];
    pub(super) const PARAMETER_PROBLEM: [u8; 2] = [12, 4];
    /// RFC 4443 §3.2. In IPv4 it is a destination that is unreachable, with a code of its own (RFC
    /// 1191 §4).
    pub(super) const TOO_BIG_V6: u8 = 2;
    pub(super) const FRAGMENTATION_NEEDED_V4: u8 = 4;
}

/// The one of two numbers that is of this version.
fn of<T: Copy>([v4, v6]: [T; 2], version: Version) -> T {
    match version {
        Version::V4 => v4,
        Version::V6 => v6,
    }
}

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// A ping.
    EchoRequest(Echo<'a>),
    /// Its answer.
    EchoReply(Echo<'a>),
    /// A packet could not be delivered.
    Unreachable {
        /// Why.
        reason: Unreachable,
        /// Which packet.
        quote: Quote<'a>,
    },
    /// A packet was longer than the next link carries ("fragmentation needed" in IPv4, RFC 1191).
    TooBig {
        /// What the link carries, in bytes; zero from a router that does not say (RFC 1191 §5).
        mtu: u32,
        /// Which packet.
        quote: Quote<'a>,
    },
    /// A packet had no time left.
    TimeExceeded {
        /// For what.
        reason: TimeExceeded,
        /// Which packet.
        quote: Quote<'a>,
    },
    /// Something is wrong with a header.
    ParameterProblem {
        /// What, by a number of its version.
        code: u8,
        /// Where, in bytes from the packet's first.
        pointer: u32,
        /// Which packet.
        quote: Quote<'a>,
    },
}

/// A ping or its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo<'a> {
    /// Who pings.
    pub identifier: u16,
    /// Which ping.
    pub sequence: u16,
    /// What comes back unchanged.
    pub data: &'a [u8],
}

impl<'a> Message<'a> {
    /// What follows the first eight bytes.
    fn body(&self) -> &'a [u8] {
        match *self {
            Self::EchoRequest(echo) | Self::EchoReply(echo) => echo.data,
            Self::Unreachable { quote, .. }
            | Self::TooBig { quote, .. }
            | Self::TimeExceeded { quote, .. }
            | Self::ParameterProblem { quote, .. } => quote.bytes(),
        }
    }

    /// The packet that it is about, of a message about one.
    pub fn quote(&self) -> Option<Quote<'a>> {
        match *self {
            Self::EchoRequest(_) | Self::EchoReply(_) => None,
            Self::Unreachable { quote, .. }
            | Self::TooBig { quote, .. }
            | Self::TimeExceeded { quote, .. }
            | Self::ParameterProblem { quote, .. } => Some(quote),
        }
    }

    /// The same with no more of the quote than an error of this version may carry.
    fn with_short_quote(mut self, version: Version) -> Self {
        match &mut self {
            Self::EchoRequest(_) | Self::EchoReply(_) => {}
            Self::Unreachable { quote, .. }
            | Self::TooBig { quote, .. }
            | Self::TimeExceeded { quote, .. }
            | Self::ParameterProblem { quote, .. } => {
                // RFC 4443 §2.4 (c): as much as fits without exceeding what every link carries.
                let most = of([MOST_V4, ipv6::MIN_MTU], version);
                *quote = quote.first(most - version.header_len() - HEADER_LEN);
            }
        }
        self
    }
}

/// A message that can be written in its version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr<'a> {
    version: Version,
    message: Message<'a>,
}

/// Why a message cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unwritable {
    /// A reason that this version has no code for.
    #[error("cannot write an ICMP message over {version:?}: it has no code for {reason:?}")]
    Reason {
        /// The version.
        version: Version,
        /// The reason.
        reason: Unreachable,
    },
    /// A number that IPv4's field does not hold.
    #[error("cannot write an ICMP message over IPv4: {value} has more than {bits} bits")]
    TooLarge {
        /// The MTU or pointer.
        value: u32,
        /// What the field holds.
        bits: u8,
    },
}

impl<'a> Repr<'a> {
    /// A message over `version`. Of a packet that it quotes, it keeps as much as an error may
    /// carry: 576 bytes with everything in IPv4 (RFC 1812 §4.3.2.3), 1280 in IPv6 (RFC 4443
    /// §2.4).
    ///
    /// # Errors
    /// When that version cannot say it.
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

    /// The version of IP that it is for.
    pub fn version(&self) -> Version {
        self.version
    }

    /// What it says.
    pub fn message(&self) -> Message<'a> {
        self.message
    }

    /// Whether it says that trying again is of no use (RFC 9293 §3.9.2.2: a hard error). Only a SYN
    /// may take its word for it (RFC 5927 §5).
    pub fn is_hard_error(&self) -> bool {
        matches!(self.message, Message::Unreachable { reason, .. } if reason.is_hard(self.version))
    }

    /// The bytes of the message.
    pub fn len(&self) -> usize {
        HEADER_LEN + self.message.body().len()
    }

    /// Never: there is a header.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Appends the message. `pseudo_header` is the IP header's; IPv4's ICMP leaves it out of its
    /// checksum.
    pub fn write(&self, pseudo_header: Checksum, out: &mut Vec<u8>) {
        let mut header = self.header();
        let body = self.message.body();
        let checksum =
            of([Checksum::EMPTY, pseudo_header], self.version).with(&header).with(body).field();
        header[2..4].copy_from_slice(&checksum.to_be_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(body);
    }

    /// The first eight bytes, with a checksum of zero.
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
                // RFC 1191 §4: in the lower half of what RFC 792 leaves unused.
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

/// A message's bytes, of which the first eight are known to be there. Everything else is as it
/// came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View<'a> {
    version: Version,
    pseudo_header: Checksum,
    header: &'a [u8; HEADER_LEN],
    body: &'a [u8],
}

/// Why a packet has no ICMP message to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ViewError {
    /// Another protocol, or the ICMP of the other version of IP.
    #[error("cannot read an ICMP message: the packet's protocol is {protocol}")]
    Protocol {
        /// The protocol.
        protocol: u8,
    },
    /// A part of a packet.
    #[error("cannot read an ICMP message: the packet is a fragment")]
    Fragment,
    /// Less than eight bytes.
    #[error("cannot read an ICMP message: {len} bytes are too few")]
    Truncated {
        /// The bytes there are.
        len: usize,
    },
}

impl<'a> View<'a> {
    /// Looks at what a packet carries.
    ///
    /// # Errors
    /// When that is no ICMP message of the packet's version. A wrong checksum is none.
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

    /// The version of IP that it came over.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The type.
    pub fn kind(&self) -> u8 {
        self.header[0]
    }

    /// The code.
    pub fn code(&self) -> u8 {
        self.header[1]
    }

    /// What follows the first eight bytes.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Whether the message is intact.
    pub fn checksum_is_good(&self) -> bool {
        self.pseudo_header.with(self.header).with(self.body).is_good()
    }

    /// Whether it is about another packet. Nothing is to be sent about it then (RFC 1122 §3.2.2,
    /// RFC 4443 §2.4 (e)).
    pub fn is_error(&self) -> bool {
        is_error(self.version, self.kind())
    }

    /// What the stack believes of it; `None` for a message that it has no use for, and for a bad
    /// checksum.
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
            // RFC 4443 §3.2: the code means nothing.
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

    /// What the second four bytes hold.
    fn number(&self) -> u32 {
        let [.., a, b, c, d] = *self.header;
        u32::from_be_bytes([a, b, c, d])
    }

    /// The packet that it is about.
    fn quote(&self) -> Quote<'a> {
        // RFC 4884 §4: the quote's length in words, of 32 bits in IPv4 and 64 in IPv6, when
        // something follows it. Zero from who does not know of that. A packet that is too
        // big has its MTU there in IPv6.
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

const _: () = assert!(
    MOST_V4 >= 2 * ipv4::MAX_HEADER_LEN + HEADER_LEN,
    "room for what RFC 792 asks to quote"
);

#[cfg(test)]
mod tests;

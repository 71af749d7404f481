//! Whole packets with an ICMP message, for a packet that came: a ping's answer, and errors where
//! they may be sent.

use std::net::IpAddr;

use thiserror::Error;

use super::{Message, Quote, Repr, TimeExceeded, Unreachable, Unwritable, View};
use crate::ip::{self, Version};

/// An error, without the packet that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// It could not be delivered.
    Unreachable(Unreachable),
    /// It is longer than what comes next carries: `mtu` bytes. Over IPv4 only for a packet that
    /// must not be cut ([`ipv4::View::dont_fragment`](crate::ipv4::View::dont_fragment)).
    TooBig {
        /// In bytes.
        mtu: u32,
    },
    /// It had no time left.
    TimeExceeded(TimeExceeded),
}

impl Report {
    fn about(self, quote: Quote<'_>) -> Message<'_> {
        match self {
            Self::Unreachable(reason) => Message::Unreachable { reason, quote },
            Self::TooBig { mtu } => Message::TooBig { mtu, quote },
            Self::TimeExceeded(reason) => Message::TimeExceeded { reason, quote },
        }
    }
}

/// Why nothing is sent about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotSent {
    /// No ping, or not an intact one.
    #[error("no ICMP echo reply: the packet is no intact echo request")]
    NoRequest,
    /// Not a packet.
    #[error("no ICMP message: {0}")]
    Packet(#[from] ip::ViewError),
    /// An error about an error would have no end.
    #[error("no ICMP message: the packet is an ICMP error itself")]
    AboutAnError,
    /// A fragment that is not the first has no ports that somebody could tell its connection by.
    #[error("no ICMP message: the packet is a later fragment")]
    LaterFragment,
    /// Sent to many, who would all answer.
    #[error("no ICMP message: the packet was sent to {0}, which is not one host")]
    ToMany(IpAddr),
    /// There is nobody to tell.
    #[error("no ICMP message: the packet comes from {0}, which is not one host")]
    FromNobody(IpAddr),
    /// IPv4's ICMP cannot say what IPv6's can, and the other way round.
    #[error("no ICMP message: {0}")]
    Message(#[from] Unwritable),
    /// The addresses do not go together, or the packet would be too long.
    #[error("no ICMP message: {0}")]
    Ip(#[from] ip::Unwritable),
}

/// Appends the packet that answers a ping.
///
/// # Errors
/// When it is no intact ping of one host by another. Nothing is appended then.
pub fn echo_reply(request: &ip::View<'_>, out: &mut Vec<u8>) -> Result<(), NotSent> {
    let message = View::new(request).ok().and_then(|view| view.repr()).map(|repr| repr.message());
    let Some(Message::EchoRequest(echo)) = message else { return Err(NotSent::NoRequest) };
    check_ends(request)?;
    // RFC 792, RFC 4443 §4.2: the addresses are exchanged, and the data come back as they are.
    let reply = Repr::new(request.version(), Message::EchoReply(echo))?;
    append(&reply, request.destination(), request.source(), out)
}

/// Appends the packet that tells the source of the packet at the start of `about` what became of
/// it, in the name of `from`.
///
/// # Errors
/// When RFC 1122 §3.2.2 or RFC 4443 §2.4 (e) forbids it, or it cannot be said. Nothing is appended
/// then.
pub fn report(
    report: Report,
    about: &[u8],
    from: IpAddr,
    out: &mut Vec<u8>,
) -> Result<(), NotSent> {
    let packet = ip::View::new(about)?;
    if packet.is_later_fragment() {
        return Err(NotSent::LaterFragment);
    }
    // What is too short to say that it is an error is taken for one.
    if packet.protocol() == packet.version().icmp()
        && packet.payload().first().is_none_or(|kind| super::is_error(packet.version(), *kind))
    {
        return Err(NotSent::AboutAnError);
    }
    match check_ends(&packet) {
        // RFC 4443 §2.4 (e.3): a path has an MTU also when it leads to many.
        Err(NotSent::ToMany(_))
            if packet.version() == Version::V6 && matches!(report, Report::TooBig { .. }) => {}
        checked => checked?,
    }
    let quote = Quote::new(about.get(..packet.packet_len()).unwrap_or(about));
    let repr = Repr::new(packet.version(), report.about(quote))?;
    append(&repr, from, packet.source(), out)
}

/// Whether both ends of a packet are one host each.
fn check_ends(packet: &ip::View<'_>) -> Result<(), NotSent> {
    let (source, destination) = (packet.source(), packet.destination());
    if !is_one_host(destination) {
        return Err(NotSent::ToMany(destination));
    }
    if !is_one_host(source) {
        return Err(NotSent::FromNobody(source));
    }
    Ok(())
}

/// As far as an address shows it: a subnet's broadcast address looks like any other.
fn is_one_host(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(address.is_unspecified() || address.is_multicast() || broadcast)
}

fn append(
    message: &Repr<'_>,
    source: IpAddr,
    destination: IpAddr,
    out: &mut Vec<u8>,
) -> Result<(), NotSent> {
    let ip = ip::Repr::new(source, destination, message.version().icmp(), message.len())?;
    ip.write(out);
    message.write(ip.pseudo_header(), out);
    Ok(())
}

#[cfg(test)]
mod tests;

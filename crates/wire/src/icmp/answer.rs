//! Whole packets with an ICMP message in response to a received packet: echo replies, and errors
//! where they are allowed.

use std::net::IpAddr;

use thiserror::Error;

use super::{Message, Quote, Repr, TimeExceeded, Unreachable, Unwritable, View};
use crate::ip::{self, Version};

/// An error without the packet that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// Destination unreachable.
    Unreachable(Unreachable),
    /// Packet longer than the `mtu` of the next link. Over IPv4 only for packets that must not be
    /// fragmented ([`ipv4::View::dont_fragment`](crate::ipv4::View::dont_fragment)).
    TooBig {
        /// MTU in bytes.
        mtu: u32,
    },
    /// Time exceeded.
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

/// Reason why no message is sent about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotSent {
    /// The packet is not an intact echo request.
    #[error("no ICMP echo reply: the packet is no intact echo request")]
    NoRequest,
    /// The bytes are not a packet.
    #[error("no ICMP message: {0}")]
    Packet(#[from] ip::ViewError),
    /// The packet is an ICMP error. An error about an error would have no end.
    #[error("no ICMP message: the packet is an ICMP error itself")]
    AboutAnError,
    /// The packet is a fragment other than the first, without ports that identify a connection.
    #[error("no ICMP message: the packet is a later fragment")]
    LaterFragment,
    /// The packet was sent to many hosts, which would all answer.
    #[error("no ICMP message: the packet was sent to {0}, which is not one host")]
    ToMany(IpAddr),
    /// The source address is not that of a single host.
    #[error("no ICMP message: the packet comes from {0}, which is not one host")]
    FromNobody(IpAddr),
    /// The IP version cannot represent the message.
    #[error("no ICMP message: {0}")]
    Message(#[from] Unwritable),
    /// The addresses have different versions, or the packet would be too long.
    #[error("no ICMP message: {0}")]
    Ip(#[from] ip::Unwritable),
}

/// Appends the packet that answers an echo request.
///
/// # Errors
/// Returns an error, without changes, if `request` is not an intact echo request between two hosts.
pub fn echo_reply(request: &ip::View<'_>, out: &mut Vec<u8>) -> Result<(), NotSent> {
    let message = View::new(request).ok().and_then(|view| view.repr()).map(|repr| repr.message());
    let Some(Message::EchoRequest(echo)) = message else { return Err(NotSent::NoRequest) };
    check_ends(request)?;
    // RFC 792, RFC 4443 §4.2: the addresses are exchanged and the data is repeated.
    let reply = Repr::new(request.version(), Message::EchoReply(echo))?;
    append(&reply, request.destination(), request.source(), out)
}

/// Appends a packet with an error about the packet at the start of `about`, for its source. The
/// error has the source address `from`.
///
/// # Errors
/// Returns an error, without changes, if RFC 1122 §3.2.2 or RFC 4443 §2.4 (e) forbids the message,
/// or if it cannot be represented.
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
    // A message that is too short to be classified counts as an error.
    if packet.protocol() == packet.version().icmp()
        && packet.payload().first().is_none_or(|kind| super::is_error(packet.version(), *kind))
    {
        return Err(NotSent::AboutAnError);
    }
    match check_ends(&packet) {
        // RFC 4443 §2.4 (e.3): "packet too big" is also sent for multicast, because such a path
        // also has an MTU.
        Err(NotSent::ToMany(_))
            if packet.version() == Version::V6 && matches!(report, Report::TooBig { .. }) => {}
        checked => checked?,
    }
    let quote = Quote::new(about.get(..packet.packet_len()).unwrap_or(about));
    let repr = Repr::new(packet.version(), report.about(quote))?;
    append(&repr, from, packet.source(), out)
}

/// Checks that both ends of a packet are single hosts.
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

/// Returns whether an address is that of a single host. A broadcast address of a subnet is not
/// recognizable.
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

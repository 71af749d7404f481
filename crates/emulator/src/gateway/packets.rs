//! Packets that the gateway reads from its device, and those that it writes to it.

use std::io;
use std::net::{IpAddr, SocketAddr};

use rustix::io::Errno;
use tun::Tun;
use wire::icmp::answer::{self, Report};
use wire::icmp::{Echo, Message, Unreachable};
use wire::ip::Version;
use wire::{
    Checksum, Control, Ecn, Flags, Options, Segment, SeqNum, UnscaledWindow, icmp, ip, ipv4, tcp,
};

/// IP protocol number of UDP (RFC 768).
const UDP: u8 = 17;
const UDP_HEADER_BYTES: usize = 8;
/// Next header value and length of the fragment header of IPv6 (RFC 8200 §4.5).
const FRAGMENT: u8 = 44;
const FRAGMENT_HEADER_BYTES: usize = 8;
/// Unit of offsets of fragments, in bytes (RFC 791 §3.1).
const OFFSET_UNIT: usize = 8;

/// The two ends of a connection on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ends {
    pub(super) client: SocketAddr,
    pub(super) server: SocketAddr,
}

/// A packet without a socket.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrived<'a> {
    /// The first segment of a TCP connection.
    Opening(Ends),
    /// An echo request.
    Echo { client: IpAddr, to: IpAddr, echo: Echo<'a> },
    /// Anything else, also what is invalid.
    Other,
}

/// Reads a packet.
pub(super) fn read(packet: &[u8]) -> Arrived<'_> {
    let Ok(view) = ip::View::new(packet) else { return Arrived::Other };
    let (client, to) = (view.source(), view.destination());
    if view.is_fragment() || to.is_multicast() {
        return Arrived::Other;
    }
    if view.protocol() == ip::TCP {
        let Ok(segment) = tcp::View::new(view.payload()) else { return Arrived::Other };
        let flags = segment.flags();
        let others = [tcp::Flags::ACK, tcp::Flags::RST, tcp::Flags::FIN];
        if !flags.has(tcp::Flags::SYN)
            || others.into_iter().any(|other| flags.has(other))
            || !segment.checksum_is_good(view.pseudo_header())
        {
            return Arrived::Other;
        }
        let ports = segment.ports();
        return Arrived::Opening(Ends {
            client: SocketAddr::new(client, ports.source),
            server: SocketAddr::new(to, ports.destination),
        });
    }
    let message = icmp::View::new(&view).ok().and_then(|view| view.repr());
    match message.map(|repr| repr.message()) {
        Some(Message::EchoRequest(echo)) => Arrived::Echo { client, to, echo },
        _ => Arrived::Other,
    }
}

/// The reason for an ICMP message about an error of a socket. `None` if a message would be wrong:
/// the destination is silent, or this system has no room.
pub(super) fn reason(error: &io::Error) -> Option<Unreachable> {
    Some(match Errno::from_io_error(error)? {
        Errno::CONNREFUSED => Unreachable::Port,
        Errno::NETUNREACH | Errno::NETDOWN => Unreachable::Network,
        Errno::HOSTUNREACH | Errno::HOSTDOWN | Errno::INVAL | Errno::ADDRNOTAVAIL => {
            Unreachable::Host
        }
        Errno::ACCESS | Errno::PERM => Unreachable::Prohibited,
        Errno::NOPROTOOPT | Errno::PROTO => Unreachable::Host,
        _ => return None,
    })
}

/// Answers the first segment of a connection that could not be opened: as the destination or a
/// router would.
pub(super) fn refuse(device: &Tun, packet: &[u8], error: &io::Error) {
    let mut answer = Vec::new();
    if Errno::from_io_error(error) == Some(Errno::CONNREFUSED) {
        write_reset(packet, &mut answer);
    } else if let Some(reason) = reason(error) {
        write_unreachable(packet, reason, &mut answer);
    }
    write(device, &answer);
}

/// Writes a packet. One without room is lost, as on any path.
pub(super) fn write(device: &Tun, packet: &[u8]) {
    if !packet.is_empty() {
        let _ = device.write(packet);
    }
}

/// Appends an ICMP message about a packet, in the name of its destination.
pub(super) fn write_unreachable(packet: &[u8], reason: Unreachable, out: &mut Vec<u8>) {
    if let Ok(view) = ip::View::new(packet) {
        let from = view.destination();
        // No message about some packets: RFC 1122 §3.2.2, RFC 4443 §2.4 (e).
        let _ = answer::report(Report::Unreachable(reason), packet, from, out);
    }
}

/// Appends the reset with which a closed port answers the first segment of a connection (RFC 9293
/// §3.10.7.1).
fn write_reset(packet: &[u8], out: &mut Vec<u8>) {
    let Ok(view) = ip::View::new(packet) else { return };
    let Ok(opening) = tcp::View::new(view.payload()) else { return };
    let payload_len = u32::try_from(opening.payload().len()).unwrap_or_default();
    let ports = opening.ports();
    let segment = Segment {
        seq: SeqNum::new(0),
        ack: Some(opening.seq() + payload_len + 1),
        control: Control::Rst,
        flags: Flags::NONE.with_ecn(Ecn::NotEct),
        window: UnscaledWindow::new(0),
        payload_len: 0,
        options: Options::default(),
    };
    let back = tcp::Ports { source: ports.destination, destination: ports.source };
    let Ok(repr) = tcp::Repr::new(back, segment) else { return };
    let head = ip::Repr::new(view.destination(), view.source(), ip::TCP, repr.len());
    if let Ok(head) = head {
        head.write(out);
        repr.write(head.pseudo_header(), Checksum::EMPTY, out);
    }
}

/// The packets of a datagram (RFC 768), which has several if it is longer than `mtu` permits.
/// `identification` is that of its fragments.
pub(super) fn datagram(
    from: SocketAddr,
    to: SocketAddr,
    data: &[u8],
    mtu: usize,
    identification: u16,
) -> Vec<Vec<u8>> {
    let len = UDP_HEADER_BYTES + data.len();
    let (Ok(short), Ok(head)) = (u16::try_from(len), ip::Repr::new(from.ip(), to.ip(), UDP, len))
    else {
        return Vec::new();
    };
    let mut payload = Vec::with_capacity(len);
    for word in [from.port(), to.port(), short, 0] {
        payload.extend(word.to_be_bytes());
    }
    payload.extend_from_slice(data);
    let sum = head.pseudo_header().with(&payload).field();
    // A sum of zero is sent as ones (RFC 768).
    let sum = if sum == 0 { u16::MAX } else { sum };
    payload[6..8].copy_from_slice(&sum.to_be_bytes());
    packets(&head, &payload, mtu, identification)
}

/// The packets of an echo reply, as of [`datagram`].
pub(super) fn echo_reply(
    from: IpAddr,
    to: IpAddr,
    echo: Echo<'_>,
    mtu: usize,
    identification: u16,
) -> Vec<Vec<u8>> {
    echo_packets(from, to, Message::EchoReply(echo), mtu, identification)
}

fn echo_packets(
    from: IpAddr,
    to: IpAddr,
    message: Message<'_>,
    mtu: usize,
    identification: u16,
) -> Vec<Vec<u8>> {
    let version = Version::of(from);
    let Ok(repr) = icmp::Repr::new(version, message) else { return Vec::new() };
    let Ok(head) = ip::Repr::new(from, to, version.icmp(), repr.len()) else {
        return Vec::new();
    };
    let mut payload = Vec::new();
    repr.write(head.pseudo_header(), &mut payload);
    packets(&head, &payload, mtu, identification)
}

/// The beginning of a datagram of a client, for a message about it.
pub(super) fn quoted_datagram(client: SocketAddr, to: SocketAddr, len: usize) -> Vec<u8> {
    datagram(client, to, &vec![0; len.min(64)], usize::MAX, 0).pop().unwrap_or_default()
}

/// An echo request of a client, for an error about it. `message` is the request that the socket
/// sent, which had another identifier.
pub(super) fn quoted_echo(client: IpAddr, to: IpAddr, identifier: u16, message: &[u8]) -> Vec<u8> {
    let Some(head) = message.first_chunk::<{ icmp::HEADER_LEN }>() else { return Vec::new() };
    let sequence = u16::from_be_bytes([head[6], head[7]]);
    let data = &message[icmp::HEADER_LEN..];
    let request = Message::EchoRequest(Echo { identifier, sequence, data });
    echo_packets(client, to, request, usize::MAX, 0).pop().unwrap_or_default()
}

/// Divides a packet into fragments (RFC 791 §3.2, RFC 8200 §4.5), if it is longer than `mtu`.
fn packets(head: &ip::Repr, payload: &[u8], mtu: usize, identification: u16) -> Vec<Vec<u8>> {
    let room = mtu.saturating_sub(head.packet_len() - payload.len());
    if payload.len() <= room {
        let mut packet = Vec::with_capacity(head.packet_len());
        head.write(&mut packet);
        packet.extend_from_slice(payload);
        return vec![packet];
    }
    let is_v6 = head.version() == Version::V6;
    let room = if is_v6 { room.saturating_sub(FRAGMENT_HEADER_BYTES) } else { room };
    let room = (room / OFFSET_UNIT * OFFSET_UNIT).max(OFFSET_UNIT);
    let mut found = Vec::new();
    let mut at = 0;
    for part in payload.chunks(room) {
        let more = at + part.len() < payload.len();
        found.push(if is_v6 {
            fragment_v6(head, part, at, more, identification)
        } else {
            fragment_v4(head, part, at, more, identification)
        });
        at += part.len();
    }
    found.into_iter().flatten().collect()
}

fn fragment_v4(
    head: &ip::Repr,
    part: &[u8],
    at: usize,
    more: bool,
    identification: u16,
) -> Option<Vec<u8>> {
    /// The bit MF, in the word with the offset.
    const MORE: u16 = 1 << 13;
    let own = ip::Repr::new(head.source(), head.destination(), head.protocol(), part.len()).ok()?;
    let mut packet = Vec::with_capacity(own.packet_len());
    own.write(&mut packet);
    let offset = u16::try_from(at / OFFSET_UNIT).ok()? | if more { MORE } else { 0 };
    packet[4..6].copy_from_slice(&identification.to_be_bytes());
    packet[6..8].copy_from_slice(&offset.to_be_bytes());
    packet[10..12].fill(0);
    let sum = Checksum::of(&packet[..ipv4::HEADER_LEN]).field();
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend_from_slice(part);
    Some(packet)
}

fn fragment_v6(
    head: &ip::Repr,
    part: &[u8],
    at: usize,
    more: bool,
    identification: u16,
) -> Option<Vec<u8>> {
    let len = FRAGMENT_HEADER_BYTES + part.len();
    let own = ip::Repr::new(head.source(), head.destination(), FRAGMENT, len).ok()?;
    let mut packet = Vec::with_capacity(own.packet_len());
    own.write(&mut packet);
    packet.extend([head.protocol(), 0]);
    // The offset is in the upper 13 bits, and a multiple of eight.
    packet.extend((u16::try_from(at).ok()? | u16::from(more)).to_be_bytes());
    packet.extend(u32::from(identification).to_be_bytes());
    packet.extend_from_slice(part);
    Some(packet)
}

#[cfg(test)]
mod tests;

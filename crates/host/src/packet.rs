//! Parsing and validation of received packets, and construction of packets to send.

use std::net::IpAddr;
use std::num::NonZeroU16;

use wire::gso::Offload;
use wire::{Checksum, Header, Segment, SeqNum, icmp, ip, tcp};

use crate::tuple::Tuple;

/// Smallest path MTU accepted over IPv4, in bytes; Linux uses the same bound. RFC 791 allows 68
/// bytes, which no real path has. A forged report of it would reduce segments to 28 bytes.
const MIN_PATH_MTU_V4: u32 = 552;

/// A packet to send.
#[derive(Debug, Clone, Default)]
pub struct Outgoing {
    /// Space for the offload header, followed by the packet.
    frame: Vec<u8>,
    /// The operations that the device must perform. None unless the stack is configured with
    /// offload.
    pub offload: Offload,
}

impl Outgoing {
    /// The packet without the offload header.
    pub fn bytes(&self) -> &[u8] {
        self.frame.get(Offload::LEN..).unwrap_or_default()
    }

    /// The packet with the offload header in front.
    pub fn frame(&mut self) -> &[u8] {
        if let Some(header) = self.frame.first_chunk_mut() {
            *header = self.offload.to_bytes();
        }
        &self.frame
    }

    /// Clears the frame for a new packet of about `len` bytes.
    fn begin(&mut self, len: usize) -> &mut Vec<u8> {
        self.frame.clear();
        // One allocation for the whole packet.
        self.frame.reserve(Offload::LEN + len + Header::MAX_LEN);
        self.frame.extend_from_slice(&[0; Offload::LEN]);
        &mut self.frame
    }

    /// Replaces the packet by the bytes that `write` appends.
    pub(crate) fn write_with<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.offload = Offload::NONE;
        write(self.begin(0))
    }

    /// Appends payload.
    pub(crate) fn append(&mut self, [first, second]: [&[u8]; 2]) {
        self.frame.extend_from_slice(first);
        self.frame.extend_from_slice(second);
    }
}

/// A valid received packet.
#[derive(Debug)]
pub(crate) enum Arrived<'a> {
    /// A TCP segment with its payload.
    Tcp(Tuple, Segment, &'a [u8]),
    /// An ICMP echo request.
    Ping(ip::View<'a>),
    /// An ICMP error about a TCP segment that this host sent, with the quoted sequence number.
    Report(Tuple, SeqNum, IcmpReport),
}

/// Content of an ICMP error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IcmpReport {
    /// The packet exceeded the path MTU, which allows this MSS.
    TooBig(wire::Mss),
    /// The segment could not be delivered.
    Undelivered(::tcp::IcmpError),
}

/// Reasons to ignore a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ignored {
    /// The packet is damaged or invalid.
    Damaged,
    /// The packet is of a kind that this host does not handle.
    Unknown,
}

/// Parses a packet. With `verify`, the TCP checksum must be correct. Without, it is not checked,
/// because the kernel leaves its computation to the hardware.
pub(crate) fn read(bytes: &[u8], verify: bool) -> Result<Arrived<'_>, Ignored> {
    let ip = ip::View::new(bytes).map_err(|_| Ignored::Damaged)?;
    if !ip.checksum_is_good() {
        return Err(Ignored::Damaged);
    }
    if ip.is_fragment() {
        return Err(Ignored::Unknown);
    }
    if ip.protocol() == ip.version().icmp() {
        return read_icmp(ip);
    }
    if ip.protocol() != ip::TCP {
        return Err(Ignored::Unknown);
    }
    let segment = tcp::View::new(ip.payload()).map_err(|_| Ignored::Damaged)?;
    if verify && !segment.checksum_is_good(ip.pseudo_header()) {
        return Err(Ignored::Damaged);
    }
    let repr = segment.repr(ip.ecn()).ok_or(Ignored::Damaged)?;
    let tuple = Tuple {
        local: ip.destination(),
        remote: ip.source(),
        local_port: repr.ports().destination,
        remote_port: repr.ports().source,
    };
    Ok(Arrived::Tcp(tuple, *repr.segment(), segment.payload()))
}

fn read_icmp(ip: ip::View<'_>) -> Result<Arrived<'_>, Ignored> {
    let view = icmp::View::new(&ip).map_err(|_| Ignored::Damaged)?;
    let Some(repr) = view.repr() else {
        return Err(if view.checksum_is_good() { Ignored::Unknown } else { Ignored::Damaged });
    };
    let message = repr.message();
    if matches!(message, icmp::Message::EchoRequest(_)) {
        return Ok(Arrived::Ping(ip));
    }
    let quoted = message.quote().and_then(|quote| quote.segment()).ok_or(Ignored::Unknown)?;
    let tuple = Tuple {
        local: quoted.source,
        remote: quoted.destination,
        local_port: quoted.ports.source,
        remote_port: quoted.ports.destination,
    };
    let report = match message {
        icmp::Message::TooBig { mtu, .. } => {
            let (mtu, headers) = match ip.version() {
                // RFC 1191 §5: an old router reports 0. Every host accepts packets of 576 bytes.
                ip::Version::V4 if mtu == 0 => (576, 40),
                ip::Version::V4 => (mtu.max(MIN_PATH_MTU_V4), 40),
                // RFC 8201 §4: a report below the minimum link MTU of RFC 8200 §5 is invalid.
                ip::Version::V6 if mtu < 1280 => return Err(Ignored::Damaged),
                ip::Version::V6 => (mtu, 60),
            };
            let mss = mtu.saturating_sub(headers);
            let mss =
                wire::Mss::new(u16::try_from(mss).unwrap_or(u16::MAX)).ok_or(Ignored::Damaged)?;
            IcmpReport::TooBig(mss)
        }
        _ if repr.is_hard_error() => IcmpReport::Undelivered(::tcp::IcmpError::Hard),
        _ => IcmpReport::Undelivered(::tcp::IcmpError::Soft),
    };
    Ok(Arrived::Report(tuple, quoted.seq, report))
}

/// Writes a segment to the peer of `tuple` into `out`, replacing its contents. With `offload`, the
/// device completes the checksum. `None` if the segment cannot be encoded.
pub(crate) fn write(
    tuple: &Tuple,
    segment: &Segment,
    payload: [&[u8]; 2],
    offload: bool,
    out: &mut Outgoing,
) -> Option<()> {
    let (ip, repr) = headers(tuple, segment)?;
    let header = if offload {
        out.offload = Offload::of(&ip, &repr, NonZeroU16::MAX);
        repr.partial_header(ip.pseudo_header())
    } else {
        out.offload = Offload::NONE;
        repr.header(ip.pseudo_header(), Checksum::of(payload[0]).with(payload[1]))
    };
    let bytes = out.begin(ip.packet_len());
    ip.write(bytes);
    header.write(bytes);
    out.append(payload);
    Some(())
}

/// Converts the packet in `out`, written by `write` with `offload`, into one that the device cuts
/// into segments of `size` bytes. `segment` describes the whole payload, which has been appended.
pub(crate) fn lengthen(
    tuple: &Tuple,
    segment: &Segment,
    size: NonZeroU16,
    out: &mut Outgoing,
) -> Option<()> {
    let (ip, repr) = headers(tuple, segment)?;
    let (ip_header, tcp_header) = (ip.header(), repr.partial_header(ip.pseudo_header()));
    let split = ip_header.len();
    let packet = out.frame.get_mut(Offload::LEN..)?;
    packet.get_mut(..split)?.copy_from_slice(&ip_header);
    packet.get_mut(split..split + tcp_header.len())?.copy_from_slice(&tcp_header);
    out.offload = Offload::of(&ip, &repr, size);
    Some(())
}

fn headers(tuple: &Tuple, segment: &Segment) -> Option<(ip::Repr, tcp::Repr)> {
    let ports = tcp::Ports { source: tuple.local_port, destination: tuple.remote_port };
    let repr = tcp::Repr::new(ports, *segment).ok()?;
    let ip = ip::Repr::new(tuple.local, tuple.remote, ip::TCP, repr.len()).ok()?;
    Some((ip.with_ecn(segment.flags.ecn()), repr))
}

/// Whether an address can be that of a single host (RFC 9293 §3.9.2.3, RFC 1122 §3.2.1.3).
pub(crate) fn is_one_host(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(address.is_unspecified() || address.is_multicast() || broadcast)
}

#[cfg(test)]
mod tests;

//! TCP packets of a capture: the headers from the link layer to TCP's options, without the payload.
//!
//! A packet may be shorter in the capture than on the wire (snap length), and longer than 64 kB,
//! because segmentation offload captures groups of segments. The length of its payload is that on
//! the wire.

mod ip;
mod link;

use std::net::{IpAddr, Ipv6Addr};

use units::Instant;
use wire::tcp::{Flags, KnownOption, View};
use wire::{Ecn, SackBlocks, SeqNum, SeqRange, Timestamps};

use crate::records::Record;

/// Address and port of one end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// IPv6 address, or an IPv4 address mapped to IPv6 (RFC 4291 §2.5.5.2).
    pub address: u128,
    /// Port.
    pub port: u16,
}

impl Endpoint {
    /// Address as IPv4 or IPv6.
    pub fn ip(&self) -> IpAddr {
        Ipv6Addr::from_bits(self.address).to_canonical()
    }
}

/// Options that occur on a SYN only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size in bytes (RFC 9293 §3.2).
    pub mss: Option<u16>,
    /// Shift of the window scale (RFC 7323 §2.2), not limited.
    pub window_scale: Option<u8>,
    /// Whether SACK is permitted (RFC 2018 §2).
    pub sack_permitted: bool,
    /// Kinds of the first eight options in their order, without padding: four bits each, the first
    /// in the lowest.
    pub order: u32,
}

/// A TCP segment with its place in the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Number of the packet in the file, from 1.
    pub frame: u64,
    /// Time of the capture.
    pub at: Instant,
    /// Interface of the capture.
    pub interface: u32,
    /// Sender.
    pub source: Endpoint,
    /// Receiver.
    pub destination: Endpoint,
    /// Sequence number.
    pub seq: SeqNum,
    /// Acknowledgment number, valid only with ACK.
    pub ack: SeqNum,
    /// Control bits.
    pub flags: Flags,
    /// Window field, not scaled.
    pub window: u16,
    /// Length of the payload on the wire in bytes.
    pub payload_len: u32,
    /// Length of the headers of IP and TCP in bytes, with their options.
    pub header_len: u16,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks in their order.
    pub sack: SackBlocks,
    /// Options of a SYN.
    pub syn: SynOptions,
    /// Identification field of IPv4; zero for IPv6.
    pub identification: u16,
    /// Time to live, or hop limit.
    pub hops: u8,
    /// ECN field.
    pub ecn: Ecn,
}

impl Packet {
    /// Returns whether all control bits of `flags` are set.
    pub fn has(&self, flags: Flags) -> bool {
        self.flags.has(flags)
    }

    /// Length in sequence numbers: payload, SYN and FIN.
    pub fn seq_len(&self) -> u32 {
        let controls = u32::from(self.has(Flags::SYN)) + u32::from(self.has(Flags::FIN));
        self.payload_len.saturating_add(controls)
    }
}

/// Reasons for which a record has no TCP segment that can be analysed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Other {
    /// A link type that is not supported.
    LinkType,
    /// No IP packet, for example ARP.
    NotIp,
    /// An IP packet of another protocol.
    NotTcp,
    /// A fragment of an IP packet, whose segment is not complete.
    Fragment,
    /// A packet whose captured bytes end before the end of the fixed headers.
    CutShort,
    /// A packet with contradictory lengths.
    Malformed,
}

/// Payload of an IP packet, with the facts of its header.
#[derive(Debug, Clone, Copy)]
struct Datagram<'a> {
    source: u128,
    destination: u128,
    identification: u16,
    hops: u8,
    ecn: Ecn,
    /// Length of the header in bytes, with extensions.
    header_len: u32,
    payload: &'a [u8],
    /// Length of the payload on the wire in bytes.
    payload_len: u32,
}

/// Reads the headers of a record.
///
/// # Errors
/// Returns the reason if the record has no TCP segment that can be analysed.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the packet of 176 bytes is then not copied")]
pub fn decode(record: &Record<'_>) -> Result<Packet, Other> {
    let (bytes, wire_len) = link::network_layer(record)?;
    let datagram = ip::datagram(bytes, wire_len)?;
    let segment = View::cut_short(datagram.payload).map_err(|_| match datagram.payload.len() {
        len if len < datagram.payload_len as usize && len < 20 => Other::CutShort,
        _ => Other::Malformed,
    })?;
    let header = u32::try_from(segment.header_len()).unwrap_or(u32::MAX);
    let payload_len = datagram.payload_len.checked_sub(header).ok_or(Other::Malformed)?;
    let ports = segment.ports();
    let flags = segment.flags();
    let syn = flags.has(Flags::SYN);
    let end = segment.header_len().min(datagram.payload.len());
    let bytes = datagram.payload.get(wire::tcp::HEADER_LEN..end).unwrap_or_default();
    let options = if let (false, Some(timestamps)) = (syn, usual_options(bytes)) {
        Options { timestamps: Some(timestamps), ..Options::default() }
    } else {
        options(&segment, syn)
    };
    Ok(Packet {
        frame: record.frame,
        at: record.at,
        interface: record.interface,
        source: Endpoint { address: datagram.source, port: ports.source },
        destination: Endpoint { address: datagram.destination, port: ports.destination },
        seq: segment.seq(),
        ack: segment.ack(),
        flags,
        window: segment.window().value(),
        payload_len,
        header_len: u16::try_from(datagram.header_len + header).unwrap_or(u16::MAX),
        timestamps: options.timestamps,
        sack: options.sack,
        syn: options.syn,
        identification: datagram.identification,
        hops: datagram.hops,
        ecn: datagram.ecn,
    })
}

/// Options of a segment.
#[derive(Debug, Default)]
struct Options {
    timestamps: Option<Timestamps>,
    sack: SackBlocks,
    syn: SynOptions,
}

/// Timestamps of a segment that has no other option, in the layout of RFC 7323, appendix A. Most
/// segments have it, and it needs no search.
#[inline]
fn usual_options(bytes: &[u8]) -> Option<Timestamps> {
    let &[1, 1, 8, 10, ref values @ ..] = bytes else { return None };
    let (&[val, ecr], []) = values.as_chunks() else { return None };
    Some(Timestamps { val: u32::from_be_bytes(val), ecr: u32::from_be_bytes(ecr) })
}

/// Reads the options. Those after an invalid or truncated one are unknown. `syn` says that the
/// segment is a SYN.
#[inline(never)]
fn options(segment: &View<'_>, syn: bool) -> Options {
    let mut found = Options::default();
    let mut position = 0;
    for option in segment.options().map_while(Result::ok) {
        if syn && position < 8 {
            found.syn.order |= u32::from(option.kind.min(15)) << (4 * position);
            position += 1;
        }
        match option.known() {
            Some(KnownOption::Timestamps(timestamps)) => found.timestamps = Some(timestamps),
            Some(KnownOption::Sack(edges)) => {
                found.sack = SackBlocks::default();
                for range in edges.iter().filter_map(block) {
                    found.sack.push(range);
                }
            }
            Some(KnownOption::Mss(mss)) if syn => found.syn.mss = Some(mss),
            Some(KnownOption::WindowScale(shift)) if syn => found.syn.window_scale = Some(shift),
            Some(KnownOption::SackPermitted) if syn => found.syn.sack_permitted = true,
            _ => {}
        }
    }
    found
}

/// Edges of a SACK block; `None` for an empty or reversed one.
fn block(edges: &[u8; 8]) -> Option<SeqRange> {
    let (start, end) = (edges.first_chunk()?, edges.last_chunk()?);
    SeqRange::new(SeqNum::new(u32::from_be_bytes(*start)), SeqNum::new(u32::from_be_bytes(*end)))
}

#[cfg(test)]
mod tests;

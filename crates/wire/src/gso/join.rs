//! Merging of consecutive segments of a flow into a packet that a [`Cutter`](super::Cutter) divides
//! into the same segments.

use std::num::NonZeroU16;

use super::{Offload, PartialChecksum, Segmentation};
use crate::ip::{self, Version};
use crate::seq::SeqNum;
use crate::tcp::{self, Flags};
use crate::{Checksum, Header, ipv4};

/// Maximum length of a packet in bytes.
const MAX_BYTES: usize = 65_535;
/// Control bits that only the last segment of a packet may have.
const LAST_ONLY: u8 = Flags::FIN.bits() | Flags::PSH.bits();
/// Control bits that merging would lose or change in meaning.
const INDIVISIBLE: u8 =
    Flags::SYN.bits() | Flags::RST.bits() | Flags::URG.bits() | Flags::CWR.bits();
/// Offsets of sequence number, control bits and checksum in a TCP header.
const SEQ: std::ops::Range<usize> = 4..8;
const FLAGS_AT: usize = 13;
const CHECKSUM: std::ops::Range<usize> = tcp::CHECKSUM_AT..tcp::CHECKSUM_AT + 2;

/// Merges whole packets, one at a time. Each must equal the next packet of a
/// [`Cutter`](super::Cutter): equal headers except for lengths, checksums and the incremented IPv4
/// identification; full size, except for the last; FIN and PSH only on the last. Segments with SYN,
/// RST, URG or CWR and packets with IP options or extensions are not merged.
///
/// The TCP checksums of the segments are assumed to be correct and are not verified. The device
/// completes the checksum of the merged packet.
#[derive(Debug, Clone)]
pub struct Joiner {
    version: Version,
    ip: Header,
    tcp: Header,
    /// Payload of each segment except the last, in bytes.
    size: NonZeroU16,
    /// Total payload so far, in bytes.
    payload_len: usize,
    segments: u16,
    /// Whether no further segment can follow.
    closed: bool,
}

impl Joiner {
    /// Begins with a packet. Returns `None` if it is not a data segment that others may follow.
    pub fn new(packet: &[u8]) -> Option<Self> {
        let (version, ip, tcp, payload_len) = parts(packet)?;
        let size = u16::try_from(payload_len).ok().and_then(NonZeroU16::new)?;
        let flags = tcp[FLAGS_AT];
        if flags & INDIVISIBLE != 0 || flags & Flags::ACK.bits() == 0 || flags & LAST_ONLY != 0 {
            return None;
        }
        let (ip, tcp) = (Header::from(ip), Header::from(tcp));
        Some(Self { version, ip, tcp, size, payload_len, segments: 1, closed: false })
    }

    /// Appends a packet if it is the next one. Otherwise returns `false` without changes.
    pub fn push(&mut self, packet: &[u8]) -> bool {
        let Some((version, ip, tcp, payload_len)) = parts(packet) else { return false };
        let headers_len = ip.len() + tcp.len();
        if self.closed
            || version != self.version
            || payload_len == 0
            || payload_len > usize::from(self.size.get())
            || headers_len + self.payload_len + payload_len > MAX_BYTES
            || !self.ip_follows(ip)
            || !self.tcp_follows(tcp)
        {
            return false;
        }
        let last = tcp[FLAGS_AT] & LAST_ONLY;
        let bits = [self.tcp[FLAGS_AT - 1], self.tcp[FLAGS_AT] | last];
        self.tcp.set_word(FLAGS_AT - 1, u16::from_be_bytes(bits));
        self.closed = last != 0 || payload_len < usize::from(self.size.get());
        self.payload_len += payload_len;
        self.segments += 1;
        true
    }

    /// Number of header bytes before the payload of each packet.
    pub fn headers_len(&self) -> usize {
        self.ip.len() + self.tcp.len()
    }

    /// Number of merged segments.
    pub fn segments(&self) -> u16 {
        self.segments
    }

    /// Returns the header for the device, and the IP and TCP headers of the merged packet. The
    /// caller appends all payloads in order.
    pub fn finish(mut self) -> (Offload, [Header; 2]) {
        let headers_len = self.headers_len();
        let tcp_len = self.tcp.len() + self.payload_len;
        // At most 65535, as checked by `push`.
        let word = |len: usize| u16::try_from(len).unwrap_or(u16::MAX);
        match self.version {
            Version::V4 => {
                self.ip.set_word(2, word(self.ip.len() + tcp_len));
                self.ip.set_word(10, 0);
                let checksum = Checksum::of(&self.ip).field();
                self.ip.set_word(10, checksum);
            }
            Version::V6 => self.ip.set_word(4, word(tcp_len)),
        }
        let pseudo_header = ip::View::cut_short(&self.ip).map(|ip| ip.pseudo_header_of(tcp_len));
        self.tcp
            .set_word(tcp::CHECKSUM_AT, pseudo_header.unwrap_or(Checksum::EMPTY).partial_field());
        let cut = Segmentation {
            version: self.version,
            size: self.size,
            ecn: false,
            header_len: word(headers_len),
        };
        let offload = Offload {
            checksum: Some(PartialChecksum {
                start: word(self.ip.len()),
                offset: tcp::CHECKSUM_OFFSET,
            }),
            segmentation: (self.segments > 1).then_some(cut),
            checked: false,
        };
        (offload, [self.ip, self.tcp])
    }

    /// Compares IP headers, except for the length, the identification, which must be incremented,
    /// and the checksum.
    fn ip_follows(&self, ip: &[u8]) -> bool {
        let first: &[u8] = &self.ip;
        match self.version {
            Version::V4 => {
                let number = |header: &[u8]| u16::from_be_bytes([header[4], header[5]]);
                number(ip) == number(first).wrapping_add(self.segments)
                    && ip[..2] == first[..2]
                    && ip[6..10] == first[6..10]
                    && ip[12..] == first[12..]
            }
            Version::V6 => ip[..4] == first[..4] && ip[6..] == first[6..],
        }
    }

    /// Compares TCP headers, except for the sequence number, which must continue, the bits of the
    /// last segment, and the checksum.
    fn tcp_follows(&self, tcp: &[u8]) -> bool {
        let first: &[u8] = &self.tcp;
        let number = |header: &[u8]| {
            SeqNum::new(header[SEQ].iter().fold(0, |number, &byte| number << 8 | u32::from(byte)))
        };
        let sent = u32::try_from(self.payload_len).unwrap_or(u32::MAX);
        number(tcp) == number(first) + sent
            && tcp[..SEQ.start] == first[..SEQ.start]
            && tcp[SEQ.end..FLAGS_AT] == first[SEQ.end..FLAGS_AT]
            && tcp[FLAGS_AT] & !LAST_ONLY == first[FLAGS_AT]
            && tcp[FLAGS_AT + 1..CHECKSUM.start] == first[FLAGS_AT + 1..CHECKSUM.start]
            && tcp[CHECKSUM.end..] == first[CHECKSUM.end..]
    }
}

/// Returns version, headers and payload length of a packet that is exactly one segment: no IP
/// options or extensions, no fragment, no trailing bytes, and a correct IPv4 header checksum.
fn parts(packet: &[u8]) -> Option<(Version, &[u8], &[u8], usize)> {
    let view = ip::View::new(packet).ok()?;
    let (version, len) = (view.version(), packet.len());
    let plain = match &view {
        ip::View::V4(view) => {
            view.checksum_is_good() && len - view.payload().len() == ipv4::HEADER_LEN
        }
        ip::View::V6(view) => view.next_header() == ip::TCP,
    };
    if !plain || view.packet_len() != len || view.protocol() != ip::TCP || view.is_fragment() {
        return None;
    }
    let payload_len = tcp::View::new(view.payload()).ok()?.payload().len();
    let (ip, tcp) = packet[..len - payload_len].split_at_checked(version.header_len())?;
    Some((version, ip, tcp, payload_len))
}

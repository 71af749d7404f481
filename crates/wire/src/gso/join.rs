//! Segments of one flow that follow each other, joined into the packet that a
//! [`Cutter`](super::Cutter) cuts into just these again.

use std::num::NonZeroU16;

use super::{Offload, PartialChecksum, Segmentation};
use crate::ip::{self, Version};
use crate::seq::SeqNum;
use crate::tcp::{self, Flags};
use crate::{Checksum, Header, ipv4};

/// What a packet's lengths can say.
const MOST_BYTES: usize = 65_535;
/// Control bits that only the last segment of a packet has.
const OF_THE_LAST: u8 = Flags::FIN.bits() | Flags::PSH.bits();
/// Control bits that would be lost, or mean something else, in a longer packet.
const INDIVISIBLE: u8 =
    Flags::SYN.bits() | Flags::RST.bits() | Flags::URG.bits() | Flags::CWR.bits();
/// Where a TCP header has its sequence number, its control bits and its checksum.
const SEQ: std::ops::Range<usize> = 4..8;
const FLAGS_AT: usize = 13;
const CHECKSUM: std::ops::Range<usize> = tcp::CHECKSUM_AT..tcp::CHECKSUM_AT + 2;

/// Whole packets taken in one by one, as long as each is the one that a [`Cutter`](super::Cutter)
/// would make next: the same headers but for lengths, checksums and IPv4's identification, which
/// counts; full size, except for the last; FIN and PSH on the last at most. SYN, RST, URG and CWR
/// stay alone, and so do packets with IP options or extensions.
///
/// The segments' own TCP checksums are taken to be good: they are not looked at, and the joined
/// packet's is left to the device.
#[derive(Debug, Clone)]
pub struct Joiner {
    version: Version,
    ip: Header,
    tcp: Header,
    /// The payload of each, but for the last.
    size: NonZeroU16,
    /// All of it so far.
    payload_len: usize,
    segments: u16,
    /// None can follow.
    closed: bool,
}

impl Joiner {
    /// Begins with a packet; `None` when it is not a segment with data that others may follow.
    pub fn new(packet: &[u8]) -> Option<Self> {
        let (version, ip, tcp, payload_len) = parts(packet)?;
        let size = u16::try_from(payload_len).ok().and_then(NonZeroU16::new)?;
        let flags = tcp[FLAGS_AT];
        if flags & INDIVISIBLE != 0 || flags & Flags::ACK.bits() == 0 || flags & OF_THE_LAST != 0 {
            return None;
        }
        let (ip, tcp) = (Header::from(ip), Header::from(tcp));
        Some(Self { version, ip, tcp, size, payload_len, segments: 1, closed: false })
    }

    /// Takes a packet in if it is the next; otherwise nothing is changed.
    pub fn push(&mut self, packet: &[u8]) -> bool {
        let Some((version, ip, tcp, payload_len)) = parts(packet) else { return false };
        let headers_len = ip.len() + tcp.len();
        if self.closed
            || version != self.version
            || payload_len == 0
            || payload_len > usize::from(self.size.get())
            || headers_len + self.payload_len + payload_len > MOST_BYTES
            || !self.ip_follows(ip)
            || !self.tcp_follows(tcp)
        {
            return false;
        }
        let last = tcp[FLAGS_AT] & OF_THE_LAST;
        let bits = [self.tcp[FLAGS_AT - 1], self.tcp[FLAGS_AT] | last];
        self.tcp.set_word(FLAGS_AT - 1, u16::from_be_bytes(bits));
        self.closed = last != 0 || payload_len < usize::from(self.size.get());
        self.payload_len += payload_len;
        self.segments += 1;
        true
    }

    /// How many bytes of each packet come before its payload.
    pub fn headers_len(&self) -> usize {
        self.ip.len() + self.tcp.len()
    }

    /// How many there are.
    pub fn segments(&self) -> u16 {
        self.segments
    }

    /// The headers of the joined packet, IP's and TCP's, which all payloads in order are to follow,
    /// and what a device is to be told of it.
    pub fn finish(mut self) -> (Offload, [Header; 2]) {
        let headers_len = self.headers_len();
        let tcp_len = self.tcp.len() + self.payload_len;
        // No more than 65535, which `push` has seen to.
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

    /// The same but for the length, the identification, which is one more each time, and the
    /// checksum over both.
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

    /// The same but for the sequence number, which goes on, what only the last has, and the
    /// checksum.
    fn tcp_follows(&self, tcp: &[u8]) -> bool {
        let first: &[u8] = &self.tcp;
        let number = |header: &[u8]| {
            SeqNum::new(header[SEQ].iter().fold(0, |number, &byte| number << 8 | u32::from(byte)))
        };
        let sent = u32::try_from(self.payload_len).unwrap_or(u32::MAX);
        number(tcp) == number(first) + sent
            && tcp[..SEQ.start] == first[..SEQ.start]
            && tcp[SEQ.end..FLAGS_AT] == first[SEQ.end..FLAGS_AT]
            && tcp[FLAGS_AT] & !OF_THE_LAST == first[FLAGS_AT]
            && tcp[FLAGS_AT + 1..CHECKSUM.start] == first[FLAGS_AT + 1..CHECKSUM.start]
            && tcp[CHECKSUM.end..] == first[CHECKSUM.end..]
    }
}

/// Version, headers and length of the payload of a packet that is one segment and nothing else: no
/// options or extensions of IP, no fragment, no byte behind it, and a good checksum in IPv4's
/// header.
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

//! Segmentation and checksum offload, in bytes. A TCP passes packets that are larger than the path
//! MTU to a device, which divides them and completes their checksums.
//!
//! Packets to and from such a device have a header before them (virtio 1.2 §5.1.6; on Linux, a TUN
//! device with `IFF_VNET_HDR`): [`Offload`]. The TCP checksum may contain only the sum over the
//! pseudo-header and must be [completed](complete). The packet may have to be divided into segments
//! by a [`Cutter`]. To create such a packet, write its TCP header with
//! [`tcp::Repr::partial_header`], or merge existing segments with a [`Joiner`].

use std::num::NonZeroU16;

use thiserror::Error;

use crate::checksum::Checksum;
use crate::ip::{self, Version};
use crate::ipv6;
use crate::segment::Flags;
use crate::seq::SeqNum;
use crate::tcp;

mod join;

pub use join::Joiner;

// Virtio 1.2 §5.1.6: flag bits and kinds of segmentation.
const NEEDS_CHECKSUM: u8 = 1;
const CHECKED: u8 = 2;
const NONE: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const ECN: u8 = 0x80;

/// Header before a packet: `struct virtio_net_hdr`, in the byte order of this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offload {
    /// Checksum that is to be completed.
    pub checksum: Option<PartialChecksum>,
    /// Segmentation of the packet.
    pub segmentation: Option<Segmentation>,
    /// Whether the checksum has been verified already.
    pub checked: bool,
}

/// Position of an incomplete checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialChecksum {
    /// Offset of the first summed byte in the packet. The sum extends to its end.
    pub start: u16,
    /// Offset of the checksum field from `start`, in bytes.
    pub offset: u16,
}

/// Parameters of a segmentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmentation {
    /// IP version.
    pub version: Version,
    /// Payload of each segment in bytes. The last segment has the rest.
    pub size: NonZeroU16,
    /// Whether CWR is set, which belongs to the first segment only.
    pub ecn: bool,
    /// Number of bytes of all headers. It is a hint, because the packet contains it too.
    pub header_len: u16,
}

/// Error for a header with an unsupported request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OffloadError {
    /// Segmentation of a protocol other than TCP.
    #[error("cannot read an offload header: segmentation of kind {kind} is not TCP's")]
    Kind {
        /// Kind of segmentation, without the ECN bit.
        kind: u8,
    },
    /// Segments of zero bytes.
    #[error("cannot read an offload header: segments of 0 bytes")]
    Size,
    /// Checksum field outside the packet.
    #[error("cannot complete a checksum at byte {start} + {offset}: the packet has {len} bytes")]
    Place {
        /// Offset of the first summed byte.
        start: u16,
        /// Offset of the field from it.
        offset: u16,
        /// Length of the packet in bytes.
        len: usize,
    },
}

impl Offload {
    /// Length of the header in bytes.
    pub const LEN: usize = 10;

    /// Header of a packet that needs no processing.
    pub const NONE: Self = Self { checksum: None, segmentation: None, checked: false };

    /// Header for a segment written by [`tcp::Repr::partial_header`]. It is divided into segments
    /// of `size` bytes if it is longer.
    pub fn of(ip: &ip::Repr, tcp: &tcp::Repr, size: NonZeroU16) -> Self {
        let segment = tcp.segment();
        let start = ip.version().header_len();
        let header_len = start + tcp.len() - usize::try_from(segment.payload_len).unwrap_or(0);
        // Both headers together have at most 100 bytes.
        let [start, header_len] =
            [start, header_len].map(|len| u16::try_from(len).unwrap_or(u16::MAX));
        let segmentation = Segmentation {
            version: ip.version(),
            size,
            ecn: segment.flags.has(Flags::CWR),
            header_len,
        };
        let cut = segment.payload_len > u32::from(size.get());
        Self {
            checksum: Some(PartialChecksum { start, offset: tcp::CHECKSUM_OFFSET }),
            segmentation: cut.then_some(segmentation),
            checked: false,
        }
    }

    /// Parses a header.
    ///
    /// # Errors
    /// Returns an error if the header requests segmentation of a protocol other than TCP.
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Result<Self, OffloadError> {
        let &[flags, kind, ref numbers @ ..] = bytes;
        let number = |at: usize| u16::from_ne_bytes([numbers[at], numbers[at + 1]]);
        let [header_len, size, start, offset] = [0, 2, 4, 6].map(number);
        let version = match kind & !ECN {
            NONE => None,
            TCP_V4 => Some(Version::V4),
            TCP_V6 => Some(Version::V6),
            kind => return Err(OffloadError::Kind { kind }),
        };
        let segmentation = match (version, NonZeroU16::new(size)) {
            (None, _) => None,
            (Some(version), Some(size)) => {
                Some(Segmentation { version, size, ecn: kind & ECN != 0, header_len })
            }
            (Some(_), None) => return Err(OffloadError::Size),
        };
        let checksum = (flags & NEEDS_CHECKSUM != 0).then_some(PartialChecksum { start, offset });
        Ok(Self { checksum, segmentation, checked: flags & CHECKED != 0 })
    }

    /// Returns the bytes of the header.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut flags = if self.checked { CHECKED } else { 0 };
        let (mut kind, mut numbers) = (NONE, [0; 4]);
        if let Some(Segmentation { version, size, ecn, header_len }) = self.segmentation {
            kind = match version {
                Version::V4 => TCP_V4,
                Version::V6 => TCP_V6,
            };
            kind |= if ecn { ECN } else { 0 };
            (numbers[0], numbers[1]) = (header_len, size.get());
        }
        if let Some(PartialChecksum { start, offset }) = self.checksum {
            flags |= NEEDS_CHECKSUM;
            (numbers[2], numbers[3]) = (start, offset);
        }
        let mut bytes = [0; Self::LEN];
        bytes[..2].copy_from_slice(&[flags, kind]);
        for (room, number) in bytes[2..].chunks_exact_mut(2).zip(numbers) {
            room.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }
}

/// Completes the checksum of a packet, whose field contains the sum over the pseudo-header.
///
/// # Errors
/// Returns an error, without changes, if the field is not in the packet.
pub fn complete(packet: &mut [u8], checksum: PartialChecksum) -> Result<(), OffloadError> {
    let PartialChecksum { start, offset } = checksum;
    let (from, at) = (usize::from(start), usize::from(start) + usize::from(offset));
    if packet.len() < at + 2 {
        return Err(OffloadError::Place { start, offset, len: packet.len() });
    }
    // RFC 768: a sum of zero is sent as the other zero, because zero means "no checksum" in UDP.
    // TCP accepts both.
    let field = match Checksum::of(&packet[from..]).field() {
        0 => u16::MAX,
        field => field,
    };
    packet[at..at + 2].copy_from_slice(&field.to_be_bytes());
    Ok(())
}

/// Divides a TCP packet into segments. Each is a packet with complete checksums.
#[derive(Debug, Clone)]
pub struct Cutter<'a> {
    packet: ip::View<'a>,
    /// Headers: all bytes before the payload.
    headers: &'a [u8],
    /// Length of the IP header in bytes.
    ip_len: usize,
    seq: SeqNum,
    payload: &'a [u8],
    size: usize,
    segments: usize,
    /// Index of the next segment.
    next: usize,
}

/// Error for a packet that cannot be divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CutError {
    /// The bytes are not a packet.
    #[error("cannot cut a packet into segments: {0}")]
    Ip(#[from] ip::ViewError),
    /// The packet has no TCP header.
    #[error("cannot cut a packet into segments: {0}")]
    Tcp(#[from] tcp::ViewError),
    /// The packet has another protocol, or is a fragment.
    #[error(
        "cannot cut a packet into segments: it is no whole packet of TCP (protocol {protocol})"
    )]
    Protocol {
        /// Protocol number.
        protocol: u8,
    },
    /// The segment has SYN, RST or URG, which must not be repeated.
    #[error("cannot cut a packet into segments: it has one of the control bits SYN, RST, URG")]
    Control,
}

impl<'a> Cutter<'a> {
    /// Creates a cutter for segments with `size` bytes of payload; the last one may have fewer. A
    /// packet that is not longer remains one segment.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a TCP packet, or one that cannot be divided.
    pub fn new(bytes: &'a [u8], size: NonZeroU16) -> Result<Self, CutError> {
        let packet = ip::View::new(bytes)?;
        if packet.protocol() != ip::TCP || packet.is_fragment() {
            return Err(CutError::Protocol { protocol: packet.protocol() });
        }
        let tcp = tcp::View::new(packet.payload())?;
        let (payload, size) = (tcp.payload(), usize::from(size.get()));
        let indivisible = [tcp::Flags::SYN, tcp::Flags::RST, tcp::Flags::URG];
        if payload.len() > size && indivisible.into_iter().any(|flag| tcp.flags().has(flag)) {
            return Err(CutError::Control);
        }
        Ok(Self {
            packet,
            headers: &bytes[..packet.packet_len() - payload.len()],
            ip_len: packet.packet_len() - packet.payload().len(),
            seq: tcp.seq(),
            payload,
            size,
            // A packet without payload is one segment.
            segments: payload.len().div_ceil(size).max(1),
            next: 0,
        })
    }

    /// Number of remaining segments.
    pub fn remaining(&self) -> usize {
        self.segments - self.next
    }

    /// Appends the packet of the next segment. Returns `false`, without changes, if there is none.
    pub fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        if self.remaining() == 0 {
            return false;
        }
        let rest = self.payload.get(self.next * self.size..).unwrap_or_default();
        let payload = rest.get(..self.size).unwrap_or(rest);
        let start = out.len();
        out.extend_from_slice(self.headers);
        let (ip, tcp) = out[start..].split_at_mut(self.ip_len);
        self.adapt_ip(ip, tcp.len() + payload.len());
        self.adapt_tcp(tcp, payload);
        out.extend_from_slice(payload);
        self.next += 1;
        true
    }

    /// Sets the length of the packet, and the identification in IPv4.
    fn adapt_ip(&self, header: &mut [u8], payload_len: usize) {
        // No segment is longer than the original packet, whose lengths have 16 bits.
        let word = |len: usize| u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes();
        match self.packet {
            ip::View::V4(packet) => {
                header[2..4].copy_from_slice(&word(self.ip_len + payload_len));
                let [.., a, b] = self.next.to_be_bytes();
                let identification =
                    packet.identification().wrapping_add(u16::from_be_bytes([a, b]));
                header[4..6].copy_from_slice(&identification.to_be_bytes());
                header[10..12].fill(0);
                let checksum = Checksum::of(header).field();
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
            }
            // The IPv6 payload length includes extension headers.
            ip::View::V6(_) => {
                header[4..6].copy_from_slice(&word(self.ip_len - ipv6::HEADER_LEN + payload_len));
            }
        }
    }

    /// Sets sequence number, control bits and checksum.
    fn adapt_tcp(&self, header: &mut [u8], payload: &[u8]) {
        let offset = u32::try_from(self.next * self.size).unwrap_or(u32::MAX);
        let seq = self.seq + offset;
        header[4..8].copy_from_slice(&seq.value().to_be_bytes());
        let (first, last) = (self.next == 0, self.remaining() == 1);
        // RFC 3168 §6.1.2: CWR marks the segment at which a reduction took effect.
        let not_here = if first { 0 } else { tcp::Flags::CWR.bits() };
        let not_yet = if last { 0 } else { tcp::Flags::FIN.bits() | tcp::Flags::PSH.bits() };
        header[13] &= !(not_here | not_yet);
        header[tcp::CHECKSUM_AT..tcp::CHECKSUM_AT + 2].fill(0);
        let pseudo_header = self.packet.pseudo_header_of(header.len() + payload.len());
        let checksum = pseudo_header.with(header).with(payload).field();
        header[tcp::CHECKSUM_AT..tcp::CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests;

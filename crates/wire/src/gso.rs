//! What a device does for a TCP that hands it more than the path carries: cutting and summing, in
//! bytes.
//!
//! A packet comes from, or goes to, such a device with a header before it (virtio 1.2 §5.1.6; on
//! Linux, a TUN device with `IFF_VNET_HDR`): [`Offload`]. It says that the TCP checksum holds the
//! sum over the pseudo-header only and is to be [completed](complete), and that the packet is to be
//! cut into segments, which [`Cutter`] does. To send such a packet, write its TCP header by
//! [`tcp::Repr::partial_header`], or let a [`Joiner`] make it of segments that are there.

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

// Virtio 1.2 §5.1.6: bits of the flags, and kinds of segmentation.
const NEEDS_CHECKSUM: u8 = 1;
const CHECKED: u8 = 2;
const NONE: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const ECN: u8 = 0x80;

/// What the header before a packet says: `struct virtio_net_hdr`, in the byte order of this
/// machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offload {
    /// The checksum is to be completed.
    pub checksum: Option<PartialChecksum>,
    /// The packet is to be cut.
    pub segmentation: Option<Segmentation>,
    /// The checksum has been found good: no need to look again.
    pub checked: bool,
}

/// Where a sum is to be taken and put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialChecksum {
    /// From which byte of the packet to its end.
    pub start: u16,
    /// How far behind `start` the field is, in bytes.
    pub offset: u16,
}

/// How a packet is to be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmentation {
    /// Of which IP it is.
    pub version: Version,
    /// The payload of each segment in bytes; what remains is in the last.
    pub size: NonZeroU16,
    /// CWR is set, and belongs to the first segment only.
    pub ecn: bool,
    /// The bytes of all headers. A hint: the packet itself says it too.
    pub header_len: u16,
}

/// What such a header asks for that we cannot do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OffloadError {
    /// Segmentation of something else than TCP.
    #[error("cannot read an offload header: segmentation of kind {kind} is not TCP's")]
    Kind {
        /// The kind, without the bit for ECN.
        kind: u8,
    },
    /// Segments of nothing.
    #[error("cannot read an offload header: segments of 0 bytes")]
    Size,
    /// A checksum that is not in the packet.
    #[error("cannot complete a checksum at byte {start} + {offset}: the packet has {len} bytes")]
    Place {
        /// Where the sum begins.
        start: u16,
        /// How far behind it the field is.
        offset: u16,
        /// The bytes of the packet.
        len: usize,
    },
}

impl Offload {
    /// The bytes of the header.
    pub const LEN: usize = 10;

    /// A packet that is ready as it is.
    pub const NONE: Self = Self { checksum: None, segmentation: None, checked: false };

    /// For a segment whose header was written by [`tcp::Repr::partial_header`]: to be cut into
    /// segments of `size`, if it is longer.
    pub fn of(ip: &ip::Repr, tcp: &tcp::Repr, size: NonZeroU16) -> Self {
        let segment = tcp.segment();
        let start = ip.version().header_len();
        let header_len = start + tcp.len() - usize::try_from(segment.payload_len).unwrap_or(0);
        // Both headers together have 100 bytes at the most.
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

    /// What a header says.
    ///
    /// # Errors
    /// When it asks for segmentation of something else than TCP.
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

    /// The bytes of the header.
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

/// Completes the checksum of a packet, whose field holds the sum over the pseudo-header.
///
/// # Errors
/// When the field is not in the packet; nothing is changed then.
pub fn complete(packet: &mut [u8], checksum: PartialChecksum) -> Result<(), OffloadError> {
    let PartialChecksum { start, offset } = checksum;
    let (from, at) = (usize::from(start), usize::from(start) + usize::from(offset));
    if packet.len() < at + 2 {
        return Err(OffloadError::Place { start, offset, len: packet.len() });
    }
    // RFC 768: a sum of zero is sent as the other zero, since UDP's zero means that there is none.
    // It is as good to TCP.
    let field = match Checksum::of(&packet[from..]).field() {
        0 => u16::MAX,
        field => field,
    };
    packet[at..at + 2].copy_from_slice(&field.to_be_bytes());
    Ok(())
}

/// Cuts a TCP packet into segments, each a packet of its own with checksums that are whole.
#[derive(Debug, Clone)]
pub struct Cutter<'a> {
    packet: ip::View<'a>,
    /// All that comes before the payload.
    headers: &'a [u8],
    /// How much of it is IP's.
    ip_len: usize,
    seq: SeqNum,
    payload: &'a [u8],
    size: usize,
    segments: usize,
    /// The number of the next one.
    next: usize,
}

/// Why a packet cannot be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CutError {
    /// Not a packet.
    #[error("cannot cut a packet into segments: {0}")]
    Ip(#[from] ip::ViewError),
    /// A packet without a TCP header.
    #[error("cannot cut a packet into segments: {0}")]
    Tcp(#[from] tcp::ViewError),
    /// Another protocol, or a fragment.
    #[error(
        "cannot cut a packet into segments: it is no whole packet of TCP (protocol {protocol})"
    )]
    Protocol {
        /// The protocol.
        protocol: u8,
    },
    /// SYN, RST or URG, which would mean something else in each segment.
    #[error("cannot cut a packet into segments: it has one of the control bits SYN, RST, URG")]
    Control,
}

impl<'a> Cutter<'a> {
    /// For segments of `size` bytes of payload; the last may have fewer. A packet that is no longer
    /// stays one.
    ///
    /// # Errors
    /// When it is no TCP packet, or one that cannot be cut.
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
            // One for a packet without payload.
            segments: payload.len().div_ceil(size).max(1),
            next: 0,
        })
    }

    /// How many segments there are still to come.
    pub fn remaining(&self) -> usize {
        self.segments - self.next
    }

    /// Appends the next segment's packet; `false`, with nothing appended, when there is none.
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

    /// The packet's own length, and what else tells it apart from the others.
    fn adapt_ip(&self, header: &mut [u8], payload_len: usize) {
        // None is longer than the packet that they are cut from, whose lengths have 16 bits.
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
            // Its length counts the extension headers.
            ip::View::V6(_) => {
                header[4..6].copy_from_slice(&word(self.ip_len - ipv6::HEADER_LEN + payload_len));
            }
        }
    }

    /// Sequence number, control bits and checksum.
    fn adapt_tcp(&self, header: &mut [u8], payload: &[u8]) {
        let offset = u32::try_from(self.next * self.size).unwrap_or(u32::MAX);
        let seq = self.seq + offset;
        header[4..8].copy_from_slice(&seq.value().to_be_bytes());
        let (first, last) = (self.next == 0, self.remaining() == 1);
        // RFC 3168 §6.1.2: CWR says where a reduction took effect.
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

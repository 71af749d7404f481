//! A validated TCP segment.

use std::fmt;

use crate::layout::PackedReport;
use crate::report::Report;
use crate::sack::SackBlocks;
use crate::santa_cruz::SantaCruz;
use crate::seq::SeqNum;
use crate::window::{Mss, UnscaledWindow, WindowScale};

/// Control bits that exclude each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Control {
    /// None of SYN, FIN and RST.
    #[default]
    None,
    /// SYN: opens the connection. It has one sequence number before the payload.
    Syn,
    /// FIN: ends the stream. It has one sequence number after the payload.
    Fin,
    /// RST: aborts the connection.
    Rst,
}

impl Control {
    /// Number of sequence numbers of the bit itself.
    pub const fn seq_len(self) -> u32 {
        match self {
            Self::Syn | Self::Fin => 1,
            Self::None | Self::Rst => 0,
        }
    }
}

/// ECN field of the IP header (RFC 3168 §5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not-ECT: a router drops the packet instead of marking it.
    #[default]
    NotEct,
    /// ECT(1).
    Ect1,
    /// ECT(0), which TCP uses.
    Ect0,
    /// Congestion experienced: a router has marked the packet.
    Ce,
}

impl Ecn {
    /// Decodes the two lowest bits of a byte, which is the header's second byte.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Returns whether a router may mark the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// Independent bits in one byte: PSH, ECE and CWR of the TCP header, and the ECN field of the IP
/// header, which TCP also uses.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// No bits, and Not-ECT.
    pub const NONE: Self = Self(0);
    /// PSH: the sender requests prompt delivery.
    pub const PSH: Self = Self(1 << 2);
    /// ECN-Echo (RFC 3168 §6.1).
    pub const ECE: Self = Self(1 << 3);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Self = Self(1 << 4);
    const ECN: u8 = 0b11;

    /// Returns whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns these bits, with those of `other` if `wanted`.
    #[must_use]
    pub const fn with(self, other: Self, wanted: bool) -> Self {
        if wanted { Self(self.0 | other.0) } else { self }
    }

    /// ECN field of the packet.
    pub const fn ecn(self) -> Ecn {
        Ecn::from_bits(self.0)
    }

    /// Returns these bits with this ECN field.
    #[must_use]
    pub const fn with_ecn(self, ecn: Ecn) -> Self {
        Self(self.0 & !Self::ECN | ecn as u8)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(Self::PSH, "PSH "), (Self::ECE, "ECE "), (Self::CWR, "CWR ")];
        for (_, name) in names.into_iter().filter(|(bit, _)| self.has(*bit)) {
            f.write_str(name)?;
        }
        write!(f, "{:?}", self.ecn())
    }
}

/// Timestamps option (RFC 7323 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timestamps {
    /// `TSval`: clock of the sender.
    pub val: u32,
    /// `TSecr`: echo of the peer's clock.
    pub ecr: u32,
}

/// Options of a segment. Those of a SYN are `None` on every other segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size (SYN only).
    pub mss: Option<Mss>,
    /// Window scale (SYN only, RFC 7323 §2).
    pub window_scale: Option<WindowScale>,
    /// SACK permitted (SYN only, RFC 2018 §2).
    pub sack_permitted: bool,
    /// TCP Santa Cruz permitted (SYN only).
    pub santa_cruz_permitted: bool,
    /// Written in the order of Linux: timestamps take the place of the padding of SACK permitted,
    /// and the window scale follows. A reader does not report the order.
    pub is_compact: bool,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks or the option of TCP Santa Cruz. A [`Report`] converts into this field, and
    /// [`report`](Self::report) returns it.
    pub reports: PackedReport,
}

impl Options {
    /// SACK blocks or the option of TCP Santa Cruz.
    pub fn report(&self) -> Report {
        self.reports.unpack()
    }

    /// SACK blocks; empty if there are none.
    #[inline]
    pub fn sack_blocks(&self) -> SackBlocks {
        self.reports.sack_blocks()
    }

    /// Option of TCP Santa Cruz, if there is one.
    #[inline]
    pub fn santa_cruz(&self) -> Option<SantaCruz> {
        self.reports.santa_cruz()
    }

    /// Returns whether SACK permitted and timestamps share their padding.
    pub(crate) const fn joins_timestamps(&self) -> bool {
        self.is_compact && self.sack_permitted && self.timestamps.is_some()
    }

    /// Length of the options in the header in bytes, padded to whole words as common
    /// implementations do.
    pub const fn wire_len(&self) -> u32 {
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let scale = if self.window_scale.is_some() { 4 } else { 0 };
        let permitted = if self.sack_permitted && !self.joins_timestamps() { 4 } else { 0 };
        let santa_cruz = if self.santa_cruz_permitted { 4 } else { 0 };
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        mss + scale + permitted + santa_cruz + timestamps + self.reports.wire_len()
    }
}

/// A TCP segment. The payload is a length; the owner of the stream has the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first payload byte, or of the SYN.
    pub seq: SeqNum,
    /// Acknowledgment number, if the ACK bit is set.
    pub ack: Option<SeqNum>,
    /// SYN, FIN or RST.
    pub control: Control,
    /// PSH, ECE, CWR, and the ECN field of the packet.
    pub flags: Flags,
    /// Advertised window, unscaled.
    pub window: UnscaledWindow,
    /// Number of payload bytes.
    pub payload_len: u32,
    /// Options.
    pub options: Options,
}

impl Segment {
    /// Length of an IPv4 header without options, in bytes.
    pub const IPV4_HEADER: u32 = 20;
    /// Length of a TCP header without options, in bytes.
    pub const TCP_HEADER: u32 = 20;

    /// RFC 3168 §6.1.1: returns whether a SYN negotiates ECN: ECE and CWR without an
    /// acknowledgment, ECE alone with one. A peer that reflects the received bits does not support
    /// ECN.
    pub const fn is_ecn_setup(&self) -> bool {
        self.flags.has(Flags::ECE) && self.flags.has(Flags::CWR) == self.ack.is_none()
    }

    /// SEG.LEN of RFC 9293: payload plus the sequence number of SYN or FIN.
    pub const fn seq_len(&self) -> u32 {
        self.payload_len + self.control.seq_len()
    }

    /// Sequence number after the segment.
    pub fn seq_end(&self) -> SeqNum {
        self.seq + self.seq_len()
    }

    /// Length of the IPv4 packet with the segment, in bytes.
    pub const fn ipv4_len(&self) -> u32 {
        Self::IPV4_HEADER + Self::TCP_HEADER + self.options.wire_len() + self.payload_len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sack::SeqRange;

    fn data(payload_len: u32) -> Segment {
        Segment {
            seq: SeqNum::new(1),
            ack: Some(SeqNum::new(1)),
            control: Control::None,
            flags: Flags::NONE,
            window: UnscaledWindow::new(1000),
            payload_len,
            options: Options::default(),
        }
    }

    #[test]
    fn header_lengths() {
        assert_eq!(data(1460).ipv4_len(), 1500);
        let mut ack = data(0);
        ack.options.timestamps = Some(Timestamps { val: 1, ecr: 2 });
        ack.options.reports =
            [SeqRange::new(SeqNum::new(5), SeqNum::new(9)).unwrap()].into_iter().collect();
        assert_eq!(ack.ipv4_len(), 40 + 12 + 12);
    }

    #[test]
    fn syn_and_fin_have_a_sequence_number() {
        let fin = Segment { control: Control::Fin, ..data(10) };
        assert_eq!(fin.seq_end(), SeqNum::new(12));
    }

    #[test]
    fn flags_are_independent() {
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            let flags = Flags::PSH.with(Flags::CWR, true).with(Flags::ECE, false).with_ecn(ecn);
            assert_eq!(flags.ecn(), ecn);
            assert_eq!((flags.has(Flags::PSH), flags.has(Flags::CWR)), (true, true));
            assert!(!flags.has(Flags::ECE));
            assert_eq!(flags.with_ecn(Ecn::NotEct).ecn(), Ecn::NotEct);
        }
        let marked = Flags::ECE.with_ecn(Ecn::Ce);
        assert_eq!(format!("{marked:?} {:?}", Flags::NONE), "ECE Ce NotEct");
    }

    /// RFC 3168 §6.1.1: combinations of ECE and CWR on a SYN.
    #[test]
    fn ecn_setup_bits_of_a_syn() {
        let both = Flags::ECE.with(Flags::CWR, true);
        for (flags, offers, accepts) in [
            (Flags::NONE, false, false),
            (Flags::ECE, false, true),
            (Flags::CWR, false, false),
            (both, true, false),
        ] {
            let syn = Segment { control: Control::Syn, ack: None, flags, ..data(0) };
            assert_eq!(syn.is_ecn_setup(), offers, "{flags:?}");
            let answer = Segment { ack: Some(SeqNum::new(1)), ..syn };
            assert_eq!(answer.is_ecn_setup(), accepts, "{flags:?}");
        }
    }

    #[test]
    fn segment_is_small() {
        let size = size_of::<Segment>();
        assert!(
            size <= 76,
            "Segment grew to {size} bytes; see benches/NOTES.md, \"Stalls\"; the number may be raised"
        );
    }
}

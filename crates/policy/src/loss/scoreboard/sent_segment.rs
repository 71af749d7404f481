//! A segment in flight.

use units::Instant;
use wire::{CopyNumber, SeqNum};

use crate::facts::Transmission;

/// A range of sequence numbers sent as one segment. Its marks are independent and occur in all
/// combinations. A large window has many of these, so the struct is small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentSegment {
    sent_at: Instant,
    seq: SeqNum,
    len: u16,
    /// Marks, and above them the number of the last transmission.
    state: u8,
    /// For a sacked segment: at least 2^`run` segments from this one on are sacked. Every
    /// acknowledgment repeats earlier reports, and this skips them.
    run: u8,
}

const _: () = assert!(size_of::<SentSegment>() == 16);

/// Marks of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Mark {
    /// The receiver has reported its arrival.
    Sacked = 1,
    /// It counts as lost.
    Lost = 2,
    /// It has been retransmitted since recovery began.
    Resent = 4,
}

const MARKS: u8 = Mark::Sacked as u8 | Mark::Lost as u8 | Mark::Resent as u8;
const COPY_SHIFT: u32 = 4;

impl SentSegment {
    /// Creates a segment that is sent now. It has at most 65 535 sequence numbers, as any segment.
    /// `again` says that part of it had been sent before.
    pub(super) fn new(seq: SeqNum, len: u32, now: Instant, again: bool) -> Self {
        let copy = if again { CopyNumber::LAST } else { CopyNumber::FIRST };
        debug_assert!(u16::try_from(len).is_ok(), "no segment has {len} sequence numbers");
        let len = u16::try_from(len).unwrap_or(u16::MAX);
        Self { sent_at: now, seq, len, state: copy.get() << COPY_SHIFT, run: 0 }
    }

    /// First sequence number and length of the segment.
    pub fn range(&self) -> (SeqNum, u32) {
        (self.seq, self.len())
    }

    /// Time of the last transmission.
    pub fn sent_at(&self) -> Instant {
        self.sent_at
    }

    /// Last transmission.
    pub fn last_transmission(&self) -> Transmission {
        Transmission { sent_at: self.sent_at, seq: self.seq }
    }

    /// Returns whether any part of it was sent more than once.
    pub fn was_resent(&self) -> bool {
        self.state >> COPY_SHIFT != CopyNumber::FIRST.get()
    }

    /// Returns whether the receiver has reported its arrival.
    pub fn is_reported(&self) -> bool {
        self.is(Mark::Sacked)
    }

    /// Returns whether it counts as lost, whether retransmitted since or not.
    pub fn is_lost(&self) -> bool {
        self.is(Mark::Lost)
    }

    /// Number of the last transmission. It is unknown for segments of changed boundaries.
    pub fn copy(&self) -> CopyNumber {
        CopyNumber::new(self.state >> COPY_SHIFT).unwrap_or(CopyNumber::LAST)
    }

    pub(super) fn seq(&self) -> SeqNum {
        self.seq
    }

    pub(super) fn len(&self) -> u32 {
        u32::from(self.len)
    }

    pub(super) fn end(&self) -> SeqNum {
        self.seq + self.len()
    }

    pub(super) fn is(&self, mark: Mark) -> bool {
        self.state & mark as u8 != 0
    }

    pub(super) fn is_marked(&self) -> bool {
        self.state & MARKS != 0
    }

    pub(super) fn set(&mut self, mark: Mark) {
        self.state |= mark as u8;
    }

    pub(super) fn unset(&mut self, mark: Mark) {
        self.state &= !(mark as u8);
        if mark == Mark::Sacked {
            self.run = 0;
        }
    }

    /// Marks the last transmission as lost, so that the segment awaits retransmission.
    pub(super) fn lose(&mut self) {
        self.set(Mark::Lost);
        self.unset(Mark::Resent);
    }

    pub(super) fn awaits_repair(&self) -> bool {
        self.state & MARKS == Mark::Lost as u8
    }

    /// Number of copies in the network as far as the sender knows (RFC 6675 §4, `SetPipe`).
    pub(super) fn copies_in_pipe(&self) -> u32 {
        match (self.is(Mark::Sacked), self.is(Mark::Lost)) {
            (true, _) => 0,
            (false, lost) => u32::from(!lost) + u32::from(self.is(Mark::Resent)),
        }
    }

    /// Notes a retransmission.
    pub(super) fn resend(&mut self, now: Instant) {
        self.state =
            self.copy().next().get() << COPY_SHIFT | self.state & MARKS | Mark::Resent as u8;
        self.sent_at = now;
    }

    /// Splits the segment into its first `len` sequence numbers, fewer than all, and the rest.
    pub(super) fn split(self, len: u32) -> (Self, Self) {
        let first = u16::try_from(len).unwrap_or(u16::MAX).min(self.len);
        let tail = Self { seq: self.seq + u32::from(first), len: self.len - first, ..self };
        (Self { len: first, ..self }, tail)
    }

    /// Appends `more` sequence numbers from the following segment. The result was sent in several
    /// segments, so it counts as sent more than once.
    pub(super) fn lengthen(&mut self, more: u32) {
        self.len = u16::try_from(self.len() + more).unwrap_or(u16::MAX);
        self.state = CopyNumber::LAST.get() << COPY_SHIFT | self.state & MARKS;
    }

    /// For a sacked segment, the number of segments to skip to the first that may not be sacked.
    pub(super) fn run_len(&self) -> usize {
        1 << self.run
    }

    /// Notes that `sacked` segments from this one on are sacked, including itself.
    pub(super) fn set_run(&mut self, sacked: usize) {
        self.run = u8::try_from(sacked.max(1).ilog2()).unwrap_or(0);
    }
}

//! What is in flight as one segment.

use units::Instant;
use wire::{CopyNumber, SeqNum};

/// A run of sequence numbers that left as one segment. Its marks are independent; all combinations
/// occur. A wide window is a great many of these, so they are small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentSegment {
    sent_at: Instant,
    seq: SeqNum,
    len: u16,
    /// Its marks, and above them which transmission of it was the last.
    state: u8,
    /// Of a sacked cut: two to the power of this from this one on are sacked, if not more. What
    /// was reported once is reported again with every acknowledgment, and this leads past it.
    run: u8,
}

const _: () = assert!(size_of::<SentSegment>() == 16);

/// What is known of a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Mark {
    /// It has been reported to have arrived.
    Sacked = 1,
    /// It counts as lost.
    Lost = 2,
    /// It has been sent again since recovery began.
    Resent = 4,
}

const MARKS: u8 = Mark::Sacked as u8 | Mark::Lost as u8 | Mark::Resent as u8;
const COPY_SHIFT: u32 = 4;

impl SentSegment {
    /// One that leaves, of up to 65 535 sequence numbers: no segment has more. `again` when any of
    /// it had been sent before.
    pub(super) fn new(seq: SeqNum, len: u32, now: Instant, again: bool) -> Self {
        let copy = if again { CopyNumber::LAST } else { CopyNumber::FIRST };
        debug_assert!(u16::try_from(len).is_ok(), "no segment has {len} sequence numbers");
        let len = u16::try_from(len).unwrap_or(u16::MAX);
        Self { sent_at: now, seq, len, state: copy.get() << COPY_SHIFT, run: 0 }
    }

    /// The sequence numbers of the cut.
    pub fn range(&self) -> (SeqNum, u32) {
        (self.seq, self.len())
    }

    /// When it was last sent.
    pub fn sent_at(&self) -> Instant {
        self.sent_at
    }

    /// Whether any of it was sent more than once.
    pub fn was_resent(&self) -> bool {
        self.state >> COPY_SHIFT != CopyNumber::FIRST.get()
    }

    /// Which transmission of it was the last. That of what was cut anew is not known.
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

    /// Its last transmission is lost, so it waits to be sent again.
    pub(super) fn lose(&mut self) {
        self.set(Mark::Lost);
        self.unset(Mark::Resent);
    }

    pub(super) fn awaits_repair(&self) -> bool {
        self.state & MARKS == Mark::Lost as u8
    }

    /// In the network as far as the sender knows (RFC 6675 §4, `SetPipe`).
    pub(super) fn copies_in_pipe(&self) -> u32 {
        match (self.is(Mark::Sacked), self.is(Mark::Lost)) {
            (true, _) => 0,
            (false, lost) => u32::from(!lost) + u32::from(self.is(Mark::Resent)),
        }
    }

    /// It leaves again.
    pub(super) fn resend(&mut self, now: Instant) {
        self.state =
            self.copy().next().get() << COPY_SHIFT | self.state & MARKS | Mark::Resent as u8;
        self.sent_at = now;
    }

    /// The first `len` numbers of it, fewer than all, and the others.
    pub(super) fn split(self, len: u32) -> (Self, Self) {
        let first = u16::try_from(len).unwrap_or(u16::MAX).min(self.len);
        let tail = Self { seq: self.seq + u32::from(first), len: self.len - first, ..self };
        (Self { len: first, ..self }, tail)
    }

    /// Takes `more` numbers from the cut behind it. What it then holds left in several segments, so
    /// it counts as sent more than once.
    pub(super) fn lengthen(&mut self, more: u32) {
        self.len = u16::try_from(self.len() + more).unwrap_or(u16::MAX);
        self.state = CopyNumber::LAST.get() << COPY_SHIFT | self.state & MARKS;
    }

    /// From a cut that is sacked, how many to go on to the first that may not be.
    pub(super) fn run_len(&self) -> usize {
        1 << self.run
    }

    /// Notes that so many from this one on are sacked, itself included.
    pub(super) fn set_run(&mut self, sacked: usize) {
        self.run = u8::try_from(sacked.max(1).ilog2()).unwrap_or(0);
    }
}

//! Copies of the last segment of a write, as a precaution.

use units::Instant;
use wire::{Flags, Segment};

use crate::connection::Connection;
use crate::event::{Event, Repair};
use crate::send::TailCopies;

impl Connection {
    /// Number of segments that were sent a second time as a precaution, although nothing indicated
    /// a loss. [`statistics`](Self::statistics) counts them as sent, but not as retransmitted.
    pub fn copied_segments(&self) -> u32 {
        self.copied().0
    }

    /// Number of payload bytes in these segments.
    pub fn copied_bytes(&self) -> u64 {
        self.copied().1
    }

    fn copied(&self) -> (u32, u64) {
        self.snd.special.copies().map_or((0, 0), TailCopies::sent)
    }

    /// Returns whether the ends of writes are copied.
    #[inline]
    pub(super) fn has_copies(&self) -> bool {
        self.snd.special.copies().is_some()
    }

    /// Schedules the copy of a segment that is sent for the first time, if it ends the queued data.
    /// PSH says that a write ends there. Data that follows the end of a write reveals its loss.
    #[cold]
    #[inline(never)]
    pub(super) fn copy_end_of_write(&mut self, segment: Segment, now: Instant) {
        let is_end = segment.payload_len > 0
            && segment.flags.has(Flags::PSH)
            && !segment.seq_end().before(self.snd.data_end);
        if !is_end {
            return;
        }
        let una = self.snd.una;
        if let Some(copies) = self.snd.special.copies_mut()
            && let Some(due) = copies.schedule(&segment, una, now)
        {
            self.timers.state = self.timers.state.min(due);
        }
    }

    /// Returns the copy that is due, if there is one. It precedes other segments.
    #[cold]
    #[inline(never)]
    pub(super) fn take_copy(&mut self, now: Instant) -> Option<Segment> {
        if !self.state.is_synchronized() {
            return None;
        }
        let una = self.snd.una;
        let copy = self.snd.special.copies_mut()?.take_due(una, now)?;
        self.snd.statistics.segments += 1;
        self.snd.statistics.bytes += u64::from(copy.payload_len);
        let event = self.snd.event(now, Repair::TailCopy);
        self.emit(Event::Loss(event));
        Some(copy)
    }
}

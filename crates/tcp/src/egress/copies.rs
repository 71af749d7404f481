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

    /// Returns the next segment to send. A copy that is due precedes others.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_with_copies(&mut self, now: Instant) -> Option<Segment> {
        if !self.owes_reset()
            && self.state.is_synchronized()
            && let Some(copy) = self.take_copy(now)
        {
            return Some(copy);
        }
        let max = self.snd.max;
        let segment = self.poll_next(now)?;
        let is_new = segment.payload_len > 0 && segment.seq == max;
        if is_new && segment.flags.has(Flags::PSH) && !segment.seq_end().before(self.snd.data_end) {
            self.schedule_copy(&segment, now);
        }
        Some(segment)
    }

    /// Schedules the copy of a segment that is sent for the first time and ends the queued data.
    /// PSH says that a write ends there. Data that follows the end of a write reveals its loss.
    fn schedule_copy(&mut self, segment: &Segment, now: Instant) {
        let una = self.snd.una;
        if let Some(copies) = self.snd.special.copies_mut()
            && let Some(due) = copies.schedule(segment, una, now)
        {
            self.timers.state = self.timers.state.min(due);
        }
    }

    /// Returns the copy that is due, if there is one.
    fn take_copy(&mut self, now: Instant) -> Option<Segment> {
        let una = self.snd.una;
        let copy = self.snd.special.copies_mut()?.take_due(una, now)?;
        self.snd.statistics.segments += 1;
        self.snd.statistics.bytes += u64::from(copy.payload_len);
        let event = self.snd.event(now, Repair::TailCopy);
        self.emit(Event::Loss(event));
        Some(copy)
    }
}

//! Acknowledgments of copies that the sender made as a precaution.

use units::Instant;
use wire::{Control, Segment, SeqNum};

use crate::connection::Connection;

impl Connection {
    /// Returns whether the acknowledgment only reports a copy, if the ends of writes are copied.
    #[inline]
    pub(super) fn is_of_copy(
        &mut self,
        segment: &Segment,
        ack: SeqNum,
        changes: bool,
        now: Instant,
    ) -> bool {
        self.snd.special.copies().is_some() && self.acknowledges_copy(segment, ack, changes, now)
    }

    /// Returns whether the acknowledgment only reports that a copy arrived besides its original
    /// (`send::copies`). `changes_window` says that it has another window.
    #[cold]
    #[inline(never)]
    fn acknowledges_copy(
        &mut self,
        segment: &Segment,
        ack: SeqNum,
        changes_window: bool,
        now: Instant,
    ) -> bool {
        let (una, limit) = (self.snd.una, self.rto() * 2);
        let Some(copies) = self.snd.special.copies_mut() else { return false };
        copies.forget_overdue(now, limit);
        let reports = &segment.options.reports;
        if !reports.is_none() {
            return copies.take_report(ack, &reports.sack_blocks());
        }
        // RFC 5681 §2: a duplicate acknowledgment.
        let duplicate = ack == una
            && segment.payload_len == 0
            && segment.control == Control::None
            && !changes_window;
        duplicate && copies.take_duplicate(ack)
    }
}

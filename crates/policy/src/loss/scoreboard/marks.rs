//! Sums and search positions over the marks of the scoreboard. The positions only advance until
//! recovery ends.

use std::collections::VecDeque;

use super::{Mark, SentSegment};

/// Sums of marks, and search positions. Positions are indexes from the front of the queue. They are
/// undefined while [no](Self::any) segment is marked. The struct is part of the scoreboard, because
/// separately allocated memory would be a cache miss when a loss occurs.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    /// Number of segments that are sacked, lost or resent.
    pub(super) marked: u32,
    /// Number of segments that are sacked.
    pub(super) sacked: u32,
    /// Number of segments that are lost, and neither resent nor sacked.
    pub(super) awaiting_repair: u32,
    /// Number of sacked segments at or above `frontier`.
    pub(super) sacked_above: u32,
    /// All segments below this index are sacked or lost.
    pub(super) frontier: u32,
    /// Index of the last sacked segment, if there is one.
    pub(super) highest: u32,
    /// Index of the first segment that awaits retransmission, if there is one.
    pub(super) next_lost: u32,
    /// All segments below this index are sacked or resent. The segment at this index is neither, or
    /// it is not below `highest`.
    pub(super) next_hole: u32,
}

impl Marks {
    /// Creates the sums for a queue in which only the segment at `index` is marked.
    pub(super) fn of_one(index: usize, segment: &SentSegment) -> Self {
        let (index, sacked) = (to_u32(index), u32::from(segment.is(Mark::Sacked)));
        Self {
            marked: 1,
            sacked,
            awaiting_repair: u32::from(segment.awaits_repair()),
            sacked_above: sacked,
            frontier: 0,
            highest: if segment.is(Mark::Sacked) { index } else { 0 },
            next_lost: index,
            next_hole: 0,
        }
    }

    /// Returns whether any segment is marked.
    pub(super) fn any(&self) -> bool {
        self.marked > 0
    }

    /// Updates the sums after the first segment left the queue.
    pub(super) fn popped(&mut self, segment: &SentSegment) {
        if self.frontier == 0 {
            self.sacked_above -= u32::from(segment.is(Mark::Sacked));
        }
        self.forget(segment);
        for position in self.search_indexes() {
            *position = position.saturating_sub(1);
        }
    }

    /// Updates the sums after the segment at `index` was split in two with equal marks.
    pub(super) fn split(&mut self, index: usize, segment: &SentSegment) {
        let index = to_u32(index);
        if self.frontier <= index {
            self.sacked_above += u32::from(segment.is(Mark::Sacked));
        }
        self.remember(segment);
        for position in self.search_indexes() {
            *position += u32::from(*position > index);
        }
        if segment.is(Mark::Sacked) {
            self.highest = self.highest.max(index + 1);
        }
    }

    /// Updates the sums after the segment at `index`, which was lost and not resent, was merged
    /// into the one before it.
    pub(super) fn removed(&mut self, index: usize, segment: &SentSegment) {
        let index = to_u32(index);
        self.forget(segment);
        for position in self.search_indexes() {
            *position -= u32::from(*position > index);
        }
    }

    /// Updates the sums after the marks of the segment at `index` changed.
    pub(super) fn changed(&mut self, index: usize, before: &SentSegment, after: &SentSegment) {
        let index = to_u32(index);
        self.forget(before);
        self.remember(after);
        if after.is(Mark::Sacked) && !before.is(Mark::Sacked) {
            self.highest = self.highest.max(index);
            self.sacked_above += u32::from(index >= self.frontier);
        }
        if after.awaits_repair() {
            self.next_lost = self.next_lost.min(index);
        }
    }

    /// Updates the search position of holes after the segment at `index` ceased to be resent.
    pub(super) fn reopen(&mut self, index: usize) {
        self.next_hole = self.next_hole.min(to_u32(index));
    }

    /// Resets the search positions after marks were removed, perhaps from segments already passed.
    pub(super) fn restart_search(&mut self) {
        (self.frontier, self.next_lost, self.next_hole) = (0, 0, 0);
        self.sacked_above = self.sacked;
        if self.sacked == 0 {
            self.highest = 0;
        }
    }

    /// Advances the search positions past segments that no longer match.
    pub(super) fn advance_search(&mut self, segments: &VecDeque<SentSegment>) {
        if self.awaiting_repair > 0 {
            while segments
                .get(self.next_lost as usize)
                .is_some_and(|segment| !segment.awaits_repair())
            {
                self.next_lost += 1;
            }
        }
        if self.sacked > 0 {
            while self.next_hole < self.highest
                && segments
                    .get(self.next_hole as usize)
                    .is_some_and(|segment| segment.is(Mark::Sacked) || segment.is(Mark::Resent))
            {
                self.next_hole += 1;
            }
        }
    }

    fn remember(&mut self, segment: &SentSegment) {
        self.marked += u32::from(segment.is_marked());
        self.sacked += u32::from(segment.is(Mark::Sacked));
        self.awaiting_repair += u32::from(segment.awaits_repair());
    }

    fn forget(&mut self, segment: &SentSegment) {
        self.marked -= u32::from(segment.is_marked());
        self.sacked -= u32::from(segment.is(Mark::Sacked));
        self.awaiting_repair -= u32::from(segment.awaits_repair());
    }

    fn search_indexes(&mut self) -> [&mut u32; 4] {
        [&mut self.frontier, &mut self.highest, &mut self.next_lost, &mut self.next_hole]
    }
}

/// Converts an index. There are fewer segments than sequence numbers.
fn to_u32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

//! What the scoreboard knows of its marks: sums, and places in the queue that only move towards its
//! end until recovery is over.

use std::collections::VecDeque;

use super::{Mark, SentSegment};

/// Sums of marks, and where to look next. Places are counted from the front of the queue; they say
/// nothing while no cut has [any](Self::any). They stand beside the queue, however seldom they are
/// needed: what is allocated for a loss lies where nobody has looked for long.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    /// Cuts that are sacked, lost or resent.
    pub(super) marked: u32,
    /// Cuts that are sacked.
    pub(super) sacked: u32,
    /// Cuts that are lost, and neither resent nor sacked.
    pub(super) awaiting_repair: u32,
    /// Cuts that are sacked, at `frontier` and above.
    pub(super) sacked_above: u32,
    /// All below are sacked or lost.
    pub(super) frontier: u32,
    /// The last cut that is sacked, if any is.
    pub(super) highest: u32,
    /// None below awaits repair. That one does, if any.
    pub(super) next_lost: u32,
    /// All below are sacked or resent. That one isn't, or it isn't below `highest`.
    pub(super) next_hole: u32,
}

impl Marks {
    /// Those of the cut at `index`, the only one that has any.
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

    /// Whether any cut has any.
    pub(super) fn any(&self) -> bool {
        self.marked > 0
    }

    /// The first cut left the queue.
    pub(super) fn popped(&mut self, segment: &SentSegment) {
        if self.frontier == 0 {
            self.sacked_above -= u32::from(segment.is(Mark::Sacked));
        }
        self.forget(segment);
        for position in self.search_indexes() {
            *position = position.saturating_sub(1);
        }
    }

    /// The cut at `index` became two, both as `cut` was but for their lengths.
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

    /// The cut at `index`, which was lost and not resent, became part of the one before it.
    pub(super) fn removed(&mut self, index: usize, segment: &SentSegment) {
        let index = to_u32(index);
        self.forget(segment);
        for position in self.search_indexes() {
            *position -= u32::from(*position > index);
        }
    }

    /// The marks of the cut at `index` are others now.
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

    /// Marks were taken away, perhaps from cuts that the places had passed.
    pub(super) fn restart_search(&mut self) {
        (self.frontier, self.next_lost, self.next_hole) = (0, 0, 0);
        self.sacked_above = self.sacked;
        if self.sacked == 0 {
            self.highest = 0;
        }
    }

    /// Moves on from where there is nothing any more.
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

/// There are fewer cuts than sequence numbers.
fn to_u32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

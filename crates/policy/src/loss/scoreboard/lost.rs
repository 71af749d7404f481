//! Marks of lost segments: by the number of reports above them (RFC 6675 §4), by the order of
//! transmission (TCP Santa Cruz), or after a timeout.

use wire::SeqNum;

use super::sent_segment::Mark;
use super::{Marks, Scoreboard, SentSegment};
use crate::facts::Transmission;
use crate::loss::Lost;

impl Scoreboard {
    /// RFC 6675 §4, `IsLost(HighACK + 1)`: whether `threshold` segments arrived above the first
    /// one.
    pub fn first_is_lost(&self, threshold: u32) -> bool {
        self.marks.sacked >= threshold
    }

    /// Sequence number below which every hole has at least `threshold` reported segments above it;
    /// `threshold` is one or more. Returns `None` if all those holes have been marked as lost.
    pub fn reported_above(&self, threshold: u32) -> Option<SeqNum> {
        let Marks { frontier, mut sacked_above, .. } = self.marks;
        if !self.marks.any() || sacked_above < threshold {
            return None;
        }
        let begin = frontier as usize;
        let mut index = begin;
        loop {
            let segment = self.segments.get(index)?;
            if segment.is(Mark::Sacked) {
                if sacked_above == threshold {
                    return (index > begin).then_some(segment.seq());
                }
                sacked_above -= 1;
            }
            index += 1;
        }
    }

    /// Transmissions before this one, in sequence order, that have not arrived and do not count as
    /// lost, as far as the sender knows. Only the last transmission of a segment counts.
    pub fn sent_before(&self, bound: Transmission) -> impl Iterator<Item = Transmission> {
        let first = self.next_sent_up_to(0, &bound);
        std::iter::successors(first, move |&index| self.next_sent_up_to(index + 1, &bound))
            .map(|index| self.segments[index].last_transmission())
            .filter(move |transmission| *transmission != bound)
    }

    /// Returns the index of the next segment from `index` on that was last sent by `bound` or
    /// earlier, has not been reported, and does not await retransmission.
    fn next_sent_up_to(&self, mut index: usize, bound: &Transmission) -> Option<usize> {
        loop {
            let segment = self.segments.get(index)?;
            if segment.is(Mark::Sacked) {
                index += segment.run_len();
                continue;
            }
            if !segment.last_transmission().is_after(bound) {
                if !segment.awaits_repair() {
                    return Some(index);
                }
            } else if !segment.was_resent() {
                // All later segments were sent later, and so were their retransmissions.
                return None;
            }
            index += 1;
        }
    }

    /// Marks the segments that a detector found lost.
    #[inline]
    pub fn mark(&mut self, lost: Lost) {
        match lost {
            Lost::Nothing => {}
            Lost::First => self.mark_first(),
            Lost::Before(seq) => self.mark_before(seq),
            Lost::SentUpTo(bound) => self.mark_sent_up_to(&bound),
        }
    }

    fn mark_before(&mut self, bound: SeqNum) {
        if !self.marks.any() {
            self.marks = Marks::default();
        }
        let mut marked = false;
        while let Some(segment) =
            self.segments.get(self.marks.frontier as usize).filter(|s| s.seq().before(bound))
        {
            let index = self.marks.frontier as usize;
            self.marks.frontier += 1;
            if segment.is(Mark::Sacked) {
                self.marks.sacked_above -= 1;
            } else if !segment.is(Mark::Lost) {
                self.change(index, |segment| segment.set(Mark::Lost));
                marked = true;
            }
        }
        if marked {
            self.advance_search();
        }
    }

    fn mark_sent_up_to(&mut self, bound: &Transmission) {
        let mut index = 0;
        while let Some(found) = self.next_sent_up_to(index, bound) {
            self.change(found, SentSegment::lose);
            self.marks.reopen(found);
            index = found + 1;
        }
        self.advance_search();
    }

    /// Marks every unreported segment as lost and not resent. All reports are discarded if the
    /// first segment has been reported: see [`has_reneged`](Self::has_reneged).
    pub fn mark_all_lost(&mut self) {
        let keep_reports = !self.has_reneged();
        for index in 0..self.segments.len() {
            if !keep_reports || !self.segments[index].is(Mark::Sacked) {
                self.change(index, |segment| {
                    segment.unset(Mark::Sacked);
                    segment.lose();
                });
            }
        }
        self.marks.restart_search();
        self.advance_search();
    }

    #[cold]
    fn mark_first(&mut self) {
        if self.segments.front().is_some_and(|segment| !segment.is(Mark::Sacked)) {
            self.change(0, SentSegment::lose);
            self.marks.restart_search();
            self.advance_search();
        }
    }

    /// Returns whether data that was first sent after the retransmission of the first segment has
    /// been reported, so that the retransmission is lost, too. The order of transmissions at the
    /// same time is not known.
    pub fn first_is_lost_again(&self) -> bool {
        let Some(first) = self.segments.front().filter(|_| self.first_is_resent()) else {
            return false;
        };
        self.marks.sacked > 0
            && self.segments.get(self.marks.highest as usize).is_some_and(|highest| {
                highest.sent_at() > first.sent_at() && !highest.is(Mark::Resent)
            })
    }
}

//! Marks of lost segments: by the number of reports above them (RFC 6675 §4), by the order of
//! transmission (TCP Santa Cruz), or after a timeout.

use units::{Duration, Instant};
use wire::SeqNum;

use super::sent_segment::Mark;
use super::{Scoreboard, SentSegment};
use crate::loss::Detection;

impl Scoreboard {
    /// RFC 6675 §4, `IsLost(HighACK + 1)`: whether `threshold` segments arrived above the first
    /// one.
    pub fn first_is_lost(&self, threshold: u32) -> bool {
        self.marks.sacked >= threshold
    }

    /// Marks every hole with at least `threshold` reported segments above it as lost; `threshold`
    /// is one or more. With `first` the first segment is marked in any case, because recovery
    /// begins with it.
    pub fn mark_lost(&mut self, threshold: u32, first: bool) {
        if first
            && self
                .segments
                .front()
                .is_some_and(|segment| !segment.is(Mark::Lost) && !segment.is(Mark::Sacked))
        {
            self.change(0, |segment| segment.set(Mark::Lost));
        }
        let mut marked = first;
        while self.marks.sacked_above >= threshold
            && let Some(segment) = self.segments.get(self.marks.frontier as usize)
        {
            let marks = &mut self.marks;
            let index = marks.frontier as usize;
            if segment.is(Mark::Sacked) {
                if marks.sacked_above == threshold {
                    break;
                }
                marks.sacked_above -= 1;
            }
            marks.frontier += 1;
            if !segment.is(Mark::Sacked) && !segment.is(Mark::Lost) {
                self.change(index, |segment| segment.set(Mark::Lost));
                marked = true;
            }
        }
        if marked {
            self.advance_search();
        }
    }

    /// Marks segments as lost by order of transmission: those last sent before the transmission of
    /// `seq` at `sent_at`, and at least `waited` ago. Reported segments and segments waiting for
    /// retransmission are skipped; retransmissions are included. Returns whether a segment was
    /// marked, and the time at which the next one is due. Of transmissions at the same time, the
    /// lower sequence number counts as earlier.
    pub fn mark_lost_before(
        &mut self,
        (sent_at, seq): (Instant, SeqNum),
        now: Instant,
        waited: Duration,
    ) -> Detection {
        let earlier = |segment: &SentSegment| {
            segment.sent_at() < sent_at || segment.sent_at() == sent_at && segment.seq().before(seq)
        };
        let mut detection = Detection::NONE;
        let mut index = 0;
        while let Some(segment) = self.segments.get(index) {
            if segment.is(Mark::Sacked) {
                index += segment.run_len();
                continue;
            }
            if earlier(segment) && !segment.awaits_repair() {
                let due = segment.sent_at() + waited;
                if due <= now {
                    self.change(index, SentSegment::lose);
                    detection.lost = true;
                } else {
                    detection.next_deadline = detection.next_deadline.min(due);
                }
            } else if !segment.was_resent() && !earlier(segment) {
                // All later segments were sent later, and so were their retransmissions.
                break;
            }
            index += 1;
        }
        if detection.lost {
            self.advance_search();
        }
        detection
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

    /// Marks the first segment as lost and not resent, unless it has been reported.
    #[cold]
    pub fn mark_first_lost(&mut self) {
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

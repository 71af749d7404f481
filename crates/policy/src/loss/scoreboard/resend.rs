//! Retransmission: the next segment to send again (RFC 6675 §4, `NextSeg`), and the segments of the
//! queue after it has been sent.

use units::Instant;
use wire::SeqNum;

use super::sent_segment::Mark;
use super::{Scoreboard, SentSegment};

impl Scoreboard {
    /// RFC 6675 §4, `NextSeg` rule (1): the first lost segment that has not been resent.
    pub fn next_lost(&self) -> Option<SentSegment> {
        (self.marks.awaiting_repair > 0)
            .then(|| self.segments.get(self.marks.next_lost as usize).copied())?
    }

    /// Returns the length of the contiguous run of lost, not resent segments that begins with the
    /// next lost one, at most `limit`, in sequence numbers.
    pub fn lost_run(&self, limit: u32) -> u32 {
        let Some(first) = self.next_lost() else { return 0 };
        let mut bytes = first.len();
        let mut index = self.marks.next_lost as usize + 1;
        while bytes < limit
            && let Some(segment) =
                self.segments.get(index).filter(|segment| segment.awaits_repair())
        {
            bytes += segment.len();
            index += 1;
        }
        bytes.min(limit)
    }

    /// RFC 6675 §4, `NextSeg` rule (3): the first hole below the highest reported segment that has
    /// not been resent, lost or not.
    pub fn next_hole(&self) -> Option<SentSegment> {
        let marks = &self.marks;
        let is_below = marks.sacked > 0 && marks.next_hole < marks.highest;
        is_below.then(|| self.segments.get(marks.next_hole as usize).copied())?
    }

    /// RFC 6675 §4, `NextSeg` rule (4): the last segment that has not been reported. Unlike there,
    /// not if it has just been resent: a flow without further data would resend each loss twice at
    /// once.
    pub fn last_hole(&self) -> Option<SentSegment> {
        if self.segments.back()?.is(Mark::Sacked) {
            // All holes are below a report. If all have been resent, the last one has too.
            self.next_hole()?;
        }
        self.segments
            .iter()
            .rev()
            .find(|segment| !segment.is(Mark::Sacked))
            .filter(|segment| !segment.is(Mark::Resent))
            .copied()
    }

    /// Returns whether the first segment has been resent since recovery began.
    pub fn first_is_resent(&self) -> bool {
        self.marks.any() && self.segments.front().is_some_and(|segment| segment.is(Mark::Resent))
    }

    /// Notes a retransmission of `len` sequence numbers from `seq`, the beginning of a segment, as
    /// one segment. A longer segment is split there. A shorter one takes sequence numbers from the
    /// lost segments behind it.
    pub fn resend(&mut self, seq: SeqNum, len: u32, now: Instant) {
        let index = self.index_of(seq);
        let Some(&segment) = self.segments.get(index).filter(|segment| segment.seq() == seq) else {
            return;
        };
        if len > segment.len() {
            self.lengthen(index, len);
        } else if len < segment.len() {
            // The bytes in the pipe do not change; one segment becomes two.
            let (head, tail) = segment.split(len);
            self.segments[index] = head;
            self.segments.insert(index + 1, tail);
            self.pipe_segments += segment.copies_in_pipe();
            self.marks.split(index, &segment);
        }
        self.change(index, |segment| segment.resend(now));
        self.advance_search();
    }

    /// Extends the segment at `index` to `len` sequence numbers, with those of the following
    /// segments as far as they are lost and not resent. The segment itself must be so too; none of
    /// them is in the pipe.
    #[cold]
    fn lengthen(&mut self, index: usize, len: u32) {
        if !self.segments[index].awaits_repair() {
            return;
        }
        while let Some(&next) =
            self.segments.get(index + 1).filter(|segment| segment.awaits_repair())
        {
            let missing = len - self.segments[index].len();
            if missing == 0 {
                return;
            }
            self.segments[index].lengthen(missing.min(next.len()));
            if missing < next.len() {
                self.segments[index + 1] = next.split(missing).1;
            } else {
                self.segments.remove(index + 1);
                self.marks.removed(index + 1, &next);
            }
        }
    }
}

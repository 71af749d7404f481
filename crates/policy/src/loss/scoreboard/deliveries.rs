//! Segments that an acknowledgment delivers, one by one: for senders that time every segment, or
//! count segments instead of bytes.

use wire::{SeqNum, SeqRange};

use super::sent_segment::Mark;
use super::{Scoreboard, SentSegment};

impl Scoreboard {
    /// Like [`ack`](Self::ack), and calls `each` for every segment that `una` acknowledges
    /// completely, oldest first. Returns the number of these segments.
    pub fn ack_each(&mut self, una: SeqNum, mut each: impl FnMut(&SentSegment)) -> u32 {
        if self.marks.any() {
            return self.ack_each_marked(una, each);
        }
        let mut count = 0;
        while let Some(&segment) = self.segments.front() {
            if segment.end().after(una) {
                break;
            }
            count += 1;
            each(&segment);
            self.segments.pop_front();
            self.pipe -= segment.len();
        }
        self.pipe_segments -= count;
        match self.segments.front() {
            // The ring restarts at the beginning of its memory, which is likely in the cache.
            None => self.segments.clear(),
            Some(first) if first.seq().before(una) => self.shorten_first(una),
            Some(_) => {}
        }
        count
    }

    #[cold]
    fn ack_each_marked(&mut self, una: SeqNum, mut each: impl FnMut(&SentSegment)) -> u32 {
        let mut count = 0;
        for segment in &self.segments {
            if segment.end().after(una) {
                break;
            }
            count += 1;
            each(segment);
        }
        self.remove(una);
        count
    }

    /// [`sack`](Self::sack) without inlining, which is for the other senders.
    #[inline(never)]
    fn mark_reported(&mut self, block: SeqRange) {
        self.sack(block);
    }

    /// [`ack`](Self::ack) without inlining, which is for the other senders.
    #[inline(never)]
    fn remove(&mut self, una: SeqNum) {
        self.ack(una);
    }

    /// Like [`sack`](Self::sack), and calls `each` for every segment that the block reports for the
    /// first time, in sequence order, before it is marked. Returns the number of these segments.
    ///
    /// A segment that has been retransmitted since it was lost is then neither lost nor resent.
    pub fn sack_each(&mut self, block: SeqRange, mut each: impl FnMut(&SentSegment)) -> u32 {
        let mut index = self.index_of(block.start());
        let mut count = 0;
        while let Some(segment) = self.segments.get(index) {
            if segment.is(Mark::Sacked) {
                index += segment.run_len();
                continue;
            }
            if segment.end().after(block.end()) {
                break;
            }
            count += 1;
            each(segment);
            if segment.is(Mark::Lost) {
                self.change(index, |segment| {
                    segment.unset(Mark::Lost);
                    segment.unset(Mark::Resent);
                });
            }
            index += 1;
        }
        self.mark_reported(block);
        count
    }

    /// Calls `each` for every segment, oldest first, that lies in the block.
    pub fn each_in(&self, block: SeqRange, mut each: impl FnMut(&SentSegment)) {
        let first = self.index_of(block.start());
        for segment in self.segments.iter().skip(first) {
            if segment.end().after(block.end()) {
                break;
            }
            each(segment);
        }
    }

    /// Removes the marks of retransmissions from the reported segments in the block: a DSACK has
    /// shown that they are redundant.
    pub fn clear_resent_in(&mut self, block: SeqRange) {
        let mut index = self.index_of(block.start());
        while let Some(segment) =
            self.segments.get(index).filter(|segment| !segment.end().after(block.end()))
        {
            if segment.is(Mark::Resent) {
                self.change(index, |segment| segment.unset(Mark::Resent));
                self.marks.reopen(index);
            }
            index += 1;
        }
        self.advance_search();
    }

    /// Sequence number after the highest reported segment; `None` if none is reported.
    pub fn highest_reported_end(&self) -> Option<SeqNum> {
        (self.marks.sacked > 0)
            .then(|| self.segments.get(self.marks.highest as usize).map(SentSegment::end))?
    }

    /// Number of segments that are lost, whether retransmitted or not.
    pub fn lost_segments(&self) -> u32 {
        if !self.marks.any() {
            return 0;
        }
        // Each segment counts once, minus the reported and the lost ones, plus retransmissions.
        self.resent_segments() + self.segments() - self.marks.sacked - self.pipe_segments
    }

    /// Number of segments whose retransmission is in flight.
    pub fn resent_segments(&self) -> u32 {
        // A marked segment is reported, or resent, or lost and not resent.
        let marks = &self.marks;
        if marks.any() { marks.marked - marks.sacked - marks.awaiting_repair } else { 0 }
    }

    /// Last segment in the queue.
    pub fn last(&self) -> Option<SentSegment> {
        self.segments.back().copied()
    }

    /// Length of the whole segments that await retransmission from the next lost one on, without a
    /// gap, and that together have at most `limit` sequence numbers; at least the first.
    pub fn whole_lost_run(&self, limit: u32) -> u32 {
        let first = self.marks.next_lost as usize;
        let lost = self.segments.iter().skip(first).take_while(|segment| segment.awaits_repair());
        let mut bytes = 0;
        for segment in lost {
            if bytes > 0 && bytes + segment.len() > limit {
                break;
            }
            bytes += segment.len();
        }
        bytes
    }

    /// Notes that the segment at `seq` is sent again as a probe, without being lost.
    pub fn resend_as_probe(&mut self, seq: SeqNum, now: units::Instant) {
        let index = self.index_of(seq);
        if self.segments.get(index).is_some_and(|segment| segment.seq() == seq) {
            let was_resent = self.segments[index].is(Mark::Resent);
            self.change(index, |segment| {
                segment.resend(now);
                if !was_resent {
                    segment.unset(Mark::Resent);
                }
            });
        }
    }

    /// Marks every unreported segment as lost that was sent long enough ago: all but those for
    /// which `is_recent` is true. The first segment is always lost.
    pub fn mark_lost_unless(&mut self, is_recent: impl Fn(&SentSegment) -> bool) {
        for index in 0..self.segments.len() {
            let segment = &self.segments[index];
            if segment.is(Mark::Sacked) || index > 0 && is_recent(segment) {
                continue;
            }
            self.change(index, SentSegment::lose);
        }
        self.marks.restart_search();
        self.advance_search();
    }

    /// Removes every report, because the receiver has discarded reported data (RFC 2018 §8).
    pub fn discard_reports(&mut self) {
        for index in 0..self.segments.len() {
            if self.segments[index].is(Mark::Sacked) {
                self.change(index, |segment| segment.unset(Mark::Sacked));
            }
        }
        self.marks.restart_search();
        self.advance_search();
    }

    /// Marks every segment longer than `longest` as lost.
    pub fn mark_lost_longer_than(&mut self, longest: u32) {
        for index in 0..self.segments.len() {
            let segment = &self.segments[index];
            if segment.len() > longest && !segment.is(Mark::Sacked) {
                self.change(index, SentSegment::lose);
            }
        }
        self.marks.restart_search();
        self.advance_search();
    }

    /// Removes the marks of losses, because they were spurious. Retransmissions remain in flight.
    pub fn unmark_lost(&mut self) {
        for index in 0..self.segments.len() {
            if self.segments[index].is(Mark::Lost) {
                self.change(index, |segment| segment.unset(Mark::Lost));
            }
        }
        self.marks.restart_search();
        self.advance_search();
    }
}

//! The retransmission queue together with the scoreboard of RFC 6675: every segment in flight, with
//! its marks.
//!
//! The queue keeps segments because framing decides their sizes. A segment is retransmitted as it
//! was sent, unless the segmenter now makes smaller ones.
//!
//! Unlike RFC 6675 §4, `IsLost` counts *segments* reported above a hole, not `(DupThresh − 1) ·
//! SMSS` bytes. Three reduced segments of Smart Framing are fewer bytes than that, and the sender
//! knows its segments.
//!
//! Sums of marks and search positions are updated with each mark, so the cost of an acknowledgment
//! does not depend on the length of the queue. Usually there are no marks, and none of this is
//! read.

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::{SeqNum, SeqRange};

mod marks;
mod sent_segment;

use super::Detection;
use marks::Marks;
use sent_segment::Mark;
pub use sent_segment::SentSegment;

/// Result of a cumulative acknowledgment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acked {
    /// Number of sequence numbers newly acknowledged.
    pub bytes: u32,
    /// Transmission time of the newest segment acknowledged completely. `None` if Karn's rule
    /// forbids the measurement: that segment, or one before it, was sent more than once. The
    /// acknowledgment may then have waited for a retransmission.
    pub timed: Option<Instant>,
}

/// Segments in flight, oldest first, without gaps.
#[derive(Debug, Clone, Default)]
pub struct Scoreboard {
    segments: VecDeque<SentSegment>,
    pipe: u32,
    pipe_segments: u32,
    marks: Marks,
}

impl Scoreboard {
    /// Maximum number of segments for which an idle queue keeps its memory.
    const KEPT: usize = 64;

    /// Reuses the memory of a queue that is no longer needed, unless it has grown large.
    pub fn inherit(&mut self, old: &mut Self) {
        if self.segments.is_empty() && old.segments.capacity() <= Self::KEPT {
            old.segments.clear();
            std::mem::swap(&mut self.segments, &mut old.segments);
        }
    }

    /// Frees the memory of an empty queue.
    pub fn release(&mut self) {
        if self.segments.is_empty() {
            self.segments = VecDeque::new();
        }
    }

    /// Addresses of the first segment and of the slot after the last, for prefetching. Null if the
    /// queue is empty; the second may be outside the allocation.
    #[inline]
    pub fn addresses(&self) -> [*const u8; 2] {
        let Some((first, last)) = self.segments.front().zip(self.segments.back()) else {
            return [std::ptr::null(); 2];
        };
        [std::ptr::from_ref(first).cast(), std::ptr::from_ref(last).wrapping_add(1).cast()]
    }

    /// Heap memory of the queue in bytes.
    pub fn memory(&self) -> usize {
        self.segments.capacity() * size_of::<SentSegment>()
    }

    /// Appends a segment that has just been sent. `again` says that part of it had been sent
    /// before, so that Karn's rule forbids a measurement.
    pub fn push(&mut self, seq: SeqNum, len: u32, now: Instant, again: bool) {
        debug_assert!(
            self.segments.back().is_none_or(|last| last.end() == seq),
            "a gap in the queue"
        );
        if self.segments.len() == self.segments.capacity() {
            self.grow();
        }
        self.segments.push_back(SentSegment::new(seq, len, now, again));
        self.pipe += len;
        self.pipe_segments += 1;
    }

    /// Reserves memory for half as many segments more. `VecDeque` would double, and a long queue
    /// would leave much of that unused.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.segments.reserve_exact((self.segments.len() / 2).max(4));
    }

    /// Removes the segments that `una` acknowledges. A partly acknowledged segment keeps the rest.
    pub fn ack(&mut self, una: SeqNum) -> Acked {
        let mut acked = Acked::default();
        let mut ambiguous = false;
        while let Some(&segment) = self.segments.front() {
            if !segment.seq().before(una) {
                break;
            }
            if segment.end().after(una) {
                acked.bytes += una.distance_from(segment.seq());
                self.shorten_first(una);
                break;
            }
            acked.bytes += segment.len();
            ambiguous |= segment.was_resent();
            acked.timed = (!ambiguous).then_some(segment.sent_at());
            self.segments.pop_front();
            let copies = if self.marks.any() {
                self.marks.popped(&segment);
                segment.copies_in_pipe()
            } else {
                1
            };
            self.pipe -= copies * segment.len();
            self.pipe_segments -= copies;
        }
        if self.segments.is_empty() {
            // The ring restarts at the beginning of its memory, which is likely in the cache.
            self.segments.clear();
        }
        self.advance_search();
        acked
    }

    #[cold]
    #[inline(never)]
    fn shorten_first(&mut self, una: SeqNum) {
        self.change(0, |segment| *segment = segment.split(una.distance_from(segment.seq())).1);
    }

    /// Returns the number of sequence numbers below `una` that have not been reported before.
    #[cold]
    pub fn unreported_before(&self, una: SeqNum) -> u32 {
        let acked = self.segments.iter().take_while(|segment| segment.seq().before(una));
        acked
            .filter(|segment| !segment.is(Mark::Sacked))
            .map(|segment| una.distance_from(segment.seq()).min(segment.len()))
            .sum()
    }

    /// Marks the segments that a SACK block reports, and returns the number of bytes reported for
    /// the first time. Sequence numbers outside the queue and partly covered segments have no
    /// effect.
    #[inline]
    pub fn sack(&mut self, block: SeqRange) -> u32 {
        let first = self.index_of(block.start());
        let mut newly_sacked = 0;
        let mut index = first;
        let mut steps = 0;
        while let Some(segment) = self.segments.get(index) {
            if segment.is(Mark::Sacked) {
                index += segment.run_len();
                steps += 1;
            } else if segment.end().after(block.end()) {
                break;
            } else {
                newly_sacked += segment.len();
                self.change(index, |segment| segment.set(Mark::Sacked));
                index += 1;
            }
        }
        if steps > 2 {
            self.compress_runs(first, index);
        } else if let Some(segment) =
            self.segments.get_mut(first).filter(|segment| segment.is(Mark::Sacked))
        {
            segment.set_run(index - first);
        }
        if newly_sacked > 0 {
            self.advance_search();
        }
        newly_sacked
    }

    /// Returns the segment that begins at `seq`.
    pub fn segment_at(&self, seq: SeqNum) -> Option<SentSegment> {
        self.segments.get(self.index_of(seq)).filter(|segment| segment.seq() == seq).copied()
    }

    /// Marks the segments that a range of an ACK window reports, and returns the number of bytes
    /// reported for the first time. Up to `unreported_margin` sequence numbers on each side of the
    /// range may have arrived without being reported. A segment that overlaps the range and exceeds
    /// it by no more than that has arrived completely (TCP Santa Cruz, Figure 6). The first segment
    /// never counts as complete.
    #[cold]
    pub fn report(&mut self, range: SeqRange, unreported_margin: u32) -> u32 {
        let at = self.index_of(range.start());
        let reaches_in = |segment: &&SentSegment| {
            segment.end().after(range.start())
                && (segment.seq() + unreported_margin).at_or_after(range.start())
        };
        let before =
            at.checked_sub(1).and_then(|index| self.segments.get(index)).filter(reaches_in);
        let start = before.map_or(range.start(), SentSegment::seq);
        let Some(first) = self.segments.front() else { return 0 };
        let start = start.latest(first.end());
        // The last segment that begins in the range.
        let past = self.index_of(range.end());
        let last = past.checked_sub(1).and_then(|index| self.segments.get(index));
        let end = last
            .map(SentSegment::end)
            .filter(|end| end.at_or_before(range.end() + unreported_margin));
        let end = end.map_or(range.end(), |end| end.latest(range.end()));
        SeqRange::new(start, end).map_or(0, |range| self.sack(range))
    }

    /// Path compression: each segment visited between `first` and `end` now leads directly to
    /// `end`. A peer that repeats reports from other positions then cannot cause a second long
    /// walk.
    #[cold]
    fn compress_runs(&mut self, first: usize, end: usize) {
        let mut at = first;
        while let Some(segment) =
            self.segments.get_mut(at).filter(|segment| segment.is(Mark::Sacked) && at < end)
        {
            let step = segment.run_len();
            segment.set_run(end - at);
            at += step;
        }
    }

    /// RFC 6675 §4, `IsLost(HighACK + 1)`: whether `threshold` segments arrived above the first
    /// one.
    pub fn first_is_lost(&self, threshold: u32) -> bool {
        self.marks.sacked >= threshold
    }

    /// Number of segments from the first one to the highest reported one, with both; zero if none
    /// is reported. Those of full size have `snd.fack - snd.una` bytes (FACK, Mathis and Mahdavi
    /// 1996).
    pub fn forward_segments(&self) -> u32 {
        if self.marks.sacked > 0 { self.marks.highest + 1 } else { 0 }
    }

    /// Number of segments that have been reported.
    pub fn sacked_segments(&self) -> u32 {
        self.marks.sacked
    }

    /// Number of sequence numbers that have been reported.
    pub fn sacked_bytes(&self) -> u32 {
        self.segments.iter().filter(|segment| segment.is(Mark::Sacked)).map(SentSegment::len).sum()
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

    /// Returns whether the first segment has been reported. The cumulative acknowledgment, which
    /// ends before it, contradicts that report: the receiver has discarded reported data (RFC 2018
    /// §8).
    pub fn has_reneged(&self) -> bool {
        self.marks.any() && self.segments.front().is_some_and(|segment| segment.is(Mark::Sacked))
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

    /// Returns whether the first segment has been resent since recovery began.
    pub fn first_is_resent(&self) -> bool {
        self.marks.any() && self.segments.front().is_some_and(|segment| segment.is(Mark::Resent))
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

    /// RFC 6675 §4, `NextSeg` rule (1): the first lost segment that has not been resent.
    pub fn next_lost(&self) -> Option<SentSegment> {
        (self.marks.awaiting_repair > 0)
            .then(|| self.segments.get(self.marks.next_lost as usize).copied())?
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

    /// Returns the first segment in the queue.
    pub fn first(&self) -> Option<SentSegment> {
        self.segments.front().copied()
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

    /// Removes the first segment longer than `longest` and everything behind it, which then count
    /// as not sent. Returns the sequence number where the removed part begins. All other segments
    /// lose their marks.
    pub fn unsend_longer_than(&mut self, longest: u32) -> Option<SeqNum> {
        let at = self.segments.iter().position(|segment| segment.len() > longest)?;
        let from = self.segments[at].seq();
        self.end_recovery(false);
        // Without marks each segment is in the pipe once.
        for segment in self.segments.drain(at..) {
            self.pipe -= segment.len();
            self.pipe_segments -= 1;
        }
        Some(from)
    }

    /// Ends recovery: the segments in flight are no longer lost or resent. They remain reported
    /// only if `keep_reports`.
    pub fn end_recovery(&mut self, keep_reports: bool) {
        let mut marked = self.marks.marked;
        for index in 0..self.segments.len() {
            if marked == 0 {
                break;
            }
            if self.segments[index].is_marked() {
                marked -= 1;
                self.change(index, |segment| {
                    segment.unset(Mark::Lost);
                    segment.unset(Mark::Resent);
                    if !keep_reports {
                        segment.unset(Mark::Sacked);
                    }
                });
            }
        }
        self.marks.restart_search();
        self.advance_search();
    }

    /// Removes everything in flight.
    pub fn clear(&mut self) {
        self.segments.clear();
        (self.pipe, self.pipe_segments) = (0, 0);
        self.marks = Marks::default();
    }

    /// RFC 6675 §4, `SetPipe`: the sender's estimate of the number of bytes in the network.
    pub fn pipe(&self) -> u32 {
        self.pipe
    }

    /// Number of segments in the network, by the same estimate.
    pub fn pipe_segments(&self) -> u32 {
        self.pipe_segments
    }

    /// Number of segments in the queue.
    pub fn segments(&self) -> u32 {
        u32::try_from(self.segments.len()).unwrap_or(u32::MAX)
    }

    /// Returns whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns the index of the first segment at or after `seq`.
    fn index_of(&self, seq: SeqNum) -> usize {
        let Some(first) = self.segments.front() else { return 0 };
        // Most segments are as long as the first one. A binary search in a long queue costs a cache
        // miss at every step.
        let guess = (seq.distance_from(first.seq()) / first.len().max(1)) as usize;
        if self.segments.get(guess).is_some_and(|segment| segment.seq() == seq) {
            return guess;
        }
        self.segments.partition_point(|segment| segment.seq().before(seq))
    }

    fn change(&mut self, index: usize, edit: impl FnOnce(&mut SentSegment)) {
        let segment = &mut self.segments[index];
        let before = *segment;
        edit(segment);
        let (left, joined) = (before.copies_in_pipe(), segment.copies_in_pipe());
        self.pipe = self.pipe - left * before.len() + joined * segment.len();
        self.pipe_segments = self.pipe_segments - left + joined;
        if self.marks.any() {
            self.marks.changed(index, &before, segment);
        } else if segment.is_marked() {
            self.marks = Marks::of_one(index, segment);
        }
    }

    /// Advances the search positions after a change of marks.
    #[inline]
    fn advance_search(&mut self) {
        if self.marks.any() {
            self.marks.advance_search(&self.segments);
        }
    }
}

#[cfg(test)]
mod tests;

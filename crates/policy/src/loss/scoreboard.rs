//! The retransmission queue and RFC 6675's scoreboard in one: every cut that is in flight, with
//! what is known of it.
//!
//! Cuts are kept because framing makes their sizes a decision of the sender's: what is
//! retransmitted is what was cut, unless the segmenter now cuts smaller.
//!
//! Unlike RFC 6675 §4, `IsLost` counts *segments* reported above a hole and not `(DupThresh − 1) ·
//! SMSS` bytes: three reduced segments of Smart Framing are fewer bytes than that, and the sender
//! knows its cuts.
//!
//! Sums and the places where to look next are kept as marks change, so that an acknowledgment costs
//! what it changes, however long the queue is. Most of the time there are no marks, and then
//! nothing of that is looked at.

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::{SeqNum, SeqRange};

mod marks;
mod sent_segment;

use super::Detection;
use marks::Marks;
use sent_segment::Mark;
pub use sent_segment::SentSegment;

/// What a cumulative acknowledgment took out of the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acked {
    /// Sequence numbers newly acknowledged.
    pub bytes: u32,
    /// When the newest segment wholly acknowledged was sent, unless Karn's rule forbids to time
    /// it: that one was sent twice, or one before it, for whose copy the acknowledgment will
    /// have waited.
    pub timed: Option<Instant>,
}

/// The cuts in flight, oldest first, without gaps.
#[derive(Debug, Clone, Default)]
pub struct Scoreboard {
    segments: VecDeque<SentSegment>,
    pipe: u32,
    pipe_segments: u32,
    marks: Marks,
}

impl Scoreboard {
    /// More cuts than this are not worth keeping memory for.
    const KEPT: usize = 64;

    /// Takes over the memory of a queue that is no longer needed, unless it has grown large.
    pub fn inherit(&mut self, old: &mut Self) {
        if self.segments.is_empty() && old.segments.capacity() <= Self::KEPT {
            old.segments.clear();
            std::mem::swap(&mut self.segments, &mut old.segments);
        }
    }

    /// Gives back the memory of an empty queue.
    pub fn release(&mut self) {
        if self.segments.is_empty() {
            self.segments = VecDeque::new();
        }
    }

    /// Where the first segment lies, and most likely the next one will: for those who have that
    /// fetched ahead. Null is nowhere.
    #[inline]
    pub fn addresses(&self) -> [*const u8; 2] {
        let Some((first, last)) = self.segments.front().zip(self.segments.back()) else {
            return [std::ptr::null(); 2];
        };
        [std::ptr::from_ref(first).cast(), std::ptr::from_ref(last).wrapping_add(1).cast()]
    }

    /// The bytes of memory behind this value.
    pub fn memory(&self) -> usize {
        self.segments.capacity() * size_of::<SentSegment>()
    }

    /// Appends a segment that has just been sent. `again` when any of it had been sent before
    /// (Karn's rule: it can't be timed).
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

    /// Makes room for half as many cuts more. A queue doubles by itself; of a great many, much of
    /// that is never used.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.segments.reserve_exact((self.segments.len() / 2).max(4));
    }

    /// Removes what `una` acknowledges; a cut acknowledged in part keeps the rest.
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
            // Begins again where it is at hand.
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

    /// How much of what `una` acknowledges has not been reported before, in sequence numbers.
    #[cold]
    pub fn unreported_before(&self, una: SeqNum) -> u32 {
        let acked = self.segments.iter().take_while(|segment| segment.seq().before(una));
        acked
            .filter(|segment| !segment.is(Mark::Sacked))
            .map(|segment| una.distance_from(segment.seq()).min(segment.len()))
            .sum()
    }

    /// Marks what a SACK block reports and returns the bytes it reports for the first time. Numbers
    /// outside the queue, and cuts covered in part only, change nothing.
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

    /// The cut that begins here.
    pub fn segment_at(&self, seq: SeqNum) -> Option<SentSegment> {
        self.segments.get(self.index_of(seq)).filter(|segment| segment.seq() == seq).copied()
    }

    /// Marks what a range of an ACK window reports and returns the bytes it reports for the first
    /// time. Up to `blind` numbers before and after it may have arrived without being reported;
    /// a cut that reaches no further than that beyond the range, and into it, has arrived as a
    /// whole (TCP Santa Cruz, Figure 6). Of the first cut something is missing, whatever is
    /// said.
    #[cold]
    pub fn report(&mut self, range: SeqRange, blind: u32) -> u32 {
        let at = self.index_of(range.start());
        let reaches_in = |segment: &&SentSegment| {
            segment.end().after(range.start()) && (segment.seq() + blind).at_or_after(range.start())
        };
        let before =
            at.checked_sub(1).and_then(|index| self.segments.get(index)).filter(reaches_in);
        let start = before.map_or(range.start(), SentSegment::seq);
        let Some(first) = self.segments.front() else { return 0 };
        let start = start.latest(first.end());
        // The last that begins in the range.
        let past = self.index_of(range.end());
        let last = past.checked_sub(1).and_then(|index| self.segments.get(index));
        let end = last.map(SentSegment::end).filter(|end| end.at_or_before(range.end() + blind));
        let end = end.map_or(range.end(), |end| end.latest(range.end()));
        SeqRange::new(start, end).map_or(0, |range| self.sack(range))
    }

    /// From every cut between the two that a walk steps on, the next walk goes to the end in one
    /// step: a peer that reports again what it has reported, each time from another place, must
    /// not make it long twice.
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

    /// Segments that have been reported.
    pub fn sacked_segments(&self) -> u32 {
        self.marks.sacked
    }

    /// Sequence numbers that have been reported.
    pub fn sacked_bytes(&self) -> u32 {
        self.segments.iter().filter(|segment| segment.is(Mark::Sacked)).map(SentSegment::len).sum()
    }

    /// Marks every hole with at least `threshold` (one or more) reported segments above it as lost,
    /// and the first segment in any case when `first` is set (recovery begins with it).
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

    /// Marks as lost what was last sent before the transmission of `seq` at `sent_at`, has waited
    /// for so long, and is neither reported nor waiting to be sent again; a copy, too. Says
    /// whether there is any, and when the next of those sent before will have waited. Of what
    /// left at one instant, what comes first in the stream was first.
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
                // What is behind it left later, and its copies later still.
                break;
            }
            index += 1;
        }
        if detection.lost {
            self.advance_search();
        }
        detection
    }

    /// Marks every cut that has not been reported as lost and not resent. If the first one has been
    /// reported, all reports are forgotten: see [`has_reneged`](Self::has_reneged).
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

    /// Whether the first cut has been reported. The cumulative acknowledgment, which stops before
    /// it, contradicts that report: the receiver has discarded data that it had reported (RFC
    /// 2018 §8).
    pub fn has_reneged(&self) -> bool {
        self.marks.any() && self.segments.front().is_some_and(|segment| segment.is(Mark::Sacked))
    }

    /// Marks the first cut as lost and not resent, unless it has been reported.
    #[cold]
    pub fn mark_first_lost(&mut self) {
        if self.segments.front().is_some_and(|segment| !segment.is(Mark::Sacked)) {
            self.change(0, SentSegment::lose);
            self.marks.restart_search();
            self.advance_search();
        }
    }

    /// Whether the first cut has been resent since recovery began.
    pub fn first_is_resent(&self) -> bool {
        self.marks.any() && self.segments.front().is_some_and(|segment| segment.is(Mark::Resent))
    }

    /// The bytes from the next lost cut on that are lost, not resent and contiguous, but no more
    /// than `limit`, in sequence numbers.
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

    /// RFC 6675 §4, `NextSeg` rule (1): the first lost segment that hasn't been resent.
    pub fn next_lost(&self) -> Option<SentSegment> {
        (self.marks.awaiting_repair > 0)
            .then(|| self.segments.get(self.marks.next_lost as usize).copied())?
    }

    /// RFC 6675 §4, `NextSeg` rule (3): the first hole below the highest reported segment that
    /// hasn't been resent, lost or not.
    pub fn next_hole(&self) -> Option<SentSegment> {
        let marks = &self.marks;
        let is_below = marks.sacked > 0 && marks.next_hole < marks.highest;
        is_below.then(|| self.segments.get(marks.next_hole as usize).copied())?
    }

    /// RFC 6675 §4, `NextSeg` rule (4): the last segment that hasn't been reported. Unlike there,
    /// not if it has just been resent: a flow that has nothing more to send would resend each
    /// of its losses twice at once.
    pub fn last_hole(&self) -> Option<SentSegment> {
        if self.segments.back()?.is(Mark::Sacked) {
            // All holes are below a report; if each has been resent, so has the last.
            self.next_hole()?;
        }
        self.segments
            .iter()
            .rev()
            .find(|segment| !segment.is(Mark::Sacked))
            .filter(|segment| !segment.is(Mark::Resent))
            .copied()
    }

    /// The first segment in the queue.
    pub fn first(&self) -> Option<SentSegment> {
        self.segments.front().copied()
    }

    /// Notes that `len` numbers from `seq` on, where a cut begins, were sent again as one segment.
    /// A longer cut is split there. A shorter one takes numbers from the lost cuts behind it.
    pub fn resend(&mut self, seq: SeqNum, len: u32, now: Instant) {
        let index = self.index_of(seq);
        let Some(&segment) = self.segments.get(index).filter(|segment| segment.seq() == seq) else {
            return;
        };
        if len > segment.len() {
            self.lengthen(index, len);
        } else if len < segment.len() {
            // The bytes in the pipe stay the same; one segment becomes two.
            let (head, tail) = segment.split(len);
            self.segments[index] = head;
            self.segments.insert(index + 1, tail);
            self.pipe_segments += segment.copies_in_pipe();
            self.marks.split(index, &segment);
        }
        self.change(index, |segment| segment.resend(now));
        self.advance_search();
    }

    /// Makes the cut at `index` `len` numbers long with those of the cuts behind it, as far as
    /// these are lost and not resent, as it is itself. None of them is in the pipe.
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

    /// Takes the first segment longer than `longest`, and everything behind it, out of the queue:
    /// it counts as not sent. Returns where that begins. What is left is neither lost nor
    /// resent nor reported.
    pub fn unsend_longer_than(&mut self, longest: u32) -> Option<SeqNum> {
        let at = self.segments.iter().position(|segment| segment.len() > longest)?;
        let from = self.segments[at].seq();
        self.end_recovery(false);
        // Without marks each is in the pipe once.
        for segment in self.segments.drain(at..) {
            self.pipe -= segment.len();
            self.pipe_segments -= 1;
        }
        Some(from)
    }

    /// Recovery is over: what is still in flight is neither lost nor resent, and still reported
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

    /// Forgets everything in flight.
    pub fn clear(&mut self) {
        self.segments.clear();
        (self.pipe, self.pipe_segments) = (0, 0);
        self.marks = Marks::default();
    }

    /// RFC 6675 §4, `SetPipe`: the sender's estimate of the bytes in the network.
    pub fn pipe(&self) -> u32 {
        self.pipe
    }

    /// The segments those bytes are in.
    pub fn pipe_segments(&self) -> u32 {
        self.pipe_segments
    }

    /// All segments in the queue.
    pub fn segments(&self) -> u32 {
        u32::try_from(self.segments.len()).unwrap_or(u32::MAX)
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// The place of the first cut at `seq` or behind it.
    fn index_of(&self, seq: SeqNum) -> usize {
        let Some(first) = self.segments.front() else { return 0 };
        // Cuts are mostly as long as the first of them; and a search through a long queue is a
        // cache miss at every step.
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

    /// After marks have changed: moves on to where to look next.
    #[inline]
    fn advance_search(&mut self) {
        if self.marks.any() {
            self.marks.advance_search(&self.segments);
        }
    }
}

#[cfg(test)]
mod tests;

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

use units::Instant;
use wire::SeqNum;

mod deliveries;
mod lost;
mod marks;
mod reports;
mod resend;
mod sent_segment;

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
    #[expect(clippy::inline_always, reason = "1 % of all instructions")]
    #[inline(always)]
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

    /// Returns the segment that begins at `seq`.
    pub fn segment_at(&self, seq: SeqNum) -> Option<SentSegment> {
        self.segments.get(self.index_of(seq)).filter(|segment| segment.seq() == seq).copied()
    }

    /// Returns the first segment in the queue.
    pub fn first(&self) -> Option<SentSegment> {
        self.segments.front().copied()
    }

    /// Time of the last transmission of the first segment; [`Instant::NEVER`] if there is none.
    pub fn first_sent_at(&self) -> Instant {
        self.segments.front().map_or(Instant::NEVER, SentSegment::sent_at)
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

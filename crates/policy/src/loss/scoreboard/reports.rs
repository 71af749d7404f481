//! Reports of the receiver on the scoreboard: SACK blocks (RFC 2018), or ranges of an ACK window
//! (TCP Santa Cruz). Sums over the reported segments.

use wire::{SeqNum, SeqRange};

use super::sent_segment::Mark;
use super::{Scoreboard, SentSegment};

impl Scoreboard {
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
    #[expect(clippy::inline_always, reason = "1 % of all instructions")]
    #[inline(always)]
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

    /// Returns whether the first segment has been reported. The cumulative acknowledgment, which
    /// ends before it, contradicts that report: the receiver has discarded reported data (RFC 2018
    /// §8).
    pub fn has_reneged(&self) -> bool {
        self.marks.any() && self.segments.front().is_some_and(|segment| segment.is(Mark::Sacked))
    }
}

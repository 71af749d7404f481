//! The scoreboard as a specification: segments with their marks, searched from end to end for every
//! answer.

use units::Instant;
use wire::{CopyNumber, SeqNum, SeqRange};

use super::super::{Acked, Mark, SentSegment};
use crate::loss::Transmission;

/// A segment with its state in separate fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlainSegment {
    pub(super) seq: SeqNum,
    pub(super) len: u32,
    sent_at: Instant,
    sacked: bool,
    lost: bool,
    resent: bool,
    copy: CopyNumber,
}

impl PlainSegment {
    pub(super) fn end(&self) -> SeqNum {
        self.seq + self.len
    }

    pub(super) fn is_resent(&self) -> bool {
        self.resent
    }

    pub(super) fn last_transmission(&self) -> Transmission {
        Transmission { sent_at: self.sent_at, seq: self.seq }
    }

    fn awaits_repair(&self) -> bool {
        self.lost && !self.resent && !self.sacked
    }
}

impl From<SentSegment> for PlainSegment {
    fn from(segment: SentSegment) -> Self {
        let (seq, len) = segment.range();
        let [sacked, lost, resent] =
            [Mark::Sacked, Mark::Lost, Mark::Resent].map(|mark| segment.is(mark));
        Self { seq, len, sent_at: segment.sent_at(), sacked, lost, resent, copy: segment.copy() }
    }
}

/// Segments in flight, oldest first.
#[derive(Debug, Default)]
pub(super) struct Plain {
    pub(super) segments: Vec<PlainSegment>,
}

impl Plain {
    pub(super) fn push(&mut self, seq: SeqNum, len: u32, now: Instant, again: bool) {
        let (sacked, lost, resent) = (false, false, false);
        let copy = if again { CopyNumber::LAST } else { CopyNumber::FIRST };
        self.segments.push(PlainSegment { seq, len, sent_at: now, sacked, lost, resent, copy });
    }

    pub(super) fn ack(&mut self, una: SeqNum) -> Acked {
        let mut acked = Acked::default();
        let mut ambiguous = false;
        while let Some(segment) =
            self.segments.first_mut().filter(|segment| segment.seq.before(una))
        {
            if segment.end().after(una) {
                let part = una.distance_from(segment.seq);
                acked.bytes += part;
                (segment.seq, segment.len) = (una, segment.len - part);
                break;
            }
            let segment = self.segments.remove(0);
            acked.bytes += segment.len;
            ambiguous |= segment.copy != CopyNumber::FIRST;
            acked.timed = if ambiguous { None } else { Some(segment.sent_at) };
        }
        acked
    }

    pub(super) fn unreported_before(&self, una: SeqNum) -> u32 {
        let mut unreported = 0;
        for segment in
            self.segments.iter().filter(|segment| !segment.sacked && segment.seq.before(una))
        {
            unreported +=
                if segment.end().after(una) { una.distance_from(segment.seq) } else { segment.len };
        }
        unreported
    }

    pub(super) fn sack(&mut self, block: SeqRange) -> u32 {
        let within = |segment: &&mut PlainSegment| {
            segment.seq.at_or_after(block.start())
                && segment.end().at_or_before(block.end())
                && !segment.sacked
        };
        let mut newly_sacked = 0;
        for segment in self.segments.iter_mut().filter(within) {
            segment.sacked = true;
            newly_sacked += segment.len;
        }
        newly_sacked
    }

    pub(super) fn first_is_lost(&self, threshold: u32) -> bool {
        self.sacked_from(0) >= threshold
    }

    pub(super) fn forward_segments(&self) -> usize {
        self.segments.iter().rposition(|segment| segment.sacked).map_or(0, |highest| highest + 1)
    }

    pub(super) fn first_is_lost_again(&self) -> bool {
        let highest = self.segments.iter().rfind(|segment| segment.sacked);
        let (Some(first), Some(highest)) = (self.segments.first(), highest) else { return false };
        first.resent && !highest.resent && highest.sent_at > first.sent_at
    }

    pub(super) fn mark_lost(&mut self, threshold: u32) {
        for index in 0..self.segments.len() {
            let lost = self.sacked_from(index) >= threshold;
            self.segments[index].lost |= lost && !self.segments[index].sacked;
        }
    }

    pub(super) fn mark_before(&mut self, bound: SeqNum) {
        for segment in &mut self.segments {
            segment.lost |= segment.seq.before(bound) && !segment.sacked;
        }
    }

    /// Returns the transmissions before `bound` that are in the network.
    pub(super) fn sent_before(&self, bound: &Transmission) -> Vec<Transmission> {
        let in_network = |segment: &&PlainSegment| !segment.sacked && !segment.awaits_repair();
        let sent = self.segments.iter().filter(in_network).map(PlainSegment::last_transmission);
        sent.filter(|transmission| bound.is_after(transmission)).collect()
    }

    pub(super) fn mark_sent_up_to(&mut self, bound: &Transmission) {
        for segment in &mut self.segments {
            if !segment.last_transmission().is_after(bound) && !segment.sacked {
                (segment.lost, segment.resent) = (true, false);
            }
        }
    }

    pub(super) fn next_lost(&self) -> Option<PlainSegment> {
        self.segments.iter().find(|segment| segment.awaits_repair()).copied()
    }

    pub(super) fn lost_run(&self, limit: u32) -> u32 {
        let run = self
            .segments
            .iter()
            .skip_while(|segment| !segment.awaits_repair())
            .take_while(|segment| segment.awaits_repair());
        run.map(|segment| segment.len).sum::<u32>().min(limit)
    }

    pub(super) fn has_reneged(&self) -> bool {
        self.segments.first().is_some_and(|segment| segment.sacked)
    }

    pub(super) fn mark_all_lost(&mut self) {
        let reneged = self.has_reneged();
        for segment in &mut self.segments {
            segment.sacked &= !reneged;
            if !segment.sacked {
                (segment.lost, segment.resent) = (true, false);
            }
        }
    }

    pub(super) fn mark_first_lost(&mut self) {
        if let Some(first) = self.segments.first_mut().filter(|segment| !segment.sacked) {
            (first.lost, first.resent) = (true, false);
        }
    }

    pub(super) fn next_hole(&self) -> Option<PlainSegment> {
        let highest = self.segments.iter().rposition(|segment| segment.sacked)?;
        self.segments[..highest].iter().find(|segment| !segment.sacked && !segment.resent).copied()
    }

    pub(super) fn last_hole(&self) -> Option<PlainSegment> {
        self.segments
            .iter()
            .rfind(|segment| !segment.sacked)
            .filter(|segment| !segment.resent)
            .copied()
    }

    pub(super) fn resend(&mut self, seq: SeqNum, len: u32, now: Instant) {
        let Some(index) = self.segments.iter().position(|segment| segment.seq == seq) else {
            return;
        };
        while self.segments[index].len < len {
            let taken = (len - self.segments[index].len).min(self.segments[index + 1].len);
            let (segment, next) = (index, index + 1);
            (self.segments[segment].len, self.segments[segment].copy) =
                (self.segments[segment].len + taken, CopyNumber::LAST);
            (self.segments[next].seq, self.segments[next].len) =
                (self.segments[next].seq + taken, self.segments[next].len - taken);
            if self.segments[next].len == 0 {
                self.segments.remove(next);
            }
        }
        let whole = self.segments[index];
        if len < whole.len {
            self.segments
                .insert(index + 1, PlainSegment { seq: seq + len, len: whole.len - len, ..whole });
        }
        self.segments[index] =
            PlainSegment { len, resent: true, copy: whole.copy.next(), sent_at: now, ..whole };
    }

    pub(super) fn end_recovery(&mut self, keep_reports: bool) {
        for segment in &mut self.segments {
            (segment.lost, segment.resent) = (false, false);
            segment.sacked &= keep_reports;
        }
    }

    pub(super) fn unsend_longer_than(&mut self, longest: u32) -> Option<SeqNum> {
        let at = self.segments.iter().position(|segment| segment.len > longest)?;
        let from = self.segments[at].seq;
        self.segments.truncate(at);
        self.end_recovery(false);
        Some(from)
    }

    /// Returns the number of bytes in the network, and the number of segments.
    pub(super) fn pipe(&self) -> (u32, u32) {
        let copies = |segment: &PlainSegment| match segment {
            PlainSegment { sacked: true, .. } | PlainSegment { lost: true, resent: false, .. } => 0,
            PlainSegment { lost: false, resent: true, .. } => 2,
            _ => 1,
        };
        let bytes = self.segments.iter().map(|segment| copies(segment) * segment.len).sum();
        (bytes, self.segments.iter().map(copies).sum())
    }

    /// Returns the number of reported segments at or above this index.
    fn sacked_from(&self, index: usize) -> u32 {
        self.segments[index.min(self.segments.len())..]
            .iter()
            .map(|segment| u32::from(segment.sacked))
            .sum()
    }
}

//! The scoreboard as a specification: cuts with their marks, looked through from end to end for
//! every answer.

use units::Instant;
use wire::{CopyNumber, SeqNum, SeqRange};

use super::super::{Acked, Cut, Mark};

/// A cut as it would be written down if memory did not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlainCut {
    pub(super) seq: SeqNum,
    pub(super) len: u32,
    sent_at: Instant,
    sacked: bool,
    lost: bool,
    resent: bool,
    copy: CopyNumber,
}

impl PlainCut {
    pub(super) fn end(&self) -> SeqNum {
        self.seq + self.len
    }

    pub(super) fn is_resent(&self) -> bool {
        self.resent
    }

    fn awaits_repair(&self) -> bool {
        self.lost && !self.resent && !self.sacked
    }
}

impl From<Cut> for PlainCut {
    fn from(cut: Cut) -> Self {
        let (seq, len) = cut.range();
        let [sacked, lost, resent] =
            [Mark::Sacked, Mark::Lost, Mark::Resent].map(|mark| cut.is(mark));
        Self { seq, len, sent_at: cut.sent_at(), sacked, lost, resent, copy: cut.copy() }
    }
}

/// The cuts in flight, oldest first.
#[derive(Debug, Default)]
pub(super) struct Plain {
    pub(super) cuts: Vec<PlainCut>,
}

impl Plain {
    pub(super) fn push(&mut self, seq: SeqNum, len: u32, now: Instant, again: bool) {
        let (sacked, lost, resent) = (false, false, false);
        let copy = if again { CopyNumber::LAST } else { CopyNumber::FIRST };
        self.cuts.push(PlainCut { seq, len, sent_at: now, sacked, lost, resent, copy });
    }

    pub(super) fn ack(&mut self, una: SeqNum) -> Acked {
        let mut acked = Acked::default();
        let mut ambiguous = false;
        while let Some(cut) = self.cuts.first_mut().filter(|cut| cut.seq.before(una)) {
            if cut.end().after(una) {
                let part = una.distance_from(cut.seq);
                acked.bytes += part;
                (cut.seq, cut.len) = (una, cut.len - part);
                break;
            }
            let cut = self.cuts.remove(0);
            acked.bytes += cut.len;
            ambiguous |= cut.copy != CopyNumber::FIRST;
            acked.timed = if ambiguous { None } else { Some(cut.sent_at) };
        }
        acked
    }

    pub(super) fn unreported_before(&self, una: SeqNum) -> u32 {
        let mut unreported = 0;
        for cut in self.cuts.iter().filter(|cut| !cut.sacked && cut.seq.before(una)) {
            unreported += if cut.end().after(una) { una.distance_from(cut.seq) } else { cut.len };
        }
        unreported
    }

    pub(super) fn sack(&mut self, block: SeqRange) -> u32 {
        let within = |cut: &&mut PlainCut| {
            cut.seq.at_or_after(block.start()) && cut.end().at_or_before(block.end()) && !cut.sacked
        };
        let mut news = 0;
        for cut in self.cuts.iter_mut().filter(within) {
            cut.sacked = true;
            news += cut.len;
        }
        news
    }

    pub(super) fn first_is_lost(&self, threshold: u32) -> bool {
        self.sacked_from(0) >= threshold
    }

    pub(super) fn mark_lost(&mut self, threshold: u32, first: bool) {
        for index in 0..self.cuts.len() {
            let lost = first && index == 0 || self.sacked_from(index) >= threshold;
            self.cuts[index].lost |= lost && !self.cuts[index].sacked;
        }
    }

    pub(super) fn next_lost(&self) -> Option<PlainCut> {
        self.cuts.iter().find(|cut| cut.awaits_repair()).copied()
    }

    pub(super) fn lost_run(&self, limit: u32) -> u32 {
        let run = self
            .cuts
            .iter()
            .skip_while(|cut| !cut.awaits_repair())
            .take_while(|cut| cut.awaits_repair());
        run.map(|cut| cut.len).sum::<u32>().min(limit)
    }

    pub(super) fn has_reneged(&self) -> bool {
        self.cuts.first().is_some_and(|cut| cut.sacked)
    }

    pub(super) fn mark_all_lost(&mut self) {
        let reneged = self.has_reneged();
        for cut in &mut self.cuts {
            cut.sacked &= !reneged;
            if !cut.sacked {
                (cut.lost, cut.resent) = (true, false);
            }
        }
    }

    pub(super) fn mark_first_lost(&mut self) {
        if let Some(first) = self.cuts.first_mut().filter(|cut| !cut.sacked) {
            (first.lost, first.resent) = (true, false);
        }
    }

    pub(super) fn next_hole(&self) -> Option<PlainCut> {
        let highest = self.cuts.iter().rposition(|cut| cut.sacked)?;
        self.cuts[..highest].iter().find(|cut| !cut.sacked && !cut.resent).copied()
    }

    pub(super) fn last_hole(&self) -> Option<PlainCut> {
        self.cuts.iter().rfind(|cut| !cut.sacked).filter(|cut| !cut.resent).copied()
    }

    pub(super) fn resend(&mut self, seq: SeqNum, len: u32, now: Instant) {
        let Some(index) = self.cuts.iter().position(|cut| cut.seq == seq) else { return };
        while self.cuts[index].len < len {
            let taken = (len - self.cuts[index].len).min(self.cuts[index + 1].len);
            let (cut, next) = (index, index + 1);
            (self.cuts[cut].len, self.cuts[cut].copy) =
                (self.cuts[cut].len + taken, CopyNumber::LAST);
            (self.cuts[next].seq, self.cuts[next].len) =
                (self.cuts[next].seq + taken, self.cuts[next].len - taken);
            if self.cuts[next].len == 0 {
                self.cuts.remove(next);
            }
        }
        let whole = self.cuts[index];
        if len < whole.len {
            self.cuts.insert(index + 1, PlainCut { seq: seq + len, len: whole.len - len, ..whole });
        }
        self.cuts[index] =
            PlainCut { len, resent: true, copy: whole.copy.next(), sent_at: now, ..whole };
    }

    pub(super) fn end_recovery(&mut self, keep_reports: bool) {
        for cut in &mut self.cuts {
            (cut.lost, cut.resent) = (false, false);
            cut.sacked &= keep_reports;
        }
    }

    pub(super) fn cut_off(&mut self, longest: u32) -> Option<SeqNum> {
        let at = self.cuts.iter().position(|cut| cut.len > longest)?;
        let from = self.cuts[at].seq;
        self.cuts.truncate(at);
        self.end_recovery(false);
        Some(from)
    }

    /// Bytes in the network, and the segments they are in.
    pub(super) fn pipe(&self) -> (u32, u32) {
        let copies = |cut: &PlainCut| match cut {
            PlainCut { sacked: true, .. } | PlainCut { lost: true, resent: false, .. } => 0,
            PlainCut { lost: false, resent: true, .. } => 2,
            _ => 1,
        };
        let bytes = self.cuts.iter().map(|cut| copies(cut) * cut.len).sum();
        (bytes, self.cuts.iter().map(copies).sum())
    }

    /// Reported segments at this place and above.
    fn sacked_from(&self, index: usize) -> u32 {
        self.cuts[index.min(self.cuts.len())..].iter().map(|cut| u32::from(cut.sacked)).sum()
    }
}

//! SACK blocks of an acknowledgment: marks in the retransmission queue, DSACKs, and what they
//! reveal about delivery and reordering.

use std::cmp::Ordering;

use policy::loss::SentSegment;
use wire::{SackBlocks, SeqNum, SeqRange};

use super::ack::{AckArrival, Effects};
use super::{Half, PacketSender};
use crate::send::packets::info::CongestionState;

/// The blocks in the order of their sequence numbers, with their positions in the segment. If
/// acknowledgments were lost, several blocks are news. In the order of the segment, which begins
/// with the latest, the others would look like reordering.
fn in_sequence(blocks: &SackBlocks) -> impl Iterator<Item = (usize, SeqRange)> {
    let mut ordered = [None; SackBlocks::CAPACITY];
    for (slot, block) in ordered.iter_mut().zip(blocks.iter().enumerate()) {
        *slot = Some(block);
    }
    ordered[..blocks.len()].sort_by(|a, b| match (a, b) {
        (Some((_, a)), Some((_, b))) if a.start().before(b.start()) => Ordering::Less,
        (Some((_, a)), Some((_, b))) if b.start().before(a.start()) => Ordering::Greater,
        _ => Ordering::Equal,
    });
    ordered.into_iter().flatten()
}

impl PacketSender {
    /// Applies SACK blocks. `prior_una` is SND.UNA before the acknowledgment.
    pub(super) fn apply_reports(
        &mut self,
        half: &mut Half<'_>,
        ack: &AckArrival,
        prior_una: SeqNum,
        effects: &mut Effects,
    ) {
        let blocks = ack.reports.sack_blocks();
        let dsack = self.take_dsack(half, ack.ack, &blocks, prior_una, effects);
        // RFC 5961 §5.2: an acknowledgment older than the largest window.
        if ack.ack.before(prior_una - half.max_wnd) || half.board.is_empty() {
            return;
        }
        let mut low = half.nxt;
        if blocks.len() == 1 {
            if let Some(block) = blocks.iter().next() {
                self.apply_block(half, block, prior_una, dsack.is_some(), &mut low, effects);
            }
        } else {
            for (index, block) in in_sequence(&blocks) {
                let duplicate = index == 0 && dsack.is_some();
                self.apply_block(half, block, prior_una, duplicate, &mut low, effects);
            }
        }
        // In a recovery after a timeout retransmissions cannot be told apart.
        if self.state != CongestionState::Loss || self.undo.is_possible() {
            let highest = half.highest_reported();
            self.reordering.observe(low, highest, half.smss);
        }
    }

    /// Applies one block. `duplicate` says that it is a DSACK.
    fn apply_block(
        &mut self,
        half: &mut Half<'_>,
        block: SeqRange,
        prior_una: SeqNum,
        duplicate: bool,
        low: &mut SeqNum,
        effects: &mut Effects,
    ) {
        if duplicate {
            self.note_redundant(half, block, low);
        }
        // A block that ends below SND.UNA or beyond SND.NXT reports nothing.
        if block.end().after(prior_una)
            && block.end().after(half.una)
            && !block.end().after(half.nxt)
        {
            self.take_block(half, block, low, effects);
        }
        if duplicate {
            half.board.clear_resent_in(block);
        }
    }

    /// Marks the segments of one block.
    fn take_block(
        &mut self,
        half: &mut Half<'_>,
        block: SeqRange,
        low: &mut SeqNum,
        effects: &mut Effects,
    ) {
        let highest = half.highest_reported();
        let (now, min_rtt) = (half.now, self.rtt.min_rtt(half.now));
        let (rack, recovery_point) = (&mut self.rack, self.recovery_point);
        let count = half.board.sack_each(block, |segment| {
            rack.on_delivered(segment.last_transmission(), segment.was_resent(), now, min_rtt);
            if segment.was_resent() {
                return;
            }
            let (seq, len) = segment.range();
            if seq.before(highest) {
                // RFC 8985 §6.2, step 4: a segment that was never retransmitted arrives below a
                // reported one.
                *low = low.earliest(seq);
            }
            effects.original_delivered |= !(seq + len).after(recovery_point);
            effects.first_sacked.get_or_insert(segment.sent_at());
            effects.last_sacked = Some(segment.sent_at());
        });
        effects.sacked |= count > 0;
        effects.sack_delivered += count;
    }

    /// RFC 2883 §4: recognises a DSACK as the first block. Returns the block if it reports
    /// segments that this sender has retransmitted. Copies that were made as a precaution are no
    /// retransmissions.
    fn take_dsack(
        &mut self,
        half: &Half<'_>,
        ack: SeqNum,
        blocks: &SackBlocks,
        prior_una: SeqNum,
        effects: &mut Effects,
    ) -> Option<SeqRange> {
        let mut blocks = blocks.iter();
        let first = blocks.next()?;
        let is_duplicate =
            first.start().before(ack) || blocks.next().is_some_and(|second| second.contains(first));
        // A duplicate longer than the largest window is not credible.
        if !is_duplicate || first.len() > half.max_wnd || effects.copy {
            return None;
        }
        let segments = first.len().div_ceil(half.smss.max(1)).max(1);
        let reports_probe = segments == 1 && self.probe.end() == Some(first.end());
        self.dsacked = self.dsacked.saturating_add(segments);
        // Segments that were duplicated by the network were not retransmitted here.
        if self.dsacked > self.retransmissions {
            return None;
        }
        effects.dsack_of_probe |= reports_probe;
        if self.reordering.seen() > 0 && !reports_probe {
            self.rack.on_dsack();
        }
        effects.dsack = true;
        effects.sack_delivered += segments;
        if !first.end().after(prior_una) {
            self.undo.on_dsack(first.end(), segments);
        }
        Some(first)
    }

    /// Notes a DSACK for segments that are still in the queue.
    fn note_redundant(&mut self, half: &Half<'_>, block: SeqRange, low: &mut SeqNum) {
        let undo = &mut self.undo;
        half.board.each_in(block, |segment: &SentSegment| {
            if segment.was_resent() {
                let (seq, len) = segment.range();
                undo.on_dsack(seq + len, 1);
                if segment.is_reported() {
                    *low = low.earliest(seq);
                }
            }
        });
    }
}

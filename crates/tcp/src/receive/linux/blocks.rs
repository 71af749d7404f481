//! SACK blocks as in Linux, which keeps four (`tcp_sack_new_ofo_skb`, `tcp_sack_remove`).

use wire::{SackBlocks, SeqNum, SeqRange};

/// The blocks to report, newest first. Unlike RFC 2018 §4, a fifth range displaces the oldest
/// block, and is not reported again when a newer block vanishes.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::receive) struct Blocks {
    list: [Option<SeqRange>; SackBlocks::CAPACITY],
}

impl Blocks {
    /// Number of blocks that an option beside timestamps carries in any case. A change behind them
    /// is reported at once, because a lost acknowledgment would hide it.
    const EXPECTED: usize = 2;

    pub(super) fn iter(&self) -> impl Iterator<Item = SeqRange> + '_ {
        self.list.iter().filter_map(|block| *block)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns whether the arrival of this range is a reason to report the blocks as they were
    /// before.
    pub(super) fn displaces(&self, range: SeqRange) -> bool {
        let index = self.iter().position(|block| block.touches(range));
        index.unwrap_or(self.iter().count()) >= Self::EXPECTED
    }

    /// RFC 2018 §4: the block with the segment that arrived last is the first.
    pub(super) fn add(&mut self, range: SeqRange) {
        let mut first = range;
        let mut others = Vec::with_capacity(SackBlocks::CAPACITY);
        let found = self.iter().position(|block| block.touches(range));
        if let Some(block) = found.and_then(|index| self.list[index]) {
            first = first.union(block);
        }
        for (index, block) in self.iter().enumerate() {
            if Some(index) == found {
                continue;
            }
            if found.is_some() && block.touches(first) {
                first = first.union(block);
            } else {
                others.push(block);
            }
        }
        self.clear();
        for (slot, block) in self.list.iter_mut().zip(std::iter::once(first).chain(others)) {
            *slot = Some(block);
        }
    }

    /// Removes the blocks that RCV.NXT has reached.
    pub(super) fn remove_below(&mut self, nxt: SeqNum) {
        let kept: Vec<SeqRange> = self.iter().filter(|block| block.start().after(nxt)).collect();
        self.clear();
        for (slot, block) in self.list.iter_mut().zip(kept) {
            *slot = Some(block);
        }
    }
}

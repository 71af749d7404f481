//! Loss that depends on the size of the packet.

use super::Linear;
use crate::probability::Probability;

/// The relation between a packet's size and its loss probability.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SizeLaw {
    PerByte(Probability),
    Linear(Linear),
}

impl SizeLaw {
    fn probability(self, bytes: u32) -> Probability {
        match self {
            Self::PerByte(hit) => hit.complement().power(bytes).complement(),
            Self::Linear(linear) => linear.probability.times(bytes, linear.at),
        }
    }
}

const SLOTS: usize = 8;

/// A size law with a cache of its results. Traffic has few packet sizes, and a result costs some
/// twenty multiplications or a 128-bit division.
#[derive(Debug)]
pub(crate) struct BySize {
    law: SizeLaw,
    /// Sizes and their probabilities, in the slot given by [`slot`].
    memo: [(u32, Probability); SLOTS],
}

impl BySize {
    pub(crate) fn new(law: SizeLaw) -> Self {
        // Valid in every slot: the lookup of any other size misses.
        Self { law, memo: [(0, law.probability(0)); SLOTS] }
    }

    pub(crate) fn probability(&mut self, bytes: u32) -> Probability {
        let entry = &mut self.memo[slot(bytes)];
        if entry.0 != bytes {
            *entry = (bytes, self.law.probability(bytes));
        }
        entry.1
    }
}

/// Hashes a size to a slot: the top three bits of a product with 2³² / golden ratio (Knuth, TAOCP
/// 3, §6.4).
const fn slot(bytes: u32) -> usize {
    (bytes.wrapping_mul(0x9E37_79B9) >> 29) as usize
}

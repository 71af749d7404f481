//! Loss that depends on the size of the packet.

use super::Linear;
use crate::probability::Probability;

/// How loss depends on size.
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

const PLACES: usize = 8;

/// A size law that remembers its last answers. Traffic has few sizes, and an answer costs some
/// twenty multiplications or a division of 128 bits.
#[derive(Debug)]
pub(crate) struct BySize {
    law: SizeLaw,
    /// A size and its probability, in the place given by [`place`].
    memo: [(u32, Probability); PLACES],
}

impl BySize {
    pub(crate) fn new(law: SizeLaw) -> Self {
        // Right for all places: a lookup of another size than 0 misses.
        Self { law, memo: [(0, law.probability(0)); PLACES] }
    }

    pub(crate) fn probability(&mut self, bytes: u32) -> Probability {
        let entry = &mut self.memo[place(bytes)];
        if entry.0 != bytes {
            *entry = (bytes, self.law.probability(bytes));
        }
        entry.1
    }
}

/// Spreads sizes over the places: the top three bits of a product with 2³² / golden ratio (Knuth,
/// TAOCP 3, §6.4).
const fn place(bytes: u32) -> usize {
    (bytes.wrapping_mul(0x9E37_79B9) >> 29) as usize
}

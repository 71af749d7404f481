//! A tiny random generator, so that a seed says everything about a run.

use units::hash::{GOLDEN, mix};

/// `SplitMix64` (Steele, Lea, Flood, OOPSLA 2014): one word of state, good enough to shake a TCP
/// with.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The generator that this seed names.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number below `bound`, zero when the bound is zero. The bias of the remainder is below
    /// `bound / 2⁶⁴`.
    pub const fn below(&mut self, bound: u64) -> u64 {
        match self.bits().checked_rem(bound) {
            Some(number) => number,
            None => 0,
        }
    }

    /// True `per_mille` times in a thousand.
    pub const fn chance(&mut self, per_mille: u16) -> bool {
        per_mille > 0 && self.below(1000) < per_mille as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for the seed 0, as the reference implementation gives them.
    #[test]
    fn it_is_splitmix64() {
        let mut random = Random::new(0);
        assert_eq!(random.bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.bits(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn chances_are_met() {
        let mut random = Random::new(1);
        let hits = (0..100_000).filter(|_| random.chance(300)).count();
        // Five standard deviations.
        assert!((29_275..=30_725).contains(&hits), "{hits}");
        assert!(!random.chance(0) && random.chance(1000));
    }
}

//! A small random number generator. A seed determines a run completely.

use units::hash::{GOLDEN, mix};

/// `SplitMix64` (Steele, Lea, Flood, OOPSLA 2014). It has one word of state and is good enough for
/// tests.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates a generator with this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Returns a number below `bound`, or zero if the bound is zero. The bias is less than `bound /
    /// 2⁶⁴`.
    pub const fn below(&mut self, bound: u64) -> u64 {
        match self.bits().checked_rem(bound) {
            Some(number) => number,
            None => 0,
        }
    }

    /// Returns true with a probability of `per_mille` / 1000.
    pub const fn chance(&mut self, per_mille: u16) -> bool {
        per_mille > 0 && self.below(1000) < per_mille as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for the seed 0, as in the reference implementation.
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

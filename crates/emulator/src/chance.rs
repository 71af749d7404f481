//! Random draws, each determined by the seed, the direction, the kind of decision and the packet's
//! number.
//!
//! The same packets in the same order therefore have the same outcomes, and the draws for one
//! option do not shift those for another.

use link::Chance;
use units::hash::{GOLDEN, fnv, mix};

/// The decision for which a number is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// Whether the loss model loses the packet.
    Loss = 1,
    /// Whether the discipline drops or marks the packet.
    Early,
    /// Whether the packet is duplicated.
    Duplicate,
    /// Whether a bit of the packet is inverted.
    Corrupt,
    /// The bit that is inverted.
    Bit,
    /// Whether the packet takes additional delay.
    Reorder,
    /// The packet's additional delay.
    Jitter,
}

impl From<Chance> for Question {
    fn from(chance: Chance) -> Self {
        match chance {
            Chance::Loss => Self::Loss,
            Chance::Early => Self::Early,
            Chance::Reorder => Self::Reorder,
            Chance::Jitter => Self::Jitter,
        }
    }
}

/// The draws of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Draws {
    key: u64,
}

impl Draws {
    /// The draws of the direction called `name`.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        Self { key: mix(mix(seed.wrapping_add(GOLDEN)) ^ fnv(name)) }
    }

    /// The uniform number for a decision on the packet with this number.
    pub(crate) fn draw(self, question: Question, packet: u64) -> u64 {
        let stream = mix(self.key ^ GOLDEN.wrapping_mul(question as u64));
        mix(stream.wrapping_add(packet.wrapping_add(1).wrapping_mul(GOLDEN)))
    }

    /// A uniform number below `n`, which must be above zero. The relative error of a value's
    /// probability is at most `n` / 2⁶⁴.
    pub(crate) fn below(self, question: Question, packet: u64, n: u64) -> u64 {
        let product = u128::from(self.draw(question, packet)) * u128::from(n);
        u64::try_from(product >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_differ_by_question_direction_and_seed() {
        let mut all = Vec::new();
        for (seed, name) in [(1, "up"), (1, "down"), (2, "up")] {
            for question in [Question::Loss, Question::Early, Question::Reorder] {
                all.extend((0..50).map(|packet| Draws::new(seed, name).draw(question, packet)));
            }
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn numbers_are_uniform() {
        let draws = Draws::new(1, "up");
        let mut cells = [0_u32; 16];
        for packet in 0..16_000 {
            cells[usize::try_from(draws.below(Question::Bit, packet, 16)).unwrap()] += 1;
        }
        // χ² with 15 degrees of freedom exceeds 44 with probability 1e-4; the seed is fixed.
        let chi: f64 = cells.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 44.0, "χ² = {chi}");
    }
}

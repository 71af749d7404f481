//! Uniform numbers: each belongs to the seed, the direction, what it decides and the number of the
//! packet.
//!
//! So the same packets in the same order meet the same fate, and what one option draws doesn't
//! shift what another does.

use link::Chance;
use units::hash::{GOLDEN, fnv, mix};

/// What a number decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// Whether the loss model takes the packet.
    Loss = 1,
    /// Whether RED chooses it.
    Early,
    /// Whether it is sent twice.
    Duplicate,
    /// Whether a bit of it is turned.
    Corrupt,
    /// Which.
    Bit,
    /// Whether it comes late.
    Reorder,
}

impl From<Chance> for Question {
    fn from(chance: Chance) -> Self {
        match chance {
            Chance::Loss => Self::Loss,
            Chance::Early => Self::Early,
            Chance::Reorder => Self::Reorder,
        }
    }
}

/// The numbers of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Draws {
    key: u64,
}

impl Draws {
    /// Those of the direction called `name`.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        Self { key: mix(mix(seed.wrapping_add(GOLDEN)) ^ fnv(name)) }
    }

    /// The one for a question about the packet of this number.
    pub(crate) fn draw(self, question: Question, packet: u64) -> u64 {
        let stream = mix(self.key ^ GOLDEN.wrapping_mul(question as u64));
        mix(stream.wrapping_add(packet.wrapping_add(1).wrapping_mul(GOLDEN)))
    }

    /// A number below `n`, which is above zero. A value's probability is off by at most `n` / 2⁶⁴
    /// of itself.
    pub(crate) fn below(self, question: Question, packet: u64, n: u64) -> u64 {
        let product = u128::from(self.draw(question, packet)) * u128::from(n);
        u64::try_from(product >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_directions_and_seeds_are_apart() {
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

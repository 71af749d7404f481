//! Probabilities as 64-bit fixed point, so that a decision is one comparison of integers and is
//! reproducible on any machine.

use std::num::NonZeroU32;

use crate::error::ConfigError;

/// 2⁶⁴, exactly representable.
const SCALE: f64 = 18_446_744_073_709_551_616.0;

/// A probability in units of 2⁻⁶⁴; 0 and 1 are exact.
///
/// The value is the number of 64-bit draws that hit. 2⁶⁴ itself does not fit in 64 bits, so the
/// largest value represents 1. No probability below 1 needs it: the largest `f64` below 1 is 2⁶⁴ −
/// 2¹¹.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probability(u64);

impl Probability {
    /// Probability zero: never hits.
    pub const ZERO: Self = Self(0);
    /// Probability one: always hits.
    pub const ONE: Self = Self(u64::MAX);

    /// The probability `value`, rounded down to a multiple of 2⁻⁶⁴.
    ///
    /// # Errors
    /// If `value` is not in the range from 0 to 1.
    pub fn new(value: f64) -> Result<Self, ConfigError> {
        if (0.0..=1.0).contains(&value) {
            Ok(Self::saturating(value))
        } else {
            Err(ConfigError::Probability(value))
        }
    }

    /// The nearest probability to `value`, for results that rounding has moved below 0 or above 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast rounds down and saturates at 0 and at `ONE`, as wanted"
    )]
    pub(crate) fn saturating(value: f64) -> Self {
        Self((value * SCALE) as u64)
    }

    /// The value as a floating-point number, for messages and results.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are enough to read")]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / SCALE
    }

    /// Returns true if a uniform draw is below the probability.
    pub const fn hits(self, draw: u64) -> bool {
        draw < self.0 || self.0 == u64::MAX
    }

    /// The probability of the complementary event.
    pub(crate) const fn complement(self) -> Self {
        if self.0 == u64::MAX {
            Self::ZERO
        } else if self.0 == 0 {
            Self::ONE
        } else {
            Self(self.0.wrapping_neg())
        }
    }

    /// The probability of `count` independent hits, with an error below `count` · 2⁻⁶³.
    pub(crate) const fn power(self, count: u32) -> Self {
        let (mut result, mut square, mut rest) = (Self::ONE, self, count);
        while rest > 0 {
            if rest & 1 == 1 {
                result = result.both(square);
            }
            square = square.both(square);
            rest >>= 1;
        }
        result
    }

    /// The number of hits among all 2⁶⁴ draws.
    pub(crate) const fn draws(self) -> u128 {
        if self.0 == u64::MAX { 1 << 64 } else { self.0 as u128 }
    }

    /// This share of `whole`, rounded down.
    pub(crate) const fn of(self, whole: u64) -> u64 {
        if self.0 == u64::MAX { whole } else { ((self.0 as u128 * whole as u128) >> 64) as u64 }
    }

    /// This share of `whole`, rounded to the nearest integer.
    pub(crate) const fn nearest_of(self, whole: u64) -> u64 {
        if self.0 == u64::MAX {
            return whole;
        }
        ((self.0 as u128 * whole as u128 + (1 << 63)) >> 64) as u64
    }

    /// The probability times `numerator / denominator`, at most 1.
    pub(crate) fn times(self, numerator: u32, denominator: NonZeroU32) -> Self {
        let scaled = self.draws() * u128::from(numerator) / u128::from(denominator.get());
        u64::try_from(scaled).map_or(Self::ONE, Self)
    }

    /// This probability as a share of the sum of both; zero if both are zero.
    pub(crate) fn among(self, other: Self) -> Self {
        let (mine, sum) = (self.draws(), self.draws() + other.draws());
        if mine == 0 {
            return Self::ZERO;
        }
        // Two factors of up to 2⁶⁴ do not fit: the quotient keeps 62 bits.
        u64::try_from((mine << 62) / sum)
            .map_or(Self::ONE, |share| if share >= 1 << 62 { Self::ONE } else { Self(share << 2) })
    }

    /// The probability of two independent hits.
    const fn both(self, other: Self) -> Self {
        if self.0 == u64::MAX {
            other
        } else if other.0 == u64::MAX {
            self
        } else {
            Self(((self.0 as u128 * other.0 as u128) >> 64) as u64)
        }
    }
}

/// A uniform draw that makes several independent decisions.
///
/// Each decision divides the interval in which the draw lies in the ratio of its probability. The
/// part with the draw is the interval of the next decision. The sum of the errors of the
/// probabilities of all outcomes is below 2⁻⁶⁰ for up to three decisions.
#[derive(Debug)]
pub(crate) struct Uniform {
    /// The position of the draw in the interval.
    at: u128,
    width: u128,
}

impl Uniform {
    pub(crate) fn new(draw: u64) -> Self {
        Self { at: u128::from(draw), width: 1 << 64 }
    }

    /// Makes a decision; returns true with this probability.
    pub(crate) fn hits(&mut self, probability: Probability) -> bool {
        if probability == Probability::ONE {
            return true;
        }
        let cut = (self.width * probability.draws()) >> 64;
        let hit = self.at < cut;
        if hit {
            self.width = cut;
        } else {
            self.at -= cut;
            self.width -= cut;
        }
        hit
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn p(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    #[test]
    fn zero_never_hits_and_one_always() {
        for draw in [0, 1, u64::MAX - 1, u64::MAX] {
            assert!(!p(0.0).hits(draw));
            assert!(p(1.0).hits(draw));
        }
        assert_eq!((p(0.0), p(1.0)), (Probability::ZERO, Probability::ONE));
    }

    #[test]
    fn the_largest_value_below_one_is_not_one() {
        assert!(!p(1.0f64.next_down()).hits(u64::MAX));
    }

    #[test]
    fn a_half_hits_the_lower_half() {
        assert!(p(0.5).hits((1 << 63) - 1));
        assert!(!p(0.5).hits(1 << 63));
    }

    #[test]
    fn only_numbers_from_zero_to_one_are_probabilities() {
        for bad in [-0.1, 1.0f64.next_up(), f64::NAN, f64::INFINITY] {
            assert!(Probability::new(bad).is_err(), "{bad} passed");
        }
        assert_eq!(
            Probability::new(1.5).unwrap_err().to_string(),
            "1.5 is not a probability: it must lie between 0 and 1"
        );
        assert_eq!(p(-0.0), Probability::ZERO);
    }

    #[test]
    fn a_ratio_caps_at_one() {
        let full = NonZeroU32::new(1500).unwrap();
        assert_eq!(p(0.5).times(1500, full), p(0.5));
        assert_eq!(p(1.0).times(750, full), p(0.5));
        assert_eq!(p(0.5).times(3000, full), Probability::ONE);
        assert_eq!(p(0.5).times(9000, full), Probability::ONE);
        assert_eq!(p(0.5).times(0, full), Probability::ZERO);
    }

    #[test]
    fn powers_of_zero_and_one_are_exact() {
        assert_eq!(Probability::ONE.power(1500), Probability::ONE);
        assert_eq!(Probability::ZERO.power(1500), Probability::ZERO);
        assert_eq!(Probability::ZERO.power(0), Probability::ONE);
        assert_eq!(p(0.5).power(3), p(0.125));
    }

    proptest! {
        #[test]
        fn a_share_agrees_with_floating_point(a in 0.0..=1.0f64, b in 0.0..=1.0f64) {
            let expected = if a == 0.0 { 0.0 } else { a / (a + b) };
            prop_assert!((p(a).among(p(b)).as_f64() - expected).abs() < 1e-12);
        }

        #[test]
        fn decisions_of_one_draw_divide_it(a in 0.0..=1.0f64, b in 0.0..=1.0f64, draw: u64) {
            let (mut uniform, x) = (Uniform::new(draw), Probability(draw).as_f64());
            let first = uniform.hits(p(a));
            let inner = if first { x / a } else { (x - a) / (1.0 - a) };
            let near = (x - a).abs() < 1e-9 || (inner - b).abs() < 1e-6;
            prop_assert!(near || (first, uniform.hits(p(b))) == (x < a, inner < b));
        }

        #[test]
        fn a_power_agrees_with_floating_point(value in 0.0..=1.0f64, count in 0..100_000u32) {
            let exact = value.powi(i32::try_from(count).unwrap());
            // Our error is 2⁻⁶³ per factor; `powi` itself may err by some 2⁻⁵² per multiplication.
            prop_assert!((p(value).power(count).as_f64() - exact).abs() < 1e-10);
        }

        #[test]
        fn complements_undo_themselves(value in 0.0..=1.0f64) {
            prop_assert_eq!(p(value).complement().complement(), p(value));
            prop_assert!((p(value).as_f64() + p(value).complement().as_f64() - 1.0).abs() < 1e-15);
        }
    }
}

//! Tables of quantiles, computed once, so that a draw needs integers only.
//!
//! The functions use only operations that IEEE 754 fixes to the last bit (addition, multiplication,
//! division). The tables are therefore equal on every machine, unlike those of a mathematical
//! library.

use std::sync::Arc;

/// The number of halvings of the tail probability that a table covers. Below 2⁻³² the quantile is
/// constant.
const OCTAVES: u32 = 32;
/// The number of cells in an octave, as a power of two.
const CELL_BITS: u32 = 6;
const CELLS: u32 = 1 << CELL_BITS;

/// The quantiles of a random variable that is not negative, by tail probability.
///
/// Octave j covers the tail probabilities from 2⁻⁽ʲ⁺¹⁾ to 2⁻ʲ in 64 cells, with linear
/// interpolation between their ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TailTable(Arc<[u64]>);

impl TailTable {
    /// A table of `quantile`, a function of the tail probability that decreases from 1 to 2⁻³². It
    /// is called in order of decreasing probabilities.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast rounds down and saturates, as wanted"
    )]
    fn new(mut quantile: impl FnMut(f64) -> f64) -> Self {
        let mut values = vec![quantile(1.0) as u64];
        let mut scale = 0.5;
        for _ in 0..OCTAVES {
            for cell in (0..CELLS).rev() {
                let tail = scale * (1.0 + f64::from(cell) / f64::from(CELLS));
                values.push((quantile(tail) + 0.5) as u64);
            }
            scale /= 2.0;
        }
        Self(values.into())
    }

    /// The absolute value of a normal variable with this standard deviation. The error is below
    /// 10⁻⁴ standard deviations. No value is above 6.4 standard deviations.
    pub(crate) fn half_normal(deviation: u64) -> Self {
        let mut x = 0.0;
        Self::new(|tail| {
            // Newton's iteration from the previous quantile. The tail is convex, so the iteration
            // approaches the quantile from below.
            for _ in 0..8 {
                let density = normal_density(x);
                x += (1.0 - 2.0 * density * normal_series(x) - tail) / (2.0 * density);
            }
            x * float(deviation)
        })
    }

    /// A Pareto distribution of the second kind (Lomax): the tail is (1 + x/s)⁻ᵃ for the shape a
    /// above 1 and the mean s / (a − 1). The relative error is below 10⁻⁴ for shapes of at least 1.
    /// No value is above the largest duration, and a value just below it can be less exact.
    pub(crate) fn lomax(mean: u64, shape: f64) -> Self {
        let scale = float(mean) * (shape - 1.0);
        // The power of two that brings the tail into the range from 1 to 2.
        let (mut power, mut octave) = (1.0, 0.0);
        Self::new(|tail| {
            while tail * power < 1.0 {
                (power, octave) = (2.0 * power, octave + 1.0);
            }
            let log = ln_near_one(tail * power) - octave * std::f64::consts::LN_2;
            scale * (exp(-log / shape) - 1.0)
        })
    }

    /// The quantile at the tail probability (`draw` + 1) / 2⁶⁴.
    pub(crate) fn at(&self, draw: u64) -> u64 {
        let octave = draw.leading_zeros();
        if octave >= OCTAVES {
            return self.0.last().copied().unwrap_or(0);
        }
        // The leading one is shifted out. The next bits are the cell, counted from the octave's
        // lower end, and the rest is the position in the cell.
        let fraction = (draw << octave) << 1;
        let cell = usize::try_from(fraction >> (64 - CELL_BITS)).unwrap_or(0);
        let within = fraction << CELL_BITS;
        let octave = usize::try_from(octave).unwrap_or(0);
        let lower_end = (octave + 1) * (CELLS as usize) - cell;
        let [low, high] = [lower_end, lower_end - 1].map(|at| self.0.get(at).copied().unwrap_or(0));
        let step = (u128::from(low - high.min(low)) * u128::from(within)) >> 64;
        low - u64::try_from(step).unwrap_or(0)
    }
}

#[expect(clippy::cast_precision_loss, reason = "53 bits are enough for a quantile")]
fn float(value: u64) -> f64 {
    value as f64
}

/// The density of the standard normal distribution.
fn normal_density(x: f64) -> f64 {
    // 1 / √(2π).
    0.398_942_280_401_432_7 * exp(-x * x / 2.0)
}

/// (Φ(x) − ½) / φ(x) = x + x³/3 + x⁵/(3·5) + …, for x ≥ 0 (Abramowitz and Stegun, 26.2.11).
fn normal_series(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term > sum * 1e-17 {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    sum
}

/// The exponential function of a number from −40 to 40: the series at x / 32, squared five times.
fn exp(x: f64) -> f64 {
    if x < 0.0 {
        return 1.0 / exp(-x);
    }
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..30_u32 {
        term *= x / 32.0 / f64::from(n);
        sum += term;
    }
    for _ in 0..5 {
        sum *= sum;
    }
    sum
}

/// The natural logarithm of a number from 1 to 2: 2 artanh((x − 1) / (x + 1)).
fn ln_near_one(x: f64) -> f64 {
    let ratio = (x - 1.0) / (x + 1.0);
    let (mut power, mut sum) = (ratio, 0.0);
    for n in 0..20_u32 {
        sum += power / f64::from(2 * n + 1);
        power *= ratio * ratio;
    }
    2.0 * sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn exp_and_ln_agree_with_the_library(x in -30.0..30.0f64, y in 1.0..2.0f64) {
            prop_assert!((exp(x) / x.exp() - 1.0).abs() < 1e-11, "{} {}", exp(x), x.exp());
            prop_assert!((ln_near_one(y) - y.ln()).abs() < 1e-15);
        }

        /// Tails of the normal distribution: φ(x) (1/x − 1/x³ + …) brackets them for large x; the
        /// trapezoidal rule integrates the density for small ones.
        #[test]
        fn half_normal_quantiles_have_their_tails(draw in any::<u64>(), shift in 0..32u32) {
            let draw = draw >> shift;
            let scale = 1_000_000_000;
            let x = float(TailTable::half_normal(scale).at(draw)) / float(scale);
            let tail = (float(draw) + 1.0) / 2f64.powi(64);
            let (steps, end) = (20_000, 12.0);
            let width = (end - x) / f64::from(steps);
            let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let inner: f64 = (1..steps).map(|n| density(x + width * f64::from(n))).sum();
            let integral = 2.0 * width * (inner + density(x) / 2.0);
            // An error of 10⁻⁴ of the quantile changes the tail by the density times 10⁻⁴.
            let floor = tail.max(2f64.powi(-32));
            prop_assert!((integral - floor).abs() < 2.2e-4 * density(x) + 1e-6 * floor, "{x}: {integral} {floor}");
        }

        #[test]
        fn lomax_quantiles_have_their_tails(draw in any::<u64>(), shift in 0..32u32, shape in 1.1..20.0f64) {
            let draw = draw >> shift;
            let mean = 10_000_000_000;
            let x = float(TailTable::lomax(mean, shape).at(draw));
            let scale = float(mean) * (shape - 1.0);
            let tail = (float(draw) + 1.0) / 2f64.powi(64);
            let expected = scale * (tail.max(2f64.powi(-32)).powf(-1.0 / shape) - 1.0);
            prop_assert!((x - expected).abs() <= 1e-4 * (expected + scale), "{x} {expected}");
        }

        #[test]
        fn quantiles_fall_as_the_tail_grows(a: u64, b: u64) {
            let table = TailTable::lomax(5_000_000, 3.0);
            prop_assert!(table.at(a.min(b)) >= table.at(a.max(b)));
        }
    }

    #[test]
    fn quantiles_end_at_the_largest_duration() {
        let table = TailTable::lomax(1_000_000_000_000, 1.1);
        assert_eq!(table.at(0), u64::MAX);
        assert!(table.at(1 << 40) < u64::MAX);
    }

    /// The tables are part of the results, so they must not change.
    #[test]
    fn tables_do_not_change_with_a_rebuild() {
        let sum = |table: &TailTable| {
            table.0.iter().fold(0u64, |sum, &value| sum.wrapping_mul(31).wrapping_add(value))
        };
        let tables = [TailTable::half_normal(5_000_000), TailTable::lomax(5_000_000, 3.0)];
        assert_eq!(tables.map(|table| sum(&table)), SUMS);
    }

    const SUMS: [u64; 2] = [1_697_560_604_114_772_033, 15_226_604_388_711_100_467];
}

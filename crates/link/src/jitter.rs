//! Random variation of the delay: each packet has an additional delay of its own, which may be
//! negative.
//!
//! One uniform number per packet is converted by the inverse of the distribution function, in
//! integers ([`crate::quantiles`]). A larger number never gives a smaller delay, so two runs with
//! the same numbers and different laws have comparable delays.

use std::sync::Arc;

use units::Duration;

use crate::error::ConfigError;
use crate::quantiles::TailTable;

/// The distribution of the additional delay, and whether packets may overtake each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jitter {
    law: Law,
    reorders: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Law {
    /// Every nanosecond from −by to by has the same probability.
    Uniform {
        by: i64,
    },
    Normal(TailTable),
    Pareto(TailTable),
    /// Sorted values of equal probability.
    Samples(Arc<[i64]>),
}

/// The maximum of a parameter and of an additional delay: 36 years.
const LONGEST: i64 = 1 << 60;

impl Jitter {
    /// Uniform between −`by` and `by`.
    pub fn uniform(by: Duration) -> Self {
        Self::of(Law::Uniform { by: nanos(by.as_nanos()) })
    }

    /// Normal with mean zero and this standard deviation. The distribution is cut at 6.4 standard
    /// deviations, and its quantiles are exact to 10⁻⁴ standard deviations.
    pub fn normal(deviation: Duration) -> Self {
        Self::of(Law::Normal(TailTable::half_normal(deviation.as_nanos())))
    }

    /// A Pareto distribution that begins at zero (Lomax), with this mean: the probability of a
    /// delay above x is (1 + x / ((a − 1) mean))⁻ᵃ for the shape a. The quantiles are exact to
    /// 10⁻⁴, and those with a probability below 2⁻³² are cut.
    ///
    /// # Errors
    /// Unless the shape is above 1 and at most 1000.
    pub fn pareto(mean: Duration, shape: f64) -> Result<Self, ConfigError> {
        if !(shape > 1.0 && shape <= 1000.0) {
            return Err(ConfigError::ParetoShape(shape));
        }
        Ok(Self::of(Law::Pareto(TailTable::lomax(mean.as_nanos(), shape))))
    }

    /// One of these delays in nanoseconds, each with the same probability.
    ///
    /// # Errors
    /// If there is none.
    pub fn samples(mut delays: Vec<i64>) -> Result<Self, ConfigError> {
        if delays.is_empty() {
            return Err(ConfigError::NoSamples);
        }
        delays.sort_unstable();
        Ok(Self::of(Law::Samples(delays.into())))
    }

    /// Sets whether a packet may be delivered before one that left the line earlier. Otherwise it
    /// waits for the earlier one.
    #[must_use]
    pub fn with_reordering(self, reorders: bool) -> Self {
        Self { reorders, ..self }
    }

    fn of(law: Law) -> Self {
        Self { law, reorders: false }
    }

    pub(crate) fn reorders(&self) -> bool {
        self.reorders
    }

    /// The additional delay in nanoseconds for a uniform number.
    pub(crate) fn delay(&self, draw: u64) -> i64 {
        match &self.law {
            Law::Uniform { by } => share(draw, 2 * by.unsigned_abs() + 1) - by,
            // The first bit is the sign, and the others are the distance from the middle.
            Law::Normal(table) if draw >> 63 == 0 => -nanos(table.at(draw << 1)),
            Law::Normal(table) => nanos(table.at(!(draw << 1))),
            Law::Pareto(table) => nanos(table.at(!draw)),
            Law::Samples(delays) => {
                let index = usize::try_from(share(draw, delays.len() as u64)).unwrap_or(0);
                delays.get(index).map_or(0, |delay| (*delay).clamp(-LONGEST, LONGEST))
            }
        }
    }
}

/// A uniform integer below `count`, which is at most 2⁶².
fn share(draw: u64, count: u64) -> i64 {
    i64::try_from((u128::from(draw) * u128::from(count)) >> 64).unwrap_or(0)
}

fn nanos(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(LONGEST).min(LONGEST)
}

#[cfg(test)]
mod tests;

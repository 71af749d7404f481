//! A histogram of durations in constant memory, with a precision of 3 %.

use units::Duration;

/// The logarithm of the number of buckets per power of two.
const PART_BITS: u32 = 5;
const PARTS: usize = 1 << PART_BITS;
const BUCKETS: usize = (64 - PART_BITS as usize + 1) * PARTS;

/// Counts of durations in buckets. Each value below 32 ns has a bucket of its own; above, each
/// power of two is divided into 32 buckets.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    total: u64,
    max: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: Box::new([0; BUCKETS]), total: 0, max: 0 }
    }

    pub(crate) fn add(&mut self, value: Duration) {
        let value = value.as_nanos();
        self.counts[bucket(value)] += 1;
        self.total += 1;
        self.max = self.max.max(value);
    }

    /// The maximum.
    pub(crate) fn max(&self) -> Option<Duration> {
        (self.total > 0).then(|| Duration::from_nanos(self.max))
    }

    /// The smallest duration that at least `percent` of the values do not exceed, rounded up by at
    /// most 3 %.
    pub(crate) fn percentile(&self, percent: u64) -> Option<Duration> {
        let wanted = (u128::from(self.total) * u128::from(percent)).div_ceil(100).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|&count| {
            seen += u128::from(count);
            seen >= wanted
        })?;
        Some(Duration::from_nanos(upper_bound(found).min(self.max)))
    }
}

fn bucket(value: u64) -> usize {
    let exponent = (u64::BITS - value.leading_zeros()).saturating_sub(PART_BITS + 1);
    // The leading bit is kept, so the buckets of one exponent begin where those of the previous one
    // end.
    let part = usize::try_from(value >> exponent).unwrap_or(0);
    exponent as usize * PARTS + part
}

/// The highest value of a bucket.
fn upper_bound(bucket: usize) -> u64 {
    let exponent = u32::try_from((bucket / PARTS).saturating_sub(1)).unwrap_or(0);
    let part = (bucket - exponent as usize * PARTS) as u128;
    u64::try_from(((part + 1) << exponent) - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bucket_holds_values_within_three_percent(value: u64, shift in 0..64u32) {
            let value = value >> shift;
            let top = upper_bound(bucket(value));
            prop_assert!(top >= value && u128::from(top - value) * 32 <= u128::from(value), "{} {}", value, top);
            prop_assert!(top == u64::MAX || bucket(top + 1) == bucket(value) + 1);
        }

        #[test]
        fn percentiles_equal_those_of_the_sorted_values(mut values in prop::collection::vec(0..10_000_000u64, 1..200), percent in 1..=100u64) {
            let mut histogram = Histogram::new();
            for &value in &values {
                histogram.add(Duration::from_nanos(value));
            }
            values.sort_unstable();
            let rank = usize::try_from((values.len() as u64 * percent).div_ceil(100)).unwrap();
            let exact = values[rank - 1];
            let found = histogram.percentile(percent).unwrap().as_nanos();
            prop_assert!(found >= exact && (found - exact) * 32 <= exact, "{} instead of {}", found, exact);
            prop_assert_eq!(histogram.max(), values.last().map(|&v| Duration::from_nanos(v)));
        }
    }

    #[test]
    fn an_empty_histogram_has_no_percentiles() {
        assert_eq!((Histogram::new().percentile(50), Histogram::new().max()), (None, None));
    }
}

//! Minimum of a stream of samples over a sliding window, with three samples of memory.
//!
//! Linux uses the same filter (`lib/win_minmax.c`, after Kathleen Nichols). It keeps the best
//! sample, the best one since, and the best one since that. The second comes from a later quarter
//! of the window and the third from its second half. When the best sample expires, the next one
//! takes its place.

use units::{Duration, Instant};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample {
    at: Instant,
    value: Duration,
}

/// Minimum over a sliding window. Each sample is at least as large as the one before it, and at
/// least as recent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowedMin {
    samples: [Sample; 3],
}

impl WindowedMin {
    const NONE: Duration = Duration::from_nanos(u64::MAX);

    /// Creates a filter without a sample.
    pub const fn new() -> Self {
        Self { samples: [Sample { at: Instant::ZERO, value: Self::NONE }; 3] }
    }

    /// Minimum of the window as of the last update; `None` before the first. Time without samples
    /// does not change it.
    pub fn get(&self) -> Option<Duration> {
        let value = self.samples[0].value;
        (value != Self::NONE).then_some(value)
    }

    /// Takes a sample and removes those that are older than `window`.
    pub fn update(&mut self, value: Duration, now: Instant, window: Duration) {
        let new = Sample { at: now, value };
        let [first, second, third] = &mut self.samples;
        // A new minimum supersedes every older sample. So does any sample after a whole window
        // without one.
        if value <= first.value || now.since(third.at) > window {
            self.samples = [new; 3];
            return;
        }
        if value <= second.value {
            (*second, *third) = (new, new);
        } else if value <= third.value {
            *third = new;
        }
        // A younger minimum neither expires nor needs a later choice.
        if now.since(first.at).as_nanos() > window.as_nanos() / 4 {
            self.advance(new, window);
        }
    }

    /// Replaces an expired minimum, or takes the sample as a later choice.
    #[cold]
    fn advance(&mut self, new: Sample, window: Duration) {
        let [first, second, third] = self.samples;
        let age = new.at.since(first.at);
        let longer_than = |part: u64| age.as_nanos() > window.as_nanos() / part;
        self.samples = if longer_than(1) {
            if new.at.since(second.at) > window { [third, new, new] } else { [second, third, new] }
        } else if second.at == first.at && longer_than(4) {
            [first, new, new]
        } else if third.at == second.at && longer_than(2) {
            [first, second, new]
        } else {
            self.samples
        };
    }
}

impl Default for WindowedMin {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(100);

    const fn at(secs: u64) -> Instant {
        Instant::from_nanos(secs * 1_000_000_000)
    }

    /// A minimum holds for a window, then the best of the later choices takes its place.
    #[test]
    fn the_minimum_expires_after_a_window() {
        let mut min = WindowedMin::new();
        assert_eq!(min.get(), None);
        // Time in s, sample in ms; minimum in ms.
        let table = [
            (0, 50, 50),
            (10, 80, 50),
            (24, 60, 50),
            (26, 70, 50),
            (49, 75, 50),
            (60, 90, 50),
            (100, 95, 50),
            (101, 99, 70),
            (127, 99, 90),
            (128, 20, 20),
            // No sample for longer than a window: the old minimum is forgotten.
            (300, 60, 60),
        ];
        for (secs, sample, expected) in table {
            min.update(Duration::from_millis(sample), at(secs), WINDOW);
            assert_eq!(min.get(), Some(Duration::from_millis(expected)), "{secs} s");
        }
    }

    proptest! {
        /// The filter never reports less than the true minimum of the window, and at most the
        /// newest sample.
        #[test]
        fn it_is_between_the_true_minimum_and_the_newest(
            steps in proptest::collection::vec((0..40u64, 1..100u64), 1..200),
        ) {
            let mut min = WindowedMin::new();
            let (mut secs, mut seen) = (0, Vec::new());
            for (step, sample) in steps {
                secs += step;
                let value = Duration::from_millis(sample);
                seen.push((at(secs), value));
                min.update(value, at(secs), WINDOW);
                let recent = seen.iter().filter(|(when, _)| at(secs).since(*when) <= WINDOW);
                let truth = recent.map(|&(_, value)| value).min();
                prop_assert!(min.get() >= truth && min.get() <= Some(value));
                let [a, b, c] = min.samples;
                prop_assert!(a.value <= b.value && b.value <= c.value);
                prop_assert!(a.at <= b.at && b.at <= c.at);
            }
        }

        /// As long as the window is not exceeded, the minimum is exact.
        #[test]
        fn it_is_exact_within_one_window(
            samples in proptest::collection::vec(1..100u64, 1..100),
        ) {
            let mut min = WindowedMin::new();
            for (secs, &sample) in (0..).zip(&samples) {
                min.update(Duration::from_millis(sample), at(secs), WINDOW);
            }
            let truth = samples.iter().min().map(|&ms| Duration::from_millis(ms));
            prop_assert_eq!(min.get(), truth);
        }
    }
}

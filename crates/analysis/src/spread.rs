//! Statistics of durations, with constant memory.

use units::Duration;

/// Number, extremes, mean and standard deviation of measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    /// Number of measurements.
    pub count: u64,
    /// Minimum.
    pub min: Duration,
    /// Maximum.
    pub max: Duration,
    mean_ns: f64,
    /// Sum of squared deviations from the mean (Welford 1962).
    squares: f64,
}

impl Spread {
    /// Adds a measurement.
    #[expect(clippy::cast_precision_loss, reason = "statistics of times below 2⁵³ ns, 104 days")]
    pub(crate) fn add(&mut self, value: Duration) {
        self.count += 1;
        self.min = if self.count == 1 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        let nanos = value.as_nanos() as f64;
        let before = nanos - self.mean_ns;
        self.mean_ns += before / self.count as f64;
        self.squares += before * (nanos - self.mean_ns);
    }

    /// Mean in seconds; `None` without a measurement.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean_ns / 1e9)
    }

    /// Standard deviation of a sample in seconds; `None` with fewer than two measurements.
    #[expect(clippy::cast_precision_loss, reason = "a count of packets")]
    pub fn deviation_s(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt() / 1e9)
    }
}

//! A level that rises and falls, with its time integral and its maximum.

use units::Instant;

/// The integral up to time `t` is Σ xᵢ · (t − tᵢ) over all steps xᵢ at tᵢ. A step therefore costs
/// two additions, and no work is needed between steps.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meter {
    level: u64,
    max: u64,
    /// −Σ xᵢ · tᵢ, in nanoseconds, and the value of the integral at the last reset.
    moment: i128,
    base: i128,
}

impl Meter {
    pub(crate) fn up(&mut self, at: Instant, by: u64) {
        self.level += by;
        self.max = self.max.max(self.level);
        self.moment -= i128::from(by) * i128::from(at.as_nanos());
    }

    pub(crate) fn down(&mut self, at: Instant, by: u64) {
        self.level -= by;
        self.moment += i128::from(by) * i128::from(at.as_nanos());
    }

    pub(crate) fn level(&self) -> u64 {
        self.level
    }

    /// The maximum since the last reset.
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// The integral from the last reset up to `now`, in units times nanoseconds.
    pub(crate) fn integral(&self, now: Instant) -> u128 {
        u128::try_from(self.total(now) - self.base).unwrap_or(0)
    }

    pub(crate) fn reset(&mut self, now: Instant) {
        self.base = self.total(now);
        self.max = self.level;
    }

    fn total(&self, now: Instant) -> i128 {
        i128::from(self.level) * i128::from(now.as_nanos()) + self.moment
    }
}

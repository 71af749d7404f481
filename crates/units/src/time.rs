//! Simulated or monotonic time: a point ([`Instant`]) and a span ([`Duration`]), both in
//! nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use crate::parse::{ParseError, Units, scaled};

/// A point in time: nanoseconds since the run began.
///
/// Unlike `std::time::Instant` it can be built from a number, so that the absolute times of a run
/// reproduce.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens: the deadline of a timer that is off.
    pub const NEVER: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds into the run.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the run began.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span since `earlier`, or zero when `earlier` is in fact later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Rounds up to a whole multiple of `tick`, the moment at which a coarse clock would notice.
    /// A zero tick leaves the time as it is.
    pub const fn ceil_to(self, tick: Duration) -> Self {
        if tick.0 == 0 || self.0 == u64::MAX {
            self
        } else {
            Self(self.0.div_ceil(tick.0) * tick.0)
        }
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

/// Prints seconds with every significant digit, e.g. `0.1036s`.
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

/// A span of time in nanoseconds. Arithmetic saturates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whether the span is empty.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The absolute difference of two spans.
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// Rounds to the nearest whole multiple of `tick` (halves go up). A zero tick leaves the span
    /// as it is.
    pub const fn round_to(self, tick: Self) -> Self {
        match (self.0 + tick.0 / 2).checked_div(tick.0) {
            Some(ticks) => Self(ticks * tick.0),
            None => self,
        }
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

/// Prints seconds with every significant digit, e.g. `0.2s`; it parses back to the same value.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (secs, nanos) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        if nanos == 0 {
            return write!(f, "{secs}s");
        }
        let digits = format!("{nanos:09}");
        write!(f, "{secs}.{}s", digits.trim_end_matches('0'))
    }
}

/// Accepts `ns`, `us`, `ms`, `s`, `min` and `h`, with a decimal fraction: `"1.5s"`, `"20 ms"`.
impl FromStr for Duration {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const UNITS: Units = Units {
            names: &[
                ("ns", 1),
                ("us", 1_000),
                ("ms", 1_000_000),
                ("s", 1_000_000_000),
                ("min", 60_000_000_000),
                ("h", 3_600_000_000_000),
            ],
            wanted: "a duration such as `20ms` or `1.5s`",
            most: "5124095h",
        };
        scaled(text, &UNITS).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_printed_duration_parses_to_itself(nanos in 0..u64::MAX / 4) {
            let span = Duration::from_nanos(nanos);
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }

        #[test]
        fn ceiling_is_the_next_tick(at in 0..1u64 << 50, tick in 1..1u64 << 32) {
            let up = Instant::from_nanos(at).ceil_to(Duration::from_nanos(tick)).as_nanos();
            prop_assert!(up >= at && up - at < tick && up.is_multiple_of(tick));
        }
    }

    #[test]
    fn a_duration_that_does_not_fit_is_called_too_large() {
        let error = "999999999999h".parse::<Duration>().unwrap_err();
        assert_eq!(error.to_string(), "`999999999999h` is too large: the most is 5124095h");
        assert!("5124095h".parse::<Duration>().is_ok());
    }

    #[test]
    fn rounding_to_a_tick_takes_the_nearest() {
        let tick = Duration::from_millis(100);
        assert_eq!(Duration::from_millis(149).round_to(tick), tick);
        assert_eq!(Duration::from_millis(150).round_to(tick), tick * 2);
    }
}

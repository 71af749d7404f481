//! Conversions between integers and floating point.

use units::{Duration, Instant};

const NANOS_PER_SEC: f64 = 1e9;

/// A span in seconds, as in the result tables.
pub(crate) fn seconds(span: Duration) -> f64 {
    float(span.as_nanos()) / NANOS_PER_SEC
}

/// A time in seconds since the start of the run.
pub(crate) fn seconds_at(at: Instant) -> f64 {
    seconds(at.since(Instant::ZERO))
}

/// The nearest double.
#[expect(
    clippy::cast_precision_loss,
    reason = "exact below 2^53, and above it the nearest double is meant"
)]
pub(crate) fn float(value: u64) -> f64 {
    value as f64
}

/// The nearest `f64`; saturates at 2⁶⁴ on either side of zero.
pub(crate) fn signed(value: i128) -> f64 {
    let magnitude = float(u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX));
    if value < 0 { -magnitude } else { magnitude }
}

/// The integer part; saturates at the limits of `u64`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, which is what is wanted"
)]
pub(crate) fn whole(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_saturate_instead_of_wrapping() {
        assert_eq!(whole(-1.0), 0);
        assert_eq!(whole(f64::INFINITY), u64::MAX);
        assert!((signed(-3) + 3.0).abs() < f64::EPSILON);
        assert!((signed(1 << 40) - f64::from(1 << 20) * f64::from(1 << 20)).abs() < f64::EPSILON);
        assert!((seconds(Duration::from_millis(103)) - 0.103).abs() < f64::EPSILON);
        assert!((seconds_at(Instant::from_nanos(1)) - 1e-9).abs() < 1e-24);
    }
}

//! Conversions to floating point, for reading only.

use units::Duration;

/// A duration in seconds.
#[expect(clippy::cast_precision_loss, reason = "for reading")]
pub(crate) fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}

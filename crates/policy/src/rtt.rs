//! Round-trip time estimation for the retransmission timer.
//!
//! [`RttEstimator`] follows RFC 6298. The type [`LinuxRtt`] follows Linux, whose timeout exceeds
//! the smoothed round-trip time by at least 200 ms. The type [`WindowedMin`] keeps the minimum of
//! the last minutes, which RACK (RFC 8985) needs.

mod linux;
mod rfc;
mod windowed_min;

pub use linux::{LinuxRtoConfig, LinuxRtt};
pub use rfc::{RtoConfig, RttEstimator};
pub use windowed_min::WindowedMin;

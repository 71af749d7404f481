//! Types for times, rates and sizes, so that no bare integer has an unknown unit.
//!
//! All values are integers: nanoseconds for time, bits per second for rates, bytes for sizes.
//! [`Instant`] counts from the start of a run and can be built from a number, so absolute times
//! reproduce. Quantities that people write (`"20ms"`, `"10Mb/s"`, `"150kB"`) parse with
//! [`std::str::FromStr`]. [`hash`] maps names to the same numbers in every build.

pub mod hash;
mod parse;
mod rate;
mod time;

pub use parse::{ParseError, parse_bytes};
pub use rate::{Rate, Serializer};
pub use time::{Duration, Instant};

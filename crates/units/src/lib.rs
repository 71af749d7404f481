//! Time, rates and sizes as types, so that a bare integer never has to be guessed at.
//!
//! Everything is an integer: nanoseconds for time, bits per second for rates, bytes for sizes. [`Instant`]
//! counts from the start of a run and can be built from a number, so absolute times reproduce.
//! Quantities that people write (`"20ms"`, `"10Mb/s"`, `"150kB"`) parse with [`std::str::FromStr`].
//! [`hash`] is beside them: names become the same numbers everywhere.

pub mod hash;
mod parse;
mod rate;
mod time;

pub use parse::{ParseError, parse_bytes};
pub use rate::{Rate, Serializer};
pub use time::{Duration, Instant};

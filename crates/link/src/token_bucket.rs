//! A token bucket, as a policer that drops and as a shaper that delays.
//!
//! The bucket is that of RFC 2697 §3 with one burst size: it holds at most the burst, is full at
//! the start, and fills at the rate. A packet takes a token for each of its bytes.

use units::{Duration, Instant, Rate};

use crate::error::ConfigError;

/// Bits times nanoseconds per second in a byte.
const SCALE: i128 = 8_000_000_000;

/// The rate and the burst of a token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    rate: Rate,
    /// In bytes.
    burst: u32,
}

impl TokenBucket {
    /// A bucket of `burst` bytes.
    ///
    /// # Errors
    /// If `burst` is zero.
    pub const fn new(rate: Rate, burst: u32) -> Result<Self, ConfigError> {
        if burst == 0 {
            return Err(ConfigError::EmptyBucket);
        }
        Ok(Self { rate, burst })
    }

    /// The rate at which tokens arrive.
    pub const fn rate(self) -> Rate {
        self.rate
    }

    /// The size of the bucket in bytes. A policer drops every packet that is longer.
    pub const fn burst(self) -> u32 {
        self.burst
    }
}

/// The state of a token bucket.
#[derive(Debug)]
pub(crate) struct BucketState {
    bucket: TokenBucket,
    /// Tokens in bits times nanoseconds per second; negative after a packet longer than the burst.
    level: i128,
    at: Instant,
}

impl BucketState {
    pub(crate) fn new(bucket: TokenBucket) -> Self {
        Self { bucket, level: i128::from(bucket.burst) * SCALE, at: Instant::ZERO }
    }

    fn advance_to(&mut self, now: Instant) {
        let passed = i128::from(now.since(self.at).as_nanos());
        let filled = self.level + passed * i128::from(self.bucket.rate.bits_per_sec());
        self.level = filled.min(i128::from(self.bucket.burst) * SCALE);
        self.at = self.at.max(now);
    }

    /// Policing: takes the tokens for a packet of `bytes` if they are there, and returns true then.
    pub(crate) fn conforms(&mut self, now: Instant, bytes: u32) -> bool {
        self.advance_to(now);
        let needed = i128::from(bytes) * SCALE;
        let conforms = needed <= self.level;
        if conforms {
            self.level -= needed;
        }
        conforms
    }

    /// Shaping: takes the tokens for a packet of `bytes` as soon as they are there, from `now` on.
    /// Returns that time, rounded up to a nanosecond. A packet longer than the burst waits for a
    /// full bucket, and those behind it for the tokens that it has taken too many.
    pub(crate) fn release(&mut self, now: Instant, bytes: u32) -> Instant {
        self.advance_to(now);
        let needed = i128::from(bytes.min(self.bucket.burst)) * SCALE;
        let missing = u128::try_from(needed - self.level).unwrap_or(0);
        let wait = missing.div_ceil(u128::from(self.bucket.rate.bits_per_sec()));
        let release = self.at + Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX));
        self.advance_to(release);
        self.level -= i128::from(bytes) * SCALE;
        release
    }
}

#[cfg(test)]
mod tests;

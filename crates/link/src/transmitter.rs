//! The times at which packets leave a line: at a constant rate, by a trace, or by a token bucket in
//! front of either.

use units::{Instant, Rate, Serializer};

use crate::rate_trace::{RateTrace, TraceLine};
use crate::token_bucket::{BucketState, TokenBucket};

/// A line that is not infinitely fast. Packets leave in the order of the calls.
#[derive(Debug)]
pub(crate) struct Transmitter {
    shaper: Option<BucketState>,
    medium: Medium,
}

#[derive(Debug)]
enum Medium {
    /// Infinitely fast behind a shaper. The time is that of the last packet.
    Instant(Instant),
    Constant(Serializer),
    Trace(TraceLine),
}

impl Transmitter {
    /// The line of a link; `None` if it is infinitely fast. A trace takes precedence over a rate.
    pub(crate) fn new(
        rate: Option<Rate>,
        trace: Option<&RateTrace>,
        shape: Option<TokenBucket>,
    ) -> Option<Self> {
        let medium = match (trace, rate) {
            (Some(trace), _) => Medium::Trace(TraceLine::new(trace)),
            (None, Some(rate)) => Medium::Constant(Serializer::new(rate)),
            (None, None) if shape.is_none() => return None,
            (None, None) => Medium::Instant(Instant::ZERO),
        };
        Some(Self { shaper: shape.map(BucketState::new), medium })
    }

    /// Sends at another constant rate when the line is free, from `free_at` on. A shaper and a
    /// trace are not affected.
    pub(crate) fn change_rate(&mut self, rate: Rate, free_at: Instant) {
        if let Medium::Constant(line) = &mut self.medium {
            *line = Serializer::busy_until(rate, free_at);
        }
    }

    /// Sends a packet of `bytes`, which the line can take at `now` and which has waited since
    /// `since`. Returns the time at which its last bit leaves.
    pub(crate) fn send(&mut self, now: Instant, since: Instant, bytes: u32) -> Instant {
        let start = match &mut self.shaper {
            None => now,
            Some(shaper) => {
                let free_at = match &self.medium {
                    Medium::Instant(last) => *last,
                    Medium::Constant(line) => line.free_at(),
                    Medium::Trace(line) => line.free_at(),
                };
                shaper.release(now.max(free_at), bytes)
            }
        };
        match &mut self.medium {
            Medium::Instant(last) => {
                *last = start;
                start
            }
            Medium::Constant(line) => line.send(start, bytes),
            Medium::Trace(line) => line.send(start, since, bytes),
        }
    }
}

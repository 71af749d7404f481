//! The counters of a link at an instant, for a driver that samples them during a run.

use units::{Duration, Instant};

use super::Link;
use crate::books::Tally;

/// The counters and the queue of a link at an instant.
///
/// Unlike [`Books`](crate::Books), a reading leaves out the held packets. It takes constant time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Packets offered to the link.
    pub offered: Tally,
    /// Packets delivered at its far end.
    pub delivered: Tally,
    /// Packets refused because the buffer was full.
    pub dropped_buffer: Tally,
    /// Packets dropped by the discipline although there was room.
    pub dropped_early: Tally,
    /// Packets lost by the loss model.
    pub dropped_loss: Tally,
    /// Packets marked by the discipline.
    pub marked: Tally,
    /// Packets waiting or in transmission.
    pub queue: Tally,
    /// The time during which the line was sending.
    pub busy: Duration,
}

impl<P> Link<P> {
    /// The counters since the last reset up to `now`, and the queue at `now`. Takes constant time,
    /// except for the departures since the previous call with a time.
    pub fn reading(&mut self, now: Instant) -> Reading {
        let queue = self.queue(now);
        let now = self.now;
        let elapsed = self.queue.elapsed(now);
        let busy = match self.deferred() {
            Some(deferred) => deferred.queue.statistics(now, elapsed).busy,
            None => self.queue.busy(now),
        };
        Reading {
            offered: self.offered,
            delivered: self.delivered,
            dropped_buffer: self.dropped.buffer,
            dropped_early: self.dropped.early,
            dropped_loss: self.dropped.loss,
            marked: self.marked,
            queue,
            busy,
        }
    }
}

//! The path behind the line: a delay that changes at given times, as after a change of route, and
//! random additional delay that reorders packets.
//!
//! Packets that leave the line after a change take the new delay. If that is shorter, they overtake
//! packets that are still on the old path.

use std::collections::VecDeque;

use units::{Duration, Instant};

use crate::error::ConfigError;
use crate::probability::Probability;

/// A change of a link's delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayChange {
    /// Packets that leave the line at this time or later take the new delay.
    pub at: Instant,
    /// The new delay.
    pub delay: Duration,
}

/// The changes of a link's delay, in order of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DelayChanges(Vec<DelayChange>);

impl DelayChanges {
    /// A list of changes.
    ///
    /// # Errors
    /// If the times are not strictly increasing.
    pub fn new(changes: Vec<DelayChange>) -> Result<Self, ConfigError> {
        match changes.windows(2).find(|pair| pair[1].at <= pair[0].at) {
            Some(pair) => Err(ConfigError::Changes { before: pair[0].at, at: pair[1].at }),
            None => Ok(Self(changes)),
        }
    }

    /// Returns true if there are no changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Random additional delay that lets later packets overtake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reorder {
    /// The probability that an arriving packet takes the additional delay.
    pub probability: Probability,
    /// The additional delay.
    pub by: Duration,
}

/// A path that may reorder packets.
#[derive(Debug)]
pub(crate) struct Path {
    delay: Duration,
    changes: DelayChanges,
    reorder: Option<Reorder>,
    /// The number of packets that are delivered after the packet accepted last.
    pub(crate) behind_newest: usize,
    /// The additional delays of the packets in the queue.
    pub(crate) queued: QueuedDelays,
}

/// The additional delays of the packets that wait for the line or are in transmission, in order of
/// departure. A change of the rate needs them.
#[derive(Debug, Default)]
pub(crate) struct QueuedDelays(VecDeque<(Instant, Duration)>);

impl QueuedDelays {
    pub(crate) fn push(&mut self, departure: Instant, extra: Duration) {
        self.0.push_back((departure, extra));
    }

    /// Removes the packets that have left by `now`.
    pub(crate) fn retire(&mut self, now: Instant) {
        while self.0.pop_front_if(|(departure, _)| *departure <= now).is_some() {}
    }

    /// The additional delays in order of departure.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Duration> {
        self.0.iter().map(|(_, extra)| *extra)
    }
}

impl Path {
    /// The path of a link; `None` if its delay is constant.
    pub(crate) fn new(
        delay: Duration,
        changes: &DelayChanges,
        reorder: Option<Reorder>,
    ) -> Option<Self> {
        let constant = changes.is_empty() && reorder.is_none();
        (!constant).then(|| Self::adjustable(delay, changes, reorder))
    }

    /// The path of a link whose configuration may change, so that packets may overtake.
    pub(crate) fn adjustable(
        delay: Duration,
        changes: &DelayChanges,
        reorder: Option<Reorder>,
    ) -> Self {
        let changes = changes.clone();
        Self { delay, changes, reorder, behind_newest: 0, queued: QueuedDelays::default() }
    }

    /// The delay of a packet that leaves the line at `departure`.
    pub(crate) fn delay(&self, departure: Instant) -> Duration {
        let made = self.changes.0.partition_point(|change| change.at <= departure);
        let last = made.checked_sub(1).and_then(|last| self.changes.0.get(last));
        last.map_or(self.delay, |change| change.delay)
    }

    /// The additional delay of a packet, often zero.
    pub(crate) fn reorder_delay(&self, draw: impl FnOnce() -> u64) -> Duration {
        match self.reorder {
            Some(reorder) if reorder.probability.hits(draw()) => reorder.by,
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests;

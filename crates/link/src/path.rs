//! The path behind the line: a delay that changes at given times, as after a change of route,
//! random variation of the delay, and random additional delay that reorders packets.
//!
//! Packets that leave the line after a change take the new delay. If that is shorter, they overtake
//! packets that are still on the old path.

use std::collections::VecDeque;

use units::{Duration, Instant};

use crate::error::ConfigError;
use crate::jitter::Jitter;
use crate::packet::Chance;
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

/// A path whose delay is not constant.
#[derive(Debug)]
pub(crate) struct Path {
    delay: Duration,
    changes: DelayChanges,
    jitter: Option<Jitter>,
    /// No packet may be delivered before this time, if jitter keeps the order.
    floor: Instant,
    reorder: Option<Reorder>,
    /// The number of packets that are delivered after the packet accepted last.
    pub(crate) behind_newest: usize,
    /// The additional delays of the packets in the queue.
    pub(crate) queued: QueuedDelays,
}

/// The deliveries of the packets that wait for the line or are in transmission, in order of
/// departure. A change of the configuration needs them.
#[derive(Debug, Default)]
pub(crate) struct QueuedDelays {
    packets: VecDeque<Queued>,
    /// The last delivery of a packet that has left the line.
    delivered: Instant,
}

/// A packet that has not left the line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queued {
    pub(crate) departure: Instant,
    pub(crate) delivery: Instant,
    /// The random parts of the delay, without `late`.
    pub(crate) extra: Extra,
    /// The additional delay from [`Reorder`].
    pub(crate) late: Duration,
}

impl QueuedDelays {
    pub(crate) fn push(&mut self, packet: Queued) {
        self.packets.push_back(packet);
    }

    /// Removes the packets that have left by `now`.
    pub(crate) fn retire(&mut self, now: Instant) {
        while let Some(gone) = self.packets.pop_front_if(|packet| packet.departure <= now) {
            self.delivered = self.delivered.max(gone.delivery);
        }
    }

    /// The packets in order of departure, and the last delivery before theirs.
    pub(crate) fn packets(&self) -> (Vec<Queued>, Instant) {
        (self.packets.iter().copied().collect(), self.delivered)
    }
}

/// The random parts of a packet's delay.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extra {
    /// The delay from [`Jitter`], in nanoseconds: its absolute value is at most 2⁶⁰.
    jitter: i64,
    reordered: bool,
}

impl Extra {
    /// The value as a time, for a packet in a queue with deferred verdicts.
    pub(crate) fn as_instant(self) -> Instant {
        let biased = u64::try_from(self.jitter + (1 << 61)).unwrap_or(0);
        Instant::from_nanos(biased << 1 | u64::from(self.reordered))
    }

    /// The value from [`as_instant`](Self::as_instant).
    pub(crate) fn from_instant(value: Instant) -> Self {
        let biased = i64::try_from(value.as_nanos() >> 1).unwrap_or(0);
        Self { jitter: biased - (1 << 61), reordered: value.as_nanos() & 1 == 1 }
    }
}

impl Path {
    /// The path of a link; `None` if its delay is constant.
    pub(crate) fn new(
        delay: Duration,
        changes: &DelayChanges,
        jitter: Option<&Jitter>,
        reorder: Option<Reorder>,
    ) -> Option<Self> {
        let constant = changes.is_empty() && reorder.is_none() && jitter.is_none();
        (!constant).then(|| Self::adjustable(delay, changes, jitter, reorder))
    }

    /// The path of a link whose configuration may change, so that packets may overtake.
    pub(crate) fn adjustable(
        delay: Duration,
        changes: &DelayChanges,
        jitter: Option<&Jitter>,
        reorder: Option<Reorder>,
    ) -> Self {
        Self {
            delay,
            changes: changes.clone(),
            jitter: jitter.cloned(),
            floor: Instant::ZERO,
            reorder,
            behind_newest: 0,
            queued: QueuedDelays::default(),
        }
    }

    /// Delivers no packet before `floor` if the path keeps the order.
    pub(crate) fn begin_at(&mut self, floor: Instant) {
        self.floor = floor;
        self.queued.delivered = floor;
    }

    /// Draws the random parts of a packet's delay.
    pub(crate) fn draw(&self, draw: impl Fn(Chance) -> u64) -> Extra {
        Extra {
            jitter: self.jitter.as_ref().map_or(0, |jitter| jitter.delay(draw(Chance::Jitter))),
            reordered: self
                .reorder
                .is_some_and(|reorder| reorder.probability.hits(draw(Chance::Reorder))),
        }
    }

    /// Separates the additional delay from [`Reorder`], which may change, from the other random
    /// parts.
    pub(crate) fn separate(&self, extra: Extra) -> (Extra, Duration) {
        let late = self.reorder.filter(|_| extra.reordered).map_or(Duration::ZERO, |one| one.by);
        (Extra { reordered: false, ..extra }, late)
    }

    /// The delivery time of a packet that leaves the line at `departure`. Called in order of
    /// departures.
    pub(crate) fn delivery(&mut self, departure: Instant, extra: Extra) -> Instant {
        let mut delivery = departure + self.delay(departure);
        let size = Duration::from_nanos(extra.jitter.unsigned_abs());
        if extra.jitter >= 0 {
            delivery += size;
        } else {
            // A negative delay is zero.
            let earlier = delivery.as_nanos().saturating_sub(size.as_nanos());
            delivery = Instant::from_nanos(earlier).max(departure);
        }
        if self.jitter.as_ref().is_some_and(|jitter| !jitter.reorders()) {
            delivery = delivery.max(self.floor);
            self.floor = delivery;
        }
        match self.reorder {
            Some(reorder) if extra.reordered => delivery + reorder.by,
            _ => delivery,
        }
    }

    /// The delay of a packet that leaves the line at `departure`, without random parts.
    fn delay(&self, departure: Instant) -> Duration {
        let made = self.changes.0.partition_point(|change| change.at <= departure);
        let last = made.checked_sub(1).and_then(|last| self.changes.0.get(last));
        last.map_or(self.delay, |change| change.delay)
    }
}

#[cfg(test)]
mod tests;

//! The way behind the line: a delay that changes at given times, as when routing finds another
//! path, and packets that fall behind others.
//!
//! What leaves the line after a change takes the new delay; if that is shorter, it overtakes what
//! is still on the old path.

use units::{Duration, Instant};

use crate::config::LinkConfig;
use crate::error::ConfigError;
use crate::probability::Probability;

/// From when on a link has another delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayChange {
    /// What leaves the line then or later takes the new delay.
    pub at: Instant,
    /// The new delay.
    pub delay: Duration,
}

/// The changes of a link's delay, each later than the one before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DelayChanges(Vec<DelayChange>);

impl DelayChanges {
    /// The changes in their order.
    ///
    /// # Errors
    /// When one does not come after the one before it.
    pub fn new(changes: Vec<DelayChange>) -> Result<Self, ConfigError> {
        match changes.windows(2).find(|pair| pair[1].at <= pair[0].at) {
            Some(pair) => Err(ConfigError::DelayChanges { before: pair[0].at, at: pair[1].at }),
            None => Ok(Self(changes)),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Which packets fall behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reorder {
    /// How likely a packet that arrives is to be late.
    pub probability: Probability,
    /// By how much.
    pub by: Duration,
}

/// A way that does not keep packets in order.
#[derive(Debug)]
pub(crate) struct Path {
    delay: Duration,
    changes: DelayChanges,
    reorder: Option<Reorder>,
    /// How many come out after the packet that was accepted last.
    pub(crate) behind_newest: usize,
}

impl Path {
    /// The way of a link, unless its delay is always the same.
    pub(crate) fn new(config: &LinkConfig) -> Option<Self> {
        let (changes, reorder) = (config.delay_changes.clone(), config.reorder);
        let constant = changes.is_empty() && reorder.is_none();
        (!constant).then_some(Self { delay: config.delay, changes, reorder, behind_newest: 0 })
    }

    /// The delay of what leaves the line at `departure`.
    pub(crate) fn delay(&self, departure: Instant) -> Duration {
        let made = self.changes.0.partition_point(|change| change.at <= departure);
        let last = made.checked_sub(1).and_then(|last| self.changes.0.get(last));
        last.map_or(self.delay, |change| change.delay)
    }

    /// By how much a packet is late.
    pub(crate) fn late(&self, draw: impl FnOnce() -> u64) -> Duration {
        match self.reorder {
            Some(reorder) if reorder.probability.hits(draw()) => reorder.by,
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests;

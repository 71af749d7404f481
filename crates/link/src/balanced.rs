//! Balanced packet discard: one threshold for all flows, and a higher one for a flow that has just
//! lost a packet.
//!
//! Cohen and Hamo, *Balanced packet discard for improving TCP performance in ATM networks*,
//! Computer Communications 24 (2001), §4. A sender that loses a packet is protected for the next
//! `gap` packets, so that no two losses fall into one window. The paper's unit is a cell of a
//! virtual circuit, as in [`crate::atm`]. On a queue of packets the same rule holds with flows
//! instead of circuits and packets instead of cells.

use std::collections::BTreeMap;

use crate::error::ConfigError;
use crate::probability::Probability;

/// The paper's LT, UT and Gap. `lower` is at most `upper`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balanced {
    lower: Probability,
    upper: Probability,
    gap: u32,
}

impl Balanced {
    /// A packet is refused if more than the share `lower` of the buffer is occupied. For `gap`
    /// packets after a loss, the limit of the flow is `upper`.
    ///
    /// # Errors
    /// Unless `lower` ≤ `upper`.
    pub fn new(lower: Probability, upper: Probability, gap: u32) -> Result<Self, ConfigError> {
        if lower > upper {
            let [lower, upper] = [lower, upper].map(Probability::as_f64);
            return Err(ConfigError::BalancedThresholds { lower, upper });
        }
        Ok(Self { lower, upper, gap })
    }

    /// A single threshold for all flows: early packet discard.
    pub(crate) const fn even(threshold: Probability) -> Self {
        Self { lower: threshold, upper: threshold, gap: 0 }
    }

    #[cfg(test)]
    pub(crate) fn parts(self) -> (Probability, Probability, u32) {
        (self.lower, self.upper, self.gap)
    }

    /// The thresholds for a buffer of `capacity` units.
    pub(crate) fn of(self, capacity: u64) -> Thresholds {
        let units = |share: Probability| share.nearest_of(capacity);
        Thresholds { lower: units(self.lower), upper: units(self.upper), gap: self.gap }
    }
}

/// The thresholds for a buffer of a certain size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thresholds {
    lower: u64,
    upper: u64,
    gap: u32,
}

impl Thresholds {
    /// Returns true if a packet is refused when `taken` units are occupied. `remaining` is the
    /// number of packets until the end of its flow's recovery.
    pub(crate) const fn refuse(&self, taken: u64, remaining: u32) -> bool {
        // "More than 40 % full", "exceeds the lower-threshold" (§3, §4). Unlike one of four
        // passages there, which says "reaches".
        taken > if remaining > 0 { self.upper } else { self.lower }
    }

    /// The rest of the recovery period after a packet.
    ///
    /// §4: after a loss the period is `gap` packets long, and each end of a packet shortens it by
    /// one. The lost packet is not one of the "subsequent" packets: its own end does not count.
    pub(crate) const fn after(&self, lost: bool, remaining: u32) -> u32 {
        if lost { self.gap } else { remaining.saturating_sub(1) }
    }
}

/// The state of the rule on a queue of packets.
///
/// State is kept only for flows in their recovery period. A driver with an unlimited number of
/// flows should hash their keys.
#[derive(Debug)]
pub(crate) struct BalancedState {
    thresholds: Thresholds,
    /// The rest of each flow's recovery period, in packets.
    recovering: BTreeMap<u64, u32>,
}

impl BalancedState {
    pub(crate) fn new(balanced: Balanced, capacity: u64) -> Self {
        Self { thresholds: balanced.of(capacity), recovering: BTreeMap::new() }
    }

    /// Changes the thresholds. Recovery periods that have begun remain.
    pub(crate) fn change(&mut self, balanced: Balanced, capacity: u64) {
        self.thresholds = balanced.of(capacity);
    }

    /// Returns true if a packet of `flow` is refused when `taken` units are occupied. `room` tells
    /// whether the packet fits.
    pub(crate) fn refuses(&mut self, flow: u64, taken: u64, room: bool) -> bool {
        let remaining = self.recovering.get(&flow).copied().unwrap_or(0);
        let refused = self.thresholds.refuse(taken, remaining);
        match self.thresholds.after(refused || !room, remaining) {
            0 => self.recovering.remove(&flow),
            remaining => self.recovering.insert(flow, remaining),
        };
        refused
    }
}

//! Balanced packet discard: one threshold for everybody, a higher one for whoever has just lost a
//! packet.
//!
//! Cohen and Hamo, *Balanced packet discard for improving TCP performance in ATM networks*,
//! Computer Communications 24 (2001), §4: a sender that loses a packet is spared for the next `gap`
//! packets, so that no two losses fall into one of its windows. The paper's unit is a cell of a
//! virtual circuit; [`crate::atm`] has that. On a queue of packets the same rule holds with a flow
//! in the place of the circuit and a packet in the place of the cell.

use std::collections::BTreeMap;

use crate::error::ConfigError;
use crate::probability::Probability;

/// The paper's LT, UT and Gap; `lower` is at most `upper`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balanced {
    lower: Probability,
    upper: Probability,
    gap: u32,
}

impl Balanced {
    /// A packet is refused where more than `lower` of the buffer is taken; for `gap` packets after
    /// a loss, a flow's are where more than `upper` is.
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

    /// One threshold for everybody: early packet discard.
    pub(crate) const fn even(threshold: Probability) -> Self {
        Self { lower: threshold, upper: threshold, gap: 0 }
    }

    #[cfg(test)]
    pub(crate) fn parts(self) -> (Probability, Probability, u32) {
        (self.lower, self.upper, self.gap)
    }

    /// The rule for a buffer of so many units.
    pub(crate) fn of(self, capacity: u64) -> Thresholds {
        let units = |share: Probability| share.nearest_of(capacity);
        Thresholds { lower: units(self.lower), upper: units(self.upper), gap: self.gap }
    }
}

/// The rule for a certain buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thresholds {
    lower: u64,
    upper: u64,
    gap: u32,
}

impl Thresholds {
    /// Whether a packet that finds so many units taken is refused, `left` packets before the end of
    /// its flow's recovery.
    pub(crate) const fn refuse(&self, taken: u64, left: u32) -> bool {
        // "More than 40 % full", "exceeds the lower-threshold" (§3, §4). Unlike one of four places
        // there, which says "reaches".
        taken > if left > 0 { self.upper } else { self.lower }
    }

    /// What is left of the recovery period behind a packet.
    ///
    /// §4: after a loss it is `gap` packets long, and shorter by one with every end of a packet.
    /// The lost packet is not one of the "subsequent" ones: its own end does not count.
    pub(crate) const fn after(&self, lost: bool, left: u32) -> u32 {
        if lost { self.gap } else { left.saturating_sub(1) }
    }
}

/// The rule at work on a queue of packets.
///
/// State is kept for each flow in its recovery, so for few; a driver with endless flows folds their
/// keys.
#[derive(Debug)]
pub(crate) struct BalancedState {
    thresholds: Thresholds,
    /// What is left of the recovery periods, by flow.
    recovering: BTreeMap<u64, u32>,
}

impl BalancedState {
    pub(crate) fn new(balanced: Balanced, capacity: u64) -> Self {
        Self { thresholds: balanced.of(capacity), recovering: BTreeMap::new() }
    }

    /// Whether a packet of `flow` is refused that finds so many units taken. `room` says whether it
    /// fits.
    pub(crate) fn refuses(&mut self, flow: u64, taken: u64, room: bool) -> bool {
        let left = self.recovering.get(&flow).copied().unwrap_or(0);
        let refused = self.thresholds.refuse(taken, left);
        match self.thresholds.after(refused || !room, left) {
            0 => self.recovering.remove(&flow),
            left => self.recovering.insert(flow, left),
        };
        refused
    }
}

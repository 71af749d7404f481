//! Outcomes of first transmissions, with the connection that they belong to.

use super::{Flow, Half, Vantage};
use crate::sender::{Block, Loss, Policing};

/// Counts of consecutive first transmissions, with their connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockOf {
    /// Number of the connection.
    pub flow: u64,
    /// Direction of the data: 0 from the end that opened the connection.
    pub direction: usize,
    /// Vantage point with respect to the sender, as far as it is known at this time.
    pub vantage: Vantage,
    /// Counts.
    pub block: Block,
}

/// A first transmission that was lost, with its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossOf {
    /// Number of the connection.
    pub flow: u64,
    /// Direction of the data: 0 from the end that opened the connection.
    pub direction: usize,
    /// Vantage point with respect to the sender, as far as it is known at this time.
    pub vantage: Vantage,
    /// Loss.
    pub loss: Loss,
}

impl Flow {
    /// Whether a direction has outcomes that will not change.
    #[inline]
    pub(crate) fn has_outcomes(&mut self, direction: usize) -> bool {
        self.halves[direction].sender.outcomes().is_ready()
    }

    /// Moves the outcomes of a direction that will not change.
    pub(crate) fn move_outcomes(
        &mut self,
        direction: usize,
        blocks: &mut Vec<BlockOf>,
        losses: &mut Vec<LossOf>,
    ) {
        let (flow, half) = (self.number, &mut self.halves[direction]);
        let vantage = half.vantage();
        let (ended, lost) = half.sender.outcomes().take();
        blocks.extend(ended.into_iter().map(|block| BlockOf { flow, direction, vantage, block }));
        losses.extend(lost.into_iter().map(|loss| LossOf { flow, direction, vantage, loss }));
    }
}

impl Half {
    /// Result of the test for a policer, and the rate of the token bucket in bytes of IP packets
    /// per second. Only a capture at the sender shows the round-trip times that a queue lengthens.
    pub fn policing(&self) -> (Policing, Option<f64>) {
        match self.vantage() {
            Vantage::Sender => self.sender.policing(),
            _ => (Policing::Untested, None),
        }
    }
}

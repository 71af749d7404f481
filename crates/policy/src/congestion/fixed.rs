//! A window that never changes.

use crate::congestion::CongestionController;
use crate::facts::{AckSample, Growth, LossSample};

/// A constant window: the null object for tests, and a sender whose losses change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixed {
    cwnd: u32,
}

impl Fixed {
    /// A window of `cwnd` bytes.
    pub const fn new(cwnd: u32) -> Self {
        Self { cwnd }
    }
}

impl CongestionController for Fixed {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.cwnd
    }

    fn on_ack(&mut self, _ack: &AckSample, _growth: Growth) {}

    fn on_loss(&mut self, _loss: &LossSample) {}

    fn on_mark(&mut self, _loss: &LossSample) -> bool {
        false
    }

    fn on_timeout(&mut self, _loss: &LossSample) {}

    fn set_cwnd(&mut self, _bytes: u32) {}
}

//! FS-TCP-SF: one reduced size while the window is small.

use crate::facts::{Growth, SendView};
use crate::segment::{Regime, Segmenter};

/// What congestion avoidance adds in a round trip while the window is small.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Avoidance {
    /// `MSS_c`, as the draft's §6 writes it: `cwnd += MSS_c · MSS_c / cwnd`. Not the same in bytes
    /// as classic TCP.
    #[default]
    Draft,
    /// `SMSS`, what classic TCP adds: `cwnd += SMSS · MSS_c / cwnd`.
    Bytewise,
}

/// Fixed-size Smart Framing: segments of `cwnd_0 / N_sf` bytes while `cwnd < cwnd_min`, full-sized
/// above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedSize {
    regime: Regime,
    avoidance: Avoidance,
    /// `MSS_c` in the small-window regime.
    reduced: u32,
    /// In full-sized segments, whose size is the path's and may change.
    loss_window: u8,
}

impl FixedSize {
    /// A segmenter for a connection whose slow starts after a loss begin with `loss_window`
    /// full-sized segments.
    pub const fn new(regime: Regime, avoidance: Avoidance, loss_window: u8) -> Self {
        Self { regime, avoidance, reduced: u32::MAX, loss_window }
    }
}

impl Segmenter for FixedSize {
    fn on_slow_start(&mut self, cwnd0: u32, view: &SendView) {
        self.reduced = self.regime.reduced(cwnd0, view.smss);
    }

    fn on_ack(&mut self, _view: &SendView) {}

    fn on_reduction(&mut self, view: &SendView) {
        // The papers take IW = LW. With a larger initial window its segments are so long that N_sf
        // of them do not fit into the reduced window, and too few would follow a loss. The
        // loss window is the other cwnd_0.
        let reduced = self.reduced.min(view.smss);
        if self.regime.holds(view) && self.regime.segments() * reduced > view.cwnd {
            self.reduced = self.regime.reduced(u32::from(self.loss_window) * view.smss, view.smss);
        }
    }

    fn mss_c(&self, view: &SendView) -> u32 {
        if self.regime.holds(view) { self.reduced.min(view.smss) } else { view.smss }
    }

    fn max_segments(&self, _view: &SendView) -> Option<u32> {
        None
    }

    fn growth(&self, view: &SendView) -> Growth {
        let step = self.mss_c(view);
        let per_rtt = match self.avoidance {
            Avoidance::Draft => step,
            Avoidance::Bytewise => view.smss,
        };
        Growth::Standard { step, per_rtt }
    }
}

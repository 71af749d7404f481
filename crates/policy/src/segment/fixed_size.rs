//! FS-TCP-SF: one reduced segment size while the window is small.

use crate::facts::{Growth, SendView};
use crate::segment::{Regime, Segmenter};

/// Growth per round trip in congestion avoidance while the window is small.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Avoidance {
    /// `MSS_c`, as in §6 of the draft: `cwnd += MSS_c · MSS_c / cwnd`. In bytes this is less than
    /// classic TCP adds.
    #[default]
    Draft,
    /// `SMSS`, as in classic TCP: `cwnd += SMSS · MSS_c / cwnd`.
    Bytewise,
}

/// Fixed-size Smart Framing: segments of `cwnd_0 / N_sf` bytes while `cwnd < cwnd_min`, full-sized
/// above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedSize {
    regime: Regime,
    avoidance: Avoidance,
    /// `MSS_c` in the small-window regime, in bytes.
    reduced: u32,
    /// Loss window in full-sized segments. Their size depends on the path and may change.
    loss_window: u8,
}

impl FixedSize {
    /// Creates a segmenter for a connection with a loss window of `loss_window` full-sized
    /// segments.
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
        // The papers assume IW = LW. With a larger initial window, N_sf of its segments do not fit
        // into the reduced window, and too few segments would follow a loss. The loss window then
        // serves as cwnd_0.
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

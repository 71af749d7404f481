//! VS-TCP-SF: a constant number of growing segments while the window is small.

use crate::facts::{Growth, SendView};
use crate::segment::{Regime, Segmenter};

/// Factor by which an acknowledgment lengthens the next segment, in millionths, at least 1.01.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alpha(u32);

impl Alpha {
    /// Factor of the papers, 1.32: `α⁵ = 4` rounded, so that the ninth segment is full-sized.
    pub const PAPER: Self = Self(1_320_000);
    const ONE: u64 = 1_000_000;

    const LEAST: u32 = 1_010_000;
    const MOST: u32 = 4_000_000;

    /// Creates a factor of `millionths / 10⁶`. Returns `None` unless it is between 1.01 and 4. With
    /// a factor of 1 segments would stay small and the window would never grow.
    pub const fn from_millionths(millionths: u32) -> Option<Self> {
        if millionths < Self::LEAST || millionths > Self::MOST {
            None
        } else {
            Some(Self(millionths))
        }
    }

    /// Factor in millionths.
    pub const fn millionths(self) -> u32 {
        self.0
    }
}

/// Variable-size Smart Framing: `N_sf` segments in flight while `cwnd < cwnd_min`. Each
/// acknowledgment lengthens the next segment by the factor `α`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VariableSize {
    /// Parameters with a threshold of at most `N_sf`: `N_sf` full-sized segments end the
    /// small-window regime even below `cwnd_min`. Otherwise the window could not grow, with no more
    /// than that in flight.
    regime: Regime,
    alpha: Alpha,
    /// `MSS_c` in 1/65536 bytes, so that rounding errors do not accumulate: the ninth segment must
    /// be full-sized. A segment has less than 65536 bytes.
    size: u32,
    /// Whether the window was small at the last acknowledgment or reduction.
    small: bool,
}

impl VariableSize {
    const FRACTION_BITS: u32 = 16;

    /// Creates a segmenter before its first slow start.
    pub const fn new(regime: Regime, alpha: Alpha) -> Self {
        Self { regime: regime.up_to_its_segments(), alpha, size: 0, small: false }
    }

    fn set_size(&mut self, bytes: u32) {
        self.size = bytes.min(u32::from(u16::MAX)) << Self::FRACTION_BITS;
    }

    fn size(&self, smss: u32) -> u32 {
        (self.size >> Self::FRACTION_BITS).clamp(1, smss)
    }
}

impl Segmenter for VariableSize {
    fn on_slow_start(&mut self, cwnd0: u32, view: &SendView) {
        self.set_size(self.regime.reduced(cwnd0, view.smss));
        self.small = self.regime.holds(view);
    }

    fn on_ack(&mut self, view: &SendView) {
        self.small = self.regime.holds(view);
        if self.small {
            // Journal §III: MSS_c grows by α after every in-sequence ACK until it equals MSS.
            let limit = u64::from(view.smss) << Self::FRACTION_BITS;
            let grown = (u64::from(self.size) * u64::from(self.alpha.0) / Alpha::ONE).min(limit);
            self.size = u32::try_from(grown).unwrap_or(u32::MAX);
        }
    }

    fn on_reduction(&mut self, view: &SendView) {
        if self.regime.holds(view) && !self.small {
            // Neither paper specifies the size with which a window that falls below cwnd_min
            // begins. N_sf segments that fill the window keep the bytes in flight equal to those of
            // classic TCP, which is the papers' principle.
            self.set_size(self.regime.reduced(view.cwnd, view.smss));
        }
        self.small = self.regime.holds(view);
    }

    fn mss_c(&self, view: &SendView) -> u32 {
        if self.regime.holds(view) { self.size(view.smss) } else { view.smss }
    }

    fn max_segments(&self, view: &SendView) -> Option<u32> {
        // Draft §6: the sender MUST NOT have more than four segments in flight while the window is
        // small.
        self.regime.holds(view).then_some(self.regime.segments())
    }

    fn growth(&self, view: &SendView) -> Growth {
        if !self.regime.holds(view) {
            return Growth::Standard { step: view.smss, per_rtt: view.smss };
        }
        // The draft's table: the window equals the bytes in flight, filled up to N_sf segments of
        // the new size. The same rule holds above ssthresh, where the draft keeps it for
        // simplicity.
        let room = self.regime.segments().saturating_sub(view.flight_segments);
        Growth::Window(view.flight + room * self.size(view.smss))
    }
}

//! Classic segmentation, with or without a cut in the end of a write.

use crate::facts::{Growth, SendView};
use crate::segment::{Segmenter, Tail};

/// Segments of up to the sender maximum segment size, as in every TCP. With a [`Tail`] the end of a
/// write is cut, which the window does not depend on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FullSized {
    pub(super) tail: Option<Tail>,
}

impl FullSized {
    /// Creates the segmentation, with cuts in the end of a write if `tail` has them.
    pub const fn new(tail: Option<Tail>) -> Self {
        Self { tail }
    }
}

impl Segmenter for FullSized {
    fn on_slow_start(&mut self, _cwnd0: u32, _view: &SendView) {}

    fn on_ack(&mut self, _view: &SendView) {}

    fn on_reduction(&mut self, _view: &SendView) {}

    fn mss_c(&self, view: &SendView) -> u32 {
        view.smss
    }

    fn max_segments(&self, _view: &SendView) -> Option<u32> {
        None
    }

    fn growth(&self, view: &SendView) -> Growth {
        Growth::Standard { step: view.smss, per_rtt: view.smss }
    }

    fn reduces_segments(&self) -> bool {
        self.tail.is_some()
    }
}

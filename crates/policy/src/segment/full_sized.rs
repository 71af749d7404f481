//! Classic segmentation.

use crate::facts::{Growth, SendView};
use crate::segment::Segmenter;

/// Segments of up to the sender maximum segment size, as in every TCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FullSized;

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
        false
    }
}

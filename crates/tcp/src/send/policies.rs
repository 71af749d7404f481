//! Policies of a sender.

use policy::Feedback;
use policy::congestion::{AnyController, ControllerStart};
use policy::loss::AnyDetector;
use policy::recovery::AnyRecovery;
use policy::segment::AnySegmenter;

use crate::config::{Config, Negotiated};

/// Policies of the configuration, restricted to the options that the peer supports.
#[derive(Debug)]
pub(super) struct Policies {
    pub(super) controller: AnyController,
    pub(super) segmenter: AnySegmenter,
    pub(super) detector: AnyDetector,
    pub(super) recovery: Option<AnyRecovery>,
    /// Loss window in full-sized segments.
    pub(super) loss_window: u8,
    pub(super) limited_transmit: bool,
    /// Whether reports of out-of-order data are used.
    pub(super) sack: bool,
}

impl Policies {
    /// Creates the policies for the options negotiated so far.
    pub(super) fn new(config: &Config, negotiated: &Negotiated) -> Self {
        let (sender, feedback, smss) =
            (&config.sender, negotiated.feedback, negotiated.smss(config));
        Self {
            controller: sender.controller(smss, config.window, feedback),
            segmenter: sender.segmenter(),
            detector: sender.detector(feedback),
            recovery: sender.recovery(feedback),
            loss_window: sender.loss_window,
            limited_transmit: sender.limited_transmit,
            sack: feedback != Feedback::Cumulative && sender.wants_sack(),
        }
    }

    /// Replaces the controller by that of the configuration's factory, if there is one.
    #[inline]
    pub(super) fn customize(&mut self, config: &Config, smss: u32) {
        if let Some(factory) = &config.controller {
            let initial_window = config.sender.initial_window.bytes(smss);
            let start = ControllerStart { smss, initial_window, rules: config.window };
            self.controller = factory.make(&start);
        }
    }
}

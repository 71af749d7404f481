//! What decides for a sender.

use policy::Feedback;
use policy::congestion::AnyController;
use policy::loss::AnyDetector;
use policy::recovery::AnyRecovery;
use policy::segment::AnySegmenter;

use super::reports::TimedReports;
use crate::config::{Config, Negotiated};

/// The policies that a configuration names, as far as the peer goes along with them.
#[derive(Debug)]
pub(super) struct Policies {
    pub(super) controller: AnyController,
    pub(super) segmenter: AnySegmenter,
    pub(super) detector: AnyDetector,
    pub(super) recovery: Option<AnyRecovery>,
    /// The window after a timeout, in full-sized segments.
    pub(super) loss_window: u8,
    pub(super) limited_transmit: bool,
    /// Reports of what arrived out of order are used.
    pub(super) sack: bool,
    /// Only with a peer that speaks TCP Santa Cruz.
    pub(super) reported: Option<Box<TimedReports>>,
    /// A policy looks at all that an acknowledgment says.
    pub(super) needs_samples: bool,
}

impl Policies {
    /// At the beginning, with what has been agreed so far.
    pub(super) fn new(config: &Config, negotiated: &Negotiated) -> Self {
        let (sender, feedback, smss) =
            (&config.sender, negotiated.feedback, negotiated.smss(config));
        let controller = sender.controller(smss, config.window, feedback);
        let detector = sender.detector(feedback);
        let reported: Option<Box<TimedReports>> = (feedback == Feedback::AckWindow)
            .then(|| Box::new(TimedReports::new(!sender.backs_off())));
        Self {
            needs_samples: reported.is_some()
                || controller.needs_samples()
                || detector.needs_samples(),
            controller,
            segmenter: sender.segmenter(),
            detector,
            recovery: sender.recovery(feedback),
            loss_window: sender.loss_window,
            limited_transmit: sender.limited_transmit,
            sack: feedback != Feedback::Cumulative && sender.wants_sack(),
            reported,
        }
    }
}

//! Time before each transmission of data, by what ended it.

use units::{Duration, Instant};

use super::Sender;
use super::episode::Phase;
use super::timing::Trigger;

/// Sums of the times between two transmissions of data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// Ended by the application, when everything had been acknowledged.
    pub idle: Duration,
    /// Ended by the application, with data outstanding.
    pub application: Duration,
    /// Ended by an acknowledgment, after the data had filled the receiver's window.
    pub window: Duration,
    /// Ended by an acknowledgment that the congestion window waited for, or Nagle's algorithm.
    pub congestion: Duration,
    /// In a loss recovery, and before it.
    pub recovery: Duration,
    /// Number of idle times that were longer than the retransmission timeout, after which the
    /// congestion window is not valid (RFC 5681 §4.1).
    pub restarts: u64,
}

impl Sender {
    /// Adds the time before data. `is_new` says that it was not sent before.
    pub(super) fn note_wait(&mut self, at: Instant, is_new: bool) {
        if self.timing.sent_at == Instant::ZERO {
            return;
        }
        let wait = at.since(self.timing.sent_at);
        let phase = self.episode.as_ref().map(|episode| episode.phase);
        let is_empty = self.outstanding.is_empty();
        // A request may acknowledge the last response. The response to it waited for the request.
        let by_ack = self.timing.trigger_at(at) == Trigger::Acknowledgment
            && (self.is_news_pure || !is_empty);
        let waits = &mut self.waits;
        let sum = match phase {
            Some(Phase::Fast | Phase::Loss(_)) => &mut waits.recovery,
            _ if !is_new => &mut waits.recovery,
            _ if by_ack && self.is_window_full => &mut waits.window,
            _ if by_ack => &mut waits.congestion,
            _ if is_empty => {
                waits.restarts += u64::from(wait > self.timing.base_rto());
                &mut waits.idle
            }
            _ => &mut waits.application,
        };
        *sum = *sum + wait;
    }

    /// Sums of the waiting times so far.
    pub(crate) fn waits(&self) -> &Waits {
        &self.waits
    }
}

//! Cheap tests that save a driver calls of [`Connection::poll_transmit`] and
//! [`Connection::poll_event`].

use crate::connection::Connection;
use crate::state::State;

/// Readiness of a connection to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Nothing to send: [`Connection::poll_transmit`] returns `None`.
    Idle,
    /// Segments that a driver may delay while it has arrived segments to process. This is an
    /// acknowledgment without reports, which a later one can replace, or the next of many
    /// full-sized segments.
    Deferrable,
    /// Segments that may exist and must not wait.
    Urgent,
}

impl Connection {
    /// Readiness to send. It is [`Readiness::Idle`] if no reset or acknowledgment is due, and no
    /// data is in flight or unsent, or the congestion window is full.
    #[inline]
    pub fn readiness(&self) -> Readiness {
        let idle = !self.owes_reset()
            && !self.rcv.ack_is_due()
            && (self.snd.una == self.snd.end() || self.snd.is_cwnd_limited())
            && self.state.is_synchronized();
        if idle {
            Readiness::Idle
        } else if self.may_defer() {
            Readiness::Deferrable
        } else {
            Readiness::Urgent
        }
    }

    /// Returns whether segments that are sent later are the same as those that are sent now.
    fn may_defer(&self) -> bool {
        const MANY: u32 = 16;
        let open = matches!(self.state, State::Established | State::CloseWait);
        if !open || self.owes_reset() || self.rcv.has_reports() || self.snd.repair.in_recovery {
            return false;
        }
        // Full-sized segments do not depend on which segments are processed first.
        let smss = self.snd.smss;
        self.snd.unacknowledged() == 0
            || self.snd.flight() >= MANY * smss && self.snd.mss_c() == smss
    }

    /// Returns whether [`poll_event`](Self::poll_event) would return an event.
    #[inline]
    pub fn has_event(&self) -> bool {
        self.has_event
    }

    /// Returns whether an acknowledgment is due.
    #[inline]
    pub fn is_ack_due(&self) -> bool {
        self.rcv.ack_is_due()
    }
}

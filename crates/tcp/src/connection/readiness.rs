//! Cheap tests that save a driver calls of [`Connection::poll_transmit`] and
//! [`Connection::poll_event`].
//!
//! [`Connection::is_idle`] and [`Connection::may_defer`] are two methods and not one with three
//! results. The simulator tests for the first after every packet, and the compiler does not remove
//! the computation of the second (0.5 % of all instructions).

use crate::connection::Connection;
use crate::rules::Rules;
use crate::state::State;

impl Connection {
    /// Returns true only if there is nothing to send:
    /// [`poll_transmit`](Self::poll_transmit) then returns `None`. If it is false, the result is
    /// open. It tests that no reset or acknowledgment is due, and that no data is in flight or
    /// unsent, or that the congestion window is full.
    #[inline]
    pub fn is_idle(&self) -> bool {
        !self.owes_reset()
            && !self.rcv.ack_is_due()
            && (self.snd.una == self.snd.end() || self.is_cwnd_limited())
            && self.state.is_synchronized()
    }

    /// Returns whether rules may be in force that few connections have.
    #[inline]
    pub(crate) fn is_special(&self) -> bool {
        self.rules != Rules::Common
    }

    /// Returns true only if unsent data waits for room in the congestion window.
    #[inline]
    fn is_cwnd_limited(&self) -> bool {
        // A sender that counts packets notes that the window is full when it sends
        // (`has_ended_burst`). The length of the end of a write is not known here, nor whether a
        // copy is due. TCP Santa Cruz has none of these. If it was left out here, a third of the
        // polls of its sending ends would return nothing: 1.5 % of all instructions with FS.
        let is_known = self.rules != Rules::All || !self.snd.special.exists();
        is_known && self.snd.is_cwnd_limited()
    }

    /// Like [`is_idle`](Self::is_idle), for a sender that counts packets and whose congestion
    /// window is full. It is a method of its own because `is_idle` has more callers.
    #[inline]
    pub fn has_ended_burst(&self) -> bool {
        self.is_special()
            && self.snd.repair.burst_ended
            && !self.owes_reset()
            && !self.rcv.ack_is_due()
            && self.state.is_synchronized()
    }

    /// Returns whether a driver may delay what there is to send while it has arrived segments to
    /// process. This is an acknowledgment without reports, which a later one can replace, or the
    /// next of many full-sized segments. The same segments are sent later.
    pub fn may_defer(&self) -> bool {
        const MANY: u32 = 16;
        let open = matches!(self.state, State::Established | State::CloseWait);
        if !open || self.owes_reset() || self.rcv.has_reports() || self.snd.repair.in_recovery {
            return false;
        }
        if self.config.receiver.is_linux() && self.rcv.ack_is_due() {
            // Each of these acknowledgments is one that the peer counts.
            return false;
        }
        if self.snd.special.packets().is_some() {
            // Its window and its timers depend on the time of each transmission.
            return self.snd.una == self.snd.end();
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

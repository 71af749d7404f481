//! How much of the congestion window a sender uses: congestion window validation in packets.
//!
//! RFC 7661 and RFC 2861 let the window grow only if it was used, and let an unused window decay.
//! Linux applies both rules with the maximum number of packets out in a window of data
//! (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`, `tcp_cwnd_application_limited`).

use units::{Duration, Instant};
use wire::SeqNum;

use super::PacketWindow;

/// State of the sender after it has sent what it could.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendFacts {
    /// Time of sending.
    pub now: Instant,
    /// SND.UNA.
    pub una: SeqNum,
    /// SND.NXT.
    pub nxt: SeqNum,
    /// Number of packets sent and not acknowledged cumulatively. Packets reported by SACK and
    /// lost packets count too.
    pub packets_out: u32,
    /// Whether the window prevented the sender from sending more: packets in flight ≥ `cwnd`, or
    /// segmentation offload deferred a segment to fill it.
    pub window_full: bool,
}

/// Decay of the window of an application-limited sender. The caller passes it only in the state
/// Open, with `tcp_slow_start_after_idle`, and if the send buffer is not the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validation {
    /// Retransmission timeout.
    pub rto: Duration,
    /// Initial window in packets.
    pub initial: u32,
}

/// Use of the window in the current window of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowUsage {
    /// Maximum number of packets out in this window of data.
    max_packets_out: u32,
    /// Acknowledgment of this sequence number ends the window of data.
    end: SeqNum,
    /// Whether the window limited the sender in this window of data.
    limited: bool,
    /// Maximum number of packets out since the window was last the limit.
    used: u32,
    /// Last time at which the window was the limit, grew or was reduced.
    stamp: Instant,
}

impl WindowUsage {
    /// Creates the state of a connection that has sent nothing. `nxt` is SND.NXT.
    pub const fn new(now: Instant, nxt: SeqNum) -> Self {
        Self { max_packets_out: 0, end: nxt, limited: false, used: 0, stamp: now }
    }

    /// Records a transmission. With `validation`, the window of an application-limited sender
    /// decays once per retransmission timeout.
    pub fn on_sent(
        &mut self,
        window: &mut PacketWindow,
        facts: &SendFacts,
        validation: Option<&Validation>,
    ) {
        let SendFacts { now, una, nxt, packets_out, window_full } = *facts;
        // In a window of data, the strongest signal counts: a full window, else the maximum of the
        // packets out.
        let new_window = una.at_or_after(self.end);
        let more = !self.limited && packets_out > self.max_packets_out;
        if new_window || window_full || more {
            self.limited = window_full;
            self.max_packets_out = packets_out;
            self.end = nxt;
        }
        if self.is_cwnd_limited(window) {
            self.used = 0;
            self.stamp = now;
            return;
        }
        self.used = self.used.max(packets_out);
        if let Some(validation) = validation
            && now.since(self.stamp) >= validation.rto
        {
            self.decay(window, now, validation.initial);
        }
    }

    /// RFC 7661 §4.4.3, RFC 2861 §3.2: an unused window moves half of the way to the part that was
    /// used. The threshold remembers three quarters of it.
    fn decay(&mut self, window: &mut PacketWindow, now: Instant, initial: u32) {
        let used = self.used.max(initial);
        if used < window.cwnd {
            window.ssthresh = window.remembered_ssthresh();
            window.cwnd = window.cwnd.midpoint(used);
        }
        self.used = 0;
        self.stamp = now;
    }

    /// Returns whether the window limits the sender, so that an acknowledgment may widen it.
    pub const fn is_cwnd_limited(&self, window: &PacketWindow) -> bool {
        // RFC 7661 §4.3: a window that is used at least half may double in slow start.
        self.limited
            || window.is_in_slow_start() && window.cwnd < self.max_packets_out.saturating_mul(2)
    }

    /// Records that the window has just grown or been reduced, which postpones its decay.
    pub const fn on_window_change(&mut self, now: Instant) {
        self.stamp = now;
    }

    /// Records a restart after an idle period ([`PacketWindow::restart_after_idle`]).
    pub const fn on_restart(&mut self, now: Instant) {
        self.stamp = now;
        self.used = 0;
    }
}

#[cfg(test)]
mod tests;

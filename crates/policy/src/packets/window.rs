//! The congestion window in packets, and the two ways in which it grows.

use units::Duration;

/// Congestion window in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketWindow {
    /// Congestion window in packets.
    pub cwnd: u32,
    /// Slow start threshold in packets; [`INFINITE`](Self::INFINITE) before the first reduction.
    pub ssthresh: u32,
    /// Maximum of `cwnd` in packets.
    pub clamp: u32,
    /// Packets that count for the next increase in congestion avoidance.
    count: u32,
}

impl PacketWindow {
    /// RFC 5681 §3.1: the initial threshold is arbitrarily high. Linux reports this value.
    pub const INFINITE: u32 = 0x7fff_ffff;

    /// Creates a window of `initial` packets in slow start, without a maximum.
    pub const fn new(initial: u32) -> Self {
        Self { cwnd: initial, ssthresh: Self::INFINITE, clamp: u32::MAX, count: 0 }
    }

    /// Sets the slow start threshold, in packets.
    pub const fn with_ssthresh(mut self, ssthresh: u32) -> Self {
        self.ssthresh = ssthresh;
        self
    }

    /// RFC 5681 §3.1: slow start is active while `cwnd < ssthresh`.
    pub const fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by the number of packets that an acknowledgment covers, up to `ssthresh`. Returns the
    /// packets that remain for congestion avoidance.
    ///
    /// Unlike RFC 3465 §2.3, no limit applies to the growth per acknowledgment.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        // RFC 5681 §3.1: slow start ends at ssthresh.
        let cwnd = self.cwnd.saturating_add(acked).min(self.ssthresh.max(self.cwnd));
        let remainder = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(self.clamp);
        remainder
    }

    /// Adds one packet per `per_increase` packets acknowledged. The remainder stays in a counter.
    pub fn additive_increase(&mut self, per_increase: u32, acked: u32) {
        let per_increase = per_increase.max(1);
        // A counter that already exceeds the divisor was earned with a larger divisor. It is worth
        // one packet.
        if self.count >= per_increase {
            self.count = 0;
            self.cwnd = self.cwnd.saturating_add(1);
        }
        self.count = self.count.saturating_add(acked);
        self.cwnd = self.cwnd.saturating_add(self.count / per_increase).min(self.clamp);
        self.count %= per_increase;
    }

    /// Discards the packets counted for the next increase. Linux does so when a reduction of the
    /// window begins and after a timeout.
    pub const fn reset_count(&mut self) {
        self.count = 0;
    }

    /// Threshold that remembers three quarters of the window (RFC 7661 §4.4.3, Linux
    /// `tcp_current_ssthresh`). It applies outside recovery.
    pub const fn remembered_ssthresh(&self) -> u32 {
        let three_quarters = (self.cwnd >> 1) + (self.cwnd >> 2);
        if three_quarters > self.ssthresh { three_quarters } else { self.ssthresh }
    }

    /// Reduces the window when sending resumes after `idle`, if that exceeds the retransmission
    /// timeout. The window halves for each `rto` that has passed beyond the first, but not below
    /// `initial` packets.
    ///
    /// Unlike RFC 5681 §4.1, which restarts with at most the initial window at once, this is the
    /// decay of RFC 2861 §3.2. Returns whether the timeout was exceeded.
    pub fn restart_after_idle(&mut self, idle: Duration, rto: Duration, initial: u32) -> bool {
        if idle <= rto || rto.is_zero() {
            return false;
        }
        self.ssthresh = self.remembered_ssthresh();
        let floor = initial.min(self.cwnd);
        let halvings = (idle.as_nanos() - 1) / rto.as_nanos();
        self.cwnd = self.cwnd.checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX)).unwrap_or(0);
        self.cwnd = self.cwnd.max(floor);
        true
    }
}

#[cfg(test)]
mod tests;

//! Deadlines of a connection's timers.

use units::Instant;

/// Deadlines of the timers. A timer that is off has [`Instant::NEVER`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timers {
    /// RFC 6298: retransmission of the first segment in flight, or of the SYN.
    pub(crate) retransmit: Instant,
    /// RFC 9293 §3.8.6.3: a delayed acknowledgment.
    pub(crate) delayed_ack: Instant,
    /// RFC 9293 §3.8.6.1: probe of a window that is too small to send.
    pub(crate) persist: Instant,
    /// Expiry of the state: the end of TIME-WAIT after 2 MSL (RFC 9293 §3.10.8), or in other states
    /// the first deadline of [`HostTimers`](super::host_timers::HostTimers) and of copies that wait
    /// (`send::copies`).
    pub(crate) state: Instant,
}

impl Timers {
    pub(crate) const OFF: Self = Self {
        retransmit: Instant::NEVER,
        delayed_ack: Instant::NEVER,
        persist: Instant::NEVER,
        state: Instant::NEVER,
    };

    /// Returns the earliest deadline.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.retransmit.min(self.delayed_ack).min(self.persist).min(self.state)
    }
}

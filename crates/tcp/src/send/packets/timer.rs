//! One timer for the retransmission timeout, the tail loss probe and the reordering window, with
//! the resolution of Linux's timers.

use policy::rtt::LinuxRtoConfig;
use units::{Duration, Instant};

/// Reason for which the timer runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimerKind {
    /// RFC 6298: retransmission timeout.
    Retransmission,
    /// RFC 8985 §7.2: tail loss probe.
    LossProbe,
    /// RFC 8985 §6.3: reordering window of RACK.
    Reordering,
}

/// The timer. At most one of the three runs, because each replaces the others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timer {
    deadline: Instant,
    kind: Option<TimerKind>,
    /// Time of the last expiry.
    expired: Instant,
}

impl Timer {
    /// A timer that is off.
    pub(super) const OFF: Self =
        Self { deadline: Instant::NEVER, kind: None, expired: Instant::NEVER };

    /// Time of the expiry; [`Instant::NEVER`] if the timer is off.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Reason for which the timer runs. It is kept until the timer is set again or stopped, because
    /// a retransmission timeout after a probe counts from the transmission.
    pub(in crate::send) fn kind(&self) -> Option<TimerKind> {
        self.kind
    }

    /// Sets the timer to expire `timeout` from now, with the resolution of the configuration.
    pub(super) fn set(
        &mut self,
        kind: TimerKind,
        now: Instant,
        timeout: Duration,
        config: &LinuxRtoConfig,
    ) {
        self.kind = Some(kind);
        let ran = self.expired != Instant::NEVER && config.is_same_jiffy(self.expired, now);
        self.deadline = config.wheel_expiry_after(now, timeout, ran);
    }

    /// Stops the timer.
    pub(super) fn stop(&mut self) {
        (self.deadline, self.kind) = (Instant::NEVER, None);
    }

    /// Forgets the reason, so that the next timeout counts from now.
    pub(super) fn forget_kind(&mut self) {
        self.kind = None;
    }

    /// Notes that the timer expires at `now`. Returns the reason.
    pub(super) fn expire(&mut self, now: Instant) -> Option<TimerKind> {
        (self.deadline, self.expired) = (Instant::NEVER, now);
        self.kind
    }
}

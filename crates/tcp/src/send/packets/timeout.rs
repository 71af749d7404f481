//! Expiry of the timer: retransmission timeout, tail loss probe, reordering window.

use policy::loss::TailLossProbe;
use units::Duration;

use super::info::CongestionState;
use super::output::{Output, Resend};
use super::timer::TimerKind;
use super::{Half, PacketSender};
use crate::event::Repair;

/// Meaning of an expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::send) enum PacketExpiry {
    /// Nothing to do.
    Nothing,
    /// A recovery or a probe begins.
    Repair(Repair),
    /// The peer has been silent for too long.
    GiveUp,
}

impl PacketSender {
    /// Handles an expiry of the timer.
    pub(in crate::send) fn on_timer(
        &mut self,
        half: &mut Half<'_>,
        max_timeouts: u8,
    ) -> PacketExpiry {
        self.finish_burst(half);
        self.end_write();
        if std::mem::take(&mut self.waits_for_pacing) && self.timer.deadline() > half.now {
            // Pacing lets the next packet leave.
            if half.board.next_lost().is_some() {
                self.request(Resend::Lost);
            }
            return PacketExpiry::Nothing;
        }
        self.output = Output::default();
        let kind = self.timer.expire(half.now);
        if half.board.is_empty() {
            self.timer.stop();
            return PacketExpiry::Nothing;
        }
        match kind {
            None => PacketExpiry::Nothing,
            Some(TimerKind::Reordering) => self.on_reordering_timeout(half),
            Some(TimerKind::LossProbe) => {
                if self.probe.is_outstanding() {
                    // RFC 8985 §7.3: at most one probe.
                    self.restart_rto(half);
                    return PacketExpiry::Nothing;
                }
                self.output.probe = true;
                PacketExpiry::Repair(Repair::LossProbe)
            }
            Some(TimerKind::Retransmission) => self.on_retransmission_timeout(half, max_timeouts),
        }
    }

    /// RFC 8985 §6.3: the reordering window of the last detection has passed.
    fn on_reordering_timeout(&mut self, half: &mut Half<'_>) -> PacketExpiry {
        let (lost, resent) = (half.board.lost_segments(), half.board.resent_segments());
        let in_flight = self.in_flight(half.board);
        let detection = self.rack.detect(&self.rack_facts(half), half.board);
        half.board.mark(detection.lost);
        self.note_lost(half, lost, resent);
        let mut expiry = PacketExpiry::Nothing;
        if in_flight != self.in_flight(half.board) {
            if self.state != CongestionState::Recovery {
                self.enter_recovery(half, false);
                self.reduce(half, 1, 0, false);
                expiry = PacketExpiry::Repair(Repair::FastRetransmit);
            }
            self.request(Resend::Lost);
        }
        self.restart_rto(half);
        expiry
    }

    /// RFC 6298 §5.4 to §5.6.
    fn on_retransmission_timeout(&mut self, half: &mut Half<'_>, max_timeouts: u8) -> PacketExpiry {
        self.timer.stop();
        if self.timeouts >= max_timeouts {
            return PacketExpiry::GiveUp;
        }
        self.enter_loss(half);
        self.output.head = true;
        // RFC 6298 §5.5.
        self.rtt.back_off();
        self.timeouts = self.timeouts.saturating_add(1);
        self.set_timer_to(TimerKind::Retransmission, half.now, self.rto());
        PacketExpiry::Repair(Repair::Timeout)
    }

    /// Handles reports of the first segment, which the receiver has discarded since (RFC 2018 §8).
    /// Linux waits for half a round trip, at least 10 ms, before it restarts.
    pub(super) fn await_reneged(&mut self, half: &Half<'_>) {
        const LEAST: Duration = Duration::from_millis(10);
        let half_rtt = self
            .rtt
            .srtt()
            .map_or(LEAST, |srtt| Duration::from_nanos(srtt.as_nanos() / 2).max(LEAST));
        self.set_timer_to(TimerKind::Retransmission, half.now, half_rtt);
    }

    /// Sets the timer after an acknowledgment: a tail loss probe, or the retransmission timeout.
    pub(super) fn set_timer(&mut self, half: &Half<'_>) {
        if !self.schedule_probe(half, true) {
            self.restart_rto(half);
        }
    }

    /// Restarts the retransmission timeout (RFC 6298 §5.3). It counts from now, or from the last
    /// transmission of the first segment if another timer ran in its place.
    pub(super) fn restart_rto(&mut self, half: &Half<'_>) {
        if half.board.is_empty() {
            self.timer.stop();
            return;
        }
        let replaced =
            matches!(self.timer.kind(), Some(TimerKind::Reordering | TimerKind::LossProbe));
        let timeout =
            if replaced { self.until_rto(half).max(Duration::from_micros(1)) } else { self.rto() };
        self.set_timer_to(TimerKind::Retransmission, half.now, timeout);
    }

    /// Time until the retransmission timeout of the first segment; zero if it has passed.
    fn until_rto(&self, half: &Half<'_>) -> Duration {
        let Some(first) = half.board.first() else { return Duration::ZERO };
        let expires = first.sent_at() + self.rto_config.round_up(self.rto());
        if expires > half.now { expires.since(half.now) } else { Duration::ZERO }
    }

    /// Returns whether tail loss probes are in use in this state.
    pub(super) fn may_probe(&self) -> bool {
        self.options.tlp
            && self.sack
            && matches!(self.state, CongestionState::Open | CongestionState::Cwr)
    }

    /// RFC 8985 §7.2: schedules a tail loss probe. `advances` says that an acknowledgment restarts
    /// the retransmission timeout now. Returns whether a probe is scheduled.
    pub(super) fn schedule_probe(&mut self, half: &Half<'_>, advances: bool) -> bool {
        if half.board.is_empty() || !self.may_probe() {
            return false;
        }
        let timeout =
            TailLossProbe::timeout(self.rtt.srtt(), half.packets_out(), self.rto_config.min);
        // RFC 8985 §7.2: never later than the retransmission timeout. Usually it is so much later
        // that rounding does not matter.
        let since = if advances { half.now } else { half.board.first_sent_at() };
        let timeout = if since + self.rto() >= half.now + timeout {
            timeout
        } else {
            let until_rto =
                if advances { self.rto_config.round_up(self.rto()) } else { self.until_rto(half) };
            if until_rto.is_zero() { timeout } else { timeout.min(until_rto) }
        };
        self.set_timer_to(TimerKind::LossProbe, half.now, timeout);
        true
    }
}

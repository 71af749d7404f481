//! Selection of what is sent next, and what follows from sending it.

use policy::loss::{Scoreboard, SentSegment};
use policy::packets::{SendFacts, Validation};
use units::{Duration, Instant};

use super::info::CongestionState;
use super::timer::TimerKind;
use super::{Half, PacketSender};

/// Retransmissions that the last input allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Resend {
    /// None.
    #[default]
    Nothing,
    /// Lost segments, as far as the window allows.
    Lost,
    /// New data first (F-RTO, RFC 5682 §3.1, step 2.b). If none is sent, lost segments.
    AfterNewData,
}

/// Transmissions that the last input asks for, besides new data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "requests, each of which can hold alone")]
pub(crate) struct Output {
    pub(super) resend: Resend,
    /// The first segment, after a timeout.
    pub(super) head: bool,
    /// A tail loss probe.
    pub(super) probe: bool,
    /// New data that fills a small window of the peer.
    pub(crate) window_data: bool,
    /// A segment without data, below the window, that the peer must answer.
    pub(crate) window_probe: bool,
    /// Number of new packets sent since the last input, and whether the window stopped them.
    burst: u32,
    pub(super) blocked: bool,
    /// Whether the burst is a tail loss probe.
    probing: bool,
}

impl Output {
    /// Returns whether a burst of new data has not been ended.
    pub(super) const fn has_burst(&self) -> bool {
        self.burst > 0 || self.blocked
    }
}

/// Rules that do not apply to a segment of new data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::send) enum Force {
    /// All rules apply.
    Nothing,
    /// Nagle's rule does not apply: F-RTO needs an acknowledgment (RFC 5682 §3.1, step 2.b).
    Nagle,
    /// Nor does the congestion window: a tail loss probe (RFC 8985 §7.3).
    Probe,
    /// Nor does the minimum that the peer's window must admit: a probe of that window, with the
    /// data that it admits.
    Window,
}

/// Next transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::send) enum Next {
    /// Nothing, besides new data that the congestion window allows.
    NewData,
    /// New data regardless of Nagle's rule.
    ForcedNewData(Force),
    /// A segment again.
    Again(SentSegment),
    /// The last segment again, as a tail loss probe.
    Probe(SentSegment),
}

impl PacketSender {
    /// Selects the next transmission.
    pub(in crate::send) fn next(&mut self, half: &mut Half<'_>) -> Next {
        if std::mem::take(&mut self.output.head)
            && let Some(first) = half.board.first()
            && half.may_resend(&first)
        {
            return Next::Again(first);
        }
        if self.output.window_data {
            return Next::ForcedNewData(Force::Window);
        }
        if self.output.probe {
            return Next::ForcedNewData(Force::Probe);
        }
        if self.output.resend == Resend::AfterNewData {
            return Next::ForcedNewData(Force::Nagle);
        }
        if self.output.resend == Resend::Lost {
            match self.next_lost(half) {
                Some(segment) => return Next::Again(segment),
                None => self.output.resend = Resend::Nothing,
            }
        }
        Next::NewData
    }

    /// Handles that no new data can be sent although it was asked for. Returns what is sent
    /// instead.
    pub(in crate::send) fn instead_of_new_data(&mut self, half: &mut Half<'_>) -> Next {
        if std::mem::take(&mut self.output.window_data) {
            return self.next(half);
        }
        if std::mem::take(&mut self.output.probe) {
            // RFC 8985 §7.3: without new data the last segment is sent again.
            if let Some(last) = half.board.last().filter(|last| half.may_resend(last)) {
                return Next::Probe(last);
            }
            self.restart_rto(half);
        } else if half.nxt.after(self.recovery_point) {
            self.output.resend = Resend::Nothing;
        } else {
            // RFC 5682 §3.1, step 2.b: without new data conventional recovery begins.
            self.frto = false;
            self.output.resend = Resend::Lost;
        }
        self.next(half)
    }

    /// Notes that nothing more can be sent now. `by_window` says that the next segment waits for
    /// room in the peer's window.
    pub(in crate::send) fn note_blocked(&mut self, half: &Half<'_>, by_window: bool) {
        self.limits.note(half.unsent > 0 || !half.board.is_empty(), by_window, half.now);
    }

    /// Returns whether a tail loss probe or a window probe is due.
    pub(in crate::send) fn owes_probe(&self) -> bool {
        self.output.probe || self.output.window_data
    }

    /// Returns whether the last input asks for more than new data.
    pub(crate) fn has_output(&self) -> bool {
        let Output { resend, head, probe, window_data, window_probe, .. } = self.output;
        resend != Resend::Nothing || head || probe || window_data || window_probe
    }

    /// Next lost segment that the congestion window allows (Linux's `tcp_xmit_retransmit_queue`).
    fn next_lost(&mut self, half: &Half<'_>) -> Option<SentSegment> {
        if self.in_flight(half.board) >= self.window.cwnd {
            return None;
        }
        let lost = half.board.next_lost().filter(|segment| half.may_resend(segment));
        lost.filter(|_| self.pacing_allows(half.now))
    }

    /// Returns whether pacing lets another packet leave. Otherwise the timer ends the wait.
    pub(in crate::send) fn pacing_allows(&mut self, now: Instant) -> bool {
        self.waits_for_pacing = !self.continues_group() && !self.pacing.may_begin(now);
        !self.waits_for_pacing
    }

    /// Number of packets that the congestion window admits now.
    pub(in crate::send) fn room(&self, board: &Scoreboard) -> u32 {
        self.window.cwnd.saturating_sub(self.in_flight(board))
    }

    /// Returns whether the congestion window admits another packet.
    pub(in crate::send) fn has_room(&mut self, half: &Half<'_>) -> bool {
        let room = self.in_flight(half.board) < self.window.cwnd;
        self.output.blocked |= !room;
        room
    }

    /// Notes that new data was sent. `was_empty` says that nothing was in flight before.
    /// `len` is its length in bytes.
    pub(in crate::send) fn on_sent(&mut self, half: &Half<'_>, len: u32, was_empty: bool) {
        self.pacing.on_sent(half.now, len, self.began_group());
        // The end of the burst schedules another tail loss probe, if it may.
        if was_empty || self.timer.kind() == Some(TimerKind::LossProbe) && !self.may_probe() {
            self.restart_rto(half);
        }
        if self.is_reducing() {
            self.prr.on_sent(1);
        }
        let begins = self.began_group();
        if let Some(memory) = &mut self.memory {
            memory.on_sent(half.nxt, begins);
        }
        self.output.burst += 1;
        self.output.window_data = false;
        if std::mem::take(&mut self.output.probe) {
            self.output.probing = true;
            self.probe_sent(half, false);
        }
        self.last_sent = half.now;
    }

    /// Notes that a segment was retransmitted with this timestamp.
    pub(in crate::send) fn on_resent(
        &mut self,
        half: &Half<'_>,
        segment: &SentSegment,
        stamp: u32,
    ) {
        self.retransmissions += 1;
        // Unlike Linux, retransmissions leave one by one: segments are not joined for offload.
        self.finish_group();
        self.pacing.on_sent(half.now, segment.range().1, true);
        self.undo.on_retransmission(stamp);
        if self.is_reducing() {
            self.prr.on_sent(1);
        }
        let is_first = segment.range().0 == half.una;
        if is_first && self.timer.kind() != Some(TimerKind::Reordering) {
            // RFC 6298 §5.3: the retransmission is acknowledged no sooner than a new segment.
            self.set_timer_to(TimerKind::Retransmission, half.now, self.rto());
        }
        self.last_sent = half.now;
    }

    /// Notes that the last segment was sent again as a probe.
    pub(in crate::send) fn on_probe_resent(&mut self, half: &Half<'_>) {
        self.retransmissions += 1;
        self.probe_sent(half, true);
        self.last_sent = half.now;
    }

    /// RFC 8985 §7.3: after a probe the retransmission timeout counts from now.
    fn probe_sent(&mut self, half: &Half<'_>, resent: bool) {
        self.probe.on_sent(half.nxt, resent);
        self.timer.forget_kind();
        self.restart_rto(half);
    }

    /// Ends a burst of new data: schedules a tail loss probe and records how far the window was
    /// used. Every input and the end of a drain call it.
    #[inline]
    pub(in crate::send) fn finish_burst(&mut self, half: &Half<'_>) {
        self.finish_group();
        if self.output.has_burst() {
            self.note_burst(half);
        }
    }

    #[inline(never)]
    fn note_burst(&mut self, half: &Half<'_>) {
        let Output { burst, blocked, probing, .. } = self.output;
        (self.output.burst, self.output.blocked, self.output.probing) = (0, false, false);
        if burst > 0 && !probing {
            self.schedule_probe(half, false);
        }
        let in_flight = self.in_flight(half.board);
        let limited = blocked || in_flight >= self.window.cwnd;
        let facts = SendFacts {
            now: half.now,
            una: half.una,
            nxt: half.nxt,
            packets_out: half.packets_out(),
            window_full: limited,
        };
        // RFC 7661: the window of an application-limited sender decays, outside recovery.
        let validation = Validation { rto: self.rto(), initial: self.initial_window };
        let decays = self.restarts_after_idle
            && self.state == CongestionState::Open
            && !self.waits_for_memory();
        self.usage.on_sent(&mut self.window, &facts, decays.then_some(&validation));
    }

    /// RFC 5681 §4.1: reduces the window after an idle time, with nothing in flight.
    pub(in crate::send) fn restart_if_idle(&mut self, now: Instant) {
        if !self.restarts_after_idle || self.last_sent == Instant::ZERO {
            return;
        }
        let idle = now.since(self.last_sent);
        if self.window.restart_after_idle(idle, self.rto(), self.initial_window) {
            self.usage.on_restart(now);
        }
    }

    /// Notes that a connection sends after an idle time: CUBIC's epoch does not count it.
    pub(in crate::send) fn on_transmit_start(&mut self, now: Instant) {
        self.controller.on_transmit_start(now, self.last_sent);
    }

    /// Interval between probes of a closed window (RFC 9293 §3.8.6.1): the retransmission timeout
    /// without back-off, at least 200 ms, doubled for each unanswered probe. A lower minimum of the
    /// timeout has no effect on it (Linux's `tcp_probe0_base`).
    pub(crate) fn window_probe_at(&self, now: Instant, probes: u8) -> Instant {
        let base = self.rto().max(Duration::from_millis(200));
        let timeout = (base * (1u64 << probes.min(16))).min(self.rto_config.max);
        self.rto_config.wheel_expiry(now, timeout)
    }

    /// Handles a smaller segment size: longer segments are lost, and are sent again at once. The
    /// window does not change (RFC 1191 §6.4, Linux's `tcp_simple_retransmit`). Returns whether
    /// there was a longer segment.
    pub(in crate::send) fn on_smaller_segments(&mut self, half: &mut Half<'_>, smss: u32) -> bool {
        self.finish_burst(half);
        let (lost, resent) = (half.board.lost_segments(), half.board.resent_segments());
        half.board.mark_lost_longer_than(smss);
        self.note_lost(half, lost, resent);
        if half.board.lost_segments() == lost {
            return false;
        }
        if self.state != CongestionState::Loss {
            self.recovery_point = half.nxt;
            self.window.ssthresh = self.current_ssthresh();
            self.prior_ssthresh = None;
            self.undo.forbid();
            self.enter(CongestionState::Loss);
        }
        self.output.resend = Resend::Lost;
        true
    }
}

//! Loss detection and recovery: applies the decisions of the policies to the retransmission queue.

use policy::loss::{Duplicate, LossDetector, Lost, SentSegment};
use policy::recovery::{Completion, Progress, Recovery, RecoveryAck};
use policy::{CongestionController, LossSample, Segmenter};
use units::Instant;
use wire::SeqNum;

use super::Sender;
use super::reports::TimedReports;
use crate::config::Config;
use crate::event::{LossEvent, Repair};

/// Meaning of an expiry of the retransmission timer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expiry {
    /// A loss.
    Loss(LossEvent),
    /// A window probe was not accepted. It is repeated, and does not indicate congestion.
    Probe,
    /// The peer has been silent for too long.
    GiveUp,
}

/// State of recovery.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct RepairState {
    /// RFC 6582 §3.2, `recover` outside recovery, except that it is the number after the highest
    /// sent. Duplicates that do not exceed it may stem from an earlier loss.
    pub(super) recover: SeqNum,
    /// Number of bytes sent by Limited Transmit, which RFC 5681 §3.2 excludes from `FlightSize`.
    pub(super) limited_transmit_bytes: u32,
    /// Sequence number that ends recovery while it is active (RFC 6582 `recover`, RFC 6675
    /// `RecoveryPoint`).
    pub(super) recovery_point: SeqNum,
    /// Whether recovery is active. Data receivers read this, too.
    pub(crate) in_recovery: bool,
    /// Whether the first lost segment is to be retransmitted regardless of the window.
    pub(crate) resend_first: bool,
    /// Whether a timeout began recovery. The window then grows during recovery.
    pub(super) after_timeout: bool,
    /// Whether a sender that counts packets has ended a burst because the congestion window is
    /// full, and nothing has happened since.
    pub(crate) burst_ended: bool,
}

impl RepairState {
    /// Creates the state outside recovery.
    pub(super) fn inactive(recover: SeqNum) -> Self {
        Self {
            recover,
            limited_transmit_bytes: 0,
            recovery_point: recover,
            in_recovery: false,
            resend_first: false,
            after_timeout: false,
            burst_ended: false,
        }
    }

    /// Creates the state at the beginning of recovery of everything before `recovery_point`.
    fn entered(recovery_point: SeqNum) -> Self {
        Self { in_recovery: true, ..Self::inactive(recovery_point) }
    }
}

impl Sender {
    /// Number of bytes that RFC 3042 allows beyond the window. It holds for data never sent before,
    /// and not after a timeout, when duplicates stem from retransmissions.
    pub(crate) fn limited_transmit(&self, mss_c: u32) -> u32 {
        if self.policies.limited_transmit && !self.repair.in_recovery && self.nxt == self.max {
            policy::loss::limited_transmit(self.policies.detector.duplicates(), mss_c)
        } else {
            0
        }
    }

    /// Number of bytes that count against the window during recovery with the scoreboard.
    pub(crate) fn pipe(&self) -> Option<u32> {
        if !self.repair.in_recovery {
            return None;
        }
        self.policies.recovery.as_ref()?.pipe(&self.board)
    }

    /// RFC 6675 §5, step (C): returns whether the window has room for a segment besides the pipe.
    /// There is none without a pipe.
    pub(crate) fn has_room_for_repair(&self) -> bool {
        let view = self.view();
        let room = view.cwnd.saturating_sub(self.pipe().unwrap_or(u32::MAX));
        room >= self.mss_c_at(&view) && self.may_add_segment(&view)
    }

    /// Returns the segment that recovery with the scoreboard retransmits before new data.
    pub(crate) fn next_repair(&mut self) -> Option<SentSegment> {
        self.policies.recovery.as_mut()?.next_repair(&self.board)
    }

    /// Returns the segment that recovery with the scoreboard retransmits if no new data can be
    /// sent.
    pub(crate) fn next_repair_without_new_data(&mut self) -> Option<SentSegment> {
        if !self.has_room_for_repair() {
            return None;
        }
        self.policies.recovery.as_mut()?.next_repair_without_new_data(&self.board)
    }

    /// Returns whether lost segments may be merged for retransmission, up to the present `MSS_c`.
    /// After a timeout all data is segmented again. Otherwise small segments keep their boundaries
    /// until the window leaves the small-window regime, where the sender must use full-sized ones
    /// (draft §6). Without framing there are no such segments. TCP Santa Cruz numbers the
    /// transmissions of each segment, so it keeps the boundaries.
    pub(crate) fn may_resegment(&self, mss_c: u32) -> bool {
        let framed = self.policies.segmenter.reduces_segments();
        let merges = self.repair.after_timeout || framed && mss_c == self.smss;
        merges && self.special.reported().is_none()
    }

    /// Handles an acknowledgment that does not advance SND.UNA. Returns the loss that it reveals.
    pub(crate) fn duplicate(
        &mut self,
        duplicate: &Duplicate,
        config: &Config,
    ) -> Option<LossEvent> {
        let counts = duplicate.exact || duplicate.newly_sacked > 0;
        if self.repair.in_recovery {
            let lost = self.policies.detector.on_duplicate_in_recovery(duplicate, &self.board);
            if counts
                && let (Some(recovery), Some(segment)) =
                    (&mut self.policies.recovery, self.board.first())
            {
                recovery.on_duplicate(segment.range().1);
            }
            return self.repair_lost(lost, duplicate.now);
        }
        let mut lost = self.policies.detector.on_duplicate(duplicate, &self.board);
        if lost == Lost::Nothing && counts && self.retransmits_early(config) {
            lost = Lost::First;
        }
        self.repair_lost(lost, duplicate.now)
    }

    /// Returns whether Early Retransmit (RFC 5827) considers the duplicates sufficient.
    fn retransmits_early(&self, config: &Config) -> bool {
        let Some(early) = config.sender.early_retransmit else { return false };
        // RFC 5827 §3.1 (2.b), §3.2 (3.b): no new data is ready, or the peer's window does not
        // allow it.
        let left = self.end().distance_from(self.nxt);
        let view = self.view();
        let usable = self.wnd.saturating_sub(view.flight);
        if left > 0 && usable >= left.min(self.mss_c_at(&view)) {
            return false;
        }
        let duplicates = (!self.policies.sack).then(|| self.policies.detector.duplicates());
        early.is_due(&view, duplicates, &self.board)
    }

    /// Handles the segments that the detector found lost. Returns the loss if it begins recovery or
    /// reduces the window again.
    #[inline]
    pub(crate) fn repair_lost(&mut self, lost: Lost, now: Instant) -> Option<LossEvent> {
        if matches!(lost, Lost::Nothing) { None } else { self.repair_found(lost, now) }
    }

    fn repair_found(&mut self, lost: Lost, now: Instant) -> Option<LossEvent> {
        match lost {
            Lost::Nothing => None,
            Lost::First if self.board.is_empty() => None,
            Lost::First if self.repair.in_recovery => Some(self.on_loss_in_recovery(now)),
            Lost::First if self.may_be_from_retransmission() => None,
            Lost::Before(_) | Lost::SentUpTo(_) if self.repair.in_recovery => {
                self.board.mark(lost);
                None
            }
            _ => Some(self.enter_recovery(lost, now)),
        }
    }

    /// Handles a loss of the first segment during recovery: a retransmission, or another hole.
    fn on_loss_in_recovery(&mut self, now: Instant) -> LossEvent {
        let event = self.event(now, Repair::FastRetransmit);
        self.statistics.fast_retransmits += 1;
        self.policies.controller.on_loss(&self.loss_at(now));
        self.resend_first(Lost::First);
        let view = self.view();
        self.policies.segmenter.on_reduction(&view);
        event
    }

    /// Returns whether duplicates of `una` may stem from retransmissions.
    fn may_be_from_retransmission(&self) -> bool {
        // RFC 6582 §3.2, step 2: only an acknowledgment of *more than* `recover` is certain. The
        // retransmission that fills the last hole acknowledges exactly `recover`, and each
        // retransmission after it causes a duplicate: three of them if a loss window has four
        // segments.
        self.una.at_or_before(self.repair.recover)
    }

    /// Handles an expiry of the retransmission timer with data in flight.
    pub(crate) fn on_rto(&mut self, now: Instant, config: &Config) -> Expiry {
        if self.timeouts_in_a_row >= config.max_timeouts {
            return Expiry::GiveUp;
        }
        let repeated = self.timeouts_in_a_row > 0;
        self.timeouts_in_a_row += 1;
        if self.is_probing() {
            self.rtt.back_off();
            self.unsend_all();
            self.probe = true;
            return Expiry::Probe;
        }
        self.statistics.timeouts += 1;
        let event = self.event(now, Repair::Timeout);
        let loss =
            LossSample { timer_expired: true, already_reduced: repeated, ..self.loss_at(now) };
        self.policies.controller.on_timeout(&loss);
        self.ecn.reduced_by_loss(self.max);
        // Unlike RFC 6298 §5.5, TCP Santa Cruz (section 3.2.1) does not back off, because it
        // measures retransmissions. Unlike there, it does if nothing at all has arrived since the
        // last expiry, unless its reading excludes that.
        let times_copies = |reported: &TimedReports| reported.never_backs_off || !repeated;
        if !self.special.reported().is_some_and(times_copies) {
            self.rtt.back_off();
        }
        if self.policies.detector.survives_timeout() {
            self.start_recovery_after_timeout(&loss);
        } else {
            self.restart_from_una();
        }
        Expiry::Loss(event)
    }

    /// Handles an acknowledgment of new data during recovery. Returns whether to restart the timer.
    pub(super) fn on_recovery_ack(&mut self, acked: u32, full: bool) -> bool {
        let ack = RecoveryAck {
            acked,
            full,
            flight: self.flight(),
            smss: self.smss,
            segment: self.first_len(),
            ssthresh: self.policies.controller.ssthresh(),
            cwnd: self.policies.controller.cwnd(),
        };
        let progress = self
            .policies
            .recovery
            .as_mut()
            .map_or(Progress::Done(Completion::with_window(ack.ssthresh)), |r| r.on_ack(&ack));
        match progress {
            Progress::Done(end) => {
                self.policies.controller.set_cwnd(end.cwnd);
                if !end.guards_recovery_point {
                    // Reno's recovery may end before its recovery point. Later duplicates may then
                    // indicate the next loss (RFC 5681 §3.2 has no `recover`).
                    self.repair.recover = self.una - 1;
                }
                self.repair.in_recovery = false;
                self.repair.resend_first = false;
                self.board.end_recovery(end.keeps_reports);
                if !self.repair.after_timeout {
                    let view = self.view();
                    self.policies.segmenter.on_reduction(&view);
                    self.policies.segmenter.on_ack(&view);
                }
                true
            }
            Progress::Partial { resend, restart_timer } => {
                if self.board.has_reneged() && self.special.reported().is_none() {
                    self.board.mark_all_lost();
                }
                // Without a scoreboard, a part of the hole that has been retransmitted is in
                // flight.
                if resend && !self.board.first_is_resent() {
                    self.resend_first(Lost::First);
                }
                self.board.mark(self.policies.detector.lost_by_reports(&self.board));
                if !self.repair.after_timeout {
                    let view = self.view();
                    self.policies.segmenter.on_ack(&view);
                }
                restart_timer
            }
        }
    }

    /// Marks what is lost, and schedules a retransmission of the first lost segment regardless of
    /// the window. The retransmission covers all parts if the segment is divided.
    fn resend_first(&mut self, lost: Lost) {
        self.repair.resend_first = true;
        self.board.mark(lost);
    }

    fn enter_recovery(&mut self, lost: Lost, now: Instant) -> LossEvent {
        let event = self.event(now, Repair::FastRetransmit);
        self.statistics.fast_retransmits += 1;
        // RFC 3168 §6.1.2: one reduction for all marks and losses of a window.
        let reduced = self.ecn.has_reduced_for(self.una);
        let sample = LossSample { already_reduced: reduced, ..self.loss_at(now) };
        if !reduced {
            self.ecn.reduced_by_loss(self.max);
        }
        let Some(recovery) = &mut self.policies.recovery else {
            // Tahoe: as after a timeout, but without the wait and the back-off.
            self.policies.controller.on_timeout(&sample);
            self.restart_from_una();
            return event;
        };
        if !reduced {
            self.policies.controller.on_loss(&sample);
        }
        recovery.enter(&sample);
        self.repair = RepairState::entered(self.max);
        self.resend_first(lost);
        self.board.mark(self.policies.detector.lost_by_reports(&self.board));
        let view = self.view();
        self.policies.segmenter.on_reduction(&view);
        event
    }

    /// Handles a reduction of the path MTU to segments of `smss` bytes. Everything in flight from
    /// the first longer segment on counts as not sent. The windows do not change (RFC 1191 §6.4).
    /// Returns whether there was a longer segment.
    pub(crate) fn reduce_smss(&mut self, smss: u32, now: Instant) -> bool {
        self.smss = smss;
        if self.special.packets().is_some() {
            return self.shorten_packets(now);
        }
        let Some(from) = self.board.unsend_longer_than(smss) else { return false };
        self.nxt = from;
        if self.small_end.after(from) {
            // No other small segment was in flight.
            self.small_end = self.una;
        }
        self.stop_timing();
        self.policies.detector.reset();
        self.app_limited_until = self.una;
        // RFC 6582 §3.2, step 4: duplicates of what was in flight are ignored. RFC 6675 §5.1
        // accepts duplicates with SACK information as soon as all of it is acknowledged.
        let recover = if self.policies.sack { self.max - 1 } else { self.max };
        self.repair = RepairState::inactive(recover);
        true
    }

    /// Sends everything from `una` on again, in a slow start from the loss window.
    fn restart_from_una(&mut self) {
        self.unsend_all();
        self.app_limited_until = self.una;
        // Waiting data is no longer new.
        self.ecn.unblock();
        // RFC 6582 §3.2, step 4: duplicates of what was in flight are ignored.
        self.repair = RepairState::inactive(self.max);
        self.begin_slow_start(self.loss_window());
    }

    /// Begins recovery after a timeout: everything unreported is lost and is sent again in a slow
    /// start from the loss window. RFC 6675 §5.1: SACK information decides the retransmissions, and
    /// no fast recovery begins before all of it is acknowledged.
    ///
    /// Unlike RFC 2018 §8, which discards all reports at a timeout, because the receiver may have
    /// discarded reported data. §5.1 notes that a sender that detects this may keep the reports:
    /// [`Scoreboard::has_reneged`](policy::loss::Scoreboard::has_reneged).
    fn start_recovery_after_timeout(&mut self, loss: &LossSample) {
        self.board.mark_all_lost();
        self.probing = false;
        self.stop_timing();
        self.app_limited_until = self.una;
        self.ecn.unblock();
        self.policies.detector.reset();
        if let Some(recovery) = &mut self.policies.recovery {
            recovery.enter(loss);
        }
        self.repair = RepairState { after_timeout: true, ..RepairState::entered(self.max) };
        self.begin_slow_start(self.loss_window());
    }

    /// Loss window in bytes.
    pub(super) fn loss_window(&self) -> u32 {
        u32::from(self.policies.loss_window) * self.smss
    }

    /// Treats everything in flight as not sent.
    pub(super) fn unsend_all(&mut self) {
        self.board.clear();
        self.nxt = self.una;
        self.small_end = self.una;
        self.probing = false;
        self.stop_timing();
        self.policies.detector.reset();
    }

    /// `FlightSize` (RFC 5681 §2) in bytes. After a timeout that made everything lost, only what
    /// has been sent since counts.
    fn flight_size(&self) -> u32 {
        self.pipe().filter(|_| self.repair.after_timeout).unwrap_or_else(|| self.flight())
    }

    /// Size of the first unacknowledged segment in bytes.
    fn first_len(&self) -> u32 {
        self.board.first().map_or(self.smss, |segment| segment.range().1)
    }

    pub(super) fn loss_at(&self, now: Instant) -> LossSample {
        let first = self.board.first();
        LossSample {
            smss: self.smss,
            flight: self.flight_size().saturating_sub(self.repair.limited_transmit_bytes),
            segment: self.first_len(),
            duplicates: self.policies.detector.duplicates(),
            loss_window: self.loss_window(),
            now,
            sent_at: first.map(|segment| segment.sent_at()),
            resent: first.is_some_and(|segment| segment.was_resent()),
            timer_expired: false,
            already_reduced: false,
        }
    }
}

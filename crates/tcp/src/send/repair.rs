//! How a loss is noticed and repaired: what the policies decide, done to the queue.

use policy::loss::{Duplicate, LossDetector, SentSegment};
use policy::recovery::{Progress, Recovery, RecoveryAck};
use policy::{CongestionController, LossSample, Segmenter};
use units::Instant;
use wire::SeqNum;

use super::Sender;
use super::reports::TimedReports;
use crate::config::Config;
use crate::event::{LossEvent, Repair};

/// What an expiry of the retransmission timer meant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expiry {
    /// A loss.
    Loss(LossEvent),
    /// A window probe wasn't taken: it is repeated, and says nothing of congestion.
    Probe,
    /// The peer has been silent for too long.
    GiveUp,
}

/// Where the repair of a loss stands.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct RepairState {
    /// RFC 6582 §3.2, `recover` outside of recovery, but past the highest number sent: duplicates
    /// that don't reach beyond it may be echoes of an earlier loss.
    pub(super) recover: SeqNum,
    /// Bytes let out by limited transmit, which RFC 5681 §3.2 leaves out of `FlightSize`.
    pub(super) limited_transmit_bytes: u32,
    /// Where it ends, while it is on (RFC 6582 `recover`, RFC 6675 `RecoveryPoint`).
    pub(super) recovery_point: SeqNum,
    /// A loss is being repaired. A receiver asks for this, too.
    pub(crate) in_recovery: bool,
    /// The first segment that is lost is to be sent again, whatever the window says.
    pub(crate) resend_first: bool,
    /// A timeout began it, and the window grows on the way.
    pub(super) after_timeout: bool,
}

impl RepairState {
    /// Nothing is being repaired.
    pub(super) fn inactive(recover: SeqNum) -> Self {
        Self {
            recover,
            limited_transmit_bytes: 0,
            recovery_point: recover,
            in_recovery: false,
            resend_first: false,
            after_timeout: false,
        }
    }

    /// A repair of everything before `point` begins.
    fn entered(recovery_point: SeqNum) -> Self {
        Self { in_recovery: true, ..Self::inactive(recovery_point) }
    }
}

impl Sender {
    /// What RFC 3042 allows beyond the window just now: for data never sent before, and not after a
    /// timeout, when duplicates are echoes.
    pub(crate) fn limited_transmit(&self, mss_c: u32) -> u32 {
        if self.policies.limited_transmit && !self.repair.in_recovery && self.nxt == self.max {
            policy::loss::limited_transmit(self.policies.detector.duplicates(), mss_c)
        } else {
            0
        }
    }

    /// The bytes that count against the window while recovering by the scoreboard.
    pub(crate) fn pipe(&self) -> Option<u32> {
        if !self.repair.in_recovery {
            return None;
        }
        self.policies.recovery.as_ref()?.pipe(&self.board)
    }

    /// RFC 6675 §5, step (C): whether the window has room for a segment beside the pipe.
    pub(crate) fn has_room_for_repair(&self) -> bool {
        let view = self.view();
        let room = view.cwnd.saturating_sub(self.pipe().unwrap_or(u32::MAX));
        room >= self.mss_c_at(&view) && self.may_add_segment(&view)
    }

    /// The segment that recovery by the scoreboard retransmits before new data.
    pub(crate) fn next_repair(&mut self) -> Option<SentSegment> {
        self.policies.recovery.as_mut()?.next_repair(&self.board)
    }

    /// The segment that recovery by the scoreboard retransmits because no new data can be sent.
    pub(crate) fn next_repair_without_new_data(&mut self) -> Option<SentSegment> {
        if self.pipe().is_none() || !self.has_room_for_repair() {
            return None;
        }
        self.policies.recovery.as_mut()?.next_repair_without_new_data(&self.board)
    }

    /// Whether lost segments may be joined when they are sent again, up to the present `MSS_c`.
    /// After a timeout everything is cut anew. TCP Santa Cruz counts the transmissions of each
    /// segment, so it keeps them.
    pub(crate) fn may_resegment(&self) -> bool {
        self.repair.after_timeout && self.policies.reported.is_none()
    }

    /// An acknowledgment that doesn't advance SND.UNA. Returns the loss if it gives one away.
    pub(crate) fn duplicate(
        &mut self,
        duplicate: &Duplicate,
        now: Instant,
        config: &Config,
    ) -> Option<LossEvent> {
        let counts = duplicate.exact || duplicate.newly_sacked > 0;
        if self.repair.in_recovery {
            self.policies.detector.mark(&mut self.board, false);
            if counts
                && let (Some(recovery), Some(segment)) =
                    (&mut self.policies.recovery, self.board.first())
            {
                recovery.on_duplicate(segment.range().1);
            }
            let again = self.policies.detector.on_duplicate_in_recovery(duplicate, &self.board);
            return again.then(|| self.on_loss_in_recovery(now));
        }
        let lost = self.policies.detector.on_duplicate(duplicate, &self.board)
            || counts && self.retransmits_early(config);
        if !lost {
            return None;
        }
        self.on_first_segment_lost(now)
    }

    /// Whether RFC 5827 takes the duplicates that have come for enough.
    fn retransmits_early(&self, config: &Config) -> bool {
        let Some(early) = config.sender.early_retransmit else { return false };
        // RFC 5827 §3.1 (2.b), §3.2 (3.b): nothing new is ready, or the peer's window does not
        // permit it.
        let left = self.end().distance_from(self.nxt);
        let view = self.view();
        let usable = self.wnd.saturating_sub(view.flight);
        if left > 0 && usable >= left.min(self.mss_c_at(&view)) {
            return false;
        }
        let duplicates = (!self.policies.sack).then(|| self.policies.detector.duplicates());
        early.is_due(&view, duplicates, &self.board)
    }

    /// The detector takes the first segment for lost. Returns the loss, unless there may be none.
    pub(crate) fn on_first_segment_lost(&mut self, now: Instant) -> Option<LossEvent> {
        if self.board.is_empty() {
            return None;
        }
        if self.repair.in_recovery {
            return Some(self.on_loss_in_recovery(now));
        }
        if self.may_be_from_retransmission() {
            return None;
        }
        Some(self.enter_recovery(now))
    }

    /// The first segment is lost while something is being repaired: a copy, or another hole.
    fn on_loss_in_recovery(&mut self, now: Instant) -> LossEvent {
        let event = self.event(now, Repair::FastRetransmit);
        self.statistics.fast_retransmits += 1;
        self.policies.controller.on_loss(&self.loss_at(now));
        self.resend_first();
        let view = self.view();
        self.policies.segmenter.on_reduction(&view);
        event
    }

    /// Whether duplicates for `una` may come from what was sent twice.
    fn may_be_from_retransmission(&self) -> bool {
        // RFC 6582 §3.2, step 2: only an acknowledgment of *more than* `recover` is beyond doubt.
        // The last hole's repair acknowledges exactly that much, and what was sent again
        // behind it draws a duplicate each: three of them wherever a loss window holds four
        // segments.
        self.una.at_or_before(self.repair.recover)
    }

    /// The retransmission timer expired with data in flight.
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
        let loss = self.loss_at(now);
        self.policies.controller.on_timeout(&loss, repeated);
        self.ecn.reduced_by_loss(self.max);
        // Unlike RFC 6298 §5.5, TCP Santa Cruz (section 3.2.1) doesn't back off, since it times the
        // copy. Unlike there, it does when nothing at all has come back since the timer
        // last expired, unless the sender is asked not to.
        let times_copies = |reported: &TimedReports| reported.never_backs_off || !repeated;
        if !self.policies.reported.as_deref().is_some_and(times_copies) {
            self.rtt.back_off();
        }
        if self.policies.detector.survives_timeout() {
            self.start_recovery_after_timeout();
        } else {
            self.restart_from_una();
        }
        Expiry::Loss(event)
    }

    /// New data was acknowledged during recovery. Returns whether to restart the timer.
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
            .map_or(Progress::Done { cwnd: ack.ssthresh }, |r| r.on_ack(&ack));
        match progress {
            Progress::Done { cwnd } => {
                self.policies.controller.set_cwnd(cwnd);
                if !self.policies.recovery.as_ref().is_some_and(Recovery::guards_its_end) {
                    // Reno's recovery may end before its point, and duplicates may then speak of
                    // the next loss (RFC 5681 §3.2 knows no `recover`).
                    self.repair.recover = self.una - 1;
                }
                self.repair.in_recovery = false;
                self.repair.resend_first = false;
                let keep = self.policies.recovery.as_ref().is_none_or(Recovery::keeps_reports);
                self.board.end_recovery(keep);
                if !self.repair.after_timeout {
                    let view = self.view();
                    self.policies.segmenter.on_reduction(&view);
                    self.policies.segmenter.on_ack(&view);
                }
                true
            }
            Progress::Partial { resend, restart_timer } => {
                if self.board.has_reneged() && self.policies.reported.is_none() {
                    self.board.mark_all_lost();
                }
                // Without a scoreboard, a piece of a hole that has left already is in flight.
                if resend && !self.board.first_is_resent() {
                    self.resend_first();
                }
                self.policies.detector.mark(&mut self.board, false);
                if !self.repair.after_timeout {
                    let view = self.view();
                    self.policies.segmenter.on_ack(&view);
                }
                restart_timer
            }
        }
    }

    /// The first segment is sent again whatever the window says. If no scoreboard chooses the next
    /// ones, that holds for all of its pieces where it is cut anew.
    fn resend_first(&mut self) {
        self.repair.resend_first = true;
        if self.pipe().is_none() {
            self.board.mark_first_lost();
        }
    }

    pub(super) fn enter_recovery(&mut self, now: Instant) -> LossEvent {
        let event = self.event(now, Repair::FastRetransmit);
        let loss = self.loss_at(now);
        self.statistics.fast_retransmits += 1;
        // RFC 3168 §6.1.2: once for all that was marked or lost of one window.
        let reduced = self.ecn.has_reduced_for(self.una);
        if !reduced {
            self.ecn.reduced_by_loss(self.max);
        }
        let Some(recovery) = &mut self.policies.recovery else {
            // Tahoe: as after a timeout, but without the wait and the back-off.
            self.policies.controller.on_timeout(&loss, reduced);
            self.restart_from_una();
            return event;
        };
        if !reduced {
            self.policies.controller.on_loss(&loss);
        }
        recovery.enter(&loss);
        self.repair = RepairState::entered(self.max);
        self.resend_first();
        self.policies.detector.mark(&mut self.board, true);
        let view = self.view();
        self.policies.segmenter.on_reduction(&view);
        event
    }

    /// The path carries segments of `smss` bytes and no more. What is in flight from the first on
    /// that is longer counts as not sent; the windows stay as they are (RFC 1191 §6.4). Returns
    /// whether there is any.
    pub(crate) fn reduce_smss(&mut self, smss: u32) -> bool {
        self.smss = smss;
        let Some(from) = self.board.unsend_longer_than(smss) else { return false };
        self.nxt = from;
        if self.small_end.after(from) {
            // There was no other small segment in flight.
            self.small_end = self.una;
        }
        self.stop_timing();
        self.policies.detector.reset();
        self.app_limited_until = self.una;
        // Duplicates for what was in flight are echoes: RFC 6582 §3.2, step 4. RFC 6675 §5.1
        // believes those that bring SACK information as soon as all of it is acknowledged.
        let recover = if self.policies.sack { self.max - 1 } else { self.max };
        self.repair = RepairState::inactive(recover);
        true
    }

    /// Everything from `una` on is cut and sent anew in a slow start from the loss window.
    fn restart_from_una(&mut self) {
        self.unsend_all();
        self.app_limited_until = self.una;
        // What is waiting is no longer new.
        self.ecn.unblock();
        // RFC 6582 §3.2, step 4: duplicates for what was in flight are echoes.
        self.repair = RepairState::inactive(self.max);
        self.begin_slow_start(self.loss_window());
    }

    /// Everything that the receiver has not reported is lost, and is sent again in a slow start
    /// from the loss window. RFC 6675 §5.1: no fast recovery begins before all of it is
    /// acknowledged, and SACK information decides what is sent.
    ///
    /// Unlike RFC 2018 §8, which turns all reports off at a timeout, because the receiver may have
    /// discarded what it reported. §5.1 notes that a sender which detects that may keep them:
    /// [`Scoreboard::has_reneged`](policy::loss::Scoreboard::has_reneged).
    fn start_recovery_after_timeout(&mut self) {
        self.board.mark_all_lost();
        self.probing = false;
        self.stop_timing();
        self.app_limited_until = self.una;
        self.ecn.unblock();
        self.policies.detector.reset();
        if let Some(recovery) = &mut self.policies.recovery {
            recovery.enter_after_timeout();
        }
        self.repair = RepairState { after_timeout: true, ..RepairState::entered(self.max) };
        self.begin_slow_start(self.loss_window());
    }

    /// The window after a timeout, bytes.
    fn loss_window(&self) -> u32 {
        u32::from(self.policies.loss_window) * self.smss
    }

    /// What is in flight counts as not sent.
    pub(super) fn unsend_all(&mut self) {
        self.board.clear();
        self.nxt = self.una;
        self.small_end = self.una;
        self.probing = false;
        self.stop_timing();
        self.policies.detector.reset();
    }

    /// `FlightSize` (RFC 5681 §2). Where a timeout has made everything lost, what counts is what
    /// has been sent since.
    fn flight_size(&self) -> u32 {
        self.pipe().filter(|_| self.repair.after_timeout).unwrap_or_else(|| self.flight())
    }

    /// The size of the first unacknowledged segment.
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
        }
    }
}

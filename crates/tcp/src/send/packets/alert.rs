//! State machine of congestion control for an acknowledgment that is not ordinary (Linux's
//! `tcp_fastretrans_alert`).

use policy::loss::Lost;
use units::Instant;
use wire::SeqNum;

use super::ack::Effects;
use super::info::CongestionState;
use super::output::Resend;
use super::timer::TimerKind;
use super::{Half, PacketSender};
use crate::event::Repair;

impl PacketSender {
    /// Handles an acknowledgment that is a duplicate, reports something, or arrives in another
    /// state than Open. `prior_una` is SND.UNA before it. Returns the recovery that begins.
    pub(super) fn alert(
        &mut self,
        half: &mut Half<'_>,
        effects: &mut Effects,
        prior_una: SeqNum,
    ) -> Option<Repair> {
        if half.board.is_empty() {
            self.duplicates = 0;
        }
        if effects.ece {
            // RFC 3168 §6.1.2: an echoed mark forbids an undo.
            self.prior_ssthresh = None;
        }
        if effects.reneged {
            self.await_reneged(half);
            return None;
        }
        if self.leaves_state(half, effects) {
            return None;
        }
        match self.state {
            CongestionState::Recovery => {
                if !self.continue_recovery(half, effects, prior_una) {
                    return None;
                }
            }
            CongestionState::Loss => {
                self.continue_loss(half, effects);
                self.identify_losses(half, effects);
                if self.state != CongestionState::Open && !effects.lost_retransmission {
                    return None;
                }
                return self.watch(half, effects);
            }
            _ => return self.watch(half, effects),
        }
        self.request(Resend::Lost);
        None
    }

    /// Ends a state when everything sent before it is acknowledged. Returns whether the
    /// acknowledgment needs no further step.
    fn leaves_state(&mut self, half: &mut Half<'_>, effects: &Effects) -> bool {
        if self.state == CongestionState::Open {
            self.undo.forget_stamp();
            return false;
        }
        if half.una.before(self.recovery_point) {
            return false;
        }
        match self.state {
            // RFC 3168 §6.1.2: until data beyond the reduction is acknowledged, which carries CWR.
            CongestionState::Cwr if half.una != self.recovery_point => {
                self.end_reduction();
                self.enter(CongestionState::Open);
            }
            CongestionState::Recovery => {
                if !self.sack {
                    self.duplicates = 0;
                }
                if self.try_undo_recovery(half, effects) {
                    return true;
                }
                // `try_undo_recovery` has left Recovery. The reduction ends unless it was undone.
                self.end_reduction();
            }
            _ => {}
        }
        false
    }

    /// Handles an acknowledgment during fast recovery. Returns whether lost segments may be
    /// retransmitted.
    fn continue_recovery(
        &mut self,
        half: &mut Half<'_>,
        effects: &mut Effects,
        prior_una: SeqNum,
    ) -> bool {
        if !effects.advances {
            self.add_duplicates(half, effects.duplicates());
        } else if self.try_undo_partial(half, effects, prior_una) {
            return false;
        }
        if self.try_undo_by_dsack(half) {
            self.try_to_open(half, effects);
        }
        self.identify_losses(half, effects);
        if self.state != CongestionState::Recovery {
            if half.board.lost_segments() == 0 {
                return false;
            }
            // The undo ended a recovery, and other losses remain.
            self.enter_recovery(half, effects.ece);
        }
        true
    }

    /// Handles an acknowledgment in Open, Disorder or CWR, or after an undone timeout.
    fn watch(&mut self, half: &mut Half<'_>, effects: &mut Effects) -> Option<Repair> {
        if !self.sack {
            if effects.advances {
                self.duplicates = 0;
            }
            self.add_duplicates(half, effects.duplicates());
        }
        if self.state <= CongestionState::Disorder {
            self.try_undo_by_dsack(half);
        }
        self.identify_losses(half, effects);
        if half.board.lost_segments() == 0 {
            return self.try_to_open(half, effects).then_some(Repair::Mark);
        }
        self.enter_recovery(half, effects.ece);
        self.request(Resend::Lost);
        Some(Repair::FastRetransmit)
    }

    /// Finds lost segments: by RACK, or without SACK as NewReno (RFC 6582).
    fn identify_losses(&mut self, half: &mut Half<'_>, effects: &mut Effects) {
        if half.board.is_empty() {
            return;
        }
        let (lost, resent) = (half.board.lost_segments(), half.board.resent_segments());
        if self.sack {
            let deadline = self.rack_detection(half);
            if let Some(deadline) = deadline.filter(|&deadline| deadline != Instant::NEVER) {
                effects.sets_timer = false;
                self.set_reordering_timer(half, deadline);
            }
        } else {
            let first = half.board.first();
            let found = match self.state {
                CongestionState::Recovery => effects.advances,
                CongestionState::Loss => false,
                _ => self.duplicates >= self.reordering.degree(),
            };
            if found && first.is_some_and(|segment| !segment.is_lost()) {
                half.board.mark(Lost::First);
            }
        }
        effects.lost_retransmission |= half.board.resent_segments() < resent;
        self.note_lost(half, lost, resent);
    }

    /// Runs RACK after an acknowledgment. Returns the time at which more segments will be lost, if
    /// a detection took place.
    fn rack_detection(&mut self, half: &mut Half<'_>) -> Option<Instant> {
        let mut rack = self.rack;
        let detection = rack.detect_on_ack(&self.rack_facts(half), half.board);
        self.rack = rack;
        let detection = detection?;
        half.board.mark(detection.lost);
        Some(detection.next_deadline)
    }

    /// Counts newly lost segments. `lost` and `resent` are the numbers before.
    pub(super) fn note_lost(&mut self, half: &Half<'_>, lost: u32, resent: u32) {
        let again = resent.saturating_sub(half.board.resent_segments());
        self.lost += half.board.lost_segments().saturating_sub(lost) + again;
    }

    /// RFC 8985 §6.3: sets the timer for the reordering window.
    pub(super) fn set_reordering_timer(&mut self, half: &Half<'_>, deadline: Instant) {
        const MARGIN: units::Duration = units::Duration::from_millis(2);
        let timeout = (deadline.since(half.now) + MARGIN).min(self.rto());
        self.set_timer_to(TimerKind::Reordering, half.now, timeout);
    }

    /// Returns to Open or Disorder, or begins a reduction for an echoed mark. Returns whether it
    /// did the latter.
    fn try_to_open(&mut self, half: &mut Half<'_>, effects: &Effects) -> bool {
        if !half.any_resent() {
            self.undo.forget_stamp();
        }
        let marked = effects.ece && self.enter_cwr(half);
        if self.state != CongestionState::Cwr {
            self.try_keep_open(half);
        }
        marked
    }

    /// Ends a recovery, with an undo if its retransmissions were spurious. Returns whether the
    /// state must be kept for now.
    pub(super) fn try_undo_recovery(&mut self, half: &mut Half<'_>, effects: &Effects) -> bool {
        if self.may_undo(half, effects) {
            self.undo_reduction(half, false);
        } else {
            self.rack.on_recovery_end();
        }
        if self.must_stay(half) {
            return true;
        }
        self.enter(CongestionState::Open);
        false
    }

    /// RFC 6582 §3.2, step 2: without SACK the state is kept until more than the recovery point is
    /// acknowledged, because duplicates may stem from retransmissions.
    fn must_stay(&mut self, half: &Half<'_>) -> bool {
        if self.sack || half.una != self.recovery_point {
            return false;
        }
        if !half.any_resent() {
            self.undo.forget_stamp();
        }
        true
    }

    /// Returns whether the acknowledgment shows that the retransmissions were spurious.
    ///
    /// Without SACK, [`must_stay`](Self::must_stay) forgets the time of the retransmissions at the
    /// recovery point. The next acknowledgment then shows nothing (Linux's `tcp_packet_delayed`).
    fn may_undo(&self, half: &Half<'_>, effects: &Effects) -> bool {
        let forgotten =
            !self.sack && !half.una.before(self.recovery_point) && !self.undo.has_stamp();
        self.options.undo && !forgotten && self.undo.may_undo(effects.echo)
    }

    fn try_undo_by_dsack(&mut self, half: &mut Half<'_>) -> bool {
        let undone = self.options.undo && self.undo.all_reported();
        if undone {
            self.rack.on_spurious_recovery();
            self.undo_reduction(half, false);
        }
        undone
    }

    /// Undoes a recovery after a partial acknowledgment that an original caused. Returns whether
    /// nothing further is to be retransmitted.
    fn try_undo_partial(
        &mut self,
        half: &mut Half<'_>,
        effects: &Effects,
        prior_una: SeqNum,
    ) -> bool {
        if !self.options.undo || !self.undo.may_undo_partially(effects.echo) {
            return false;
        }
        // A delayed original filled the hole: reordering.
        let highest = half.highest_reported();
        self.reordering.observe(prior_una, highest, half.smss);
        if half.board.resent_segments() > 0 {
            return true;
        }
        if !half.any_resent() {
            self.undo.forget_stamp();
        }
        self.undo_reduction(half, true);
        self.try_keep_open(half);
        false
    }

    /// Undoes a timeout. `spurious` says that F-RTO found it spurious. Returns whether it is
    /// undone.
    fn try_undo_loss(&mut self, half: &mut Half<'_>, effects: &Effects, spurious: bool) -> bool {
        if !(spurious || self.may_undo(half, effects)) {
            return false;
        }
        self.undo_reduction(half, true);
        self.timeouts = 0;
        if !self.must_stay(half) && (spurious || self.sack) {
            self.enter(CongestionState::Open);
        }
        true
    }

    /// Handles an acknowledgment after a timeout, with F-RTO (RFC 5682 §3.1).
    fn continue_loss(&mut self, half: &mut Half<'_>, effects: &Effects) {
        let recovered = !half.una.before(self.recovery_point);
        if effects.advances && self.try_undo_loss(half, effects, false) {
            return;
        }
        if self.frto {
            // RFC 5682 §3.1, step 3.b: data that was not retransmitted has arrived, so the timeout
            // was spurious.
            if effects.original_delivered && self.try_undo_loss(half, effects, true) {
                return;
            }
            if half.nxt.after(self.recovery_point) {
                if effects.sacked || effects.duplicates() > 0 {
                    // Step 3.a: the loss was real.
                    self.frto = false;
                }
            } else if effects.advances && !recovered {
                // Step 2.b: new data is sent, if there is any and the peer's window allows it.
                self.recovery_point = half.nxt;
                if half.unsent > 0 && half.window_end().after(half.nxt) {
                    self.request(Resend::AfterNewData);
                    return;
                }
                self.frto = false;
            }
        }
        if recovered {
            // Steps 2.a and 3.a: conventional recovery is complete.
            self.try_undo_recovery(half, effects);
            return;
        }
        if !self.sack {
            if half.nxt.after(self.recovery_point) && effects.duplicates() > 0 {
                self.add_duplicates(half, effects.duplicates());
            } else if effects.advances {
                self.duplicates = 0;
            }
        }
        self.request(Resend::Lost);
    }

    /// Without SACK: counts duplicates as packets that were delivered.
    fn add_duplicates(&mut self, half: &Half<'_>, count: u32) {
        if self.sack || count == 0 {
            return;
        }
        let before = self.duplicates;
        self.duplicates += count;
        self.limit_duplicates(half, 0);
        self.delivered += self.duplicates.saturating_sub(before);
    }

    /// Without SACK: an acknowledgment of `acked` segments fills one hole. The others had been
    /// counted as duplicates.
    pub(super) fn remove_duplicates(&mut self, half: &Half<'_>, acked: u32) {
        if acked > 0 {
            // One of the segments filled the hole, the others were delivered before.
            self.delivered += (acked.saturating_sub(self.duplicates)).max(1);
            self.duplicates = self.duplicates.saturating_sub(acked - 1);
        }
        self.limit_duplicates(half, acked);
    }

    /// Without SACK: at least one segment in flight is a hole. More duplicates than that are due to
    /// reordering.
    fn limit_duplicates(&mut self, half: &Half<'_>, acked: u32) {
        let packets = half.packets_out();
        let holes = half.board.lost_segments().max(1).min(packets);
        if self.duplicates + holes > packets {
            self.duplicates = packets - holes;
            self.reordering.observe_packets(packets + acked);
        }
    }
}

//! Reductions of the window: their beginning, their end, and their undo.

use policy::loss::DUP_THRESH;
use policy::packets::PacketWindow;
use policy::recovery::Prr;

use super::info::CongestionState;
use super::{Half, PacketSender};

impl PacketSender {
    /// Changes the state of congestion control.
    pub(super) fn enter(&mut self, state: CongestionState) {
        self.state = state;
    }

    /// Returns whether a reduction is in progress.
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.state, CongestionState::Cwr | CongestionState::Recovery)
    }

    /// Begins a reduction of the window (Linux's `tcp_init_cwnd_reduction`).
    pub(super) fn begin_reduction(&mut self, half: &mut Half<'_>) {
        self.recovery_point = half.nxt;
        self.probe.cancel();
        self.window.reset_count();
        self.prr = Prr::begin(self.window.cwnd);
        self.window.ssthresh = self.controller.ssthresh_after_loss(&self.window, half.now);
        // RFC 3168 §6.1.2: the peer learns of the reduction.
        half.ecn.queue_cwr();
    }

    /// Ends a reduction: the window is the threshold, unless the reduction was undone.
    pub(super) fn end_reduction(&mut self) {
        if self.window.ssthresh < PacketWindow::INFINITE
            && (self.state == CongestionState::Cwr || self.undo.is_possible())
        {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Slow start threshold that an undo would restore. Outside a reduction it is at least three
    /// quarters of the window.
    pub(super) fn current_ssthresh(&self) -> u32 {
        if self.is_reducing() { self.window.ssthresh } else { self.window.remembered_ssthresh() }
    }

    /// Begins a reduction for an echoed mark (RFC 3168 §6.1.2). Returns whether it began.
    pub(super) fn enter_cwr(&mut self, half: &mut Half<'_>) -> bool {
        self.prior_ssthresh = None;
        let begins = self.state < CongestionState::Cwr;
        if begins {
            self.undo.forbid();
            self.begin_reduction(half);
            self.enter(CongestionState::Cwr);
        }
        begins
    }

    /// Begins fast recovery.
    pub(super) fn enter_recovery(&mut self, half: &mut Half<'_>, ece: bool) {
        if half.board.resent_segments() == 0 && !half.any_resent() {
            self.undo.forget_stamp();
        }
        self.prior_ssthresh = None;
        self.begin_undo(half);
        if !self.is_reducing() {
            if !ece {
                self.prior_ssthresh = Some(self.current_ssthresh());
            }
            self.begin_reduction(half);
        }
        self.enter(CongestionState::Recovery);
    }

    fn begin_undo(&mut self, half: &Half<'_>) {
        // A tail loss probe in flight may also cause a DSACK.
        let outstanding = half.board.resent_segments() + u32::from(self.probe.is_resent());
        self.undo.begin(half.una, outstanding);
    }

    /// Begins recovery after a timeout (Linux's `tcp_enter_loss`; RFC 6582 §4, RFC 8985 §6.3).
    pub(super) fn enter_loss(&mut self, half: &mut Half<'_>) {
        let new_recovery = self.state < CongestionState::Recovery;
        let reported = self.sacked(half.board);
        self.mark_lost_by_timeout(half);
        // RFC 5681 §3.1: the threshold is reduced once for the same data.
        if self.state <= CongestionState::Disorder
            || !self.recovery_point.after(half.una)
            || self.state == CongestionState::Loss && self.timeouts == 0
        {
            self.prior_ssthresh = Some(self.current_ssthresh());
            self.prr = Prr::begin(self.window.cwnd);
            self.window.ssthresh = self.controller.ssthresh_after_loss(&self.window, half.now);
            self.begin_undo(half);
        }
        self.window.reset_count();
        self.window.cwnd = self.in_flight(half.board) + 1;
        if self.state <= CongestionState::Disorder && reported >= DUP_THRESH {
            self.reordering.limit_after_timeout(reported);
        }
        self.controller.on_timeout(half.now, half.nxt);
        self.enter(CongestionState::Loss);
        self.recovery_point = half.nxt;
        self.probe.cancel();
        half.ecn.queue_cwr();
        // RFC 5682 §3.1, step 1: only for a first timeout, or a repeated one of the same segment.
        self.frto = self.options.frto && (new_recovery || self.timeouts > 0);
    }

    /// RFC 8985 §6.3: at a timeout the first segment is lost, and all others that are old enough.
    fn mark_lost_by_timeout(&mut self, half: &mut Half<'_>) {
        let before = half.board.lost_segments();
        if half.board.has_reneged() {
            half.board.discard_reports();
            half.board.mark_lost_unless(|_| false);
        } else if self.sack {
            let (rack, now) = (&self.rack, half.now);
            half.board.mark_lost_unless(|segment| rack.is_recent(segment.sent_at(), now));
        } else {
            self.duplicates = 0;
            half.board.mark_lost_unless(|_| false);
        }
        self.lost += half.board.lost_segments().saturating_sub(before);
    }

    /// Restores the window before the reduction. `unmark` also removes the marks of losses.
    pub(super) fn undo_reduction(&mut self, half: &mut Half<'_>, unmark: bool) {
        if unmark {
            half.board.unmark_lost();
        }
        if let Some(prior_ssthresh) = self.prior_ssthresh {
            self.window.cwnd =
                self.controller.window_after_undo(&self.window, self.prr.prior_cwnd());
            if prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = prior_ssthresh;
                half.ecn.withdraw_cwr();
            }
        }
        self.undo.forbid();
        self.rack.reexamine();
    }

    /// Returns to Open, or to Disorder while something is out of order.
    pub(super) fn try_keep_open(&mut self, half: &Half<'_>) {
        let left_out = self.sacked(half.board) + half.board.lost_segments();
        let state = if left_out > 0 || half.any_resent() {
            CongestionState::Disorder
        } else {
            CongestionState::Open
        };
        if self.state != state {
            self.enter(state);
            self.recovery_point = half.nxt;
        }
    }
}

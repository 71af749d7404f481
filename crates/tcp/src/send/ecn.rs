//! Explicit congestion notification (RFC 3168 §6.1.2): response of the sender to an echoed mark.
//!
//! The response equals that to a loss, without a retransmission. The controller halves its window,
//! and the segmenter handles a reduction. Framing begins when the halved window is below
//! `cwnd_min`, as after a fast retransmit. With a window of one segment the sender waits, and then
//! sends all small segments that fill the window.

use policy::{CongestionController, Segmenter};
use units::Instant;
use wire::SeqNum;

use super::Sender;
use crate::event::{LossEvent, Repair};

/// State of the response to marks.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts, of which each can hold without the others"
)]
pub(crate) struct EcnState {
    /// Sequence number after everything sent when the window was reduced.
    reduced_until: SeqNum,
    /// Whether the window has been reduced for the current window of data. Echoes up to
    /// `reduced_until` belong to the same congestion. The next segment after it carries CWR, and
    /// its acknowledgment ends this state.
    reduced: bool,
    /// Whether a mark caused the reduction. A loss before `reduced_until` then belongs to the same
    /// congestion.
    by_mark: bool,
    /// Whether the next new segment must carry CWR (RFC 3168 §6.1.2).
    cwr_pending: bool,
    /// Whether new data must wait for an expiry of the retransmission timer.
    blocked_until_rto: bool,
}

impl EcnState {
    /// Records a reduction after a loss, when everything before `max` had been sent.
    pub(super) fn reduced_by_loss(&mut self, max: SeqNum) {
        *self = Self {
            reduced_until: max,
            reduced: true,
            by_mark: false,
            cwr_pending: true,
            blocked_until_rto: self.blocked_until_rto,
        };
    }

    /// Returns whether a mark has reduced the window since the data at `seq` was sent.
    pub(super) fn has_reduced_for(&self, seq: SeqNum) -> bool {
        self.by_mark && self.reduced && seq.before(self.reduced_until)
    }

    /// Handles an advance of SND.UNA to `ack`.
    pub(super) fn acknowledged(&mut self, ack: SeqNum) {
        self.reduced &= !ack.after(self.reduced_until);
    }

    /// Returns whether the next new segment carries CWR, and clears the flag.
    pub(crate) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr_pending)
    }

    /// Requests CWR on the next new segment, after a reduction by a sender that counts packets.
    pub(super) fn queue_cwr(&mut self) {
        self.cwr_pending = true;
    }

    /// Withdraws the request, because the reduction was undone.
    pub(super) fn withdraw_cwr(&mut self) {
        self.cwr_pending = false;
    }

    /// Returns whether new data must wait for an expiry of the retransmission timer.
    pub(crate) fn is_blocked_until_rto(&self) -> bool {
        self.blocked_until_rto
    }

    /// Ends the wait after an expiry of the retransmission timer. Returns whether data was waiting.
    pub(crate) fn unblock(&mut self) -> bool {
        std::mem::take(&mut self.blocked_until_rto)
    }
}

impl Sender {
    /// Handles an acknowledgment of everything before `ack` that echoes a mark. SND.UNA has not
    /// advanced yet. Returns the reduction of the window, unless it was already reduced for this
    /// congestion.
    pub(crate) fn echoed(&mut self, ack: SeqNum, now: Instant) -> Option<LossEvent> {
        let already_reduced = self.ecn.reduced && !ack.after(self.ecn.reduced_until);
        // With nothing in flight there is nothing to halve. The peer repeats the echo with the next
        // data.
        if already_reduced || ack.before(self.una) || self.flight() == 0 || self.repair.in_recovery
        {
            return None;
        }
        let event = self.event(now, Repair::Mark);
        let blocked_until_rto = self.policies.controller.on_mark(&self.loss_at(now));
        self.ecn = EcnState {
            reduced_until: self.max,
            reduced: true,
            by_mark: true,
            cwr_pending: true,
            blocked_until_rto,
        };
        self.statistics.ecn_reductions += 1;
        let view = self.view();
        self.policies.segmenter.on_reduction(&view);
        Some(event)
    }
}

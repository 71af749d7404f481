//! Explicit congestion notification (RFC 3168 §6.1.2): what the sending half makes of an echoed
//! mark.
//!
//! A mark is answered as a loss is, but nothing is sent again. The controller halves its window and
//! the segmenter is told of a reduction; so framing begins when the halved window is below
//! `cwnd_min`, as it does after a fast retransmit, and the wait at a window of one segment is one
//! for as many small segments as fill it.

use policy::{CongestionController, Segmenter};
use units::Instant;
use wire::SeqNum;

use super::Sender;
use crate::event::{LossEvent, Repair};

/// Where the response to marks stands.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts, of which each can hold without the others"
)]
pub(crate) struct EcnState {
    /// Past what had been sent when the window was reduced.
    reduced_until: SeqNum,
    /// It has been reduced: an echo up to `until` is of the same congestion. It goes on until the
    /// peer has the first segment from there on, which says CWR.
    reduced: bool,
    /// A mark did that, so a loss before `until` is of the same congestion too.
    by_mark: bool,
    /// The peer is yet to be told.
    cwr_pending: bool,
    /// Nothing new may leave before the retransmission timer expires.
    blocked_until_rto: bool,
}

impl EcnState {
    /// A loss reduced the window when everything before `max` had been sent.
    pub(super) fn reduced_by_loss(&mut self, max: SeqNum) {
        *self = Self {
            reduced_until: max,
            reduced: true,
            by_mark: false,
            cwr_pending: true,
            blocked_until_rto: self.blocked_until_rto,
        };
    }

    /// Whether a mark has reduced the window since what is at `seq` was sent.
    pub(super) fn has_reduced_for(&self, seq: SeqNum) -> bool {
        self.by_mark && self.reduced && seq.before(self.reduced_until)
    }

    /// SND.UNA advanced to `ack`.
    pub(super) fn acknowledged(&mut self, ack: SeqNum) {
        self.reduced &= !ack.after(self.reduced_until);
    }

    /// Whether the next new segment says CWR, which is said once.
    pub(crate) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr_pending)
    }

    /// Whether nothing new may leave before the retransmission timer expires.
    pub(crate) fn is_blocked_until_rto(&self) -> bool {
        self.blocked_until_rto
    }

    /// The retransmission timer expired; returns whether it was waited for.
    pub(crate) fn unblock(&mut self) -> bool {
        std::mem::take(&mut self.blocked_until_rto)
    }
}

impl Sender {
    /// An acknowledgment of everything before `ack` echoes a mark; SND.UNA is where it was before.
    /// Returns the reduction of the window, unless it has been reduced for that.
    pub(crate) fn echoed(&mut self, ack: SeqNum, now: Instant) -> Option<LossEvent> {
        let already_reduced = self.ecn.reduced && !ack.after(self.ecn.reduced_until);
        // With nothing in flight there is nothing to halve; the echo goes on, and comes with the
        // next data.
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

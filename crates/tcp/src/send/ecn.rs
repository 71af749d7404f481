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
pub(crate) struct Marks {
    /// Past what had been sent when the window was reduced.
    until: SeqNum,
    /// It has been reduced: an echo up to `until` is of the same congestion. It goes on until the
    /// peer has the first segment from there on, which says CWR.
    reduced: bool,
    /// A mark did that, so a loss before `until` is of the same congestion too.
    by_mark: bool,
    /// The peer is yet to be told.
    news: bool,
    /// Nothing new may leave before the retransmission timer expires.
    waits: bool,
}

impl Marks {
    /// A loss reduced the window when everything before `max` had been sent.
    pub(super) fn reduced_by_loss(&mut self, max: SeqNum) {
        *self = Self { until: max, reduced: true, by_mark: false, news: true, waits: self.waits };
    }

    /// Whether a mark has reduced the window since what is at `seq` was sent.
    pub(super) fn has_reduced_for(&self, seq: SeqNum) -> bool {
        self.by_mark && self.reduced && seq.before(self.until)
    }

    /// SND.UNA advanced to `ack`.
    pub(super) fn acknowledged(&mut self, ack: SeqNum) {
        self.reduced &= !ack.after(self.until);
    }

    /// Whether the next new segment says CWR, which is said once.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    /// Whether nothing new may leave before the retransmission timer expires.
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// The retransmission timer expired; returns whether it was waited for.
    pub(crate) fn end_wait(&mut self) -> bool {
        std::mem::take(&mut self.waits)
    }
}

impl Sender {
    /// An acknowledgment of everything before `ack` echoes a mark; SND.UNA is where it was before.
    /// Returns the reduction of the window, unless it has been reduced for that.
    pub(crate) fn echoed(&mut self, ack: SeqNum, now: Instant) -> Option<LossEvent> {
        let known = self.ecn.reduced && !ack.after(self.ecn.until);
        // With nothing in flight there is nothing to halve; the echo goes on, and comes with the
        // next data.
        if known || ack.before(self.una) || self.flight() == 0 || self.repair.in_recovery {
            return None;
        }
        let event = self.event(now, Repair::Mark);
        let waits = self.policies.controller.on_mark(&self.loss_at(now));
        self.ecn = Marks { until: self.max, reduced: true, by_mark: true, news: true, waits };
        self.statistics.ecn_reductions += 1;
        let view = self.view();
        self.policies.segmenter.on_reduction(&view);
        Some(event)
    }
}

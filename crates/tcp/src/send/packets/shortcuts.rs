//! Shortcuts for inputs and polls that change little (`send::shortcuts`).

use wire::SeqNum;

use super::{Half, PacketSender};

impl PacketSender {
    /// Handles an acknowledgment of SND.UNA without reports, with an empty retransmission queue.
    /// Returns false if that is not possible.
    #[inline]
    pub(in crate::send) fn take_empty_ack(&mut self, una: SeqNum) -> bool {
        let possible = !self.output.has_burst() && !self.probe.is_outstanding();
        if possible {
            self.finish_group();
            self.end_write();
            self.waits_for_pacing = false;
            self.writes.acknowledged(una);
        }
        possible
    }

    /// Ends the burst if the last input asks for nothing. The caller knows that there is no new
    /// data. Returns whether it has ended.
    #[inline]
    pub(in crate::send) fn end_if_idle(&mut self, half: &Half<'_>) -> bool {
        let idle = !self.has_output() && !self.writes.has_written();
        if idle {
            self.end_burst(half);
        }
        idle
    }

    /// Ends the burst if the congestion window is full and nothing else decides. The segments are
    /// full-sized. Returns whether it has ended.
    #[inline]
    pub(in crate::send) fn end_if_full(&mut self, half: &Half<'_>) -> bool {
        let full = half.unsent > 0
            && self.in_flight(half.board) >= self.window.cwnd
            && !self.pacing.paces()
            && !self.has_output()
            && !(half.nxt + half.smss + 1).after(half.window_end());
        if full {
            self.output.blocked = true;
            self.end_burst(half);
        }
        full
    }

    /// Ends the burst: nothing more can be sent now, and the peer's window is not the reason.
    #[inline]
    fn end_burst(&mut self, half: &Half<'_>) {
        self.finish_burst(half);
        self.note_blocked(half, false);
        self.waits_for_timer = false;
    }
}

//! Shortcuts of the sending half for a sender that counts packets. They exist for speed alone: the
//! state after each is that after the full sequence of steps.
//!
//! They apply where all segments are full-sized. Other segmenters limit the number of segments in
//! flight or divide the end of a write.

use units::Instant;
use wire::SeqNum;

use super::Sender;

impl Sender {
    /// Returns whether segments are full-sized, and no end of a write is cut or copied.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.policies.segmenter.is_plain() && self.special.copies().is_none()
    }

    /// Handles an acknowledgment without reports if nothing is in flight that it could acknowledge.
    /// Such are the segments that an end receives that only receives. Returns false if all
    /// steps are necessary.
    #[inline]
    pub(crate) fn acknowledges_nothing(&mut self, ack: SeqNum) -> bool {
        let quiet = ack == self.una && self.board.is_empty() && self.is_plain();
        let una = self.una;
        self.repair.burst_ended = false;
        quiet && self.special.packets_mut().is_some_and(|packets| packets.take_empty_ack(una))
    }

    /// Returns whether there is nothing to send, and ends the burst of new data in that case.
    #[inline]
    pub(super) fn has_nothing_to_send(&mut self, now: Instant) -> bool {
        if self.nxt != self.end() || !self.is_plain() {
            return false;
        }
        self.packet_half(now).is_some_and(|(packets, half)| packets.end_if_idle(&half))
    }
}

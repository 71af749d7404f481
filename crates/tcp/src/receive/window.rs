//! Advertised window of the receiver. It opens in steps, so that the peer sends no small segments
//! (RFC 9293 §3.8.6.2.2), and does not change between duplicate acknowledgments (RFC 5681 §2).

use wire::{SeqNum, UnscaledWindow, WindowScale};

use super::Receiver;

impl Receiver {
    pub(crate) fn window(&self) -> u32 {
        self.edge.distance_from(self.nxt)
    }

    /// RFC 9293 §3.8.6.2.2: returns whether a window update is due. The window reopens in steps of
    /// a segment. `smss` returns the maximum segment of the peer in bytes.
    pub(crate) fn owes_window_update(&self, smss: impl Fn() -> u32) -> bool {
        // Without this bound each read of a fast application would cost an acknowledgment.
        self.is_small(&smss) && self.reopening(smss).is_some()
    }

    /// Returns the window to advertise. Call it before [`acknowledge`](Self::acknowledge) for the
    /// same segment. `peer_counts_duplicates` says that the peer identifies duplicates by an
    /// unchanged window. `smss` returns the maximum segment of the peer in bytes; it is called only
    /// if needed.
    #[expect(
        clippy::inline_always,
        reason = "every segment carries a window: 2 % of all instructions"
    )]
    #[inline(always)]
    pub(crate) fn advertise(
        &mut self,
        scale: WindowScale,
        smss: impl Fn() -> u32,
        peer_counts_duplicates: bool,
    ) -> UnscaledWindow {
        if let Some(edge) = self.reopening(&smss)
            && (self.out_of_order.is_empty()
                || !peer_counts_duplicates
                || !self.defers_window_update(edge, smss))
        {
            self.edge = edge;
        }
        UnscaledWindow::from_bytes(self.window(), scale)
    }

    /// Returns whether the window is smaller than two segments, or than half of the buffer if that
    /// is less.
    fn is_small(&self, smss: impl Fn() -> u32) -> bool {
        let window = self.window();
        // The first comparison follows from the second and needs no `smss`.
        window < self.capacity / 2 && window < 2 * smss().min(self.capacity / 4)
    }

    /// RFC 5681 §2 (e): a duplicate repeats the window of the previous acknowledgment. The window
    /// update waits for an acknowledgment of new data, unless it is so large that the sender may be
    /// waiting for it. RFC 9293 §3.8.6.2.2 defines the limit.
    #[cold]
    #[inline(never)]
    fn defers_window_update(&self, edge: SeqNum, smss: impl Fn() -> u32) -> bool {
        self.nxt == self.last_ack_sent
            && !self.is_small(smss)
            && edge.distance_from(self.edge) < self.capacity / 2
    }

    /// Returns the new right edge of the window, if it should be advertised.
    fn reopening(&self, smss: impl Fn() -> u32) -> Option<SeqNum> {
        let candidate = self.nxt + self.capacity.saturating_sub(self.unread);
        let gain = candidate.distance_from(self.edge);
        // RFC 9293 §3.8.6.2.2: the window opens in steps, to avoid a small window. That cannot
        // occur while half of the buffer is open. A constant window then lets the peer use its fast
        // path (Linux: header prediction).
        let wide = || self.window() >= self.capacity / 2;
        (gain > 0 && (wide() || gain >= smss().min(self.capacity / 2))).then_some(candidate)
    }
}

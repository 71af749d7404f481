//! Deferral of a group of segments, so that the next one can be longer (Linux's
//! `tcp_tso_should_defer`).
//!
//! When an acknowledgment admits less than a group for segmentation offload, the sender waits for
//! the next acknowledgment if it expects that within a millisecond. Above about 12 Mb/s a bulk
//! transfer therefore sends pairs of segments although each segment is acknowledged.

use units::Duration;
use wire::SeqNum;

use super::info::CongestionState;
use super::{Half, PacketSender};

/// Longest time since the last transmission, and longest time until the expected acknowledgment.
const SOON: Duration = Duration::from_millis(1);
/// Number of segments beyond which nothing is deferred if no share of the window is configured.
const MOST_DEFERRED: u32 = 3;
/// Largest payload of a group in bytes: `gso_max_size` without the largest headers.
const MAX_GROUP: u32 = 65_536 - 321;

/// Blocks into which Linux divides what the application writes. The rest of a block is sent without
/// deferral if the window admits it.
#[derive(Debug, Clone, Copy)]
pub(in crate::send) struct Blocks {
    /// Sequence number after the block at SND.NXT, and after the data that was written.
    end: SeqNum,
    written: SeqNum,
    /// Length of a full block in bytes.
    size: u32,
    /// Divisor of the share of the window that is always sent; zero for no such share.
    divisor: u8,
}

impl Blocks {
    /// Creates the state of a connection that has sent nothing. `nxt` is SND.NXT.
    pub(super) const fn new(nxt: SeqNum, divisor: u8) -> Self {
        Self { end: nxt, written: nxt, size: 0, divisor }
    }

    /// Notes a write that ends before `end`. A block has at most half of the largest window of the
    /// peer, in whole segments (`tcp_bound_to_half_wnd`).
    pub(in crate::send) fn on_write(&mut self, nxt: SeqNum, end: SeqNum, max_wnd: u32, smss: u32) {
        if self.written.at_or_before(nxt) {
            self.end = nxt;
        }
        self.written = end;
        self.set_size(max_wnd, smss);
    }

    fn set_size(&mut self, max_wnd: u32, smss: u32) {
        self.size = MAX_GROUP.min(max_wnd / 2) / smss.max(1) * smss;
    }

    /// Sets the length of a full block and returns it: at least a segment.
    pub(super) fn size_for(&mut self, max_wnd: u32, smss: u32) -> u32 {
        self.set_size(max_wnd, smss);
        self.size.max(smss)
    }

    /// Returns the bytes from SND.NXT to the end of its block.
    fn left(&mut self, half: &Half<'_>) -> u32 {
        if self.size == 0 {
            // The application wrote before the connection was open.
            self.set_size(half.max_wnd, half.smss);
        }
        while self.end.at_or_before(half.nxt) {
            self.end += self.size.max(half.smss).max(1);
        }
        self.end.distance_from(half.nxt)
    }
}

impl PacketSender {
    /// Returns whether the next group of full-sized segments is deferred. `queued` is the payload
    /// up to the end of the queue or of a record, and `is_final` says that no data can join it.
    pub(in crate::send) fn defers_group(
        &mut self,
        half: &Half<'_>,
        queued: u32,
        is_final: bool,
    ) -> bool {
        // Linux defers within the millisecond. Its clock reads more after a wait of exactly that.
        if self.continues_group()
            || self.state >= CongestionState::Recovery
            || half.now.since(self.last_sent) >= SOON
        {
            return false;
        }
        let cwnd = self.window.cwnd;
        let room = cwnd.saturating_sub(self.in_flight(half.board));
        let most = self.most_in_group(half);
        let by_peer = half.window_end().distance_from(half.nxt);
        let limit = room.min(most).saturating_mul(half.smss).min(by_peer);
        let whole = half.wnd.min(cwnd.saturating_mul(half.smss));
        let share = match whole.checked_div(u32::from(self.blocks.divisor)) {
            Some(share) => share,
            None => MOST_DEFERRED.saturating_mul(half.smss) + 1,
        };
        if limit >= most.saturating_mul(half.smss) || limit >= share {
            return false;
        }
        // A group borrows from the next block what the window admits beyond its own.
        let quota = room.min(cwnd / 2).max(1).saturating_mul(half.smss);
        let end = self.memory.as_ref().and_then(|memory| memory.end_of_buffer());
        let left = end.map_or_else(|| self.blocks.left(half), |end| end.distance_from(half.nxt));
        let block = left.max(quota).min(queued);
        let is_last = half.unsent <= block + 1;
        if block <= half.smss || !is_last && limit >= block || !self.expects_ack_soon(half) {
            return false;
        }
        // Without a window that limits the block, more data may join it.
        let by_cwnd = room.saturating_mul(half.smss) < by_peer;
        let limited = limit <= block;
        self.output.blocked |= by_cwnd && limited;
        limited || !is_final
    }

    fn expects_ack_soon(&self, half: &Half<'_>) -> bool {
        let (Some(first), Some(srtt)) = (half.board.first(), self.rtt.srtt()) else {
            return false;
        };
        let expected = first.sent_at() + srtt;
        expected.since(half.now) <= SOON.min(Duration::from_nanos(srtt.as_nanos() / 2))
    }
}

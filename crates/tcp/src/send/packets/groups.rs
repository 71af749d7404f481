//! Groups of segments that Linux hands to the network device as one packet (TSO). The last segment
//! of a group of several carries PSH, which makes receive offload deliver the group.

use units::Instant;

use super::{Half, PacketSender};

/// Group that is being sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Group {
    /// Number of segments that follow in the group.
    left: u32,
    /// Whether the last segment ended a group of several.
    ended: bool,
}

/// Largest size of a group in bytes (`gso_max_size`).
const MAX_BYTES: u64 = 65_536;
/// Smallest number of segments that Linux groups (`tcp_min_tso_segs`).
const MIN_SEGMENTS: u32 = 2;
/// Binary logarithm of the number of groups in a second (`sk_pacing_shift`).
const RATE_SHIFT: u32 = 10;
/// Binary logarithm of the round-trip time in microseconds that halves the addition for short paths
/// (`tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;

impl PacketSender {
    /// Notes that a segment of new data with `payload` bytes is about to be sent.
    pub(in crate::send) fn note_group(&mut self, half: &Half<'_>, payload: u32) {
        if payload != half.smss {
            // Shorter segments end a write or a record, or a segmenter made them.
            self.group = Group::default();
            return;
        }
        if self.group.left == 0 {
            let size = self.group_size(half);
            self.group.left = size;
            self.group.ended = size > 1;
        }
        self.group.left -= 1;
    }

    /// Returns whether the segment that was noted last ends a group of several.
    pub(crate) fn ends_group(&self) -> bool {
        self.group.left == 0 && self.group.ended
    }

    /// Ends a group with the burst of new data.
    pub(super) fn finish_group(&mut self) {
        self.group = Group::default();
    }

    /// Number of segments in the next group (`tcp_tso_autosize`, `tcp_cwnd_test`).
    fn group_size(&self, half: &Half<'_>) -> u32 {
        let cwnd = self.window.cwnd;
        let quota = cwnd.saturating_sub(self.in_flight(half.board)).min(cwnd / 2);
        let usable = half.window_end().distance_from(half.nxt);
        let waiting = half.unsent.min(usable).div_ceil(half.smss.max(1));
        self.most_in_group(half.smss, half.now).min(quota).min(waiting).max(1)
    }

    /// Largest number of segments in a group: those of about a millisecond at the pacing rate, and
    /// more on short paths.
    fn most_in_group(&self, smss: u32, now: Instant) -> u32 {
        let of_rate = match self.pacing_rate(smss) {
            0 => MAX_BYTES,
            rate => rate >> RATE_SHIFT,
        };
        let rtt =
            self.rtt.min_rtt(now).map_or(u64::MAX, |rtt| (rtt.as_nanos() / 1000) >> RTT_SHIFT);
        let of_rtt = u32::try_from(rtt).ok().and_then(|shift| MAX_BYTES.checked_shr(shift));
        let bytes = of_rate.saturating_add(of_rtt.unwrap_or(0)).min(MAX_BYTES);
        let segments = bytes / u64::from(smss.max(1));
        u32::try_from(segments).unwrap_or(u32::MAX).max(MIN_SEGMENTS)
    }
}

//! Groups of segments that Linux hands to the network device as one packet (TSO). The last segment
//! of a group of several carries PSH, which makes receive offload deliver the group.

use super::{Half, PacketSender};

/// Group that is being sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Group {
    /// Number of segments that follow in the group.
    left: u32,
    /// Whether the group has several segments.
    several: bool,
    /// Whether the last segment began the group.
    began: bool,
}

impl PacketSender {
    /// Notes that a segment of new data with `payload` bytes is about to be sent.
    pub(in crate::send) fn note_group(&mut self, half: &Half<'_>, payload: u32) {
        if payload != half.smss {
            // Shorter segments end a write or a record, or a segmenter made them.
            self.group = Group { began: true, ..Group::default() };
            return;
        }
        self.group.began = self.group.left == 0;
        if self.group.began {
            self.group.left = self.group_size(half);
            self.group.several = self.group.left > 1;
        }
        self.group.left -= 1;
    }

    /// Returns whether the next full-sized segment continues a group.
    pub(super) fn continues_group(&self) -> bool {
        self.group.left > 0
    }

    /// Returns whether the segment that was noted last began a group.
    pub(super) fn began_group(&self) -> bool {
        self.group.began
    }

    /// Returns whether the segment that was noted last ends a group of several.
    pub(crate) fn ends_group(&self) -> bool {
        self.group.left == 0 && self.group.several
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
        self.most_in_group(half).min(quota).min(waiting).max(1)
    }

    /// Largest number of segments in a group (`tcp_tso_autosize`).
    pub(super) fn most_in_group(&self, half: &Half<'_>) -> u32 {
        self.pacing.most_in_burst(half.smss, self.rtt.min_rtt(half.now))
    }
}

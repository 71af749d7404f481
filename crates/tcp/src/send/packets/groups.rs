//! Groups of segments that Linux hands to the network device as one packet (TSO). The last segment
//! of a group of several carries PSH, which makes receive offload deliver the group.

use units::{Duration, Instant};

use super::{Half, PacketSender};

/// Group that is being sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Group {
    /// Whether the application is writing to a connection without data in flight.
    writing: bool,
    /// Time of transmission that is recorded for the last segment of these writes.
    stamp: Instant,
    /// Number of segments that follow in the group.
    left: u32,
    /// Number of segments of the group.
    size: u32,
    /// Whether the last segment began the group, and whether it ended a group of several.
    began: bool,
    ended: bool,
}

impl Group {
    /// Least time between the segments of two system calls.
    const CALL: Duration = Duration::from_micros(1);
}

impl PacketSender {
    /// Notes that the application has written, with nothing in flight.
    pub(in crate::send) fn begin_write(&mut self) {
        self.group.writing = true;
    }

    /// Notes that an acknowledgment or a timer decides what is sent next.
    pub(super) fn end_write(&mut self) {
        self.group.writing = false;
    }

    /// Notes that a segment of new data is about to be sent: `len` sequence numbers with `payload`
    /// bytes. Returns the time of transmission to record.
    ///
    /// Linux reads the clock once in a system call. What the next one sends counts as sent later,
    /// also where a simulation sends it at the same time: RACK compares these times. The FIN is in
    /// the last segment if `TCP_CORK` held that segment back until the socket was closed.
    pub(in crate::send) fn note_group(
        &mut self,
        half: &Half<'_>,
        len: u32,
        payload: u32,
    ) -> Instant {
        // Shorter segments end a write or a record, or a segmenter made them.
        let is_short = payload != half.smss;
        let mut stamp = half.now;
        if self.group.writing {
            let begins_call = len != payload && is_short || self.writes.pushes_at(half.nxt);
            let since = if begins_call { Group::CALL } else { Duration::ZERO };
            stamp = stamp.max(self.group.stamp + since);
            self.group.stamp = stamp;
        }
        self.group.began = is_short || self.group.left == 0;
        if self.group.began {
            self.group.size = if is_short { 1 } else { self.group_size(half) };
            self.group.left = self.group.size;
        }
        self.group.left -= 1;
        self.group.ended = self.group.left == 0 && self.group.size > 1;
        stamp
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
        self.group.ended
    }

    /// Ends a group with the burst of new data.
    pub(super) fn finish_group(&mut self) {
        self.group.left = 0;
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

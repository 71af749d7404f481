//! The receiving half: reassembly, acknowledgment, advertised window.

use std::mem::offset_of;

use units::{Duration, Instant};
use wire::{Ecn, Flags, SeqNum, SeqRange};

use crate::config::{Config, DelayedAck};
use crate::event::Accepted;

mod linux;
mod reports;
mod special;
mod window;

pub use linux::ReceiveInfo;
pub(crate) use linux::{Facts, LinuxState, Text};
use special::Special;

/// State of the receiving half. The order of the fields matters: see
/// [`Connection`](crate::Connection).
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// RCV.NXT.
    pub(crate) nxt: SeqNum,
    /// Right edge of the advertised window. It never moves left (RFC 9293 §3.8.6.2.2).
    edge: SeqNum,
    capacity: u32,
    unread: u32,
    unacknowledged_segments: u8,
    /// Number of acknowledgments to send.
    acks_due: u8,
    peer_scales: bool,
    /// Whether marks are echoed: a marked segment has arrived, and no CWR since.
    echoes_mark: bool,
    /// RFC 7323 §4.3, Last.ACK.sent.
    last_ack_sent: SeqNum,
    /// Ranges received out of order, above RCV.NXT. The range that was extended last is at the end.
    out_of_order: Vec<SeqRange>,
    /// Sequence number of the peer's FIN, once it has arrived.
    pub(crate) fin: Option<SeqNum>,
    /// Data that arrived twice, for a DSACK (RFC 2883).
    duplicate: Option<SeqRange>,
    /// TS.Recent, and the time of its update; [`Instant::NEVER`] before the first.
    ts_recent: u32,
    ts_recent_at: Instant,
    /// State of TCP Santa Cruz or of the rules of Linux, if one of them is in force.
    special: Special,
}

impl Receiver {
    /// Offset after the fields that a data receiver uses. Timestamps and options of TCP Santa Cruz
    /// follow.
    pub(crate) const RECEIVER_END: usize = offset_of!(Self, ts_recent);

    /// Offset after the fields that a data sender uses.
    pub(crate) const SENDER_END: usize = offset_of!(Self, duplicate);

    /// Maximum number of out-of-order ranges. Further ranges are not kept, which bounds the memory.
    const MAX_OUT_OF_ORDER_RANGES: usize = 256;

    pub(crate) fn new(config: &Config) -> Self {
        Self {
            nxt: SeqNum::default(),
            edge: SeqNum::default(),
            capacity: config.receive_buffer,
            unread: 0,
            out_of_order: Vec::new(),
            fin: None,
            unacknowledged_segments: 0,
            acks_due: 0,
            duplicate: None,
            ts_recent: 0,
            ts_recent_at: Instant::NEVER,
            last_ack_sent: SeqNum::default(),
            peer_scales: false,
            echoes_mark: false,
            special: Special::default(),
        }
    }

    /// Reuses the memory of a receiver that is no longer needed.
    pub(crate) fn inherit(&mut self, old: &mut Self) {
        old.out_of_order.clear();
        std::mem::swap(&mut self.out_of_order, &mut old.out_of_order);
    }

    /// Address of the out-of-order ranges, for prefetching; dangling if there have never been any.
    #[inline]
    pub(crate) const fn out_of_order_address(&self) -> *const u8 {
        self.out_of_order.as_ptr().cast()
    }

    /// Frees memory that is not in use.
    pub(crate) fn release(&mut self) {
        if self.out_of_order.is_empty() {
            self.out_of_order = Vec::new();
        }
    }

    /// Heap memory of the receiver in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.out_of_order.capacity() * size_of::<SeqRange>() + self.special.memory()
    }

    /// Applies the peer's initial sequence number.
    pub(crate) fn synchronize(&mut self, irs: SeqNum) {
        self.nxt = irs + 1;
        self.edge = self.nxt + self.capacity;
        self.last_ack_sent = self.nxt;
    }

    pub(crate) fn note_peer_scales(&mut self, scales: bool) {
        self.peer_scales = scales;
    }

    pub(crate) fn peer_scales(&self) -> bool {
        self.peer_scales
    }

    /// RFC 3168 §6.1.3: a mark is echoed until a CWR arrives. A segment with CWR may itself be
    /// marked.
    pub(crate) fn note_marks(&mut self, flags: Flags) {
        self.echoes_mark &= !flags.has(Flags::CWR);
        self.echoes_mark |= flags.ecn() == Ecn::Ce;
    }

    pub(crate) fn echoes_mark(&self) -> bool {
        self.echoes_mark
    }

    /// RFC 9293 §3.10.7.4, first step: returns whether any of the segment lies in the window.
    ///
    /// Unlike there, an empty segment at the right edge of the window is acceptable. A peer that
    /// has filled the window acknowledges from there, even if the first of its data is lost. Two
    /// such peers would reject each other's acknowledgments, each with another acknowledgment.
    pub(crate) fn accepts(&self, seq: SeqNum, seq_len: u32) -> bool {
        let window = self.window();
        let within = |n: SeqNum| n.at_or_after(self.nxt) && n.before(self.nxt + window);
        match (seq_len, window) {
            (0, _) => within(seq) || seq == self.nxt + window,
            (_, 0) => false,
            (len, _) => within(seq) || within(seq + (len - 1)),
        }
    }

    /// Takes the new part of the payload of an acceptable segment. The payload was sent in
    /// `segments` segments. Returns the accepted part.
    pub(crate) fn text(
        &mut self,
        seq: SeqNum,
        len: u32,
        segments: u8,
        now: Instant,
        delayed_ack: &DelayedAck,
        timer: &mut Instant,
    ) -> Option<Accepted> {
        let start = seq.latest(self.nxt);
        let mut stop = (seq + len).earliest(self.edge);
        if self.fin.is_some() {
            stop = self.before_fin(stop);
        }
        let Some(fresh) = SeqRange::new(start, stop) else {
            // RFC 5681 §4.2: a segment without new data is acknowledged at once. A sender whose
            // acknowledgment was lost then learns RCV.NXT.
            self.note_duplicate(seq, len);
            self.acks_due = 1;
            return None;
        };
        let accepted = Accepted {
            skip: start.distance_from(seq),
            offset: self.unread + start.distance_from(self.nxt),
            len: fresh.len(),
        };
        if accepted.skip > 0 {
            // RFC 2883 §4.2: the part that had arrived before.
            self.note_duplicate(seq, accepted.skip);
        }
        if start != self.nxt {
            // RFC 5681 §4.2: out-of-order data is acknowledged at once, each segment with its own
            // duplicate acknowledgment.
            self.ack_now();
            return self.insert_out_of_order(fresh).then_some(accepted);
        }
        self.advance(stop);
        let fills_gap = !self.out_of_order.is_empty();
        self.merge_reached_ranges();
        if fills_gap {
            // RFC 5681 §4.2: a segment that fills a gap, completely or partly, is also acknowledged
            // at once.
            self.acks_due = 1;
        } else {
            self.delay_ack(segments, now, delayed_ack, timer);
        }
        Some(accepted)
    }

    /// Returns whether there is out-of-order data.
    pub(crate) fn has_out_of_order(&self) -> bool {
        !self.out_of_order.is_empty()
    }

    /// RFC 2018 §8: discards the out-of-order data.
    pub(crate) fn renege(&mut self) {
        self.out_of_order = Vec::new();
        if let Some(linux) = self.special.linux_mut() {
            linux.renege();
        }
    }

    /// Records the peer's FIN at `at`. It is ignored if another FIN arrived first or data beyond it
    /// was received. Returns whether everything before the FIN has arrived.
    pub(crate) fn note_fin(&mut self, at: SeqNum) -> bool {
        if at.at_or_after(self.nxt) {
            self.fin.get_or_insert(at);
        }
        self.fin == Some(self.nxt)
    }

    /// Limits a range to the end of the stream.
    #[cold]
    fn before_fin(&self, stop: SeqNum) -> SeqNum {
        self.fin.map_or(stop, |fin| stop.earliest(fin))
    }

    /// Consumes the FIN when everything before it has arrived. Discards data beyond it.
    pub(crate) fn finish(&mut self) {
        self.consume_fin();
        self.acks_due = 1;
    }

    fn consume_fin(&mut self) {
        self.fin = None;
        self.nxt += 1;
        self.out_of_order = Vec::new();
    }

    /// Number of bytes that can be read.
    pub(crate) fn unread(&self) -> u32 {
        self.unread
    }

    pub(crate) fn read(&mut self, bytes: u32) -> u32 {
        let taken = bytes.min(self.unread);
        self.unread -= taken;
        taken
    }

    pub(crate) fn ack_now(&mut self) {
        self.acks_due = self.acks_due.max(1);
    }

    pub(crate) fn ack_is_due(&self) -> bool {
        self.acks_due > 0
    }

    /// RFC 5681 §4.2: schedules an acknowledgment for out-of-order data in addition to one that was
    /// due before, if both would have the same content. A peer that counts duplicates needs both.
    #[cold]
    #[inline(never)]
    pub(crate) fn owe_separate_ack(&mut self, delayed_ack: &DelayedAck) {
        // An earlier one that acknowledged fewer segments would not be a duplicate of this one.
        if self.unacknowledged_segments.is_multiple_of(delayed_ack.every) {
            self.acks_due = self.acks_due.saturating_add(1);
        }
    }

    /// Returns whether the due acknowledgment must be sent without data. With data it would not be
    /// a duplicate (RFC 5681 §2), and a full-sized segment has no room for SACK blocks.
    pub(crate) fn owes_duplicate(&self) -> bool {
        self.ack_is_due() && self.has_reports()
    }

    /// Records that an acknowledgment is sent. Returns its number.
    pub(crate) fn acknowledge(&mut self, timer: &mut Instant) -> SeqNum {
        self.acks_due = self.acks_due.saturating_sub(1);
        self.unacknowledged_segments = 0;
        self.last_ack_sent = self.nxt;
        *timer = Instant::NEVER;
        self.nxt
    }

    /// RFC 7323 §5.3, R1: returns whether a timestamp is older than TS.Recent, which identifies an
    /// old duplicate. §5.5: not if TS.Recent is so old that the clock may have wrapped.
    pub(crate) fn is_stale(&self, timestamp: u32, now: Instant) -> bool {
        const DAY: Duration = Duration::from_secs(86_400);
        self.ts_recent_at != Instant::NEVER
            && now.since(self.ts_recent_at) <= DAY * 24
            && SeqNum::new(timestamp).before(SeqNum::new(self.ts_recent))
    }

    /// RFC 7323 §4.3: updates the timestamp to echo.
    pub(crate) fn note_timestamp(&mut self, timestamp: u32, seq: SeqNum, now: Instant) {
        if seq.at_or_before(self.last_ack_sent) && !self.is_stale(timestamp, now) {
            self.first_timestamp(timestamp, now);
        }
    }

    pub(crate) fn first_timestamp(&mut self, timestamp: u32, now: Instant) {
        (self.ts_recent, self.ts_recent_at) = (timestamp, now);
    }

    pub(crate) fn timestamp_echo(&self) -> u32 {
        self.ts_recent
    }

    fn delay_ack(
        &mut self,
        segments: u8,
        now: Instant,
        delayed_ack: &DelayedAck,
        timer: &mut Instant,
    ) {
        self.unacknowledged_segments = self.unacknowledged_segments.saturating_add(segments);
        if self.unacknowledged_segments >= delayed_ack.every {
            self.acks_due = 1;
        } else if *timer == Instant::NEVER {
            *timer = now + delayed_ack.timeout;
        }
    }

    fn advance(&mut self, to: SeqNum) {
        self.unread += to.distance_from(self.nxt);
        self.nxt = to;
    }

    /// Advances RCV.NXT over the out-of-order ranges that it has reached.
    fn merge_reached_ranges(&mut self) {
        while let Some(index) =
            self.out_of_order.iter().position(|held| held.start().at_or_before(self.nxt))
        {
            let held = self.out_of_order.remove(index);
            if held.end().after(self.nxt) {
                self.advance(held.end());
            }
        }
    }

    /// Merges a range with the out-of-order ranges that it touches. Returns `false` if there are
    /// too many ranges to keep another.
    #[inline]
    fn insert_out_of_order(&mut self, fresh: SeqRange) -> bool {
        let mut range = fresh;
        let mut index = 0;
        while index < self.out_of_order.len() {
            let held = self.out_of_order[index];
            if held.contains(fresh) {
                self.duplicate = Some(fresh);
            }
            if held.touches(range) {
                range = range.union(held);
                self.out_of_order.remove(index);
                // The union may touch ranges before this index.
                index = 0;
            } else {
                index += 1;
            }
        }
        if self.out_of_order.len() >= Self::MAX_OUT_OF_ORDER_RANGES {
            return false;
        }
        self.out_of_order.push(range);
        true
    }
}

#[cfg(test)]
mod tests;

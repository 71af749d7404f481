//! The receiving half: reassembly, acknowledgment, advertised window.

use std::mem::offset_of;

use units::{Duration, Instant};
use wire::{
    AckWindow, Arrival, CopyNumber, Ecn, Flags, Reports, SackBlocks, SantaCruz, SeqNum, SeqRange,
    UnscaledWindow, WindowScale,
};

use crate::config::{Config, DelayedAck};
use crate::event::Accepted;

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
    /// Out-of-order data above RCV.NXT, the most recently updated range last.
    out_of_order: Vec<SeqRange>,
    /// Sequence number of the peer's FIN, once it has arrived.
    pub(crate) fin: Option<SeqNum>,
    /// Data that arrived twice, for a DSACK (RFC 2883).
    duplicate: Option<SeqRange>,
    /// TS.Recent, and the time of its update; [`Instant::NEVER`] before the first.
    ts_recent: u32,
    ts_recent_at: Instant,
    /// State of TCP Santa Cruz, if it is negotiated.
    santa_cruz: Option<Box<SantaCruzAck>>,
}

/// Data for the option of TCP Santa Cruz in acknowledgments.
#[derive(Debug, Clone, Copy, Default)]
struct SantaCruzAck {
    /// Last segment that has arrived, until an acknowledgment reports it.
    arrival: Option<Arrival>,
    /// Option of the segment that is sent now.
    option: Reports,
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
            santa_cruz: None,
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
        self.out_of_order.capacity() * size_of::<SeqRange>()
            + self.santa_cruz.as_ref().map_or(0, |_| size_of::<SantaCruzAck>())
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

    pub(crate) fn window(&self) -> u32 {
        self.edge.distance_from(self.nxt)
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
        self.fin = None;
        self.nxt += 1;
        self.out_of_order = Vec::new();
        self.acks_due = 1;
    }

    /// RFC 2883 §4: records data for a DSACK in the next acknowledgment, if it had arrived before.
    // Not inlined: in both places of `text` it would cost 0.2 % of all instructions.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_duplicate(&mut self, seq: SeqNum, len: u32) {
        if (seq + len).at_or_before(self.nxt)
            && let Some(duplicate) = SeqRange::new(seq, seq + len)
        {
            self.duplicate = Some(duplicate);
        }
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

    /// RFC 9293 §3.8.6.2.2: returns whether a window update is due. The window reopens in steps of
    /// a segment. `smss` returns the maximum segment of the peer in bytes.
    pub(crate) fn owes_window_update(&self, smss: impl Fn() -> u32) -> bool {
        // Without this bound each read of a fast application would cost an acknowledgment.
        self.is_small(&smss) && self.reopening(smss).is_some()
    }

    /// Returns whether the window is smaller than two segments, or than half of the buffer if that
    /// is less.
    fn is_small(&self, smss: impl Fn() -> u32) -> bool {
        let window = self.window();
        // The first comparison follows from the second and needs no `smss`.
        window < self.capacity / 2 && window < 2 * smss().min(self.capacity / 4)
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

    /// Returns whether there is data to report in SACK blocks.
    pub(crate) fn has_reports(&self) -> bool {
        !self.out_of_order.is_empty() || self.fin.is_some() || self.duplicate.is_some()
    }

    /// Records that an acknowledgment is sent. Returns its number.
    pub(crate) fn acknowledge(&mut self, timer: &mut Instant) -> SeqNum {
        self.acks_due = self.acks_due.saturating_sub(1);
        self.unacknowledged_segments = 0;
        self.last_ack_sent = self.nxt;
        *timer = Instant::NEVER;
        self.nxt
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

    /// Returns up to `room` blocks: first the duplicate (RFC 2883 §4), then the most recently
    /// updated ranges (RFC 2018 §4). A pending FIN is included in the block that it ends, or is a
    /// block of its own after the others. RFC 2018 speaks of data only, but a sender whose last
    /// segment carries the FIN must learn that all of it arrived. Linux reports it in the same way.
    pub(crate) fn sack_blocks(&mut self, room: usize) -> SackBlocks {
        let mut blocks = SackBlocks::EMPTY;
        if let Some(duplicate) = self.duplicate.take() {
            blocks.push(duplicate);
        }
        let room = room.min(SackBlocks::CAPACITY).saturating_sub(blocks.len());
        let kept = self.fin.and_then(|fin| SeqRange::new(fin, fin + 1));
        let ended = |held: SeqRange| match kept {
            Some(fin) if held.end() == fin.start() => {
                SeqRange::new(held.start(), fin.end()).unwrap_or(held)
            }
            _ => held,
        };
        let alone =
            kept.filter(|fin| self.out_of_order.iter().all(|held| held.end() != fin.start()));
        let out_of_order = self.out_of_order.iter().rev().map(|&held| ended(held));
        for block in out_of_order.chain(alone).take(room) {
            blocks.push(block);
        }
        blocks
    }

    /// TCP Santa Cruz, section 3.2.1: records the arrival of a transmission, if its data can be
    /// acknowledged.
    pub(crate) fn note_arrival(&mut self, seq: SeqNum, len: u32, copy: CopyNumber, now: Instant) {
        let is_held = (seq + len).at_or_before(self.nxt)
            || SeqRange::new(seq, seq + len)
                .is_none_or(|range| self.out_of_order.iter().any(|held| held.contains(range)));
        if is_held {
            let arrival = Arrival { seq, copy, at: arrival_clock(now) };
            self.santa_cruz.get_or_insert_default().arrival = Some(arrival);
        }
    }

    /// Prepares the option of TCP Santa Cruz for the segment that is sent now. `data_copy` is the
    /// transmission number of its data, and `room` the maximum size of the ACK window in bytes.
    /// Each arrival is reported once.
    #[cold]
    #[inline(never)]
    pub(crate) fn write_santa_cruz_option(&mut self, data_copy: Option<CopyNumber>, room: usize) {
        self.duplicate = None;
        let santa_cruz = self.santa_cruz.get_or_insert_default();
        let option = SantaCruz::new(data_copy);
        santa_cruz.option = match santa_cruz.arrival.take() {
            Some(arrival) => {
                let window = AckWindow::covering(self.nxt, self.out_of_order.iter().copied(), room);
                option.answering(arrival, window).into()
            }
            None if data_copy.is_some() => option.into(),
            None => Reports::NONE,
        };
    }

    /// Returns the prepared option.
    pub(crate) fn santa_cruz_option(&self) -> Option<&Reports> {
        Some(&self.santa_cruz.as_ref()?.option)
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

/// Clock with one tick per microsecond.
fn arrival_clock(now: Instant) -> u32 {
    let micros = now.as_nanos() / 1000;
    u32::try_from(micros & u64::from(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn receiver() -> Receiver {
        let mut receiver = Receiver::new(&Config::default());
        receiver.synchronize(SeqNum::new(0));
        receiver
    }

    fn blocks(receiver: &mut Receiver) -> Vec<(u32, u32)> {
        receiver.sack_blocks(4).iter().map(|b| (b.start().value(), b.end().value())).collect()
    }

    /// RFC 2018 §4, with the segments of its §7 example 3.
    #[test]
    fn most_recent_block_is_reported_first() {
        let mut rcv = receiver();
        let delays = DelayedAck::OFF;
        let mut timer = Instant::NEVER;
        let mut arrive = |rcv: &mut Receiver, seq: u32| {
            rcv.text(SeqNum::new(seq), 500, 1, Instant::ZERO, &delays, &mut timer);
        };
        arrive(&mut rcv, 501);
        arrive(&mut rcv, 1501);
        arrive(&mut rcv, 2501);
        assert_eq!(blocks(&mut rcv), [(2501, 3001), (1501, 2001), (501, 1001)]);
        arrive(&mut rcv, 1001);
        assert_eq!(blocks(&mut rcv), [(501, 2001), (2501, 3001)]);
        arrive(&mut rcv, 1);
        assert_eq!((rcv.nxt.value(), blocks(&mut rcv)), (2001, vec![(2501, 3001)]));
    }

    /// RFC 2883 §4.1.1: a duplicate is reported in one acknowledgment.
    #[test]
    fn duplicate_segment_is_reported_once() {
        let mut rcv = receiver();
        let delays = DelayedAck::RFC;
        let mut timer = Instant::NEVER;
        rcv.text(SeqNum::new(1), 500, 1, Instant::ZERO, &delays, &mut timer);
        assert!(!rcv.ack_is_due());
        rcv.text(SeqNum::new(1), 500, 1, Instant::ZERO, &delays, &mut timer);
        assert!(rcv.ack_is_due());
        assert_eq!(blocks(&mut rcv), [(1, 501)]);
        assert_eq!(blocks(&mut rcv), []);
    }

    /// RFC 2883 §4: an empty segment is not a duplicate and replaces none.
    #[test]
    fn empty_segment_keeps_a_pending_dsack() {
        let mut rcv = receiver();
        let delays = DelayedAck::RFC;
        let mut timer = Instant::NEVER;
        rcv.text(SeqNum::new(1), 500, 1, Instant::ZERO, &delays, &mut timer);
        rcv.note_duplicate(SeqNum::new(1), 500);
        rcv.note_duplicate(SeqNum::new(500), 0);
        assert_eq!(blocks(&mut rcv), [(1, 501)]);
    }

    /// RFC 5681 §4.2: the second segment is acknowledged at once, the first after the delay.
    #[test]
    fn every_second_segment_is_acknowledged_at_once() {
        let mut rcv = receiver();
        let delays = DelayedAck::RFC;
        let mut timer = Instant::NEVER;
        rcv.text(SeqNum::new(1), 100, 1, Instant::ZERO, &delays, &mut timer);
        assert_eq!((rcv.ack_is_due(), timer), (false, Instant::ZERO + DelayedAck::RFC.timeout));
        rcv.text(SeqNum::new(101), 100, 1, Instant::ZERO, &delays, &mut timer);
        assert!(rcv.ack_is_due());
    }

    #[test]
    fn number_of_out_of_order_ranges_is_limited() {
        let mut rcv = receiver();
        let delays = DelayedAck::RFC;
        let mut timer = Instant::NEVER;
        let mut taken = 0;
        for hole in 1..=1000 {
            let accepted =
                rcv.text(SeqNum::new(1 + 2 * hole), 1, 1, Instant::ZERO, &delays, &mut timer);
            taken += usize::from(accepted.is_some());
        }
        assert_eq!(
            (taken, rcv.out_of_order.len()),
            (Receiver::MAX_OUT_OF_ORDER_RANGES, Receiver::MAX_OUT_OF_ORDER_RANGES)
        );
    }

    proptest! {
        #[test]
        fn each_byte_is_accepted_once_in_any_order(
            start in prop_oneof![Just(0u32), Just(u32::MAX - 700)],
            order in prop::collection::vec((0..20u32, 1..5u32), 1..200),
        ) {
            let mut rcv = receiver();
        let delays = DelayedAck::RFC;
            rcv.synchronize(SeqNum::new(start));
            let base = rcv.nxt;
            let mut timer = Instant::NEVER;
            let mut have = [false; 100];
            for (block, count) in order.into_iter().chain((0..20).map(|block| (block, 5))) {
                let (first, len) = (block * 5, count);
                let offset_before = rcv.nxt.distance_from(base);
                if let Some(taken) = rcv.text(base + first, len, 1, Instant::ZERO, &delays, &mut timer) {
                    // The offset counts from the first unread byte. Nothing is read here, so that
                    // is the base.
                    prop_assert_eq!(taken.offset, (first + taken.skip).max(offset_before));
                }
                for byte in first..first + len {
                    have[byte as usize] = true;
                }
                let in_order = have.iter().position(|&h| !h).unwrap_or(have.len());
                prop_assert_eq!(rcv.nxt.distance_from(base) as usize, in_order);
                prop_assert_eq!(rcv.unread() as usize, in_order);
                let above: u32 = rcv.out_of_order.iter().map(|held| held.len()).sum();
                prop_assert_eq!(above as usize, have.iter().filter(|&&h| h).count() - in_order);
            }
            prop_assert!(rcv.out_of_order.is_empty());
        }
    }
}

//! The receiving half: reassembly, acknowledgment, the advertised window.

use std::mem::offset_of;

use units::{Duration, Instant};
use wire::{
    AckWindow, Arrival, CopyNumber, Ecn, Flags, Reports, SackBlocks, SantaCruz, SeqNum, SeqRange,
    UnscaledWindow, WindowScale,
};

use crate::config::{Config, DelayedAck};
use crate::event::Accepted;

/// What has been received of the peer's stream. In this order: see
/// [`Connection`](crate::Connection).
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// RCV.NXT.
    pub(crate) nxt: SeqNum,
    /// The right edge of the window that has been advertised; it never moves left (RFC 9293
    /// §3.8.6.2.2).
    edge: SeqNum,
    capacity: u32,
    unread: u32,
    unacknowledged_segments: u8,
    /// So many acknowledgments.
    acks_due: u8,
    peer_scales: bool,
    /// A marked segment has arrived, and the peer hasn't said yet that it knows.
    echoes_mark: bool,
    /// RFC 7323 §4.3, Last.ACK.sent.
    last_ack_sent: SeqNum,
    /// What arrived beyond `nxt`; what grew last stands last.
    out_of_order: Vec<SeqRange>,
    /// The sequence number of the peer's FIN, once it has been seen.
    pub(crate) fin: Option<SeqNum>,
    /// A segment that arrived twice (RFC 2883).
    duplicate: Option<SeqRange>,
    /// TS.Recent, and when it was taken; [`Instant::NEVER`] before there is one.
    ts_recent: u32,
    ts_recent_at: Instant,
    /// Only with a peer that says which transmission a segment is.
    santa_cruz: Option<Box<SantaCruzAck>>,
}

/// What acknowledgments say of TCP Santa Cruz.
#[derive(Debug, Clone, Copy, Default)]
struct SantaCruzAck {
    /// The last segment that has arrived, until an acknowledgment names it.
    arrival: Option<Arrival>,
    /// What the segment that leaves now says.
    option: Reports,
}

impl Receiver {
    /// What lies behind is for timestamps and labels.
    pub(crate) const RECEIVER_END: usize = offset_of!(Self, ts_recent);

    /// Who only sends data has nothing to say of data that arrived twice either.
    pub(crate) const SENDER_END: usize = offset_of!(Self, duplicate);

    /// More islands than this are not kept: a peer that leaves so many holes is not worth the
    /// memory.
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

    /// Takes over the memory of a receiver that is no longer needed.
    pub(crate) fn inherit(&mut self, old: &mut Self) {
        old.out_of_order.clear();
        std::mem::swap(&mut self.out_of_order, &mut old.out_of_order);
    }

    /// Where the islands lie, or will as soon as there are any; nowhere if there have never been
    /// any.
    #[inline]
    pub(crate) const fn out_of_order_address(&self) -> *const u8 {
        self.out_of_order.as_ptr().cast()
    }

    /// Gives back memory that is not in use.
    pub(crate) fn release(&mut self) {
        if self.out_of_order.is_empty() {
            self.out_of_order = Vec::new();
        }
    }

    /// The bytes of memory in use behind this value.
    pub(crate) fn memory(&self) -> usize {
        self.out_of_order.capacity() * size_of::<SeqRange>()
            + self.santa_cruz.as_ref().map_or(0, |_| size_of::<SantaCruzAck>())
    }

    /// The peer's initial sequence number is known.
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

    /// RFC 3168 §6.1.3: a mark is echoed until the peer says that it has reduced its window; a
    /// segment that says so may be marked itself.
    pub(crate) fn note_marks(&mut self, flags: Flags) {
        self.echoes_mark &= !flags.has(Flags::CWR);
        self.echoes_mark |= flags.ecn() == Ecn::Ce;
    }

    pub(crate) fn echoes_mark(&self) -> bool {
        self.echoes_mark
    }

    /// RFC 9293 §3.10.7.4, first step: whether any of the segment lies in the window.
    ///
    /// Unlike there, an empty segment may lie at the window's right edge. A peer that has filled
    /// the window acknowledges from there, also while the first of its data is lost; two such
    /// peers would refuse each other's acknowledgments, each with another one.
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

    /// Takes the payload of an acceptable segment, or the part of it that is new. It was sent in
    /// `segments` segments.
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
            // RFC 5681 §4.2: a segment that brings nothing is answered at once, so that a sender
            // whose acknowledgment was lost learns where it stands.
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
            // RFC 5681 §4.2: data out of order is acknowledged at once, each segment with its own
            // duplicate.
            self.ack_now();
            return self.insert_out_of_order(fresh).then_some(accepted);
        }
        self.advance(stop);
        let fills_gap = !self.out_of_order.is_empty();
        self.merge_reached_ranges();
        if fills_gap {
            // RFC 5681 §4.2: so is a segment that fills a gap, in whole or in part.
            self.acks_due = 1;
        } else {
            self.delay_ack(segments, now, delayed_ack, timer);
        }
        Some(accepted)
    }

    /// Whether anything has arrived out of order.
    pub(crate) fn has_out_of_order(&self) -> bool {
        !self.out_of_order.is_empty()
    }

    /// RFC 2018 §8: forgets what has arrived out of order.
    pub(crate) fn renege(&mut self) {
        self.out_of_order = Vec::new();
    }

    /// The peer's FIN stands at `at`, unless one stood elsewhere first, or more than that has
    /// arrived: then it is a lie. Returns whether everything before it has arrived.
    pub(crate) fn note_fin(&mut self, at: SeqNum) -> bool {
        if at.at_or_after(self.nxt) {
            self.fin.get_or_insert(at);
        }
        self.fin == Some(self.nxt)
    }

    /// Behind the end of the stream there can be nothing.
    #[cold]
    fn before_fin(&self, stop: SeqNum) -> SeqNum {
        self.fin.map_or(stop, |fin| stop.earliest(fin))
    }

    /// Everything before the FIN has arrived. What pretended to lie behind it goes.
    pub(crate) fn finish(&mut self) {
        self.fin = None;
        self.nxt += 1;
        self.out_of_order = Vec::new();
        self.acks_due = 1;
    }

    /// RFC 2883 §4: the next acknowledgment says that these bytes had arrived before, if they had.
    // Out of line: in both places of `text` it would cost 0.2 % of all instructions.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_duplicate(&mut self, seq: SeqNum, len: u32) {
        if (seq + len).at_or_before(self.nxt)
            && let Some(duplicate) = SeqRange::new(seq, seq + len)
        {
            self.duplicate = Some(duplicate);
        }
    }

    /// Bytes that can be read.
    pub(crate) fn unread(&self) -> u32 {
        self.unread
    }

    pub(crate) fn read(&mut self, bytes: u32) -> u32 {
        let taken = bytes.min(self.unread);
        self.unread -= taken;
        taken
    }

    /// RFC 9293 §3.8.6.2.2: the window is reopened in steps worth a segment.
    /// `smss` returns the largest segment of the peer, bytes.
    pub(crate) fn owes_window_update(&self, smss: impl Fn() -> u32) -> bool {
        // Without this bound each read of an application that keeps up would cost an
        // acknowledgment.
        self.is_small(&smss) && self.reopening(smss).is_some()
    }

    /// Whether the window is smaller than two segments, or than half of the buffer if that is less.
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

    /// RFC 5681 §4.2: what has arrived out of order is owed an acknowledgment beside the one that
    /// was due before and has not left, if that would have said as much. For a peer that counts
    /// duplicates, one cannot stand for both.
    #[cold]
    #[inline(never)]
    pub(crate) fn owe_separate_ack(&mut self, delayed_ack: &DelayedAck) {
        // One that would have left for fewer segments would be no duplicate of this.
        if self.unacknowledged_segments.is_multiple_of(delayed_ack.every) {
            self.acks_due = self.acks_due.saturating_add(1);
        }
    }

    /// Whether the acknowledgment that is due must not ride on data: there, it would be no
    /// duplicate (RFC 5681 §2), and a full-sized segment has no room for SACK blocks.
    pub(crate) fn owes_duplicate(&self) -> bool {
        self.ack_is_due() && self.has_reports()
    }

    /// Whether there is anything for SACK blocks to say.
    pub(crate) fn has_reports(&self) -> bool {
        !self.out_of_order.is_empty() || self.fin.is_some() || self.duplicate.is_some()
    }

    /// Notes that an acknowledgment is leaving and returns it.
    pub(crate) fn acknowledge(&mut self, timer: &mut Instant) -> SeqNum {
        self.acks_due = self.acks_due.saturating_sub(1);
        self.unacknowledged_segments = 0;
        self.last_ack_sent = self.nxt;
        *timer = Instant::NEVER;
        self.nxt
    }

    /// The window to advertise, before the acknowledgment beside it is noted as leaving. `counted`
    /// says that the peer knows a duplicate by what stands in it.
    /// `smss`, the largest segment of the peer, is asked for only when it matters.
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

    /// RFC 5681 §2 (e): a duplicate has the window of the one before. What has been read since
    /// waits for an acknowledgment that says more; unless it is so much that the sender may be
    /// waiting for it, as far as RFC 9293 §3.8.6.2.2 lets it wait.
    #[cold]
    #[inline(never)]
    fn defers_window_update(&self, edge: SeqNum, smss: impl Fn() -> u32) -> bool {
        self.nxt == self.last_ack_sent
            && !self.is_small(smss)
            && edge.distance_from(self.edge) < self.capacity / 2
    }

    /// Up to `room` blocks: what arrived twice first (RFC 2883 §4), then what grew last (RFC 2018
    /// §4). A FIN that is kept has its number in the block that it ends, or a block of its own
    /// behind the others: RFC 2018 speaks of data, but a sender whose last segment carries the
    /// FIN has to learn that all of it arrived, and Linux says it in this way.
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

    /// TCP Santa Cruz, section 3.2.1: notes that this transmission of a segment has arrived, if
    /// what it brought is there to be acknowledged.
    pub(crate) fn note_arrival(&mut self, seq: SeqNum, len: u32, copy: CopyNumber, now: Instant) {
        let is_held = (seq + len).at_or_before(self.nxt)
            || SeqRange::new(seq, seq + len)
                .is_none_or(|range| self.out_of_order.iter().any(|held| held.contains(range)));
        if is_held {
            let arrival = Arrival { seq, copy, at: arrival_clock(now) };
            self.santa_cruz.get_or_insert_default().arrival = Some(arrival);
        }
    }

    /// Notes TCP Santa Cruz's option for an acknowledgment that leaves now, on this transmission of
    /// data, if on any, and with a window of up to so many bytes. An arrival is named once.
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

    /// What has been noted.
    pub(crate) fn santa_cruz_option(&self) -> Option<&Reports> {
        Some(&self.santa_cruz.as_ref()?.option)
    }

    /// RFC 7323 §5.3, R1: a timestamp older than the last one marks an old duplicate, unless (§5.5)
    /// the last one is so old that the clock may have gone round.
    pub(crate) fn is_stale(&self, timestamp: u32, now: Instant) -> bool {
        const DAY: Duration = Duration::from_secs(86_400);
        self.ts_recent_at != Instant::NEVER
            && now.since(self.ts_recent_at) <= DAY * 24
            && SeqNum::new(timestamp).before(SeqNum::new(self.ts_recent))
    }

    /// RFC 7323 §4.3: which timestamp to echo.
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

    /// Moves `nxt` over the islands it has reached.
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

    /// Joins a range with the islands it touches; `false` when there are too many to keep another.
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
                // What the union now touches may lie before this index.
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

    /// The new right edge, if it is worth announcing.
    fn reopening(&self, smss: impl Fn() -> u32) -> Option<SeqNum> {
        let candidate = self.nxt + self.capacity.saturating_sub(self.unread);
        let gain = candidate.distance_from(self.edge);
        // RFC 9293 §3.8.6.2.2: by steps, so that no small window arises. While half of the buffer
        // is open none can, and a window that says the same every time lets the peer take
        // its short way through a segment (Linux: prediction of the header).
        let wide = || self.window() >= self.capacity / 2;
        (gain > 0 && (wide() || gain >= smss().min(self.capacity / 2))).then_some(candidate)
    }
}

/// A clock of one tick a microsecond.
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
    fn the_block_that_grew_last_is_reported_first() {
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

    /// RFC 2883 §4.1.1
    #[test]
    fn a_segment_that_arrives_twice_is_reported_once() {
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

    /// RFC 2883 §4: an empty segment is no duplicate, and takes the place of none.
    #[test]
    fn an_empty_segment_erases_no_report_of_a_duplicate() {
        let mut rcv = receiver();
        let delays = DelayedAck::RFC;
        let mut timer = Instant::NEVER;
        rcv.text(SeqNum::new(1), 500, 1, Instant::ZERO, &delays, &mut timer);
        rcv.note_duplicate(SeqNum::new(1), 500);
        rcv.note_duplicate(SeqNum::new(500), 0);
        assert_eq!(blocks(&mut rcv), [(1, 501)]);
    }

    /// RFC 5681 §4.2
    #[test]
    fn every_second_segment_in_order_is_acknowledged_at_once() {
        let mut rcv = receiver();
        let delays = DelayedAck::RFC;
        let mut timer = Instant::NEVER;
        rcv.text(SeqNum::new(1), 100, 1, Instant::ZERO, &delays, &mut timer);
        assert_eq!((rcv.ack_is_due(), timer), (false, Instant::ZERO + DelayedAck::RFC.timeout));
        rcv.text(SeqNum::new(101), 100, 1, Instant::ZERO, &delays, &mut timer);
        assert!(rcv.ack_is_due());
    }

    #[test]
    fn a_peer_that_leaves_too_many_holes_is_not_followed() {
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
        fn whatever_the_order_everything_is_taken_once(
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
                    // The offset counts from the first unread byte; nothing is read here, so from the base.
                    prop_assert_eq!(taken.offset, (first + taken.skip).max(offset_before));
                }
                for byte in first..first + len {
                    have[byte as usize] = true;
                }
                let in_order = have.iter().position(|&h| !h).unwrap_or(have.len());
                prop_assert_eq!(rcv.nxt.distance_from(base) as usize, in_order);
                prop_assert_eq!(rcv.unread() as usize, in_order);
                let beyond: u32 = rcv.out_of_order.iter().map(|held| held.len()).sum();
                prop_assert_eq!(beyond as usize, have.iter().filter(|&&h| h).count() - in_order);
            }
            prop_assert!(rcv.out_of_order.is_empty());
        }
    }
}

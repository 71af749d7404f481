//! First transmissions between SND.UNA and SND.NXT, and whether they were lost.
//!
//! A first transmission was lost if at least half of its data was sent again in retransmissions
//! that were necessary. The boundaries of retransmissions may differ. A retransmission turns out to
//! be unnecessary when it is reported as a duplicate, at the latest a round trip after its data was
//! acknowledged. So a segment that was sent again is settled when data sent after its
//! acknowledgment is acknowledged. Segments keep the boundaries of the wire: a packet that offload
//! has joined is divided at the segment size.

use std::collections::VecDeque;

use units::{Duration, Instant};

use super::event::Data;
use super::outcome::{Outcome, Outcomes};

/// Number of round-trip times that are kept to find one near a loss.
const ROUND_TRIPS: usize = 8;

/// Largest IP packet in a frame of Ethernet, in bytes (RFC 894).
const ETHERNET_MTU: u32 = 1500;

/// Bytes by which a single segment may exceed the segment size of the connection.
const SLACK: u32 = 200;

/// Maximum number of segments that offload joins to one packet: 512 kB of 536 bytes.
const MAX_JOINED: u32 = 1024;

/// A first transmission.
#[derive(Debug, Clone, Copy)]
struct Original {
    start: u64,
    end: u64,
    at: Instant,
    frame: u64,
    sent_before: u64,
    size: u32,
    /// Bytes in retransmissions, and in those that were not necessary.
    repeated: u64,
    refuted: u64,
    is_followed: bool,
    round_trip: Option<Duration>,
}

impl Original {
    fn is_gap(&self) -> bool {
        self.frame == 0 && self.size == 0
    }

    /// Bytes that it has in common with a range.
    fn overlap(&self, start: u64, end: u64) -> u64 {
        self.end.min(end).saturating_sub(self.start.max(start))
    }

    /// Whether a number of its bytes is at least half of it.
    fn is_half(&self, bytes: u64) -> bool {
        2 * bytes >= self.end - self.start
    }

    fn outcome(&self) -> Outcome {
        Outcome {
            start: self.start,
            end: self.end,
            at: self.at,
            frame: self.frame,
            sent_before: self.sent_before,
            size: self.size,
            is_lost: self.repeated > self.refuted && self.is_half(self.repeated - self.refuted),
            is_followed: self.is_followed,
            round_trip: self.round_trip,
        }
    }
}

/// A first transmission that is acknowledged.
#[derive(Debug, Clone, Copy)]
struct Settling {
    original: Original,
    /// SND.NXT at its acknowledgment.
    point: u64,
}

/// Sizes of the segments of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Bytes of the headers of IP and TCP.
    header: u32,
    /// Largest payload of a segment; `None` if the packet may consist of several segments, and
    /// their size is unknown.
    segment: Option<u32>,
}

impl Sizes {
    /// Sizes of a packet, with the segment size of the connection if it is known.
    pub(super) fn of(data: &Data, mss: Option<u32>) -> Self {
        let header = u32::from(data.header);
        let fits = data.payload.saturating_add(header) <= ETHERNET_MTU;
        // A host may announce a smaller MSS than it sends, and captured packets may have been
        // divided again. Such a packet fits into a frame of Ethernet.
        let is_single = |mss: u32| data.payload <= mss || data.payload - mss <= SLACK && fits;
        let segment = match mss {
            Some(mss) if !is_single(mss) => {
                Some(mss).filter(|mss| data.payload.div_ceil(*mss) <= MAX_JOINED)
            }
            None if !fits => None,
            _ => Some(data.payload),
        };
        Self { header, segment: segment.map(|segment| segment.max(1)) }
    }

    /// Size of the IP packet of a segment.
    fn size(self, payload: u64) -> u32 {
        match self.segment {
            Some(segment) if payload <= u64::from(segment) => {
                self.header.saturating_add(u32::try_from(payload).unwrap_or(0))
            }
            _ => 0,
        }
    }

    /// Bytes of all IP packets of a payload.
    fn total(self, payload: u32) -> u64 {
        let segment = self.segment.unwrap_or(u32::MAX);
        let segments = if payload <= segment { 1 } else { payload.div_ceil(segment) };
        u64::from(payload) + u64::from(segments) * u64::from(self.header)
    }
}

/// Latest round-trip times, with the times of the transmissions.
#[derive(Debug, Clone, Copy, Default)]
struct RoundTrips {
    places: [Option<(Instant, Duration)>; ROUND_TRIPS],
    /// Place of the next one, which is that of the oldest.
    next: usize,
}

impl RoundTrips {
    fn add(&mut self, sent_at: Instant, round_trip: Duration) {
        self.places[self.next % ROUND_TRIPS] = Some((sent_at, round_trip));
        self.next = (self.next + 1) % ROUND_TRIPS;
    }

    /// Round-trip time of the packet whose time of transmission is nearest; of two, the later one.
    fn nearest(&self, at: Instant) -> Option<Duration> {
        let distance =
            |sent_at: Instant| if sent_at > at { sent_at.since(at) } else { at.since(sent_at) };
        let (newer, older) = self.places.split_at(self.next);
        let latest_first = newer.iter().rev().chain(older.iter().rev()).flatten();
        latest_first
            .min_by_key(|(sent_at, _)| distance(*sent_at))
            .map(|(_, round_trip)| *round_trip)
    }
}

/// First transmissions of one direction.
#[derive(Debug, Default)]
pub(crate) struct Originals {
    queue: VecDeque<Original>,
    /// Acknowledged segments from the first one on that may still turn out not to be lost.
    settling: VecDeque<Settling>,
    round_trips: RoundTrips,
    sent_bytes: u64,
    pub(super) outcomes: Outcomes,
}

impl Originals {
    /// Number of entries in memory.
    pub(super) fn len(&self) -> usize {
        self.queue.len() + self.settling.len() + self.outcomes.len()
    }

    /// Frees the memory of empty queues.
    pub(super) fn release(&mut self) {
        if self.queue.is_empty() {
            self.queue = VecDeque::new();
        }
        if self.settling.is_empty() {
            self.settling = VecDeque::new();
        }
    }

    /// Notes that other data follows the latest one.
    pub(super) fn follow(&mut self) {
        if let Some(last) = self.queue.back_mut() {
            last.is_followed = true;
        }
    }

    /// Adds data that the capture does not have.
    pub(super) fn push_gap(&mut self, at: Instant, start: u64, end: u64) {
        let gap = Original { frame: 0, ..self.original(at, start, end) };
        self.queue.push_back(Original { is_followed: true, ..gap });
    }

    /// Time of the latest first transmission, unless it is acknowledged.
    #[inline]
    pub(super) fn latest_at(&self) -> Option<Instant> {
        self.queue.back().map(|last| last.at)
    }

    /// Adds a packet with new data.
    #[inline]
    pub(super) fn push(&mut self, data: &Data, (start, end): (u64, u64), sizes: Sizes) {
        if data.payload == 0 {
            return;
        }
        // Only the part of a packet that is new is an original; its size is then unknown.
        let is_whole = end - start == u64::from(data.len);
        let step = sizes.segment.unwrap_or(data.payload).max(1);
        let mut position = start;
        let last = start + u64::from(data.payload.min(u32::try_from(end - start).unwrap_or(0)));
        while position < last {
            let next = last.min(position + u64::from(step));
            let size = if is_whole { sizes.size(next - position) } else { 0 };
            // The FIN belongs to the last segment.
            let upper = if next == last { end } else { next };
            let original = Original {
                frame: data.frame,
                size,
                is_followed: next < last,
                ..self.original(data.at, position, upper)
            };
            self.queue.push_back(original);
            self.sent_bytes += sizes.total(u32::try_from(next - position).unwrap_or(0));
            position = next;
        }
    }

    fn original(&self, at: Instant, start: u64, end: u64) -> Original {
        Original {
            start,
            end,
            at,
            frame: 0,
            sent_before: self.sent_bytes,
            size: 0,
            repeated: 0,
            refuted: 0,
            is_followed: false,
            round_trip: None,
        }
    }

    /// Takes an original that arrives late, in a gap.
    pub(super) fn fill(&mut self, data: &Data, (start, end): (u64, u64), sizes: Sizes) {
        self.divide_gap(start, end, sizes);
        self.sent_bytes += sizes.total(data.payload);
        for original in self.overlapping(start, end).filter(|original| original.frame == 0) {
            (original.frame, original.at) = (data.frame, data.at);
        }
    }

    /// Takes a retransmission.
    pub(super) fn count_retransmission(&mut self, data: &Data, sizes: Sizes) {
        self.sent_bytes += sizes.total(data.payload);
    }

    /// Takes a part of a retransmission that had not been acknowledged.
    pub(super) fn repeat(&mut self, (start, end): (u64, u64), sizes: Sizes) {
        self.divide_gap(start, end, sizes);
        let round_trips = self.round_trips;
        for original in self.overlapping(start, end) {
            original.repeated += original.overlap(start, end);
            if original.round_trip.is_none() {
                original.round_trip = round_trips.nearest(original.at);
            }
        }
    }

    /// Excludes all but the first segment of a retransmission that joins several: without SACK it
    /// is not known whether the others were lost.
    pub(super) fn exclude_joined(&mut self, start: u64, end: u64) {
        let is_main = |original: &&mut Original| original.is_half(original.overlap(start, end));
        for original in self.overlapping(start, end).filter(is_main).skip(1) {
            original.size = 0;
        }
    }

    /// Excludes data whose packets were too large for the path.
    pub(super) fn exclude(&mut self, start: u64, end: u64) {
        for original in self.overlapping(start, end) {
            original.size = 0;
        }
    }

    /// Notes that a retransmission of this data, if there is one, was not necessary.
    pub(super) fn refute(&mut self, range: Option<(u64, u64)>) {
        let Some((start, end)) = range else { return };
        for original in self.overlapping(start, end) {
            original.refuted += original.overlap(start, end);
        }
        let settling = self.settling.iter_mut().map(|settling| &mut settling.original);
        for original in settling.filter(|original| original.start < end && original.end > start) {
            original.refuted += original.overlap(start, end);
        }
    }

    /// Notes the round-trip time of a packet that was sent at `sent_at`.
    pub(super) fn note_round_trip(&mut self, sent_at: Instant, round_trip: Duration) {
        self.round_trips.add(sent_at, round_trip);
    }

    /// Takes an acknowledgment of all data below `una`, of data below `nxt`.
    #[inline]
    pub(super) fn acknowledge(&mut self, una: u64, nxt: u64) {
        while let Some(front) = self.queue.front() {
            if front.end > una {
                break;
            }
            if front.repeated == 0 && self.settling.is_empty() {
                self.outcomes.add(&front.outcome());
            } else {
                self.settling.push_back(Settling { original: *front, point: nxt });
            }
            self.queue.pop_front();
        }
        while let Some(front) = self.settling.front() {
            if front.original.repeated > 0 && una <= front.point {
                break;
            }
            self.outcomes.add(&front.original.outcome());
            self.settling.pop_front();
        }
    }

    /// Forgets data with an unknown outcome below a position.
    pub(super) fn forget(&mut self, below: u64) {
        while self.queue.front().is_some_and(|front| front.start < below) {
            self.queue.pop_front();
        }
    }

    /// Keeps at most `entries` in memory, besides the observations.
    pub(super) fn limit(&mut self, entries: usize) {
        while self.settling.len() > entries {
            if let Some(front) = self.settling.pop_front() {
                self.outcomes.add(&front.original.outcome());
            }
        }
        while self.queue.len() > entries {
            self.queue.pop_front();
        }
    }

    /// Settles everything that is acknowledged, at the end of the connection.
    pub(super) fn finish(&mut self) {
        self.limit(0);
        self.outcomes.finish();
    }

    /// Entries that overlap a range.
    fn overlapping(&mut self, start: u64, end: u64) -> impl Iterator<Item = &mut Original> {
        let from = self.queue.partition_point(|original| original.end <= start);
        self.queue.range_mut(from..).take_while(move |original| original.start < end)
    }

    /// Divides a gap at the edges of a packet and of its segments, whose sizes are now known.
    fn divide_gap(&mut self, start: u64, end: u64, sizes: Sizes) {
        let from = self.queue.partition_point(|original| original.end <= start);
        if !self.queue.get(from).is_some_and(Original::is_gap) {
            return;
        }
        let step = u64::from(sizes.segment.unwrap_or(u32::MAX)).max(1);
        let mut edge = start;
        while edge < end {
            self.divide(edge);
            edge += step;
        }
        self.divide(end);
        for original in self.overlapping(start, end).filter(|original| original.is_gap()) {
            original.size = sizes.size(original.end - original.start);
        }
    }

    /// Divides the gap that contains a position inside.
    fn divide(&mut self, position: u64) {
        let index = self.queue.partition_point(|original| original.end <= position);
        let Some(gap) = self.queue.get_mut(index) else { return };
        if !gap.is_gap() || gap.start >= position {
            return;
        }
        let second = Original { start: position, ..*gap };
        gap.end = position;
        self.queue.insert(index + 1, second);
    }
}

#[cfg(test)]
mod tests;

//! Copies of the last segment of a write, which are sent as a precaution.
//!
//! A copy is what a device below TCP would send that duplicates a packet: the same segment with the
//! same header. It leaves after the original. TCP does not know of it: it counts neither in the
//! congestion window nor in `FlightSize`, starts no timer, and measures nothing. The one that
//! arrives first counts as the original for the round-trip time, RACK and F-RTO.
//!
//! Unlike such a device, the connection knows which segments it has copied:
//!
//! - A DSACK (RFC 2883) of a copy says nothing about a retransmission, so it is ignored once for
//!   each copy. It neither widens RACK's reordering window nor undoes a reduction, and it is not
//!   taken for the DSACK of a tail loss probe.
//! - A duplicate ACK without SACK blocks acknowledges a copy and is not counted, once for each copy
//!   of data below it. A sender that counts duplicate ACKs therefore detects a loss one duplicate
//!   later, if the acknowledgment of an earlier copy was lost.
//! - A copy that waits is dropped when its data is acknowledged, or when anything is retransmitted.
//!   A retransmission is the better copy, and after it a late copy would look like a late original.

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::{SackBlocks, Segment, SeqNum, SeqRange};

use crate::config::{Config, Negotiated};

/// Copies of a connection that wait, and those that a DSACK may still report.
#[derive(Debug)]
pub(crate) struct TailCopies {
    delay: Duration,
    /// Segments to send at these times, in order of time.
    waiting: VecDeque<(Instant, Segment)>,
    /// Copies sent that no acknowledgment has reported, with the times at which they left, oldest
    /// first.
    unreported: VecDeque<(Instant, SeqRange)>,
    /// Number of copies sent, and of their payload bytes.
    sent: (u32, u64),
}

impl TailCopies {
    /// Largest number of copies that are remembered for their reports. A bound on the memory: the
    /// congestion window of a connection whose writes are all short may admit more in a round trip.
    const REMEMBERED: usize = 1024;

    /// Creates the state if the sender copies tails. A peer that reports transmissions by their
    /// number (TCP Santa Cruz) could not tell a copy from its original.
    pub(super) fn of(config: &Config, negotiated: &Negotiated) -> Option<Box<Self>> {
        let delay = config.sender.tail_copy.filter(|_| !negotiated.santa_cruz_negotiated())?;
        let (waiting, unreported) = (VecDeque::new(), VecDeque::new());
        Some(Box::new(Self { delay, waiting, unreported, sent: (0, 0) }))
    }

    /// Schedules the copy of a segment that is sent now. Drops copies of data below `una`, which is
    /// acknowledged. Returns the time at which the copy is due, if that is later.
    pub(crate) fn schedule(
        &mut self,
        segment: &Segment,
        una: SeqNum,
        now: Instant,
    ) -> Option<Instant> {
        while self.waiting.pop_front_if(|(_, waiting)| waiting.seq.before(una)).is_some() {}
        let due = now + self.delay;
        self.waiting.push_back((due, *segment));
        (due > now).then_some(due)
    }

    /// Takes a copy that is due. A copy of acknowledged data, below `una`, is dropped.
    pub(crate) fn take_due(&mut self, una: SeqNum, now: Instant) -> Option<Segment> {
        while let Some((_, segment)) = self.waiting.pop_front_if(|(due, _)| *due <= now) {
            if segment.seq.before(una) {
                continue;
            }
            self.sent.0 += 1;
            self.sent.1 += u64::from(segment.payload_len);
            if self.unreported.len() == Self::REMEMBERED {
                self.unreported.pop_front();
            }
            let range = SeqRange::new(segment.seq, segment.seq_end());
            self.unreported.extend(range.map(|range| (now, range)));
            return Some(segment);
        }
        None
    }

    /// Returns whether a copy is due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.waiting.front().is_some_and(|(due, _)| *due <= now)
    }

    /// Time of the first copy that is due after `now`.
    pub(crate) fn next_after(&self, now: Instant) -> Option<Instant> {
        self.waiting.iter().map(|&(due, _)| due).find(|&due| due > now)
    }

    /// Drops the copies that wait, because a segment is retransmitted.
    pub(crate) fn drop_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Forgets copies whose reports are overdue: they left more than `limit` ago. The report was
    /// lost, or was also a window update.
    pub(crate) fn forget_overdue(&mut self, now: Instant, limit: Duration) {
        while self.unreported.pop_front_if(|(left, _)| *left + limit < now).is_some() {}
    }

    /// Returns whether the first SACK block is the DSACK of a copy (RFC 2883 §4). Each copy has
    /// one.
    pub(crate) fn take_report(&mut self, ack: SeqNum, blocks: &SackBlocks) -> bool {
        let mut blocks = blocks.iter();
        let Some(first) = blocks.next() else { return false };
        let is_duplicate =
            first.start().before(ack) || blocks.next().is_some_and(|second| second.contains(first));
        if !is_duplicate {
            return false;
        }
        self.take_reported(|copy| copy.contains(first))
    }

    /// Returns whether a duplicate ACK without SACK blocks acknowledges a copy. Its number may be
    /// higher than the copy, because other data has arrived before the copy.
    pub(crate) fn take_duplicate(&mut self, ack: SeqNum) -> bool {
        self.take_reported(|copy| copy.end().at_or_before(ack))
    }

    fn take_reported(&mut self, is_reported: impl Fn(SeqRange) -> bool) -> bool {
        let copy = self.unreported.iter().position(|&(_, copy)| is_reported(copy));
        copy.and_then(|index| self.unreported.remove(index)).is_some()
    }

    /// Number of copies sent, and of their payload bytes.
    pub(crate) const fn sent(&self) -> (u32, u64) {
        self.sent
    }

    /// Heap memory in bytes.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>()
            + self.waiting.capacity() * size_of::<(Instant, Segment)>()
            + self.unreported.capacity() * size_of::<(Instant, SeqRange)>()
    }
}

#[cfg(test)]
mod tests {
    use wire::{Control, Flags, Options, UnscaledWindow, WindowScale};

    use super::*;

    fn copies(delay: Duration) -> TailCopies {
        let (waiting, unreported) = (VecDeque::new(), VecDeque::new());
        TailCopies { delay, waiting, unreported, sent: (0, 0) }
    }

    const fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn segment(start: u32, len: u32) -> Segment {
        Segment {
            seq: SeqNum::new(start),
            ack: Some(SeqNum::new(1)),
            control: Control::None,
            flags: Flags::PSH,
            window: UnscaledWindow::from_bytes(1000, WindowScale::NONE),
            payload_len: len,
            options: Options::default(),
        }
    }

    fn blocks(of: &[(u32, u32)]) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        for &(start, end) in of {
            blocks.push(SeqRange::new(SeqNum::new(start), SeqNum::new(end)).unwrap());
        }
        blocks
    }

    #[test]
    fn copies_leave_after_their_delay() {
        let mut copies = copies(Duration::from_millis(5));
        let una = SeqNum::new(1);
        assert_eq!(copies.schedule(&segment(1, 100), una, at(0)), Some(at(5)));
        assert_eq!(copies.schedule(&segment(101, 50), una, at(2)), Some(at(7)));
        assert_eq!((copies.is_due(at(4)), copies.take_due(una, at(4))), (false, None));
        assert_eq!(copies.take_due(una, at(5)), Some(segment(1, 100)));
        assert_eq!(copies.next_after(at(5)), Some(at(7)));
        assert_eq!(copies.take_due(una, at(7)), Some(segment(101, 50)));
        assert_eq!((copies.sent(), copies.next_after(at(7))), ((2, 150), None));
    }

    #[test]
    fn acknowledged_and_retransmitted_data_is_not_copied() {
        let mut copies = copies(Duration::from_millis(5));
        copies.schedule(&segment(1, 100), SeqNum::new(1), at(0));
        assert_eq!(copies.take_due(SeqNum::new(101), at(5)), None);
        copies.schedule(&segment(101, 100), SeqNum::new(101), at(6));
        copies.drop_waiting();
        assert_eq!(copies.take_due(SeqNum::new(101), at(20)), None);
        assert_eq!(copies.sent(), (0, 0));
        // Frequent writes keep only the copies of what is in flight.
        for start in 0..1000 {
            copies.schedule(&segment(start, 1), SeqNum::new(start), at(30));
        }
        assert_eq!(copies.waiting.len(), 1);
    }

    /// RFC 2883 §4: the first block is below the acknowledgment, or inside of the second block.
    #[test]
    fn each_copy_has_one_report() {
        let mut copies = copies(Duration::ZERO);
        copies.schedule(&segment(101, 100), SeqNum::new(1), at(0));
        copies.take_due(SeqNum::new(1), at(0)).unwrap();
        let mut report = |ack, given| copies.take_report(SeqNum::new(ack), &blocks(given));
        assert!(!report(1, &[]));
        assert!(!report(1, &[(101, 201)]), "a SACK block");
        assert!(!report(201, &[(1, 101)]), "of other data");
        assert!(!report(1, &[(101, 201), (301, 401)]), "a SACK block");
        assert!(report(1, &[(101, 201), (101, 401)]));
        assert!(!report(201, &[(101, 201)]), "the second one");
    }

    #[test]
    fn duplicates_of_data_above_are_not_of_the_copy() {
        let mut copies = copies(Duration::ZERO);
        copies.schedule(&segment(101, 100), SeqNum::new(1), at(0));
        copies.take_due(SeqNum::new(1), at(0)).unwrap();
        let seen = [101, 201, 201].map(|ack| copies.take_duplicate(SeqNum::new(ack)));
        assert_eq!(seen, [false, true, false]);
    }

    /// Every copy of a round trip is remembered, and none for longer than the limit.
    #[test]
    fn overdue_reports_are_forgotten() {
        let mut copies = copies(Duration::ZERO);
        for number in 0..40 {
            copies.schedule(&segment(101 + number, 1), SeqNum::new(1), at(u64::from(number)));
            copies.take_due(SeqNum::new(1), at(u64::from(number))).unwrap();
        }
        copies.forget_overdue(at(100), Duration::from_millis(80));
        let reported = (0..40).filter(|_| copies.take_duplicate(SeqNum::new(201))).count();
        assert_eq!(reported, 20, "those that left from 20 ms on");
    }
}

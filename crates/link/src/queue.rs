//! A drop-tail queue: the packets that have not left the line, their buffer space and statistics.

use std::collections::VecDeque;

use units::{Duration, Instant};

use crate::books::Tally;
use crate::buffer::Buffer;
use crate::statistics::{Integrals, QueueStatistics};

/// Packets waiting or in transmission, in order of departure.
///
/// Departures need no events: they are known on acceptance, and the caller retires the packets that
/// are due before each query.
#[derive(Debug)]
pub(crate) struct Queue {
    packets: VecDeque<Resident>,
    depth: Tally,
    buffer: Buffer,
    /// The buffer's size, in its units.
    capacity: u64,
    counts_in_service: bool,
    /// The occupied units of the buffer, including the packet in transmission.
    used: u64,
    /// The departure of the last accepted packet. The line is busy until then.
    free_at: Instant,
    integrals: Integrals,
    max: Tally,
    since: Instant,
}

#[derive(Debug, Clone, Copy)]
struct Resident {
    departure: Instant,
    bytes: u32,
    /// The packet's size in the buffer's units.
    units: u32,
    /// The packet will be lost on the line.
    lost: bool,
}

impl Queue {
    pub(crate) fn new(buffer: Buffer, counts_in_service: bool) -> Self {
        Self {
            packets: VecDeque::new(),
            depth: Tally::default(),
            buffer,
            capacity: buffer.capacity(),
            counts_in_service,
            used: 0,
            free_at: Instant::ZERO,
            integrals: Integrals::default(),
            max: Tally::default(),
            since: Instant::ZERO,
        }
    }

    /// Removes the packets that have left by `now`. Those lost on the line are added to `vanished`.
    pub(crate) fn retire(&mut self, now: Instant, vanished: &mut Tally) {
        while let Some(gone) = self.packets.pop_front_if(|head| head.departure <= now) {
            self.depth.packets -= 1;
            self.depth.bytes -= u64::from(gone.bytes);
            self.used -= u64::from(gone.units);
            if gone.lost {
                vanished.count(gone.bytes);
            }
        }
    }

    /// Returns true if a packet of `bytes` fits. Departures must have been retired.
    pub(crate) fn has_room(&self, bytes: u32) -> bool {
        let taken = match self.packets.front() {
            _ if self.counts_in_service => self.used,
            Some(in_service) => self.used - u64::from(in_service.units),
            None => return true,
        };
        u64::from(self.buffer.units(bytes)) + taken <= self.capacity
    }

    /// The units of the buffer that count as occupied. Departures must have been retired.
    pub(crate) fn taken(&self) -> u64 {
        match self.packets.front() {
            Some(in_service) if !self.counts_in_service => self.used - u64::from(in_service.units),
            _ => self.used,
        }
    }

    /// The packets that the buffer counts, and the start of the idle period if the queue is empty.
    /// Departures must have been retired.
    pub(crate) fn counted(&self) -> (Tally, Option<Instant>) {
        match self.packets.front() {
            None => (Tally::default(), Some(self.free_at)),
            Some(_) if self.counts_in_service => (self.depth, None),
            Some(head) => {
                let bytes = self.depth.bytes - u64::from(head.bytes);
                (Tally { packets: self.depth.packets - 1, bytes }, None)
            }
        }
    }

    /// The buffer's size and unit.
    pub(crate) fn buffer(&self) -> Buffer {
        self.buffer
    }

    /// Adds a packet that arrives at `now` and leaves at `departure`, which must not precede an
    /// earlier departure.
    pub(crate) fn push(&mut self, now: Instant, departure: Instant, bytes: u32, lost: bool) {
        self.integrals.add(now, self.free_at.max(now), departure, bytes);
        self.free_at = departure;
        let units = self.buffer.units(bytes);
        self.packets.push_back(Resident { departure, bytes, units, lost });
        self.used += u64::from(units);
        self.depth.count(bytes);
        self.max.packets = self.max.packets.max(self.depth.packets);
        self.max.bytes = self.max.bytes.max(self.depth.bytes);
    }

    /// The packets in the queue in order: departure, bytes, and whether the packet is lost on the
    /// line. Departures must have been retired.
    pub(crate) fn residents(&self) -> impl DoubleEndedIterator<Item = (Instant, u32, bool)> {
        self.packets.iter().map(|resident| (resident.departure, resident.bytes, resident.lost))
    }

    /// The time at which the packet in transmission leaves; `None` if the queue is empty.
    pub(crate) fn in_service_until(&self) -> Option<Instant> {
        self.packets.front().map(|resident| resident.departure)
    }

    /// Replaces the departure of each packet by the result of `departure`, which gets its position,
    /// its old departure and its size in bytes. Departures must have been retired up to `now`.
    pub(crate) fn reschedule(
        &mut self,
        now: Instant,
        mut departure: impl FnMut(usize, Instant, u32) -> Instant,
    ) {
        let before = self.outstanding(now);
        for (position, resident) in self.packets.iter_mut().enumerate() {
            resident.departure = departure(position, resident.departure, resident.bytes);
            self.free_at = resident.departure;
        }
        self.integrals = self.integrals.replace(before, self.outstanding(now));
    }

    /// Changes the limit. Packets in the queue stay, also if they exceed the new limit.
    pub(crate) fn set_buffer(&mut self, buffer: Buffer, counts_in_service: bool) {
        self.buffer = buffer;
        self.capacity = buffer.capacity();
        self.counts_in_service = counts_in_service;
        self.used = 0;
        for resident in &mut self.packets {
            resident.units = buffer.units(resident.bytes);
            self.used += u64::from(resident.units);
        }
    }

    pub(crate) fn depth(&self) -> Tally {
        self.depth
    }

    /// The packets in the queue that will be lost on the line.
    pub(crate) fn lost_on_line(&self) -> Tally {
        let mut lost_on_line = Tally::default();
        for resident in self.packets.iter().filter(|resident| resident.lost) {
            lost_on_line.count(resident.bytes);
        }
        lost_on_line
    }

    pub(crate) fn statistics(&self, now: Instant) -> QueueStatistics {
        self.integrals.without(self.outstanding(now), self.elapsed(now), self.max)
    }

    /// The time from the last reset up to `now` during which the line was sending.
    pub(crate) fn busy(&self, now: Instant) -> Duration {
        // From `now` until the last departure, the line sends without a break.
        self.integrals.busy() - self.free_at.since(now)
    }

    /// The time since the last reset.
    pub(crate) fn elapsed(&self, now: Instant) -> Duration {
        now.since(self.since)
    }

    pub(crate) fn reset_statistics(&mut self, now: Instant) {
        self.integrals = self.outstanding(now);
        self.max = self.depth;
        self.since = now;
    }

    /// The contribution of the queued packets to the integrals after `now`.
    fn outstanding(&self, now: Instant) -> Integrals {
        let mut outstanding = Integrals::default();
        let mut start = now;
        for resident in &self.packets {
            outstanding.add(now, start, resident.departure, resident.bytes);
            start = resident.departure;
        }
        outstanding
    }
}

//! Exact time integrals of a queue.
//!
//! When a packet is accepted its departure is already known. Its whole contribution to every
//! integral is therefore added at once, and its departure needs no work. A query subtracts the
//! contributions of the queued packets after the time of the query; a reset keeps exactly those.

use units::{Duration, Instant};

use crate::books::Tally;

/// Statistics of a queue since the last reset. Divide an integral by [`elapsed`](Self::elapsed) for
/// the mean.
///
/// A packet is in the queue from its arrival until its last bit has left, so the packet in
/// transmission counts with all its bytes. The `waiting` integrals leave it out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueStatistics {
    /// The time that the statistics cover.
    pub elapsed: Duration,
    /// ∫ packets in the queue dt, in packet·ns.
    pub packet_nanos: u128,
    /// ∫ bytes in the queue dt, in byte·ns.
    pub byte_nanos: u128,
    /// ∫ packets waiting dt, in packet·ns: without the packet in transmission.
    pub waiting_packet_nanos: u128,
    /// ∫ bytes waiting dt, in byte·ns: without the packet in transmission.
    pub waiting_byte_nanos: u128,
    /// The time during which the line was sending.
    pub busy: Duration,
    /// The maximum number of packets and, perhaps at another instant, of bytes in the queue.
    pub max: Tally,
}

/// Integrals as sums over packets, in packets or bytes times nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Integrals {
    packets: u128,
    bytes: u128,
    waiting_bytes: u128,
    busy: u64,
}

impl Integrals {
    /// Adds a packet that waits from `arrival` to `start` and is then sent until `departure`.
    pub(crate) fn add(&mut self, arrival: Instant, start: Instant, departure: Instant, bytes: u32) {
        let stay = u128::from(departure.since(arrival).as_nanos());
        let wait = u128::from(start.since(arrival).as_nanos());
        self.packets += stay;
        self.bytes += stay * u128::from(bytes);
        self.waiting_bytes += wait * u128::from(bytes);
        self.busy += departure.since(start).as_nanos();
    }

    /// These integrals with the future contributions in `after` in place of those in `before`.
    pub(crate) fn replace(self, before: Self, after: Self) -> Self {
        Self {
            packets: self.packets - before.packets + after.packets,
            bytes: self.bytes - before.bytes + after.bytes,
            waiting_bytes: self.waiting_bytes - before.waiting_bytes + after.waiting_bytes,
            busy: self.busy - before.busy + after.busy,
        }
    }

    /// The transmission times of all packets.
    pub(crate) fn busy(&self) -> Duration {
        Duration::from_nanos(self.busy)
    }

    /// The statistics up to now: these integrals without the future contributions in `rest`.
    pub(crate) fn without(self, rest: Self, elapsed: Duration, max: Tally) -> QueueStatistics {
        let packet_nanos = self.packets - rest.packets;
        let busy = self.busy - rest.busy;
        QueueStatistics {
            elapsed,
            packet_nanos,
            byte_nanos: self.bytes - rest.bytes,
            // One packet at a time is in transmission while the line is busy.
            waiting_packet_nanos: packet_nanos - u128::from(busy),
            waiting_byte_nanos: self.waiting_bytes - rest.waiting_bytes,
            busy: Duration::from_nanos(busy),
            max,
        }
    }
}

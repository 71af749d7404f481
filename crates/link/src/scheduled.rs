//! A queue in front of a line whose scheduler decides when packets leave: which one is next, and
//! whether it is dropped or marked.
//!
//! A packet's outcome is therefore not known on its arrival. When the queue's state is advanced, it
//! removes packets, each at the time at which the line is free for it.

use std::collections::VecDeque;

use units::{Duration, Instant};

use crate::atm::Framing;
use crate::books::Tally;
use crate::buffer::Buffer;
use crate::decision::{Decision, DecisionKind, DeferringQueue, QueueParameters};
use crate::meter::Meter;
use crate::packet::{DropReason, Offered};
use crate::statistics::QueueStatistics;
use crate::transmitter::Transmitter;

/// The order of packets and the drops at the head of a queue.
pub(crate) trait Scheduler: std::fmt::Debug + Send + Sync {
    /// If the buffer is full, a waiting packet is dropped ([`evict`](Self::evict)) instead of the
    /// one that arrives.
    const EVICTS: bool;

    /// Adds a packet of a flow.
    fn push(&mut self, flow: u64, packet: Waiting);

    /// Removes the next packet to be sent, and tells whether it is marked. Packets that are dropped
    /// before it are added to `dropped`.
    fn pop(&mut self, now: Instant, dropped: &mut Vec<Waiting>) -> Option<(Waiting, bool)>;

    /// Removes a packet to make room for others.
    fn evict(&mut self) -> Option<Waiting>;

    /// Changes the target, the interval and the use of ECN.
    fn change(&mut self, codel: (Duration, Duration, bool));

    /// Acts on each packet that waits.
    fn for_each(&mut self, act: &mut dyn FnMut(&mut Waiting));
}

/// A packet that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) since: Instant,
    pub(crate) bytes: u32,
    pub(crate) ecn_capable: bool,
    /// The size in units of the buffer.
    units: u32,
    /// The packet is lost on the line.
    lost: bool,
    /// The number of the packet in order of arrival.
    serial: u64,
}

/// The line and the buffer of a link with a scheduler.
#[derive(Debug)]
pub(crate) struct ScheduledLine {
    pub(crate) transmitter: Transmitter,
    pub(crate) framing: Framing,
    pub(crate) buffer: Buffer,
    pub(crate) counts_in_service: bool,
}

/// The state of the line, and the queued packets.
#[derive(Debug)]
pub(crate) struct ScheduledQueue<S> {
    scheduler: S,
    line: ScheduledLine,
    /// The number of packets that wait, and the arrival of the last of them.
    waiting: u64,
    arrived: Instant,
    /// The packet in transmission, and the departure of its last bit.
    in_service: Option<(Waiting, Instant)>,
    /// The serial numbers of the packets without a decision, and that of the next packet.
    undecided: VecDeque<u64>,
    next: u64,
    /// Decisions that have not been polled.
    decisions: VecDeque<Decision>,
    /// The packets that the scheduler has just dropped, kept for its memory.
    dropped: Vec<Waiting>,
    /// The occupied units of the buffer.
    used: u64,
    packets: Meter,
    bytes: Meter,
    /// Packets and bytes in transmission.
    busy: Meter,
    sending: Meter,
}

impl<S: Scheduler> ScheduledQueue<S> {
    pub(crate) fn new(scheduler: S, line: ScheduledLine) -> Self {
        Self {
            scheduler,
            line,
            waiting: 0,
            arrived: Instant::ZERO,
            in_service: None,
            undecided: VecDeque::new(),
            next: 0,
            decisions: VecDeque::new(),
            dropped: Vec::new(),
            used: 0,
            packets: Meter::default(),
            bytes: Meter::default(),
            busy: Meter::default(),
            sending: Meter::default(),
        }
    }

    /// Starts to send the next packet that is not dropped. The line is free.
    fn send_next(&mut self, now: Instant) {
        let mut dropped = std::mem::take(&mut self.dropped);
        let sent = self.scheduler.pop(now, &mut dropped);
        for packet in dropped.drain(..) {
            self.drop(&packet, now, DropReason::Early);
        }
        self.dropped = dropped;
        let Some((packet, marked)) = sent else { return };
        self.waiting -= 1;
        let line_bytes = self.line.framing.line_bytes(packet.bytes);
        let departure = self.line.transmitter.send(now, packet.since, line_bytes);
        self.busy.up(now, 1);
        self.sending.up(now, u64::from(packet.bytes));
        self.in_service = Some((packet, departure));
        self.decide(
            now,
            &packet,
            match (packet.lost, marked) {
                (true, _) => DecisionKind::Dropped(DropReason::Loss),
                (false, true) => DecisionKind::LeavesMarked(departure),
                (false, false) => DecisionKind::Leaves(departure),
            },
        );
    }

    /// Drops a packet that was waiting.
    fn drop(&mut self, packet: &Waiting, now: Instant, why: DropReason) {
        self.waiting -= 1;
        self.leaves(packet, now);
        self.decide(now, packet, DecisionKind::Dropped(why));
    }

    fn decide(&mut self, at: Instant, packet: &Waiting, kind: DecisionKind) {
        // Serial numbers are in order, and the first is the usual one.
        let index = match self.undecided.front() {
            Some(&first) if first == packet.serial => 0,
            _ => self.undecided.partition_point(|serial| *serial < packet.serial),
        };
        self.undecided.remove(index);
        self.decisions.push_back(Decision { at, index, kind });
    }

    fn leaves(&mut self, packet: &Waiting, at: Instant) {
        self.used -= u64::from(packet.units);
        self.packets.down(at, 1);
        self.bytes.down(at, u64::from(packet.bytes));
    }

    /// The units of the buffer that are taken.
    fn taken(&self) -> u64 {
        match &self.in_service {
            Some((in_service, _)) if !self.line.counts_in_service => {
                self.used - u64::from(in_service.units)
            }
            _ => self.used,
        }
    }
}

impl<S: Scheduler> DeferringQueue for ScheduledQueue<S> {
    fn has_room(&self, bytes: u32) -> bool {
        let buffer = self.line.buffer;
        if !self.line.counts_in_service && self.in_service.is_none() {
            return true;
        }
        let taken = if S::EVICTS { 0 } else { self.taken() };
        // A change may have reduced the capacity below what is taken.
        u64::from(buffer.units(bytes)) + taken <= buffer.capacity()
    }

    fn offer(&mut self, now: Instant, packet: Offered, lost: bool) {
        let units = self.line.buffer.units(packet.bytes);
        let Offered { bytes, ecn_capable, .. } = packet;
        let serial = self.next;
        let waiting = Waiting { since: now, bytes, units, ecn_capable, lost, serial };
        self.scheduler.push(packet.flow, waiting);
        self.undecided.push_back(serial);
        self.next += 1;
        self.waiting += 1;
        self.arrived = now;
        self.used += u64::from(units);
        // An idle line takes the packet at once, whatever its size.
        let is_first = self.in_service.is_none() && !self.line.counts_in_service;
        while S::EVICTS && !is_first && self.taken() > self.line.buffer.capacity() {
            let Some(evicted) = self.scheduler.evict() else { break };
            if evicted.serial == serial {
                // The packet is not counted: it has not been in the queue at any time.
                self.waiting -= 1;
                self.used -= u64::from(units);
                self.decide(now, &evicted, DecisionKind::Dropped(DropReason::Buffer));
                return;
            }
            self.drop(&evicted, now, DropReason::Buffer);
        }
        self.packets.up(now, 1);
        self.bytes.up(now, u64::from(bytes));
    }

    fn next_decision(&self) -> Option<Instant> {
        let decided = self.decisions.front().map(|decision| decision.at);
        decided.or_else(|| {
            let waits = self.waiting > 0;
            // If the line is idle, the packet has just arrived.
            waits.then(|| self.in_service.map_or(self.arrived, |(_, departure)| departure))
        })
    }

    fn poll_decision(&mut self, now: Instant) -> Option<Decision> {
        while self.decisions.is_empty() {
            if let Some((gone, departure)) = self.in_service {
                if departure > now {
                    break;
                }
                self.in_service = None;
                self.leaves(&gone, departure);
                self.busy.down(departure, 1);
                self.sending.down(departure, u64::from(gone.bytes));
                self.send_next(departure);
            } else if self.waiting > 0 {
                // The line is idle, so the packet has just arrived.
                self.send_next(self.arrived);
            } else {
                break;
            }
        }
        self.decisions.pop_front()
    }

    fn depth(&mut self, _now: Instant) -> Tally {
        Tally { packets: self.packets.level(), bytes: self.bytes.level() }
    }

    fn statistics(&mut self, now: Instant, elapsed: Duration) -> QueueStatistics {
        let busy = self.busy.integral(now);
        QueueStatistics {
            elapsed,
            packet_nanos: self.packets.integral(now),
            byte_nanos: self.bytes.integral(now),
            waiting_packet_nanos: self.packets.integral(now).saturating_sub(busy),
            waiting_byte_nanos: self.bytes.integral(now).saturating_sub(self.sending.integral(now)),
            busy: Duration::from_nanos(u64::try_from(busy).unwrap_or(u64::MAX)),
            max: Tally { packets: self.packets.max(), bytes: self.bytes.max() },
        }
    }

    fn change(&mut self, to: QueueParameters) {
        if let Some(codel) = to.codel {
            self.scheduler.change(codel);
        }
        if let Some(rate) = to.rate {
            let free_at = self.in_service.map_or(Instant::ZERO, |(_, departure)| departure);
            self.line.transmitter.change_rate(rate, free_at);
        }
        self.line.buffer = to.buffer;
        self.line.counts_in_service = to.counts_in_service;
        let (buffer, mut used) = (to.buffer, 0);
        let mut measure = |packet: &mut Waiting| {
            packet.units = buffer.units(packet.bytes);
            used += u64::from(packet.units);
        };
        self.scheduler.for_each(&mut measure);
        if let Some((packet, _)) = &mut self.in_service {
            measure(packet);
        }
        self.used = used;
    }

    fn reset_statistics(&mut self, now: Instant) {
        for meter in [&mut self.packets, &mut self.bytes, &mut self.busy, &mut self.sending] {
            meter.reset(now);
        }
    }
}

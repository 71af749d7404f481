//! Controlled delay: packets that have waited too long are dropped, or marked, as they leave the
//! queue.
//!
//! RFC 8289: when packets have waited for more than `target` throughout an `interval`, the leaving
//! packet is dropped. Further drops follow at intervals that shrink with the square root of their
//! number, until a packet has waited for less.
//!
//! Decisions are made when packets leave, so a packet's outcome is not known on its arrival. When
//! the queue's state is advanced, it removes packets in order, each at the time at which the line
//! is free for it.

use std::collections::VecDeque;

use units::{Duration, Instant};

use crate::atm::Framing;
use crate::books::Tally;
use crate::buffer::Buffer;
use crate::decision::{Decision, DecisionKind, DeferringQueue};
use crate::error::ConfigError;
use crate::meter::Meter;
use crate::packet::{DropReason, Offered};
use crate::statistics::QueueStatistics;
use crate::transmitter::Transmitter;

/// The parameters of CoDel, with the RFC's names. The target is below the interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoDel {
    target: Duration,
    interval: Duration,
    ecn: bool,
}

impl CoDel {
    /// CoDel with this `target` of the waiting time and this `interval`.
    ///
    /// # Errors
    /// Unless 0 < `target` < `interval`.
    pub fn new(target: Duration, interval: Duration) -> Result<Self, ConfigError> {
        if target.is_zero() || target >= interval {
            return Err(ConfigError::CoDelTimes { target, interval });
        }
        Ok(Self { target, interval, ecn: true })
    }

    /// Sets whether ECN-capable packets are marked instead of being dropped.
    #[must_use]
    pub const fn with_ecn(self, ecn: bool) -> Self {
        Self { ecn, ..self }
    }

    /// §3.2.2: the time of the next drop after drop number `count`, at `interval / √count`.
    fn control_law(&self, from: Instant, count: u32) -> Instant {
        let squared = u128::from(self.interval.as_nanos()).pow(2) / u128::from(count.max(1));
        from + Duration::from_nanos(u64::try_from(squared.isqrt()).unwrap_or(u64::MAX))
    }
}

/// The line and the buffer of a link with CoDel.
#[derive(Debug)]
pub(crate) struct CoDelLine {
    pub(crate) transmitter: Transmitter,
    pub(crate) framing: Framing,
    pub(crate) buffer: Buffer,
    pub(crate) counts_in_service: bool,
}

/// The state of CoDel and the queued packets.
#[derive(Debug)]
pub(crate) struct CoDelQueue {
    codel: CoDel,
    state: State,
    line: Transmitter,
    framing: Framing,
    buffer: Buffer,
    counts_in_service: bool,
    waiting: VecDeque<Waiting>,
    /// The packet in transmission, and the departure of its last bit.
    in_service: Option<(Waiting, Instant)>,
    /// Decisions that have not been polled.
    decisions: VecDeque<Decision>,
    /// The occupied units of the buffer.
    used: u64,
    waiting_bytes: u64,
    packets: Meter,
    bytes: Meter,
    /// Packets and bytes in transmission.
    busy: Meter,
    sending: Meter,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    since: Instant,
    bytes: u32,
    units: u32,
    ecn_capable: bool,
    /// The packet is lost on the line.
    lost: bool,
}

/// §5: the variables of the algorithm.
#[derive(Debug, Default)]
struct State {
    /// The time at which the delay will have been above the target for an interval; `None` while
    /// it is below.
    first_above_time: Option<Instant>,
    dropping: bool,
    drop_next: Option<Instant>,
    count: u32,
    lastcount: u32,
    /// The size of the largest packet so far, in bytes.
    maxpacket: u32,
}

impl CoDelQueue {
    pub(crate) fn new(codel: CoDel, line: CoDelLine) -> Self {
        Self {
            codel,
            state: State::default(),
            line: line.transmitter,
            framing: line.framing,
            buffer: line.buffer,
            counts_in_service: line.counts_in_service,
            waiting: VecDeque::new(),
            in_service: None,
            decisions: VecDeque::new(),
            used: 0,
            waiting_bytes: 0,
            packets: Meter::default(),
            bytes: Meter::default(),
            busy: Meter::default(),
            sending: Meter::default(),
        }
    }

    /// Starts to send the next packet that is not dropped. The line is free.
    fn send_next(&mut self, now: Instant) {
        let Some((packet, marked)) = self.dequeue(now) else { return };
        let departure = self.line.send(now, packet.since, self.framing.line_bytes(packet.bytes));
        self.busy.up(now, 1);
        self.sending.up(now, u64::from(packet.bytes));
        self.in_service = Some((packet, departure));
        self.decide(
            now,
            match (packet.lost, marked) {
                (true, _) => DecisionKind::Dropped(DropReason::Loss),
                (false, true) => DecisionKind::LeavesMarked(departure),
                (false, false) => DecisionKind::Leaves(departure),
            },
        );
    }

    /// §5.5: removes the next packet that is not dropped. Returns whether it is marked.
    ///
    /// Unlike the RFC's listing, which only drops: an ECN-capable packet is marked instead, and
    /// leaves. The times of drops and marks are the same.
    fn dequeue(&mut self, now: Instant) -> Option<(Waiting, bool)> {
        let (mut packet, mut ok_to_drop) = self.do_dequeue(now);
        if self.state.dropping {
            self.state.dropping = ok_to_drop;
            // A long queue may require several drops at once.
            while let Some(drop_next) =
                self.state.drop_next.filter(|&next| self.state.dropping && now >= next)
            {
                self.state.count += 1;
                let marked = packet.filter(|packet| self.marks(packet));
                if marked.is_none() {
                    packet.inspect(|packet| self.drop(packet, now));
                    (packet, ok_to_drop) = self.do_dequeue(now);
                    self.state.dropping = ok_to_drop;
                }
                if self.state.dropping {
                    self.state.drop_next =
                        Some(self.codel.control_law(drop_next, self.state.count));
                }
                if let Some(packet) = marked {
                    return Some((packet, true));
                }
            }
            return packet.map(|packet| (packet, false));
        }
        if !ok_to_drop {
            return packet.map(|packet| (packet, false));
        }
        let marked = packet.is_some_and(|packet| self.marks(&packet));
        if !marked {
            packet.inspect(|packet| self.drop(packet, now));
            (packet, _) = self.do_dequeue(now);
        }
        self.state.dropping = true;
        // Resume at the previous drop rate if dropping ended recently.
        let delta = self.state.count - self.state.lastcount;
        let recently = Duration::from_nanos(self.codel.interval.as_nanos().saturating_mul(16));
        let soon = self.state.drop_next.is_some_and(|next| now < next + recently);
        self.state.count = if delta > 1 && soon { delta } else { 1 };
        self.state.drop_next = Some(self.codel.control_law(now, self.state.count));
        self.state.lastcount = self.state.count;
        packet.map(|packet| (packet, marked))
    }

    /// §5.6: removes a packet. Returns whether CoDel may drop it.
    fn do_dequeue(&mut self, now: Instant) -> (Option<Waiting>, bool) {
        let Some(packet) = self.waiting.pop_front() else {
            self.state.first_above_time = None;
            return (None, false);
        };
        self.waiting_bytes -= u64::from(packet.bytes);
        // At most one packet's worth of bytes is left: a drop could leave the line idle.
        let short = self.waiting_bytes <= u64::from(self.state.maxpacket);
        if now.since(packet.since) < self.codel.target || short {
            self.state.first_above_time = None;
            return (Some(packet), false);
        }
        match self.state.first_above_time {
            None => {
                self.state.first_above_time = Some(now + self.codel.interval);
                (Some(packet), false)
            }
            Some(first_above_time) => (Some(packet), now >= first_above_time),
        }
    }

    fn marks(&self, packet: &Waiting) -> bool {
        self.codel.ecn && packet.ecn_capable
    }

    fn drop(&mut self, packet: &Waiting, now: Instant) {
        self.leaves(packet, now);
        self.decide(now, DecisionKind::Dropped(DropReason::Early));
    }

    /// Queues the decision on the first undecided packet; decisions are made in order.
    fn decide(&mut self, at: Instant, kind: DecisionKind) {
        self.decisions.push_back(Decision { at, index: 0, kind });
    }

    fn leaves(&mut self, packet: &Waiting, at: Instant) {
        self.used -= u64::from(packet.units);
        self.packets.down(at, 1);
        self.bytes.down(at, u64::from(packet.bytes));
    }
}

impl DeferringQueue for CoDelQueue {
    fn has_room(&self, bytes: u32) -> bool {
        let taken = match &self.in_service {
            _ if self.counts_in_service => self.used,
            Some((in_service, _)) => self.used - u64::from(in_service.units),
            None => return true,
        };
        u64::from(self.buffer.units(bytes)) <= self.buffer.capacity() - taken
    }

    fn offer(&mut self, now: Instant, packet: Offered, lost: bool) {
        let units = self.buffer.units(packet.bytes);
        let Offered { bytes, ecn_capable, .. } = packet;
        self.waiting.push_back(Waiting { since: now, bytes, units, ecn_capable, lost });
        self.state.maxpacket = self.state.maxpacket.max(bytes);
        self.used += u64::from(units);
        self.waiting_bytes += u64::from(bytes);
        self.packets.up(now, 1);
        self.bytes.up(now, u64::from(bytes));
    }

    fn next_decision(&self) -> Option<Instant> {
        let decided = self.decisions.front().map(|decision| decision.at);
        decided.or_else(|| {
            let next = self.waiting.front()?;
            Some(self.in_service.map_or(next.since, |(_, departure)| departure))
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
            } else {
                // The line is idle, so the packet has just arrived.
                let came = self.waiting.front()?.since;
                self.send_next(came);
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

    fn reset_statistics(&mut self, now: Instant) {
        for meter in [&mut self.packets, &mut self.bytes, &mut self.busy, &mut self.sending] {
            meter.reset(now);
        }
    }
}

#[cfg(test)]
mod tests;

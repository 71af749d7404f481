//! Controlled delay: packets are dropped, or marked, as they leave a queue in which they have
//! waited too long.
//!
//! RFC 8289: when packets have waited for more than `target` throughout an `interval`, the one that
//! leaves is dropped, and then more of them, in a rhythm that quickens with the square root of
//! their number, until one has waited for less.
//!
//! What leaves is not known before it does, so neither is what is dropped. Whenever the queue is
//! told the time, it takes packets out in order, each at the moment at which the line is free for
//! it.

use std::collections::VecDeque;

use units::{Duration, Instant, Rate, Serializer};

use crate::atm::Framing;
use crate::books::Tally;
use crate::buffer::Buffer;
use crate::config::LinkConfig;
use crate::deferred::{Decision, Fate};
use crate::error::ConfigError;
use crate::link::{DropReason, Offered};
use crate::meter::Meter;
use crate::statistics::QueueStatistics;

/// The parameters of CoDel, in the RFC's names; the target is below the interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoDel {
    target: Duration,
    interval: Duration,
    ecn: bool,
}

impl CoDel {
    /// CoDel that lets packets wait for `target`, and for more during an `interval`.
    ///
    /// # Errors
    /// Unless 0 < `target` < `interval`.
    pub fn new(target: Duration, interval: Duration) -> Result<Self, ConfigError> {
        if target.is_zero() || target >= interval {
            return Err(ConfigError::CoDelTimes { target, interval });
        }
        Ok(Self { target, interval, ecn: true })
    }

    /// Whether packets that are ECN-capable are marked instead of being dropped.
    #[must_use]
    pub const fn with_ecn(self, ecn: bool) -> Self {
        Self { ecn, ..self }
    }

    /// §3.2.2 (a drop every interval, √2 as often after the second one, and so on): when the one
    /// after `count` comes.
    fn control_law(&self, from: Instant, count: u32) -> Instant {
        let squared = u128::from(self.interval.as_nanos()).pow(2) / u128::from(count.max(1));
        from + Duration::from_nanos(u64::try_from(squared.isqrt()).unwrap_or(u64::MAX))
    }
}

/// CoDel at work, and the packets that wait.
#[derive(Debug)]
pub(crate) struct CoDelQueue {
    codel: CoDel,
    law: Law,
    line: Serializer,
    framing: Framing,
    buffer: Buffer,
    counts_in_service: bool,
    waiting: VecDeque<Waiting>,
    /// The packet on the line, and when its last bit leaves.
    in_service: Option<(Waiting, Instant)>,
    /// Decisions that nobody has asked for.
    decisions: VecDeque<Decision>,
    /// Units of the buffer that are taken.
    used: u64,
    waiting_bytes: u64,
    packets: Meter,
    bytes: Meter,
    /// Packets and bytes on the line.
    busy: Meter,
    sending: Meter,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    since: Instant,
    bytes: u32,
    units: u32,
    ecn_capable: bool,
    /// Vanishes on the line.
    lost: bool,
}

/// §5: the variables of the algorithm.
#[derive(Debug, Default)]
struct Law {
    /// When it will have been above the target for an interval; `None` while it is below.
    first_above_time: Option<Instant>,
    dropping: bool,
    drop_next: Option<Instant>,
    count: u32,
    lastcount: u32,
    /// The largest packet so far.
    maxpacket: u32,
}

impl CoDelQueue {
    pub(crate) fn new(codel: CoDel, config: &LinkConfig, rate: Rate) -> Self {
        Self {
            codel,
            law: Law::default(),
            line: Serializer::new(rate),
            framing: config.framing,
            buffer: config.buffer,
            counts_in_service: config.counts_in_service,
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

    /// Whether a packet of `bytes` fits. All that was before must have been
    /// [settled](Self::poll_decision).
    pub(crate) fn has_room(&self, bytes: u32) -> bool {
        let taken = match &self.in_service {
            _ if self.counts_in_service => self.used,
            Some((in_service, _)) => self.used - u64::from(in_service.units),
            None => return true,
        };
        u64::from(self.buffer.units(bytes)) <= self.buffer.capacity() - taken
    }

    pub(crate) fn offer(&mut self, now: Instant, packet: Offered, lost: bool) {
        let units = self.buffer.units(packet.bytes);
        let Offered { bytes, ecn_capable, .. } = packet;
        self.waiting.push_back(Waiting { since: now, bytes, units, ecn_capable, lost });
        self.law.maxpacket = self.law.maxpacket.max(bytes);
        self.used += u64::from(units);
        self.waiting_bytes += u64::from(bytes);
        self.packets.up(now, 1);
        self.bytes.up(now, u64::from(bytes));
    }

    /// When the next packet leaves the queue.
    pub(crate) fn next_decision(&self) -> Option<Instant> {
        let decided = self.decisions.front().map(|decision| decision.at);
        decided.or_else(|| {
            let next = self.waiting.front()?;
            Some(self.in_service.map_or(next.since, |(_, departure)| departure))
        })
    }

    /// The next packet whose fate is known by `now`: call until `None`.
    pub(crate) fn poll_decision(&mut self, now: Instant) -> Option<Decision> {
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
                // The line is idle, so the packet has just come.
                let came = self.waiting.front()?.since;
                self.send_next(came);
            }
        }
        self.decisions.pop_front()
    }

    /// The line is free: the next packet that is not dropped goes on it.
    fn send_next(&mut self, now: Instant) {
        let Some((packet, marked)) = self.dequeue(now) else { return };
        let departure = self.line.send(now, self.framing.line_bytes(packet.bytes));
        self.busy.up(now, 1);
        self.sending.up(now, u64::from(packet.bytes));
        self.in_service = Some((packet, departure));
        self.decide(
            now,
            match (packet.lost, marked) {
                (true, _) => Fate::Dropped(DropReason::Loss),
                (false, true) => Fate::LeavesMarked(departure),
                (false, false) => Fate::Leaves(departure),
            },
        );
    }

    /// §5.5: takes the next packet out, with what CoDel makes of those before it and of itself.
    /// Returns whether it is marked.
    ///
    /// Unlike the RFC, which drops only: a packet that is to be dropped and can be marked is, and
    /// leaves. The rhythm is the same.
    fn dequeue(&mut self, now: Instant) -> Option<(Waiting, bool)> {
        let (mut packet, mut ok_to_drop) = self.do_dequeue(now);
        if self.law.dropping {
            self.law.dropping = ok_to_drop;
            // A long queue may be due several drops at once.
            while let Some(drop_next) =
                self.law.drop_next.filter(|&next| self.law.dropping && now >= next)
            {
                self.law.count += 1;
                let marked = packet.filter(|packet| self.marks(packet));
                if marked.is_none() {
                    packet.inspect(|packet| self.drop(packet, now));
                    (packet, ok_to_drop) = self.do_dequeue(now);
                    self.law.dropping = ok_to_drop;
                }
                if self.law.dropping {
                    self.law.drop_next = Some(self.codel.control_law(drop_next, self.law.count));
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
        self.law.dropping = true;
        // It begins where it was when it stopped dropping a short while ago.
        let delta = self.law.count - self.law.lastcount;
        let recently = Duration::from_nanos(self.codel.interval.as_nanos().saturating_mul(16));
        let soon = self.law.drop_next.is_some_and(|next| now < next + recently);
        self.law.count = if delta > 1 && soon { delta } else { 1 };
        self.law.drop_next = Some(self.codel.control_law(now, self.law.count));
        self.law.lastcount = self.law.count;
        packet.map(|packet| (packet, marked))
    }

    /// §5.6: takes a packet out, and says whether there is reason to drop it.
    fn do_dequeue(&mut self, now: Instant) -> (Option<Waiting>, bool) {
        let Some(packet) = self.waiting.pop_front() else {
            self.law.first_above_time = None;
            return (None, false);
        };
        self.waiting_bytes -= u64::from(packet.bytes);
        // A queue of a packet is none: there the line would run dry.
        let short = self.waiting_bytes <= u64::from(self.law.maxpacket);
        if now.since(packet.since) < self.codel.target || short {
            self.law.first_above_time = None;
            return (Some(packet), false);
        }
        match self.law.first_above_time {
            None => {
                self.law.first_above_time = Some(now + self.codel.interval);
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
        self.decide(now, Fate::Dropped(DropReason::Early));
    }

    /// Packets are decided on in order, so always on the first that is open.
    fn decide(&mut self, at: Instant, fate: Fate) {
        self.decisions.push_back(Decision { at, index: 0, fate });
    }

    fn leaves(&mut self, packet: &Waiting, at: Instant) {
        self.used -= u64::from(packet.units);
        self.packets.down(at, 1);
        self.bytes.down(at, u64::from(packet.bytes));
    }

    /// Packets that wait or are in transmission.
    pub(crate) fn depth(&self) -> Tally {
        Tally { packets: self.packets.level(), bytes: self.bytes.level() }
    }

    pub(crate) fn statistics(&self, now: Instant, elapsed: Duration) -> QueueStatistics {
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

    pub(crate) fn reset_statistics(&mut self, now: Instant) {
        for meter in [&mut self.packets, &mut self.bytes, &mut self.busy, &mut self.sending] {
            meter.reset(now);
        }
    }
}

#[cfg(test)]
mod tests;

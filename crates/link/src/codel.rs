//! Controlled delay: packets that have waited too long are dropped, or marked, as they leave the
//! queue.
//!
//! RFC 8289: when packets have waited for more than `target` throughout an `interval`, the leaving
//! packet is dropped. Further drops follow at intervals that shrink with the square root of their
//! number, until a packet has waited for less.
//!
//! Decisions are made when packets leave ([`crate::scheduled`]).

use std::collections::VecDeque;

use units::{Duration, Instant};

use crate::error::ConfigError;
use crate::scheduled::{Scheduler, Waiting};

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

    /// The target, the interval and the use of ECN.
    pub(crate) const fn parts(self) -> (Duration, Duration, bool) {
        (self.target, self.interval, self.ecn)
    }

    fn marks(self, packet: &Waiting) -> bool {
        self.ecn && packet.ecn_capable
    }

    /// §3.2.2: the time of the next drop after drop number `count`, at `interval / √count`.
    fn control_law(self, from: Instant, count: u32) -> Instant {
        let squared = u128::from(self.interval.as_nanos()).pow(2) / u128::from(count.max(1));
        from + Duration::from_nanos(u64::try_from(squared.isqrt()).unwrap_or(u64::MAX))
    }
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

/// A queue of packets to which CoDel applies.
#[derive(Debug, Default)]
pub(crate) struct CoDelFlow {
    state: State,
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
}

impl CoDelFlow {
    pub(crate) fn push(&mut self, packet: Waiting) {
        self.state.maxpacket = self.state.maxpacket.max(packet.bytes);
        self.waiting_bytes += u64::from(packet.bytes);
        self.waiting.push_back(packet);
    }

    /// Removes the first packet without CoDel.
    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        let packet = self.waiting.pop_front()?;
        self.waiting_bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Acts on each packet that waits.
    pub(crate) fn for_each(&mut self, act: &mut dyn FnMut(&mut Waiting)) {
        self.waiting.iter_mut().for_each(act);
    }

    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// §5.5: removes the next packet that is not dropped. Returns whether it is marked. Dropped
    /// packets are added to `dropped`.
    ///
    /// Unlike the RFC's listing, which only drops: an ECN-capable packet is marked instead, and
    /// leaves. The times of drops and marks are the same.
    pub(crate) fn dequeue(
        &mut self,
        codel: CoDel,
        now: Instant,
        dropped: &mut Vec<Waiting>,
    ) -> Option<(Waiting, bool)> {
        let (mut packet, mut ok_to_drop) = self.do_dequeue(codel, now);
        if self.state.dropping {
            self.state.dropping = ok_to_drop;
            // A long queue may require several drops at once.
            while let Some(drop_next) =
                self.state.drop_next.filter(|&next| self.state.dropping && now >= next)
            {
                self.state.count += 1;
                let marked = packet.filter(|packet| codel.marks(packet));
                if marked.is_none() {
                    dropped.extend(packet);
                    (packet, ok_to_drop) = self.do_dequeue(codel, now);
                    self.state.dropping = ok_to_drop;
                }
                if self.state.dropping {
                    self.state.drop_next = Some(codel.control_law(drop_next, self.state.count));
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
        let marked = packet.is_some_and(|packet| codel.marks(&packet));
        if !marked {
            dropped.extend(packet);
            (packet, _) = self.do_dequeue(codel, now);
        }
        self.state.dropping = true;
        // Resume at the previous drop rate if dropping ended recently.
        let delta = self.state.count - self.state.lastcount;
        let recently = Duration::from_nanos(codel.interval.as_nanos().saturating_mul(16));
        let soon = self.state.drop_next.is_some_and(|next| now < next + recently);
        self.state.count = if delta > 1 && soon { delta } else { 1 };
        self.state.drop_next = Some(codel.control_law(now, self.state.count));
        self.state.lastcount = self.state.count;
        packet.map(|packet| (packet, marked))
    }

    /// §5.6: removes a packet. Returns whether CoDel may drop it.
    fn do_dequeue(&mut self, codel: CoDel, now: Instant) -> (Option<Waiting>, bool) {
        let Some(packet) = self.pop() else {
            self.state.first_above_time = None;
            return (None, false);
        };
        // At most one packet's worth of bytes is left: a drop could leave the line idle.
        let short = self.waiting_bytes <= u64::from(self.state.maxpacket);
        if now.since(packet.since) < codel.target || short {
            self.state.first_above_time = None;
            return (Some(packet), false);
        }
        match self.state.first_above_time {
            None => {
                self.state.first_above_time = Some(now + codel.interval);
                (Some(packet), false)
            }
            Some(first_above_time) => (Some(packet), now >= first_above_time),
        }
    }
}

/// First in, first out with CoDel.
#[derive(Debug)]
pub(crate) struct SingleQueue {
    codel: CoDel,
    flow: CoDelFlow,
}

impl SingleQueue {
    pub(crate) fn new(codel: CoDel) -> Self {
        Self { codel, flow: CoDelFlow::default() }
    }
}

impl Scheduler for SingleQueue {
    const EVICTS: bool = false;

    fn push(&mut self, _flow: u64, packet: Waiting) {
        self.flow.push(packet);
    }

    fn pop(&mut self, now: Instant, dropped: &mut Vec<Waiting>) -> Option<(Waiting, bool)> {
        self.flow.dequeue(self.codel, now, dropped)
    }

    fn evict(&mut self) -> Option<Waiting> {
        None
    }

    fn change(&mut self, (target, interval, ecn): (Duration, Duration, bool)) {
        self.codel = CoDel { target, interval, ecn };
    }

    fn for_each(&mut self, act: &mut dyn FnMut(&mut Waiting)) {
        self.flow.for_each(act);
    }
}

#[cfg(test)]
mod tests;

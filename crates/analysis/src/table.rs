//! Table of the connections of a capture, with bounded memory.
//!
//! The first packet between two ports is kept as it is. The second one makes a [`Flow`] of it,
//! unless it repeats the first. A scan of a million addresses therefore costs the memory of few
//! packets: the oldest entry is removed above [`Limits::unanswered`]. Connections are removed when
//! they have been closed or idle for some time, by the clock of the capture.

use std::collections::{HashMap, VecDeque};

use foldhash::quality::RandomState;
use units::{Duration, Instant};
use wire::tcp::Flags;

use crate::flow::{Assumptions, Flow};
use crate::packet::{Endpoint, Packet};

/// Limits of memory and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of connections; the one that was idle for the longest time is removed.
    pub flows: usize,
    /// Maximum number of first packets without a second one.
    pub unanswered: usize,
    /// Time after which a connection without a packet is removed.
    pub idle: Duration,
    /// Time after which a closed connection is removed: a minute for late packets.
    pub closed: Duration,
    /// Ranges of outstanding data in all connections, above which each is kept short.
    pub ranges: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            flows: 1 << 17,
            unanswered: 1 << 16,
            idle: Duration::from_secs(600),
            closed: Duration::from_secs(60),
            ranges: 1 << 20,
        }
    }
}

/// Packets that belong to no connection that is listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unlisted {
    /// First packets without an answer: SYN of a scan, for example.
    pub unanswered: u64,
    /// SYNs that were answered with a RST.
    pub refused: u64,
}

/// Both ends of a connection, at one interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    low: Endpoint,
    high: Endpoint,
    interface: u32,
}

impl Key {
    #[inline]
    fn of(packet: &Packet) -> Self {
        let (a, b) = (packet.source, packet.destination);
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        Self { low, high, interface: packet.interface }
    }
}

#[derive(Debug)]
enum Entry {
    /// The first packet, and the number of its copies.
    First(Box<Packet>),
    Flow(Box<Flow>),
}

/// A place of the table.
#[derive(Debug)]
struct Slot {
    key: Key,
    /// Time of the last packet.
    at: Instant,
    entry: Entry,
}

/// A place in the order of time, which may be out of date.
#[derive(Debug, Clone, Copy)]
struct Turn {
    slot: u32,
    key: Key,
    at: Instant,
}

/// Table of connections.
#[derive(Debug)]
pub(crate) struct Table {
    limits: Limits,
    assumptions: Assumptions,
    /// Places of the connections. The hash has a random seed, so that no file can be made whose
    /// connections collide.
    index: HashMap<Key, u32, RandomState>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// Order of the last packets, in which entries are examined.
    flows: VecDeque<Turn>,
    firsts: VecDeque<Turn>,
    flow_count: usize,
    ranges: usize,
    next_number: u64,
    now: Instant,
    unlisted: Unlisted,
    /// Connections that have been removed and not taken.
    ended: Vec<Flow>,
    latest: Option<(Key, u32)>,
}

impl Table {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            assumptions: Assumptions::default(),
            index: HashMap::default(),
            slots: Vec::new(),
            free: Vec::new(),
            flows: VecDeque::new(),
            firsts: VecDeque::new(),
            flow_count: 0,
            ranges: 0,
            next_number: 0,
            now: Instant::ZERO,
            unlisted: Unlisted::default(),
            ended: Vec::new(),
            latest: None,
        }
    }

    /// States facts about the connections that follow.
    pub(crate) fn assume(&mut self, assumptions: Assumptions) {
        self.assumptions = assumptions;
    }

    /// Connections that have been removed since the last call.
    pub(crate) fn take_ended(&mut self) -> Vec<Flow> {
        std::mem::take(&mut self.ended)
    }

    pub(crate) fn unlisted(&self) -> Unlisted {
        self.unlisted
    }

    /// Takes a packet, and returns its connection if it has more than one packet.
    #[inline]
    pub(crate) fn take(&mut self, packet: &Packet) -> Option<&mut Flow> {
        self.now = self.now.max(packet.at);
        let key = Key::of(packet);
        let found = match self.latest {
            Some((latest, slot)) if latest == key => Some(slot),
            _ => self.index.get(&key).copied(),
        };
        let Some(slot) = found else { return self.begin(key, packet) };
        self.latest = Some((key, slot));
        self.add(slot, packet)
    }

    /// Adds a packet to an entry.
    fn add(&mut self, slot: u32, packet: &Packet) -> Option<&mut Flow> {
        let place = self.slots.get_mut(slot as usize)?.as_mut()?;
        place.at = place.at.max(packet.at);
        if let Entry::First(first) = &place.entry {
            let first = **first;
            if is_refusal(&first, packet) {
                self.unlisted.refused += 1;
                self.remove(slot);
                return None;
            }
            self.promote(slot, &first);
        }
        if let Some(Slot { key, entry: Entry::Flow(flow), .. }) = self.slots.get(slot as usize)?
            && flow.is_reused_by(packet)
        {
            let key = *key;
            self.remove(slot);
            return self.begin(key, packet);
        }
        let is_tight = self.ranges > self.limits.ranges;
        let Some(Slot { entry: Entry::Flow(flow), .. }) = self.slots.get_mut(slot as usize)? else {
            return None;
        };
        let before = flow.ranges();
        flow.take(packet, is_tight);
        self.ranges = (self.ranges + flow.ranges()).saturating_sub(before);
        Some(flow)
    }

    /// Begins an entry with its first packet.
    fn begin(&mut self, key: Key, packet: &Packet) -> Option<&mut Flow> {
        self.expire();
        let entry = Entry::First(Box::new(*packet));
        let place = Some(Slot { key, at: packet.at, entry });
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = place;
            slot
        } else {
            self.slots.push(place);
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        };
        self.index.insert(key, slot);
        self.firsts.push_back(Turn { slot, key, at: packet.at });
        self.latest = Some((key, slot));
        // Data without a handshake is a connection at once.
        if packet.payload_len > 0 && !packet.has(Flags::SYN) {
            return self.promote(slot, packet);
        }
        None
    }

    /// Makes a connection of a first packet.
    fn promote(&mut self, slot: u32, first: &Packet) -> Option<&mut Flow> {
        let place = self.slots.get_mut(slot as usize)?.as_mut()?;
        let mut flow = Box::new(Flow::new(self.next_number, first, &self.assumptions));
        self.next_number += 1;
        flow.take(first, false);
        self.ranges += flow.ranges();
        self.flow_count += 1;
        self.flows.push_back(Turn { slot, key: place.key, at: place.at });
        place.entry = Entry::Flow(flow);
        match &mut place.entry {
            Entry::Flow(flow) => Some(flow),
            Entry::First(_) => None,
        }
    }

    /// Removes an entry.
    fn remove(&mut self, slot: u32) {
        let Some(place) = self.slots.get_mut(slot as usize).and_then(Option::take) else { return };
        self.index.remove(&place.key);
        self.free.push(slot);
        self.latest = None;
        if let Entry::Flow(flow) = place.entry {
            self.flow_count -= 1;
            self.ranges = self.ranges.saturating_sub(flow.ranges());
            self.ended.push(*flow);
        }
    }

    /// Removes entries that are too old or too many.
    fn expire(&mut self) {
        self.expire_firsts();
        self.expire_flows();
    }

    fn expire_firsts(&mut self) {
        while let Some(&turn) = self.firsts.front() {
            let waiting = match self.slot(&turn) {
                Some(Slot { entry: Entry::First(_), at, .. }) => Some(*at),
                _ => None,
            };
            let Some(at) = waiting else {
                self.firsts.pop_front();
                continue;
            };
            let too_many = self.firsts.len() > self.limits.unanswered;
            if !too_many && self.now.since(at) < self.limits.idle {
                break;
            }
            self.firsts.pop_front();
            self.unlisted.unanswered += 1;
            self.remove(turn.slot);
        }
    }

    fn expire_flows(&mut self) {
        while let Some(&turn) = self.flows.front() {
            let too_many = self.flow_count > self.limits.flows;
            let due = self.now.since(turn.at) >= self.limits.closed || too_many;
            if !due {
                break;
            }
            self.flows.pop_front();
            let alive = match self.slot(&turn) {
                Some(Slot { entry: Entry::Flow(flow), at, .. }) => Some((flow.closed_at, *at)),
                _ => None,
            };
            let Some((closed_at, at)) = alive else { continue };
            let limit = if closed_at.is_some() { self.limits.closed } else { self.limits.idle };
            // Its last packet is later than its turn: it gets another one.
            let is_idle = self.now.since(at) >= limit || too_many && at == turn.at;
            if is_idle {
                self.remove(turn.slot);
            } else if too_many || self.now.since(at) < self.limits.closed {
                self.flows.push_back(Turn { at, ..turn });
            } else {
                self.flows.push_back(Turn { at: self.now, ..turn });
            }
        }
    }

    /// Entry of a turn, unless the place is used by another one.
    fn slot(&self, turn: &Turn) -> Option<&Slot> {
        let slot = self.slots.get(turn.slot as usize)?.as_ref()?;
        (slot.key == turn.key).then_some(slot)
    }

    /// Removes all entries, in the order of their numbers.
    pub(crate) fn finish(&mut self) {
        self.ended.reserve(self.flow_count);
        for slot in 0..self.slots.len() {
            if let Some(Slot { entry: Entry::First(_), .. }) = &self.slots[slot] {
                self.unlisted.unanswered += 1;
            }
            self.remove(u32::try_from(slot).unwrap_or(u32::MAX));
        }
        self.ended.sort_by_key(|flow| flow.number);
    }
}

/// Whether a RST answers a SYN.
fn is_refusal(first: &Packet, packet: &Packet) -> bool {
    first.has(Flags::SYN)
        && !first.has(Flags::ACK)
        && packet.has(Flags::RST)
        && packet.source == first.destination
}

#[cfg(test)]
mod tests;

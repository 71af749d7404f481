//! Many connections over packets.

mod admission;
mod egress;
mod ingress;
mod life;
mod slot;

use std::collections::{HashMap, VecDeque};

use slab::Slab;
use tcp::{ByteStream, CallError, Connection, State};
use thiserror::Error;
use units::Instant;

use crate::config::{Limits, Profiles, StackConfig};
use crate::event::{ConnectionId, EndReason, Event, EventKind};
use crate::packet::Outgoing;
use crate::record::Record;
use crate::secret::Secret;
use crate::throttle::Throttle;
use crate::timers::Timers;
use crate::tuple::Tuple;

use egress::UnsentSegment;
pub use ingress::Checksums;
use slot::{AcceptState, RELEASE_AFTER, Slot};

/// A host's TCP as a state machine over packets; it performs no I/O and reads no clock.
///
/// # Driving
///
/// 1. Feed one thing: [`receive`](Self::receive), [`on_timeout`](Self::on_timeout), or calls of the
///    user's.
/// 2. Drain: [`poll_transmit`](Self::poll_transmit) until there is no more, then
///    [`poll_event`](Self::poll_event) until `None`; what the user does about an event is something
///    fed.
/// 3. Wait for the next packet, or until [`next_timeout`](Self::next_timeout), whichever is first.
///
/// Times passed in must not go backwards.
#[derive(Debug)]
pub struct Stack {
    config: StackConfig,
    profiles: Profiles,
    secret: Secret,
    ports: Vec<u16>,
    slots: Slab<Slot>,
    index_by_tuple: HashMap<Tuple, u32, Secret>,
    timers: Timers,
    /// Connections that may have something to send.
    send_queue: VecDeque<ConnectionId>,
    /// Connections that may have an acknowledgment to send, and nothing else.
    deferrable_queue: VecDeque<ConnectionId>,
    /// Connections with something to tell.
    event_queue: VecDeque<ConnectionId>,
    /// Packets that belong to no connection.
    replies: VecDeque<Outgoing>,
    /// Connections that hold data out of order, those that began to do so first in front; some no
    /// longer do.
    out_of_order_queue: VecDeque<ConnectionId>,
    /// Connections in TIME-WAIT, oldest first; some are gone by now.
    time_wait_queue: VecDeque<ConnectionId>,
    throttle: Throttle,
    next_serial: u64,
    /// Where the search for somebody to evict goes on.
    eviction_cursor: usize,
    /// How many of the slot_count in `slots` have been in use: that has room for more.
    slot_high_water: usize,
    /// Before that no connection makes room for another.
    no_eviction_before: Instant,
    /// When somebody may next be evicted because the buffers are short.
    next_relief_at: Instant,
    /// How many segments in a row the foremost of `send_queue` has sent.
    burst: u32,
    /// When a SYN was last answered with a cookie.
    last_cookie_at: Option<Instant>,
    half_open: usize,
    accept_queue: usize,
    time_wait: usize,
    buffered: usize,
    /// A segment that was cut and did not go with those before it.
    unsent_segment: Option<UnsentSegment>,
    records: Option<Vec<Record>>,
    counters: Counters,
}

/// What has happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived.
    pub received_packets: u64,
    /// Packets that left.
    pub sent_packets: u64,
    /// Payload bytes sent for the first time, of connections that are over.
    pub sent_bytes: u64,
    /// Packets that were damaged or made no sense.
    pub damaged: u64,
    /// Packets of another kind, or for another address.
    pub unknown: u64,
    /// Connections that peers opened.
    pub accepted: u64,
    /// Connections that were opened here.
    pub connected: u64,
    /// Connections that are over, and were open before.
    pub closed: u64,
    /// Of these, those that ended otherwise than by both ends closing.
    pub failed: u64,
    /// Answers to SYNs that were cookies.
    pub cookies_sent: u64,
    /// Connections that came out of a cookie.
    pub cookies_taken: u64,
    /// Acknowledgments that answer no connection and no cookie of ours.
    pub cookies_refused: u64,
    /// SYNs, and cookies come back, for which there was no room.
    pub refused: u64,
    /// Half-open connections given up.
    pub half_open_lost: u64,
    /// Slow connections that made room.
    pub evicted: u64,
    /// Connections that were idle or lasted for too long.
    pub expired: u64,
    /// Connections that left TIME-WAIT early, for want of room or for a new one of the same ends
    /// (RFC 6191).
    pub time_wait_cut: u64,
    /// Pings answered.
    pub pings: u64,
    /// ICMP errors that were believed.
    pub icmp_believed: u64,
    /// Resets sent to segments of no connection.
    pub resets_sent: u64,
    /// Replies not sent because there were too many.
    pub replies_withheld: u64,
    /// Segments with payload dropped, or cut, because the buffers of all connections were short.
    pub over_budget: u64,
    /// Times data out of order were given up because the buffers of all connections were short.
    pub reneged: u64,
    /// Times fast recovery was entered.
    pub fast_retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
}

/// Why a connection cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OpenError {
    /// There is one between these ends.
    #[error("cannot connect to {}: port {} is in use towards it", .0.remote(), .0.local_port)]
    InUse(Tuple),
    /// No more of them.
    #[error("cannot connect: there are {0} connections, as many as are allowed")]
    Full(usize),
}

impl Stack {
    /// A stack without listeners.
    pub fn new(config: StackConfig, secret: Secret) -> Self {
        Self {
            profiles: Profiles::new(&config),
            throttle: Throttle::new(config.limits.replies_per_second),
            config,
            secret,
            ports: Vec::new(),
            slots: Slab::new(),
            index_by_tuple: HashMap::with_hasher(secret),
            timers: Timers::default(),
            send_queue: VecDeque::new(),
            deferrable_queue: VecDeque::new(),
            event_queue: VecDeque::new(),
            replies: VecDeque::new(),
            out_of_order_queue: VecDeque::new(),
            time_wait_queue: VecDeque::new(),
            next_serial: 0,
            eviction_cursor: 0,
            slot_high_water: 0,
            no_eviction_before: Instant::ZERO,
            next_relief_at: Instant::ZERO,
            burst: 0,
            last_cookie_at: None,
            half_open: 0,
            accept_queue: 0,
            time_wait: 0,
            buffered: 0,
            unsent_segment: None,
            records: None,
            counters: Counters::default(),
        }
    }

    /// Takes connections in on this port.
    pub fn listen(&mut self, port: u16) {
        if !self.ports.contains(&port) {
            self.ports.push(port);
        }
    }

    /// Takes no more connections in on this port. Those that are there stay.
    pub fn stop_listening(&mut self, port: u16) {
        self.ports.retain(|&other| other != port);
    }

    /// Keeps a row for each connection that ends from now on, until it is taken.
    pub fn keep_records(&mut self) {
        self.records.get_or_insert_default();
    }

    /// Takes the rows of connections that have ended since they were last taken.
    pub fn take_records(&mut self) -> Vec<Record> {
        self.records.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// When there is one between these ends, or there is no room.
    pub fn connect(&mut self, tuple: Tuple, now: Instant) -> Result<ConnectionId, OpenError> {
        if self.index_by_tuple.contains_key(&tuple) {
            return Err(OpenError::InUse(tuple));
        }
        if self.connections() >= self.config.limits.connections {
            return Err(OpenError::Full(self.connections()));
        }
        let iss = self.secret.initial_sequence_number(&tuple, now);
        let (sender, profile) = self.profile_of_next(&tuple, now);
        let mut stream = ByteStream::new(Connection::new(profile, iss));
        // A new connection can always be opened.
        let opened = stream.connect();
        debug_assert!(opened.is_ok());
        let id = self.insert(tuple, stream, sender, now);
        let slot = &mut self.slots[id.index()];
        slot.active = true;
        self.update_connection(id, now);
        Ok(id)
    }

    /// Moves bytes that arrived in order into `into` and returns how many; 0 for a connection that
    /// is over.
    pub fn read(&mut self, id: ConnectionId, into: &mut [u8]) -> usize {
        self.take(id, |stream| stream.read(into))
    }

    /// What arrived in order and has not been read, in at most two pieces; the second is empty when
    /// the first is.
    pub fn peek(&self, id: ConnectionId) -> [&[u8]; 2] {
        let slot = self.slots.get(id.index()).filter(|slot| slot.id == id);
        slot.map_or([&[], &[]], |slot| slot.stream.peek())
    }

    /// The same in one piece.
    pub fn peek_whole(&mut self, id: ConnectionId) -> &[u8] {
        self.slot(id).map_or(&[], |slot| slot.stream.peek_whole())
    }

    /// Drops up to `bytes` that arrived in order, as if they had been read, and returns how many.
    pub fn consume(&mut self, id: ConnectionId, bytes: usize) -> usize {
        self.take(id, |stream| stream.consume(bytes))
    }

    #[inline]
    fn take(&mut self, id: ConnectionId, take: impl FnOnce(&mut ByteStream) -> usize) -> usize {
        let Some(slot) = self.slots.get_mut(id.index()).filter(|slot| slot.id == id) else {
            return 0;
        };
        let taken = take(&mut slot.stream);
        slot.read_bytes += taken as u64;
        slot.reported_readable = slot.stream.readable();
        if taken == 0 {
            return 0;
        }
        if slot.stream.owes_acknowledgment() {
            // The window has opened, perhaps.
            self.schedule_send(id);
        } else {
            slot.count(&mut self.buffered);
            // What has run empty is given back when it has been quiet for long.
            self.timers.set(id, &mut slot.timer, slot.active_at + RELEASE_AFTER);
        }
        taken
    }

    /// Queues bytes to be sent and returns how many fit. If that is not all, [`EventKind::Writable`]
    /// says when to go on.
    ///
    /// # Errors
    /// When the connection is over, or closed here.
    pub fn write(
        &mut self,
        id: ConnectionId,
        bytes: &[u8],
        now: Instant,
    ) -> Result<usize, CallError> {
        let room = self.room_to_write(id);
        let Some(slot) = self.slot(id) else { return Err(CallError::Over { call: "write" }) };
        let taken = slot.stream.write(&bytes[..bytes.len().min(room)])?;
        slot.blocked = taken < bytes.len();
        if slot.blocked && taken > 0 {
            self.update_connection(id, now);
        } else if taken > 0 {
            self.schedule_send(id);
        }
        Ok(taken)
    }

    /// How many bytes [`write`](Self::write) would take. If that is not what the user wants to
    /// write, he is told when there is more.
    pub fn writable(&mut self, id: ConnectionId) -> usize {
        let room = self.room_to_write(id);
        let Some(slot) = self.slot(id) else { return 0 };
        let room = room.min(usize::try_from(slot.stream.writable()).unwrap_or(usize::MAX));
        slot.blocked |= room == 0;
        room
    }

    /// The same, with at most so many bytes ahead of what the peer has acknowledged.
    pub fn writable_ahead(&mut self, id: ConnectionId, most: u32) -> usize {
        let room = self.writable(id);
        let Some(slot) = self.slot(id) else { return 0 };
        let ahead = most.saturating_sub(slot.stream.unacknowledged());
        slot.blocked |= ahead == 0;
        room.min(usize::try_from(ahead).unwrap_or(usize::MAX))
    }

    fn room_to_write(&self, id: ConnectionId) -> usize {
        let limits = &self.config.limits;
        let Some(slot) = self.slots.get(id.index()) else { return 0 };
        let held = usize::try_from(slot.stream.unacknowledged()).unwrap_or(usize::MAX);
        let mut share = limits.share(self.buffered);
        if limits.is_tight(self.buffered) {
            // Whoever asks for much and takes nothing would have it all, until he is found to be
            // slow.
            let taken = usize::try_from(slot.acknowledged_bytes).unwrap_or(usize::MAX);
            // In whole reserves: a buffer that grows by a byte takes twice as much memory.
            let reserve = limits.reserve().max(1);
            share = share.min((taken / reserve).saturating_add(1).saturating_mul(reserve));
        }
        share.saturating_sub(held)
    }

    /// No more will be written: what is queued is sent, then a FIN.
    pub fn close(&mut self, id: ConnectionId, now: Instant) {
        if let Some(slot) = self.slot(id) {
            // What is closed already, or over, stays so.
            let _ = slot.stream.close();
            self.update_connection(id, now);
        }
    }

    /// Ends a connection at once, with a reset.
    pub fn abort(&mut self, id: ConnectionId, now: Instant) {
        if let Some(slot) = self.slot(id) {
            slot.stream.abort();
            self.update_connection(id, now);
        }
    }

    /// The next thing to tell, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        while let Some(&id) = self.event_queue.front() {
            if let Some(kind) = self.next_event(id) {
                return Some(Event { id, kind });
            }
            self.event_queue.pop_front();
            if let Some(slot) = self.slot(id) {
                slot.pending_events.queued = false;
                self.forget_if_over(id);
            }
        }
        None
    }

    fn next_event(&mut self, id: ConnectionId) -> Option<EventKind> {
        let slot = self.slot(id)?;
        let (active, port) = (slot.active, slot.tuple.local_port);
        let pending_events = &mut slot.pending_events;
        if std::mem::take(&mut pending_events.opened) {
            if slot.accept_state == AcceptState::Queued {
                slot.accept_state = AcceptState::Accepted;
                self.accept_queue -= 1;
            }
            return Some(if active { EventKind::Connected } else { EventKind::Accepted(port) });
        }
        if std::mem::take(&mut pending_events.readable) {
            return Some(EventKind::Readable);
        }
        if std::mem::take(&mut pending_events.writable) {
            return Some(EventKind::Writable);
        }
        let ending = pending_events.ending.take()?;
        slot.accept_state = AcceptState::Closed;
        Some(EventKind::Closed(ending))
    }

    /// When [`on_timeout`](Self::on_timeout) is next due.
    pub fn next_timeout(&self) -> Instant {
        self.timers.next()
    }

    /// Handles every timer that is due at `now`.
    pub fn on_timeout(&mut self, now: Instant) {
        let Limits { idle, lifetime, .. } = self.config.limits;
        while let Some((entry, id)) = self.timers.pop(now) {
            let Some(slot) = self.slot(id).filter(|slot| slot.timer == entry) else { continue };
            slot.timer = Instant::NEVER;
            if slot.active_at + RELEASE_AFTER <= now {
                slot.stream.release();
            }
            if slot.deadline(idle, lifetime) <= now {
                slot.stream.on_timeout(now);
                let expired = if slot.time_wait || slot.stream.state() == State::Closed {
                    None
                } else if slot.start + lifetime <= now {
                    Some(EndReason::Lifetime)
                } else if slot.active_at + idle <= now {
                    Some(EndReason::Idle)
                } else {
                    None
                };
                if expired.is_some() {
                    slot.cause = expired;
                    slot.stream.abort();
                    self.counters.expired += 1;
                }
            }
            self.update_connection(id, now);
        }
        let slots = &self.slots;
        self.timers.sweep(slots.len(), |at, id| {
            slots.get(id.index()).is_some_and(|slot| slot.id == id && slot.timer == at)
        });
    }

    /// The connection, as long as it is there.
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.slots.get(id.index()).filter(|slot| slot.id == id).map(|slot| &*slot.stream)
    }

    /// Between whom it is, as long as it is there.
    pub fn tuple(&self, id: ConnectionId) -> Option<Tuple> {
        self.slots.get(id.index()).filter(|slot| slot.id == id).map(|slot| slot.tuple)
    }

    /// The position of a connection's sender policy among those of the configuration.
    pub fn sender(&self, id: ConnectionId) -> Option<u16> {
        self.slots.get(id.index()).filter(|slot| slot.id == id).map(|slot| slot.sender)
    }

    /// Whether the peer sends no more.
    pub fn hears_no_more(&self, id: ConnectionId) -> bool {
        self.slots.get(id.index()).is_none_or(|slot| slot.id != id || slot.peer_closed)
    }

    /// Whether the peer sends no more, and everything has been read.
    pub fn is_at_end(&self, id: ConnectionId) -> bool {
        self.slots
            .get(id.index())
            .is_none_or(|slot| slot.id != id || slot.peer_closed && slot.stream.readable() == 0)
    }

    /// Connections that are not over, half-open ones included, those in TIME-WAIT not.
    pub fn connections(&self) -> usize {
        self.slots.len() - self.time_wait
    }

    /// The connections that the user knows of, or will be told of, and not of their end.
    pub fn living(&self) -> Vec<ConnectionId> {
        let living = |slot: &&Slot| match slot.accept_state {
            AcceptState::Handshaking => slot.active,
            AcceptState::Queued | AcceptState::Accepted => true,
            AcceptState::Closed => false,
        };
        self.slots.iter().map(|(_, slot)| slot).filter(living).map(|slot| slot.id).collect()
    }

    /// Ends all connections at once, with resets, half-open ones too.
    pub fn abort_all(&mut self, now: Instant) {
        let all: Vec<_> = self.slots.iter().map(|(_, slot)| slot.id).collect();
        for id in all {
            self.abort(id, now);
        }
    }

    /// Bytes of memory of the buffers and queues of all connections.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered
    }

    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What it was built with.
    pub fn config(&self) -> &StackConfig {
        &self.config
    }

    fn slot(&mut self, id: ConnectionId) -> Option<&mut Slot> {
        self.slots.get_mut(id.index()).filter(|slot| slot.id == id)
    }

    fn profile_of_next(&self, tuple: &Tuple, now: Instant) -> (u16, std::sync::Arc<tcp::Config>) {
        let sender = self.config.senders.index_for(self.next_serial, now);
        (sender, self.profiles.get(sender, tuple.local).clone())
    }

    fn insert(
        &mut self,
        tuple: Tuple,
        mut stream: ByteStream,
        sender: u16,
        now: Instant,
    ) -> ConnectionId {
        let entry = self.slots.vacant_entry();
        let index = u32::try_from(entry.key()).unwrap_or(u32::MAX);
        let id = ConnectionId { serial: self.next_serial, index };
        self.next_serial += 1;
        self.slot_high_water = self.slot_high_water.max(id.index() + 1);
        stream.offset_timestamps(self.secret.timestamp_offset(&tuple), now);
        let evictable_at = now + self.config.limits.evict_after;
        entry.insert(Slot::new(id, tuple, stream, sender, evictable_at, now));
        self.index_by_tuple.insert(tuple, index);
        id
    }
}

//! Sans-IO TCP stack for many connections.

mod admission;
mod egress;
mod ingress;
mod life;
mod slot;
mod state;
mod stream;

use std::collections::{HashMap, VecDeque};

use slab::Slab;
use tcp::{ByteStream, Connection, State};
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
pub use state::Counters;

/// A host's TCP as a state machine over packets. It performs no I/O and reads no clock.
///
/// # Driving
///
/// 1. Feed one input: a packet ([`receive`](Self::receive)), a timeout
///    ([`on_timeout`](Self::on_timeout)) or a call of the application.
/// 2. Drain: call [`poll_transmit`](Self::poll_transmit) until it returns `false`, then
///    [`poll_event`](Self::poll_event) until `None`. The application's reaction to an event is
///    another input.
/// 3. Wait for the next packet, but no longer than until [`next_timeout`](Self::next_timeout).
///
/// Times passed in must not decrease.
#[derive(Debug)]
pub struct Stack {
    config: StackConfig,
    profiles: Profiles,
    secret: Secret,
    ports: Vec<u16>,
    slots: Slab<Slot>,
    index_by_tuple: HashMap<Tuple, u32, Secret>,
    timers: Timers,
    /// Connections that may have a segment to send at once.
    send_queue: VecDeque<ConnectionId>,
    /// Connections whose only pending output can be deferred: a plain acknowledgment, or more data
    /// of a large window (`tcp::Connection::may_defer`).
    deferrable_queue: VecDeque<ConnectionId>,
    /// Connections with pending events for the application.
    event_queue: VecDeque<ConnectionId>,
    /// Packets that belong to no connection: resets, SYN cookies and echo replies.
    replies: VecDeque<Outgoing>,
    /// Connections that hold out-of-order data, in the order in which they first received some. May
    /// contain stale entries.
    out_of_order_queue: VecDeque<ConnectionId>,
    /// Connections in TIME-WAIT, oldest first. May contain stale entries.
    time_wait_queue: VecDeque<ConnectionId>,
    throttle: Throttle,
    next_serial: u64,
    /// Slot index at which the next search for a connection to evict starts.
    eviction_cursor: usize,
    /// Upper bound of the slot indexes in use; `slots` may have capacity for more.
    slot_high_water: usize,
    /// No connection is evicted for a new one before this time, because the last search found none.
    no_eviction_before: Instant,
    /// Earliest time at which the next connection may be evicted to free memory.
    next_relief_at: Instant,
    /// Number of consecutive segments sent by the connection at the front of `send_queue`.
    burst: u32,
    /// Time of the last SYN cookie sent.
    last_cookie_at: Option<Instant>,
    half_open: usize,
    accept_queue: usize,
    time_wait: usize,
    buffered: usize,
    /// A segment that was polled from a connection but did not fit into the previous packet.
    unsent_segment: Option<UnsentSegment>,
    records: Option<Vec<Record>>,
    counters: Counters,
}

/// Errors of [`Stack::connect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OpenError {
    /// A connection between these ends exists.
    #[error(
        "cannot connect to {}: a connection from local port {} exists",
        .0.remote(),
        .0.local_port
    )]
    InUse(Tuple),
    /// The limit of connections is reached; its value.
    #[error("cannot connect: the limit of {0} connections is reached")]
    Full(usize),
}

impl Stack {
    /// Creates a stack that listens on no port.
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

    /// Accepts connections on this port.
    pub fn listen(&mut self, port: u16) {
        if !self.ports.contains(&port) {
            self.ports.push(port);
        }
    }

    /// Stops accepting connections on this port. Existing connections stay open.
    pub fn stop_listening(&mut self, port: u16) {
        self.ports.retain(|&other| other != port);
    }

    /// Records each connection that ends from now on. [`take_records`](Self::take_records) returns
    /// the rows.
    pub fn keep_records(&mut self) {
        self.records.get_or_insert_default();
    }

    /// Takes the rows of connections that have ended since the last call.
    pub fn take_records(&mut self) -> Vec<Record> {
        self.records.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// [`OpenError::InUse`] if a connection between these ends exists, [`OpenError::Full`] if the
    /// limit of connections is reached.
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
        // A new connection is closed, so it can always be opened.
        let opened = stream.connect();
        debug_assert!(opened.is_ok());
        let id = self.insert(tuple, stream, sender, now);
        let slot = &mut self.slots[id.index()];
        slot.active = true;
        self.update_connection(id, now);
        Ok(id)
    }

    /// Returns the next event. Connections are served in the order in which they got events.
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

    /// The time at which [`on_timeout`](Self::on_timeout) is next due.
    pub fn next_timeout(&self) -> Instant {
        self.timers.next()
    }

    /// Handles all timers that are due at `now`.
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

    /// Aborts all connections with resets, including half-open ones.
    pub fn abort_all(&mut self, now: Instant) {
        let all: Vec<_> = self.slots.iter().map(|(_, slot)| slot.id).collect();
        for id in all {
            self.abort(id, now);
        }
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

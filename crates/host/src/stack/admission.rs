//! Admission of new connections: limits, SYN cookies and eviction.

use std::sync::Arc;

use tcp::{ByteStream, Config, Connection};
use units::{Duration, Instant};
use wire::{Flags, Options, Segment, SeqNum, Timestamps};

use super::{AcceptState, Slot, Stack};
use crate::config::Limits;
use crate::cookie;
use crate::event::{ConnectionId, EndReason};
use crate::tuple::Tuple;

/// Time after the last SYN cookie was sent during which a cookie is accepted.
const COOKIE_LIFETIME: Duration = Duration::from_secs(120);

/// Minimum time between two evictions that free memory.
const RELIEF_INTERVAL: Duration = Duration::from_millis(1);

/// Number of slots examined in one step of the search for a connection to evict.
const EVICTION_SCAN: usize = 64;

/// Time before the next search, if a search of all slots found no connection to evict.
const EVICTION_RETRY: Duration = Duration::from_millis(10);

impl Stack {
    /// Handles a SYN without a connection. `behind` is the highest sequence number of the previous
    /// connection between the same ends, if it was in TIME-WAIT.
    pub(super) fn on_syn(
        &mut self,
        tuple: Tuple,
        syn: &Segment,
        behind: Option<SeqNum>,
        now: Instant,
    ) {
        if self.accept_queue >= self.config.limits.accept_queue {
            self.counters.refused += 1;
            return;
        }
        let full = self.connections() >= self.config.limits.connections;
        // RFC 4987 §3.6: beyond the limit no state is kept. A genuine client returns the cookie.
        if full || self.half_open >= self.config.limits.half_open {
            self.answer_with_cookie(&tuple, syn, now);
            return;
        }
        let mut iss = self.secret.initial_sequence_number(&tuple, now);
        if let Some(behind) = behind.filter(|behind| behind.at_or_after(iss)) {
            // The ISS clock of RFC 6528 advances by this much in a tenth of a second.
            iss = behind + 25_000;
        }
        let (sender, profile) = self.profile_of_next(&tuple, now);
        let Some(connection) = Connection::accept(profile, syn, iss, now) else { return };
        let stream = ByteStream::new(connection);
        let id = self.insert(tuple, stream, sender, now);
        self.slots[id.index()].half_open = true;
        self.half_open += 1;
        self.update_connection(id, now);
    }

    fn answer_with_cookie(&mut self, tuple: &Tuple, syn: &Segment, now: Instant) {
        let config = self.profiles.get(self.config.senders.index_for(0, now), tuple.local).clone();
        let Some(iss) = cookie::make(&self.secret, tuple, syn, now) else {
            self.counters.refused += 1;
            return;
        };
        // A cookie has no bits for the negotiation of TCP Santa Cruz.
        let config = if config.santa_cruz {
            Arc::new(Config { santa_cruz: false, ..(*config).clone() })
        } else {
            config
        };
        // The connection that builds the SYN-ACK is dropped afterwards.
        let Some(mut connection) = Connection::accept(config, syn, iss, now) else { return };
        connection.offset_timestamps(self.secret.timestamp_offset(tuple), now);
        let Some(mut answer) = connection.poll_transmit(now) else { return };
        let options = &mut answer.options;
        let scales = options.window_scale.is_some();
        let stamp = options.timestamps.and_then(|ours| {
            Some((cookie::stamp(ours.val, &connection.negotiated(), scales)?, ours.ecr))
        });
        if let Some((val, ecr)) = stamp {
            options.timestamps = Some(Timestamps { val, ecr });
        } else {
            // Options that the cookie cannot encode are not offered.
            *options = Options { mss: options.mss, ..Options::default() };
            answer.flags = Flags::NONE;
        }
        self.reply(tuple, &answer);
        self.last_cookie_at = Some(now);
        self.counters.cookies_sent += 1;
    }

    /// Establishes a connection from a segment that returns a SYN cookie. Returns `false` if the
    /// segment must be reset, because it matches no handshake of this host.
    pub(super) fn on_cookie(
        &mut self,
        tuple: Tuple,
        segment: &Segment,
        payload: &[u8],
        now: Instant,
    ) -> bool {
        let recent = self.last_cookie_at.is_some_and(|at| now.since(at) <= COOKIE_LIFETIME);
        let Some(cookie) = segment.ack.map(|ack| ack - 1).filter(|_| recent) else { return false };
        let (sender, profile) = self.profile_of_next(&tuple, now);
        let Some(negotiated) = cookie::negotiated(&self.secret, &tuple, &profile, segment, now)
        else {
            self.counters.cookies_refused += 1;
            // The peer's first data segment may be lost, and a later one does not carry the initial
            // sequence number that the cookie is bound to. A reset would end the connection that a
            // retransmission of the first segment establishes.
            return cookie::may_be_cookie(segment, now);
        };
        let queue_is_full = self.accept_queue >= self.config.limits.accept_queue;
        if queue_is_full || !self.make_room(now) {
            // The peer considers the connection open and will retransmit.
            self.counters.refused += 1;
            return true;
        }
        let Some(connection) = Connection::from_cookie(profile, cookie, segment, negotiated, now)
        else {
            self.counters.cookies_refused += 1;
            return false;
        };
        let stream = ByteStream::new(connection);
        let id = self.insert(tuple, stream, sender, now);
        self.counters.cookies_taken += 1;
        self.feed(id, segment, payload, now);
        true
    }

    /// Returns whether there is room for a new connection, after evicting a slow one if necessary.
    /// A connection is evictable after [`Limits::GRACE`] without progress rather than
    /// [`Limits::evict_after`]. Otherwise an attacker that reopens all connections within
    /// `evict_after` would lock out all other clients.
    fn make_room(&mut self, now: Instant) -> bool {
        let limits = &self.config.limits;
        if self.connections() < limits.connections {
            return true;
        }
        if self.no_eviction_before > now {
            return false;
        }
        let slow = now + (limits.evict_after - Limits::GRACE);
        // Many consecutive slots may be in TIME-WAIT, so the search may cover all slots.
        for _ in 0..=self.slot_high_water / EVICTION_SCAN {
            let slowest = self
                .eviction_candidates(slow)
                .min_by_key(|slot| slot.evictable_at)
                .map(|slot| slot.id);
            self.eviction_cursor += EVICTION_SCAN;
            if let Some(id) = slowest {
                self.evict(id, now);
                return true;
            }
        }
        self.no_eviction_before = now + EVICTION_RETRY;
        false
    }

    /// The evictable connections among the next [`EVICTION_SCAN`] slots at time `at`.
    fn eviction_candidates(&self, at: Instant) -> impl Iterator<Item = &Slot> {
        let slot_count = self.slot_high_water.max(1);
        (0..EVICTION_SCAN.min(slot_count))
            .map(move |step| (self.eviction_cursor + step) % slot_count)
            .filter_map(|index| self.slots.get(index))
            .filter(|slot| {
                !slot.time_wait && slot.accept_state != AcceptState::Closed && slot.cause.is_none()
            })
            .filter(move |slot| slot.evictable_at <= at)
    }

    fn evict(&mut self, id: ConnectionId, now: Instant) {
        let slot = &mut self.slots[id.index()];
        slot.cause = Some(EndReason::Evicted);
        slot.stream.abort();
        self.counters.evicted += 1;
        self.update_connection(id, now);
    }

    /// Frees memory while the shared buffers are short. Out-of-order data is discarded first,
    /// longest held first: the peer retransmits it within a round trip, unless it is malicious.
    /// Then one slow connection is evicted, among those that hold more than their reserve.
    #[cold]
    pub(super) fn relieve(&mut self, now: Instant) {
        while self.config.limits.is_short(self.buffered) {
            let Some(id) = self.out_of_order_queue.pop_front() else { break };
            let Some(slot) = self.slots.get_mut(id.index()).filter(|slot| slot.id == id) else {
                continue;
            };
            slot.in_out_of_order_queue = false;
            if slot.stream.out_of_order() > 0 {
                slot.stream.renege();
                slot.count(&mut self.buffered);
                self.counters.reneged += 1;
            }
        }
        if self.next_relief_at > now || !self.config.limits.is_short(self.buffered) {
            return;
        }
        // The memory of an evicted connection is freed only after the application has received the
        // event.
        self.next_relief_at = now + RELIEF_INTERVAL;
        let kept = 2 * self.config.limits.reserve();
        let largest = self
            .eviction_candidates(now)
            .filter(|slot| slot.buffered > kept)
            .max_by_key(|slot| slot.buffered);
        match largest.map(|slot| slot.id) {
            // The cursor stays: neighbouring slots may be as large, because they were opened at the
            // same time.
            Some(id) => self.evict(id, now),
            None => self.eviction_cursor += EVICTION_SCAN,
        }
    }

    /// Queues a connection that has begun to hold out-of-order data.
    #[cold]
    pub(super) fn queue_out_of_order(&mut self, id: ConnectionId) {
        // Stale entries are removed once they are the majority.
        if self.out_of_order_queue.len() > 64 + 2 * self.slots.len() {
            let slots = &mut self.slots;
            self.out_of_order_queue.retain(|id| {
                let slot = slots.get_mut(id.index()).filter(|slot| slot.id == *id);
                slot.is_some_and(|slot| {
                    slot.in_out_of_order_queue = slot.stream.out_of_order() > 0;
                    slot.in_out_of_order_queue
                })
            });
        }
        self.out_of_order_queue.push_back(id);
    }
}

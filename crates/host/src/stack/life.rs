//! State changes of a connection in the stack, until its slot is freed.

use std::collections::hash_map::Entry;

use tcp::{CloseReason, State};
use units::Instant;

use super::{AcceptState, Stack};
use crate::config::Limits;
use crate::event::{ConnectionId, EndReason};
use crate::timers::Timers;

impl Stack {
    /// Updates everything that depends on a connection's state, after an input: events, buffers,
    /// queues and timers.
    pub(super) fn update_connection(&mut self, id: ConnectionId, now: Instant) {
        self.take_connection_events(id, now);
        let Some(slot) = self.slots.get_mut(id.index()).filter(|slot| slot.id == id) else {
            return;
        };
        if slot.stream.spare() > 0 && self.buffered > self.config.limits.shared() / 2 {
            slot.stream.release();
        }
        let readable = slot.stream.readable();
        slot.pending_events.readable |= readable > slot.reported_readable;
        slot.reported_readable = readable;
        if slot.blocked {
            let room = slot.stream.writable();
            if room > 0 && slot.stream.unacknowledged() <= room {
                slot.blocked = false;
                slot.pending_events.writable = true;
            }
        }
        slot.queue_event(&mut self.event_queue);
        self.schedule_send(id);
        if self.config.limits.is_short(self.buffered) {
            self.relieve(now);
        }
    }

    /// Updates the memory count and the queue or timer of a connection. This suffices after a read,
    /// or after a write that fits.
    pub(super) fn schedule_send(&mut self, id: ConnectionId) {
        let Some(slot) = self.slots.get_mut(id.index()) else { return };
        slot.count(&mut self.buffered);
        if slot.in_send_queue {
            // The deadline is computed when the connection leaves the send queue.
            return;
        }
        if !slot.stream.is_idle() {
            if !slot.stream.may_defer() {
                slot.in_send_queue = true;
                self.send_queue.push_back(slot.id);
            } else if !slot.in_deferrable_queue {
                slot.in_deferrable_queue = true;
                self.deferrable_queue.push_back(slot.id);
            }
            return;
        }
        let Limits { idle, lifetime, .. } = self.config.limits;
        let deadline = slot.deadline(idle, lifetime);
        self.timers.set(slot.id, &mut slot.timer, deadline);
    }

    pub(super) fn take_connection_events(&mut self, id: ConnectionId, now: Instant) {
        let Some(slot) = self.slot(id) else { return };
        if slot.stream.has_event() || slot.stream.state() == State::TimeWait && !slot.time_wait {
            self.take_all_events(id, now);
        }
    }

    #[cold]
    fn take_all_events(&mut self, id: ConnectionId, now: Instant) {
        loop {
            let Some(slot) = self.slot(id) else { return };
            let Some(event) = slot.stream.poll_event() else { break };
            match event {
                tcp::Event::Connected => self.opened(id, now),
                tcp::Event::PeerClosed => {
                    slot.peer_closed = true;
                    slot.pending_events.readable = true;
                }
                tcp::Event::Loss(loss) => match loss.repair {
                    tcp::Repair::FastRetransmit => self.counters.fast_retransmits += 1,
                    tcp::Repair::Timeout => self.counters.timeouts += 1,
                    tcp::Repair::SynTimeout | tcp::Repair::Mark => slot.syn_sent = None,
                    tcp::Repair::LossProbe | tcp::Repair::TailCopy => {}
                },
                tcp::Event::Closed(reason) => {
                    let ending = slot.cause.unwrap_or(EndReason::Tcp(reason));
                    self.ended(id, ending, now);
                }
            }
        }
        let Some(slot) = self.slot(id) else { return };
        if slot.stream.state() == State::TimeWait && !slot.time_wait {
            self.enter_time_wait(id, now);
        }
    }

    /// Handles the completion of the handshake.
    fn opened(&mut self, id: ConnectionId, now: Instant) {
        let Some(slot) = self.slot(id) else { return };
        slot.handshake = slot.syn_sent.take().map(|sent| now.since(sent));
        slot.rto_first = slot.stream.rto();
        slot.pending_events.opened = true;
        if slot.active {
            slot.accept_state = AcceptState::Accepted;
            self.counters.connected += 1;
        } else {
            slot.accept_state = AcceptState::Queued;
            let was_half_open = std::mem::take(&mut slot.half_open);
            self.half_open -= usize::from(was_half_open);
            self.accept_queue += 1;
            self.counters.accepted += 1;
        }
    }

    /// Enters TIME-WAIT: both ends have closed, and the application gets
    /// [`CloseReason::Finished`].
    fn enter_time_wait(&mut self, id: ConnectionId, now: Instant) {
        self.ended(id, EndReason::Tcp(CloseReason::Finished), now);
        let Some(slot) = self.slot(id) else { return };
        slot.time_wait = true;
        slot.stream.release();
        self.time_wait += 1;
        self.time_wait_queue.push_back(id);
        while self.time_wait > self.config.limits.time_wait {
            let Some(oldest) = self.time_wait_queue.pop_front() else { break };
            self.end_time_wait(oldest);
        }
        // Stale entries at the front must not accumulate.
        while let Some(&first) = self.time_wait_queue.front() {
            if self.slots.get(first.index()).is_some_and(|slot| slot.id == first) {
                break;
            }
            self.time_wait_queue.pop_front();
        }
    }

    /// Removes a connection in TIME-WAIT before the state expires.
    pub(super) fn end_time_wait(&mut self, id: ConnectionId) {
        if self.slot(id).is_some_and(|slot| slot.time_wait) {
            self.counters.time_wait_cut += 1;
            self.remove(id);
        }
    }

    /// Queues the end of a connection for the application and records it, once. Segments may remain
    /// to be sent.
    fn ended(&mut self, id: ConnectionId, ending: EndReason, now: Instant) {
        let Some(slot) = self.slots.get_mut(id.index()).filter(|slot| slot.id == id) else {
            return;
        };
        if slot.time_wait
            || slot.accept_state == AcceptState::Closed
            || slot.pending_events.ending.is_some()
        {
            return;
        }
        if slot.accept_state == AcceptState::Handshaking && !slot.active {
            slot.accept_state = AcceptState::Closed;
            self.counters.half_open_lost += 1;
            return;
        }
        slot.pending_events.ending = Some(ending);
        let record = slot.record(ending, now);
        self.counters.closed += 1;
        self.counters.failed += u64::from(!ending.is_finished());
        self.counters.sent_bytes += record.sent_bytes;
        if let Some(records) = &mut self.records {
            records.push(record);
        }
    }

    /// Frees the slot of a closed connection, once all segments have been sent and all events
    /// delivered.
    pub(super) fn forget_if_over(&mut self, id: ConnectionId) {
        let Some(slot) = self.slot(id) else { return };
        let over = slot.stream.state() == State::Closed;
        if over
            && !slot.in_send_queue
            && slot.accept_state == AcceptState::Closed
            && !slot.pending_events.queued
        {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: ConnectionId) {
        self.unsent_segment.take_if(|unsent_segment| unsent_segment.is_of(id));
        let Some(slot) = self.slots.try_remove(id.index()) else { return };
        if let Entry::Occupied(entry) = self.index_by_tuple.entry(slot.tuple)
            && *entry.get() == id.index
        {
            entry.remove();
        }
        self.half_open -= usize::from(slot.half_open);
        self.accept_queue -= usize::from(slot.accept_state == AcceptState::Queued);
        self.time_wait -= usize::from(slot.time_wait);
        self.buffered -= slot.buffered;
        if self.slots.is_empty() {
            self.timers = Timers::default();
            self.slot_high_water = 0;
        }
    }
}

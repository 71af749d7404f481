//! Selection of the next packet to send.

use std::num::NonZeroU16;

use tcp::State;
use units::Instant;
use wire::{Control, Flags, Segment};

use super::{Slot, Stack};
use crate::config::Limits;
use crate::event::ConnectionId;
use crate::packet::{self, Outgoing};

/// Number of packets that a connection sends before the next connection is served.
const BURST: u32 = 32;

/// Maximum payload of a packet for segmentation by the device, in bytes. With headers it fits the
/// 16-bit total length of IPv4.
const MAX_GSO_PAYLOAD: u32 = 65_000;

/// A segment that was polled from a connection but could not be appended to the previous packet.
#[derive(Debug)]
pub(super) struct UnsentSegment {
    id: ConnectionId,
    segment: Segment,
    payload: Vec<u8>,
}

/// Result of sending from one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// The connection had nothing to send.
    Nothing,
    /// A packet was sent, and the connection may have more.
    Some,
    /// A packet was sent, and the connection has nothing more to send.
    Last,
}

impl Stack {
    /// Writes the next packet to send into `out`, replacing its contents. Returns `false` if there
    /// is none.
    ///
    /// With [`offload`](crate::StackConfig::offload), consecutive full-sized segments are combined
    /// into one packet. Smaller segments are sent one by one.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Outgoing) -> bool {
        loop {
            if self.poll_urgent(now, out) {
                return true;
            }
            let Some(id) = self.deferrable_queue.pop_front() else { return false };
            let Some(slot) = self.slot(id) else { continue };
            slot.in_deferrable_queue = false;
            if !slot.in_send_queue {
                slot.in_send_queue = true;
                self.send_queue.push_back(id);
            }
        }
    }

    /// Like [`poll_transmit`](Self::poll_transmit), but without the output that can be deferred.
    /// One acknowledgment may then cover several received packets, as it does behind a network card
    /// with receive offload. A driver calls this between the packets of a batch.
    #[inline]
    pub fn poll_urgent(&mut self, now: Instant, out: &mut Outgoing) -> bool {
        // This check is inlined because the driver calls it after every input.
        let nothing = self.send_queue.is_empty() && self.replies.is_empty();
        !nothing && self.next_packet(now, out)
    }

    fn next_packet(&mut self, now: Instant, out: &mut Outgoing) -> bool {
        if let Some(reply) = self.replies.pop_front() {
            *out = reply;
            self.counters.sent_packets += 1;
            return true;
        }
        while let Some(&id) = self.send_queue.front() {
            // The unsent segment must leave before another connection is served, since only one can
            // be stored.
            let cut =
                self.unsent_segment.as_ref().is_some_and(|unsent_segment| unsent_segment.is_of(id));
            let sent =
                if self.burst < BURST || cut { self.send(id, now, out) } else { Sent::Nothing };
            if sent == Sent::Some {
                self.burst += 1;
                self.counters.sent_packets += 1;
                return true;
            }
            self.send_queue.pop_front();
            if self.burst >= BURST && sent == Sent::Nothing {
                self.send_queue.push_back(id);
            } else {
                self.leave_send_queue(id, now);
            }
            self.burst = 0;
            if sent == Sent::Last {
                self.counters.sent_packets += 1;
                return true;
            }
        }
        false
    }

    /// Writes a connection's next segment into `out`, combined with the following ones if possible.
    #[inline]
    fn send(&mut self, id: ConnectionId, now: Instant, out: &mut Outgoing) -> Sent {
        let offload = self.config.offload;
        let Some(slot) = self.slots.get_mut(id.index()).filter(|slot| slot.id == id) else {
            return Sent::Nothing;
        };
        let unsent_segment = match &self.unsent_segment {
            Some(unsent_segment) if unsent_segment.id == id => self.unsent_segment.take(),
            _ => None,
        };
        let first = if let Some(UnsentSegment { segment, payload, .. }) = unsent_segment {
            packet::write(&slot.tuple, &segment, [&payload, &[]], offload, out).map(|()| segment)
        } else {
            let Some((segment, payload)) = slot.stream.poll_transmit_slices(now) else {
                return Sent::Nothing;
            };
            packet::write(&slot.tuple, &segment, payload, offload, out).map(|()| segment)
        };
        let Some(first) = first else { return Sent::Nothing };
        slot.sent(&first, now);
        if offload && first.payload_len == slot.stream.smss() && first.control == Control::None {
            self.unsent_segment = slot.gather(first, now, out);
        }
        if self.unsent_segment.is_none() && slot.stream.note_if_drained(now) {
            Sent::Last
        } else {
            Sent::Some
        }
    }

    /// Removes a connection that has nothing to send from the send queue, and updates its timer.
    fn leave_send_queue(&mut self, id: ConnectionId, now: Instant) {
        let Limits { idle, lifetime, .. } = self.config.limits;
        let Some(slot) = self.slots.get_mut(id.index()).filter(|slot| slot.id == id) else {
            return;
        };
        slot.in_send_queue = false;
        let deadline = slot.deadline(idle, lifetime);
        self.timers.set(id, &mut slot.timer, deadline);
        if slot.stream.state() == State::Closed {
            self.take_connection_events(id, now);
            if let Some(slot) = self.slots.get_mut(id.index()) {
                slot.queue_event(&mut self.event_queue);
            }
        }
        self.forget_if_over(id);
    }
}

impl UnsentSegment {
    pub(super) fn is_of(&self, id: ConnectionId) -> bool {
        self.id == id
    }
}

impl Slot {
    fn sent(&mut self, segment: &Segment, now: Instant) {
        if segment.payload_len > 0 || segment.control != Control::None {
            self.active_at = now;
        }
        if segment.control == Control::Syn {
            let first = self.stream.statistics().syn_timeouts == 0;
            self.syn_sent = first.then_some(now);
        }
        if segment.payload_len > 0 {
            self.first_sent.get_or_insert(now);
        }
    }

    /// Appends the full-sized segments that follow `first` to the packet in `out`. Returns the
    /// first segment that cannot be appended.
    fn gather(
        &mut self,
        first: Segment,
        now: Instant,
        out: &mut Outgoing,
    ) -> Option<UnsentSegment> {
        let size = NonZeroU16::new(u16::try_from(first.payload_len).ok()?)?;
        let mut all = first;
        let mut unsent_segment = None;
        while all.payload_len + first.payload_len <= MAX_GSO_PAYLOAD && !all.flags.has(Flags::PSH) {
            let Some((next, payload)) = self.stream.poll_transmit_slices(now) else { break };
            self.active_at = now;
            let follows = next.seq == all.seq_end() && next.payload_len == first.payload_len;
            let alike = next.control == Control::None
                && next.ack == all.ack
                && next.window == all.window
                && next.options == all.options
                && next.flags == all.flags.with(Flags::PSH, next.flags.has(Flags::PSH));
            if !(follows && alike) {
                unsent_segment =
                    Some(UnsentSegment { id: self.id, segment: next, payload: payload.concat() });
                break;
            }
            out.append(payload);
            all.payload_len += next.payload_len;
            all.flags = next.flags;
        }
        if all.payload_len > first.payload_len {
            packet::set_segmentation(&self.tuple, &all, size, out);
        }
        unsent_segment
    }
}

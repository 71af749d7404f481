//! Handling of received packets.

use tcp::State;
use units::Instant;
use wire::{Control, Flags, Options, Segment, SeqNum, UnscaledWindow, icmp, ip};

use super::{Slot, Stack};
use crate::event::ConnectionId;
use crate::packet::{self, Arrived, IcmpReport, Ignored, Outgoing};
use crate::tuple::Tuple;

/// Whether the checksum of a received packet is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksums {
    /// The packet came over a wire.
    Verify,
    /// The packet comes from the memory of this machine, where its checksum was not yet computed.
    Offloaded,
}

/// Maximum number of queued replies.
const MAX_QUEUED_REPLIES: usize = 1024;

impl Stack {
    /// Handles a received packet.
    pub fn receive(&mut self, bytes: &[u8], checksums: Checksums, now: Instant) {
        self.counters.received_packets += 1;
        match packet::read(bytes, checksums == Checksums::Verify) {
            Ok(Arrived::Tcp(tuple, ..)) if !self.config.addresses.contains(&tuple.local) => {
                self.counters.unknown += 1;
            }
            Ok(Arrived::Tcp(tuple, segment, payload)) => {
                self.on_segment(tuple, &segment, payload, now)
            }
            Ok(Arrived::Ping(request)) => self.answer_ping(&request, now),
            Ok(Arrived::Report(tuple, seq, report)) => self.on_report(&tuple, seq, report, now),
            Err(Ignored::Damaged) => self.counters.damaged += 1,
            Err(Ignored::Unknown) => self.counters.unknown += 1,
        }
    }

    fn on_segment(&mut self, tuple: Tuple, segment: &Segment, payload: &[u8], now: Instant) {
        let Some(slot) = self.index_of(&tuple).and_then(|index| self.slots.get(index)) else {
            self.on_stray(tuple, segment, payload, now);
            return;
        };
        let id = slot.id;
        if slot.stream.state() == State::TimeWait && slot.stream.may_be_succeeded_by(segment) {
            // RFC 6191 §2, RFC 9293 §3.6.1: a new connection between the same ends replaces the one
            // in TIME-WAIT. Its ISS lies above the old sequence numbers.
            let behind = slot.stream.send_state().max;
            self.end_time_wait(id);
            self.on_syn(tuple, segment, Some(behind), now);
            return;
        }
        let room = self.room_to_receive(slot, segment);
        if payload.len() <= room {
            self.feed(id, segment, payload, now);
            return;
        }
        self.counters.over_budget += 1;
        if room > 0 {
            let (cut, payload) = (cut(segment, room), &payload[..room]);
            self.feed(id, &cut, payload, now);
        }
    }

    /// The number of payload bytes that the connection may accept with this segment. In-order data
    /// may always fill the connection's reserve; otherwise the application would never get data to
    /// read, and no memory would be freed.
    #[inline]
    fn room_to_receive(&self, slot: &Slot, segment: &Segment) -> usize {
        let limits = &self.config.limits;
        let readable = usize::try_from(slot.stream.readable()).unwrap_or(usize::MAX);
        if slot.stream.is_in_order(segment.seq) {
            // Out-of-order data does not count here, because this segment fills the gap before it.
            // If it counted, a connection that holds more of it than its share would keep it
            // forever.
            return limits.share(self.buffered).saturating_sub(readable);
        }
        let held = slot.stream.out_of_order() + readable;
        let share = if self.buffered < limits.shared() {
            limits.share(self.buffered).min(limits.shared() - self.buffered)
        } else {
            0
        };
        share.saturating_sub(held)
    }

    fn index_of(&self, tuple: &Tuple) -> Option<usize> {
        usize::try_from(*self.index_by_tuple.get(tuple)?).ok()
    }

    pub(super) fn find(&self, tuple: &Tuple) -> Option<ConnectionId> {
        self.slots.get(self.index_of(tuple)?).map(|slot| slot.id)
    }

    pub(super) fn feed(
        &mut self,
        id: ConnectionId,
        segment: &Segment,
        payload: &[u8],
        now: Instant,
    ) {
        let limits = self.config.limits;
        let Some(slot) = self.slot(id) else { return };
        let (unacknowledged, readable) = (slot.stream.unacknowledged(), slot.stream.readable());
        slot.stream.on_segment(segment, payload, now);
        // Segments with guessed sequence numbers, from an off-path attacker, do not count as
        // activity.
        slot.active_at = slot.active_at.max(slot.stream.last_received().unwrap_or(now));
        let left = slot.stream.unacknowledged();
        if unacknowledged > 0 && left == 0 {
            slot.last_acknowledged = Some(now);
        }
        let taken = unacknowledged.saturating_sub(left);
        slot.acknowledged_bytes += u64::from(taken);
        let moved = taken + slot.stream.readable().saturating_sub(readable);
        let has_out_of_order = slot.stream.out_of_order() > 0;
        let is_first = has_out_of_order
            && !std::mem::replace(&mut slot.in_out_of_order_queue, has_out_of_order);
        slot.credit_progress(moved, &limits, now);
        if is_first {
            self.queue_out_of_order(id);
        }
        self.update_connection(id, now);
    }

    /// Handles a segment without a connection: a SYN, the last segment of a handshake with a SYN
    /// cookie, or an unexpected segment, which is reset.
    fn on_stray(&mut self, tuple: Tuple, segment: &Segment, payload: &[u8], now: Instant) {
        if segment.control == Control::Rst || !packet::is_one_host(tuple.remote) {
            return;
        }
        if self.ports.contains(&tuple.local_port) {
            if segment.control == Control::Syn && segment.ack.is_none() {
                self.on_syn(tuple, segment, None, now);
                return;
            }
            if segment.control != Control::Syn && self.on_cookie(tuple, segment, payload, now) {
                return;
            }
        }
        self.reset(&tuple, segment, now);
    }

    /// Sends the reset of RFC 9293 §3.10.7.1 for a segment without a connection.
    fn reset(&mut self, tuple: &Tuple, segment: &Segment, now: Instant) {
        let (seq, ack) = match segment.ack {
            Some(ack) => (ack, None),
            None => (SeqNum::new(0), Some(segment.seq_end())),
        };
        let reset = Segment {
            seq,
            ack,
            control: Control::Rst,
            flags: Flags::NONE,
            window: UnscaledWindow::default(),
            payload_len: 0,
            options: Options::default(),
        };
        if self.throttle.allows(&self.secret, now) {
            self.counters.resets_sent += 1;
            self.reply(tuple, &reset);
        } else {
            self.counters.replies_withheld += 1;
        }
    }

    /// Answers an echo request (RFC 1122 §3.2.2.6, RFC 4443 §4.2).
    fn answer_ping(&mut self, request: &ip::View<'_>, now: Instant) {
        if !self.config.addresses.contains(&request.destination()) {
            self.counters.unknown += 1;
            return;
        }
        if !self.throttle.allows(&self.secret, now) {
            self.counters.replies_withheld += 1;
            return;
        }
        let mut reply = Outgoing::default();
        if reply.write_with(|bytes| icmp::answer::echo_reply(request, bytes)).is_ok() {
            self.counters.pings += 1;
            self.enqueue(reply);
        }
    }

    /// Passes an ICMP error to its connection, which checks that the quoted sequence number is in
    /// flight (RFC 5927 §4).
    fn on_report(&mut self, tuple: &Tuple, seq: SeqNum, report: IcmpReport, now: Instant) {
        let Some(slot) = self.find(tuple).and_then(|id| self.slot(id)) else { return };
        let id = slot.id;
        let believed = match report {
            IcmpReport::TooBig(mss) => slot.stream.on_packet_too_big(mss, seq, now),
            IcmpReport::Undelivered(error) => slot.stream.on_icmp_error(error, seq, now),
        };
        if believed {
            self.counters.icmp_believed += 1;
            self.update_connection(id, now);
        }
    }

    /// Queues a segment that belongs to no connection.
    pub(super) fn reply(&mut self, tuple: &Tuple, segment: &Segment) {
        let mut packet = Outgoing::default();
        if packet::write(tuple, segment, [&[], &[]], self.config.offload, &mut packet).is_some() {
            self.enqueue(packet);
        }
    }

    fn enqueue(&mut self, packet: Outgoing) {
        if self.replies.len() < MAX_QUEUED_REPLIES {
            self.replies.push_back(packet);
        } else {
            self.counters.replies_withheld += 1;
        }
    }
}

/// Truncates a segment to its first `payload_len` payload bytes.
fn cut(segment: &Segment, payload_len: usize) -> Segment {
    Segment {
        payload_len: u32::try_from(payload_len).unwrap_or(u32::MAX).min(segment.payload_len),
        // The FIN is beyond the truncated payload.
        control: if segment.control == Control::Fin { Control::None } else { segment.control },
        flags: segment.flags.with(Flags::PSH, false),
        ..*segment
    }
}

//! An arriving packet.

use tcp::State;
use units::Instant;
use wire::{Control, Flags, Options, Segment, SeqNum, UnscaledWindow, icmp, ip};

use super::{Slot, Stack};
use crate::event::ConnectionId;
use crate::packet::{self, Arrived, IcmpReport, Ignored, Outgoing};
use crate::tuple::Tuple;

/// Whether a packet's checksum is to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksums {
    /// It came over a wire.
    Verify,
    /// It came out of this machine's memory, and the checksum has not been computed.
    Offloaded,
}

/// Replies that wait to be sent, at most.
const MAX_QUEUED_REPLIES: usize = 1024;

impl Stack {
    /// Handles an arriving packet.
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
            // RFC 6191 §2, RFC 9293 §3.6.1: a new connection between the same ends, begun behind
            // the old one.
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

    /// How many bytes of payload a connection may take in with this segment. In order it may hold
    /// its reserve in any case, or nothing would ever be read and make room.
    #[inline]
    fn room_to_receive(&self, slot: &Slot, segment: &Segment) -> usize {
        let limits = &self.config.limits;
        let readable = usize::try_from(slot.stream.readable()).unwrap_or(usize::MAX);
        if slot.stream.is_in_order(segment.seq) {
            // Data out of order do not count here: they wait for just this segment, and were there
            // more of them than its share, a connection would hold them for ever.
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
        // Not what a stranger sends who guesses.
        slot.active_at = slot.active_at.max(slot.stream.last_heard().unwrap_or(now));
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

    /// A segment of no connection: a SYN, the end of a handshake that we don't remember, or a
    /// mistake.
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

    /// RFC 9293 §3.10.7.1: what arrives without a connection is reset.
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

    /// RFC 1122 §3.2.2.6, RFC 4443 §4.2.
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

    /// RFC 5927 §4: the connection judges whether it is about something that it sent.
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

    /// Sends a segment that belongs to no connection.
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

/// The first bytes of a segment.
fn cut(segment: &Segment, payload_len: usize) -> Segment {
    Segment {
        payload_len: u32::try_from(payload_len).unwrap_or(u32::MAX).min(segment.payload_len),
        // What stands at its end is cut off.
        control: if segment.control == Control::Fin { Control::None } else { segment.control },
        flags: segment.flags.with(Flags::PSH, false),
        ..*segment
    }
}

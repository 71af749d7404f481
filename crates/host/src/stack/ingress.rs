//! An arriving packet.

use tcp::State;
use units::Instant;
use wire::{Control, Flags, Options, Segment, SeqNum, UnscaledWindow, icmp, ip};

use super::Stack;
use crate::event::ConnectionId;
use crate::packet::{self, Arrived, Ignored, Outgoing, Report};
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
const MOST_REPLIES: usize = 1024;

impl Stack {
    /// Handles an arriving packet.
    pub fn receive(&mut self, bytes: &[u8], checksums: Checksums, now: Instant) {
        self.counters.received_packets += 1;
        match packet::read(bytes, checksums == Checksums::Verify) {
            Ok(Arrived::Tcp(tuple, ..)) if !self.config.addresses.contains(&tuple.local) => {
                self.counters.unknown += 1;
            }
            Ok(Arrived::Tcp(tuple, segment, payload)) => self.on_segment(tuple, &segment, payload, now),
            Ok(Arrived::Ping(request)) => self.answer_ping(&request, now),
            Ok(Arrived::Report(tuple, seq, report)) => self.on_report(&tuple, seq, report, now),
            Err(Ignored::Damaged) => self.counters.damaged += 1,
            Err(Ignored::Unknown) => self.counters.unknown += 1,
        }
    }

    fn on_segment(&mut self, tuple: Tuple, segment: &Segment, payload: &[u8], now: Instant) {
        let Some(slot) = self.place(&tuple).and_then(|index| self.slots.get(index)) else {
            self.on_stray(tuple, segment, payload, now);
            return;
        };
        let id = slot.id;
        if slot.stream.state() == State::TimeWait && slot.stream.may_be_succeeded_by(segment) {
            // RFC 6191 §2, RFC 9293 §3.6.1: a new connection between the same ends, begun behind the old one.
            let behind = slot.stream.send_state().max;
            self.cut_time_wait(id);
            self.on_syn(tuple, segment, Some(behind), now);
            return;
        }
        if !payload.is_empty() && self.buffered >= self.config.limits.buffered_bytes && slot.stream.held() > 0
        {
            // What holds nothing may go on, or nothing would ever be read and make room.
            self.counters.over_budget += 1;
            return;
        }
        self.feed(id, segment, payload, now);
    }

    fn place(&self, tuple: &Tuple) -> Option<usize> {
        usize::try_from(*self.places.get(tuple)?).ok()
    }

    pub(super) fn find(&self, tuple: &Tuple) -> Option<ConnectionId> {
        self.slots.get(self.place(tuple)?).map(|slot| slot.id)
    }

    pub(super) fn feed(&mut self, id: ConnectionId, segment: &Segment, payload: &[u8], now: Instant) {
        let Some(slot) = self.slot(id) else { return };
        slot.active_at = now;
        let before = slot.stream.unacknowledged();
        slot.stream.on_segment(segment, payload, now);
        if before > 0 && slot.stream.unacknowledged() == 0 {
            slot.last_acknowledged = Some(now);
        }
        self.settle(id, now);
    }

    /// A segment of no connection: a SYN, the end of a handshake that we don't remember, or a mistake.
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
    fn on_report(&mut self, tuple: &Tuple, seq: SeqNum, report: Report, now: Instant) {
        let Some(slot) = self.find(tuple).and_then(|id| self.slot(id)) else { return };
        let id = slot.id;
        let believed = match report {
            Report::TooBig(mss) => slot.stream.on_packet_too_big(mss, seq, now),
            Report::Undelivered(error) => slot.stream.on_icmp_error(error, seq, now),
        };
        if believed {
            self.counters.icmp_believed += 1;
            self.settle(id, now);
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
        if self.replies.len() < MOST_REPLIES {
            self.replies.push_back(packet);
        } else {
            self.counters.replies_withheld += 1;
        }
    }
}

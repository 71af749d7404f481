//! Transfers of one direction: data that a sender has without an interruption, such as one response
//! on a connection with several.
//!
//! A transfer begins with data while nothing is outstanding, if the other end has sent data before
//! or if no acknowledgment triggered the packet. The sender then had nothing to send before. The
//! transfer ends when the next one begins.

use units::{Duration, Instant};
use wire::SeqNum;

use crate::packet::Packet;
use crate::sender::{Role, Sender};

/// A transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Number in this direction of the connection, from 0.
    pub number: u64,
    /// Time of its first packet.
    pub started_at: Instant,
    /// Time at which all of its data had been acknowledged; `None` if the capture does not show it.
    pub acknowledged_at: Option<Instant>,
    /// Bytes of payload, without repetitions.
    pub bytes: u64,
    /// Segments with these bytes. A packet that offload has joined counts as several.
    pub segments: u64,
    /// Segments of these that were sent before the first acknowledgment of the transfer's data.
    pub first_segments: u64,
    /// Packets that were sent again, also those that were not necessary.
    pub retransmitted_packets: u64,
    /// Smoothed round-trip time of the sender at the beginning.
    pub srtt: Option<Duration>,
    /// Time between the capture and the sender and back, as known at the beginning.
    pub lag: Duration,
    first: SeqNum,
    end: SeqNum,
    has_answer: bool,
}

/// Transfers of a direction.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    current: Option<Transfer>,
    finished: Vec<Transfer>,
    count: u64,
}

impl Transfers {
    /// Takes a packet with data or a FIN, after the sender has taken it. `is_turn` says that the
    /// other end has sent data since the last data of this direction.
    pub(crate) fn on_data(&mut self, packet: &Packet, role: Role, sender: &Sender, is_turn: bool) {
        if packet.payload_len == 0 {
            return;
        }
        let end = SeqNum::new(packet.seq.value().wrapping_add(packet.payload_len));
        let is_new = role == Role::New && sender.is_alone(packet.payload_len);
        let begins = match &self.current {
            None => role.is_original(),
            Some(_) => is_new && (is_turn || !sender.is_triggered_by_ack()),
        };
        if begins {
            self.finished.extend(self.current.take());
            self.current = Some(Transfer {
                number: self.count,
                started_at: packet.at,
                acknowledged_at: None,
                bytes: 0,
                segments: 0,
                first_segments: 0,
                retransmitted_packets: 0,
                srtt: sender.srtt(),
                lag: sender.lag(),
                first: packet.seq,
                end: packet.seq,
                has_answer: false,
            });
            self.count += 1;
        }
        let Some(current) = &mut self.current else { return };
        match role {
            Role::Retransmission => current.retransmitted_packets += 1,
            Role::New | Role::Reordered => {
                current.bytes += u64::from(packet.payload_len);
                let segments = u64::from(packet.payload_len.div_ceil(sender.mss().max(1)));
                current.segments += segments;
                current.first_segments += if current.has_answer { 0 } else { segments };
            }
            Role::KeepAlive | Role::WindowProbe => return,
        }
        // A retransmission may also carry new data.
        if end.after(current.end) {
            current.end = end;
            current.acknowledged_at = None;
        }
    }

    /// Takes an acknowledgment number that the other end sends.
    pub(crate) fn on_ack(&mut self, ack: SeqNum, at: Instant) {
        let Some(current) = &mut self.current else { return };
        current.has_answer |= ack.after(current.first);
        if current.acknowledged_at.is_none() && !ack.before(current.end) {
            current.acknowledged_at = Some(at);
        }
    }

    /// Whether transfers have ended.
    #[inline]
    pub(crate) fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Transfers that have ended. At the end of the connection these are all.
    pub(crate) fn take(&mut self, at_end: bool) -> Vec<Transfer> {
        if at_end {
            self.finished.extend(self.current.take());
        }
        std::mem::take(&mut self.finished)
    }
}

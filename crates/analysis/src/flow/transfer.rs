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

/// Fewest acknowledgments that measure a rate.
const LEAST_ACKS: u32 = 3;

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
    /// Segments of these that were sent before the first acknowledgment of the transfer's data, or
    /// before the first retransmission.
    pub first_segments: u64,
    /// Packets that were sent again, also those that were not necessary.
    pub retransmitted_packets: u64,
    /// Smoothed round-trip time of the sender at the beginning.
    pub srtt: Option<Duration>,
    /// Time between the capture and the sender and back, as known at the beginning.
    pub lag: Duration,
    /// Minimum round-trip time between the capture and the receiver during the transfer.
    pub min_rtt: Option<Duration>,
    first: SeqNum,
    end: SeqNum,
    flight: Option<Flight>,
    /// Highest rate of the flights before, in bytes per second.
    rate: Option<u64>,
}

/// Acknowledgments of a flight: data that was outstanding when the one before was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flight {
    /// First sequence number after the flight.
    end: SeqNum,
    /// First acknowledgment, and its time.
    from: (SeqNum, Instant),
    /// Last acknowledgment that leaves a part of the flight outstanding, and its time.
    to: (SeqNum, Instant),
    /// Acknowledgments from the first to the last one.
    count: u32,
    /// Whether nothing has been reported as missing or sent again yet.
    is_whole: bool,
}

impl Flight {
    fn new(from: (SeqNum, Instant), end: SeqNum, is_whole: bool) -> Self {
        Self { end, from, to: from, count: 1, is_whole }
    }

    /// Rate in bytes per second at which the receiver acknowledged the flight. The acknowledgment
    /// of its end does not count, because it may be delayed.
    fn rate(&self) -> Option<u64> {
        let bytes = u64::from(self.to.0.value().wrapping_sub(self.from.0.value()));
        let span = self.to.1.since(self.from.1).as_nanos();
        if self.count < LEAST_ACKS { None } else { (bytes * 1_000_000_000).checked_div(span) }
    }
}

impl Transfer {
    /// Rate in bits per second at which the receiver acknowledged the payload of a flight: the
    /// highest of all flights without a loss. It is that of the slowest link, if this link has no
    /// other traffic. `None` without a flight with three acknowledgments at different times.
    pub fn rate_bps(&self) -> Option<u64> {
        let last = self.flight.as_ref().and_then(Flight::rate);
        self.rate.max(last).map(|rate| rate.saturating_mul(8))
    }

    /// Begins the next flight with an acknowledgment.
    fn begin_flight(&mut self, from: (SeqNum, Instant), is_whole: bool) {
        let before = self.flight.replace(Flight::new(from, self.end, is_whole));
        self.rate = self.rate.max(before.as_ref().and_then(Flight::rate));
    }
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
                min_rtt: None,
                first: packet.seq,
                end: packet.seq,
                flight: None,
                rate: None,
            });
            self.count += 1;
        }
        let Some(current) = &mut self.current else { return };
        match role {
            Role::Retransmission => {
                current.retransmitted_packets += 1;
                match &mut current.flight {
                    Some(flight) => flight.is_whole = false,
                    None => current.begin_flight((current.first, packet.at), false),
                }
            }
            Role::New | Role::Reordered => {
                current.bytes += u64::from(packet.payload_len);
                let segments = u64::from(packet.payload_len.div_ceil(sender.mss().max(1)));
                current.segments += segments;
                current.first_segments += if current.flight.is_some() { 0 } else { segments };
            }
            Role::Duplicate | Role::SenderCopy | Role::KeepAlive | Role::WindowProbe => return,
        }
        // A retransmission may also carry new data.
        if end.after(current.end) {
            current.end = end;
            current.acknowledged_at = None;
        }
    }

    /// Takes an acknowledgment that the other end sends, with a round-trip time that it completes.
    /// `reports` says that it is a duplicate or has SACK blocks.
    pub(crate) fn on_ack(
        &mut self,
        ack: SeqNum,
        at: Instant,
        rtt: Option<Duration>,
        reports: bool,
    ) {
        let Some(current) = &mut self.current else { return };
        if let Some(rtt) = rtt {
            current.min_rtt = Some(current.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        match &mut current.flight {
            None if ack.after(current.first) || reports => {
                current.begin_flight((ack, at), !reports);
            }
            Some(flight) if !ack.before(flight.end) => current.begin_flight((ack, at), !reports),
            Some(flight) if reports => flight.is_whole = false,
            Some(flight) if flight.is_whole && ack.after(flight.to.0) => {
                flight.to = (ack, at);
                flight.count += 1;
            }
            _ => {}
        }
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

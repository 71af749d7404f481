//! A connection in a capture: both directions with their facts, the handshake, and how it closed.

mod assumptions;
mod facts;
mod outcomes;
mod syn;
mod transfer;
mod vantage;

use units::{Duration, Instant};
use wire::SeqNum;
use wire::tcp::Flags;

pub use self::assumptions::Assumptions;
pub use self::facts::Facts;
pub use self::outcomes::{BlockOf, LossOf};
use self::syn::{Syn, repeated_syn};
pub use self::transfer::Transfer;
use self::transfer::Transfers;
pub use self::vantage::Vantage;
use crate::kind::SenderKind;
use crate::packet::{Endpoint, Packet};
use crate::sender::{Ack, Data, Effect, Episode, Role, Sender, Waits};
use crate::spread::Spread;

/// How a connection ended in the capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closing {
    /// It did not end.
    #[default]
    Open,
    /// Only one end sent a FIN.
    HalfClosed,
    /// Both ends sent a FIN.
    Closed,
    /// An end sent a RST.
    Reset,
}

impl Closing {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Open, Self::HalfClosed, Self::Closed, Self::Reset];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::HalfClosed => "half_closed",
            Self::Closed => "closed",
            Self::Reset => "reset",
        }
    }
}

/// One direction: its facts and its sender.
#[derive(Debug)]
pub struct Half {
    /// Sender of this direction.
    pub endpoint: Endpoint,
    /// Facts about the packets of this direction.
    pub facts: Facts,
    pub(crate) sender: Sender,
    transfers: Transfers,
    /// Vantage point by the handshake.
    vantage: Vantage,
    /// Vantage point that the caller has stated.
    stated_vantage: Option<Vantage>,
    has_stated_kind: bool,
    syn: Option<Syn>,
    fin: bool,
}

impl Half {
    fn new(endpoint: Endpoint, vantage: Option<Vantage>, kind: Option<SenderKind>) -> Self {
        let mut sender = Sender::new();
        if vantage == Some(Vantage::Sender) {
            sender.state_no_lag();
        }
        sender.set_kind(kind.unwrap_or_default());
        Self {
            endpoint,
            facts: Facts::default(),
            sender,
            transfers: Transfers::default(),
            vantage: Vantage::Unknown,
            stated_vantage: vantage,
            has_stated_kind: kind.is_some(),
            syn: None,
            fin: false,
        }
    }

    /// Vantage point of the capture with respect to this direction's sender, by the handshake or by
    /// timestamps.
    pub fn vantage(&self) -> Vantage {
        let rest = self.round_trips();
        if let Some(stated) = self.stated_vantage {
            return stated;
        }
        match self.vantage {
            Vantage::Unknown if self.sender.is_lag_known() && rest.count > 0 => {
                Vantage::of(self.lag(), rest.min)
            }
            vantage => vantage,
        }
    }

    /// Outstanding bytes.
    pub fn flight(&self) -> u64 {
        self.sender.flight()
    }

    /// Sums of the times before new data, by what ended them.
    pub fn waits(&self) -> &Waits {
        self.sender.waits()
    }

    /// Kind of the sender.
    pub fn kind(&self) -> SenderKind {
        self.sender.kind()
    }

    /// Smoothed round-trip time at the end, as the sender estimates it.
    pub fn srtt(&self) -> Option<Duration> {
        self.sender.srtt()
    }

    /// Time between the capture and the sender, in both directions together.
    pub fn lag(&self) -> Duration {
        self.sender.lag()
    }

    /// Round-trip times between the capture and the receiver of this direction's data.
    pub fn round_trips(&self) -> &Spread {
        self.sender.round_trips()
    }

    /// Segment size of the connection in bytes.
    pub fn mss(&self) -> u32 {
        self.sender.mss()
    }
}

/// A connection.
#[derive(Debug)]
pub struct Flow {
    /// Number of the connection, from 0 in the order of the first packets.
    pub number: u64,
    /// Interface of the capture.
    pub interface: u32,
    /// Time of the first packet.
    pub start: Instant,
    /// Time of the last packet.
    pub end: Instant,
    /// Directions: from the end that opened the connection, and from the other.
    pub halves: [Half; 2],
    /// How it ended.
    pub closing: Closing,
    /// Direction of the first RST.
    pub reset_by: Option<usize>,
    /// Direction of the first FIN.
    pub first_fin: Option<usize>,
    /// Round-trip time from the capture to the responder and back: SYN to SYN-ACK.
    pub syn_rtt: Option<Duration>,
    /// Round-trip time from the capture to the originator and back: SYN-ACK to ACK.
    pub ack_rtt: Option<Duration>,
    /// Time at which the connection closed.
    pub closed_at: Option<Instant>,
    /// Role and effect of the last packet.
    pub(crate) last: Taken,
}

/// Role of a packet's data, and effect of its acknowledgment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Taken {
    pub(crate) role: Option<Role>,
    pub(crate) effect: Option<Effect>,
}

impl Flow {
    /// Begins a connection with its first packet, which is not taken yet.
    pub(crate) fn new(number: u64, first: &Packet, assumptions: &Assumptions) -> Self {
        // A SYN-ACK comes from the end that did not open the connection. Without a SYN, the end
        // with the larger port is taken for the one that opened it.
        let reverse = if first.has(Flags::SYN) {
            first.has(Flags::ACK)
        } else {
            first.source.port < first.destination.port
        };
        let (from, to) = if reverse {
            (first.destination, first.source)
        } else {
            (first.source, first.destination)
        };
        Self {
            number,
            interface: first.interface,
            start: first.at,
            end: first.at,
            halves: [(0, from), (1, to)].map(|(direction, end)| {
                Half::new(end, assumptions.vantage_of(direction), assumptions.sender)
            }),
            closing: Closing::Open,
            reset_by: None,
            first_fin: None,
            syn_rtt: None,
            ack_rtt: None,
            closed_at: None,
            last: Taken::default(),
        }
    }

    /// Direction of a packet: 0 from the end that opened the connection.
    pub(crate) fn direction_of(&self, packet: &Packet) -> usize {
        usize::from(packet.source != self.halves[0].endpoint)
    }

    /// Takes a packet. `is_tight` says that memory is short.
    pub(crate) fn take(&mut self, packet: &Packet, is_tight: bool) {
        let direction = self.direction_of(packet);
        self.last = Taken::default();
        self.end = self.end.max(packet.at);
        self.halves[direction].facts.take(packet);
        if packet.has(Flags::SYN) {
            self.take_syn(packet, direction);
        } else if packet.has(Flags::ACK) {
            self.complete_handshake(packet, direction);
        }
        if packet.has(Flags::ACK) {
            self.take_ack(packet, direction, is_tight);
        }
        self.take_data(packet, direction, is_tight);
        self.take_closing(packet, direction);
        if self.closed_at.is_some() {
            self.halves.iter_mut().for_each(|half| half.sender.release());
        }
    }

    fn take_data(&mut self, packet: &Packet, direction: usize, is_tight: bool) {
        let fin = packet.has(Flags::FIN);
        // RFC 9293 §3.10.7.3: the reset's payload is not data.
        if packet.payload_len == 0 && !fin || packet.has(Flags::RST) {
            return;
        }
        let answered_at = self.halves[1 - direction].facts.last_data_at;
        let half = &mut self.halves[direction];
        let syn = packet.has(Flags::SYN);
        let data = Data {
            at: packet.at,
            frame: packet.frame,
            seq: if syn { after(packet.seq) } else { packet.seq },
            len: packet.payload_len.saturating_add(u32::from(fin)),
            payload: packet.payload_len,
            header: packet.header_len,
            tsval: packet.timestamps.map(|timestamps| timestamps.val),
            tsecr: packet.timestamps.map(|timestamps| timestamps.ecr),
            identification: packet.identification,
            push: packet.has(Flags::PSH),
        };
        let role = half.sender.on_data(&data, is_tight);
        let is_turn = answered_at > half.facts.last_data_at;
        half.transfers.on_data(packet, role, &half.sender, is_turn);
        half.facts.note_data(packet, role, half.sender.flight());
        self.last.role = Some(role);
    }

    fn take_ack(&mut self, packet: &Packet, direction: usize, is_tight: bool) {
        let pure = packet.seq_len() == 0 && !packet.has(Flags::RST);
        let window = self.window(packet, direction);
        let ack = Ack {
            at: packet.at,
            number: packet.ack,
            window,
            tsval: packet.timestamps.map(|timestamps| timestamps.val),
            tsecr: packet.timestamps.map(|timestamps| timestamps.ecr),
            sack: packet.sack,
            is_pure: pure,
        };
        let other = &mut self.halves[1 - direction];
        let effect = other.sender.on_ack(&ack, is_tight);
        let rtt = other.sender.take_latest_rtt();
        let reports = effect.duplicate || !packet.sack.is_empty();
        other.transfers.on_ack(packet.ack, packet.at, rtt, reports);
        // The same path seen from the other side: without timestamps, the time in which the far
        // end acknowledges data is the lag of its own data.
        if ack.tsval.is_none()
            && let Some(rtt) = rtt
        {
            self.halves[direction].sender.observe_lag(rtt);
        }
        self.last.effect = Some(effect);
        self.halves[direction].facts.note_ack(packet, &effect, window);
        if effect.advances {
            self.halves[1 - direction].facts.end_initial_window();
        }
    }

    /// Window in bytes. RFC 7323 §2.2: the scale applies if both ends announce one, and not to a
    /// SYN.
    fn window(&self, packet: &Packet, direction: usize) -> u32 {
        let scale = |half: &Half| half.facts.window_scale.unwrap_or(0).min(14);
        let both = self.halves.iter().all(|half| half.facts.window_scale.is_some());
        let shift =
            if both && !packet.has(Flags::SYN) { scale(&self.halves[direction]) } else { 0 };
        u32::from(packet.window) << shift
    }

    fn take_syn(&mut self, packet: &Packet, direction: usize) {
        let answer = self.halves[1 - direction].syn;
        let half = &mut self.halves[direction];
        half.facts.take_syn(packet);
        match &mut half.syn {
            Some(syn) if syn.seq == packet.seq => {
                let episode = repeated_syn(syn, packet, answer.as_ref());
                half.sender.add_episode(episode);
            }
            Some(_) => {}
            None => {
                half.syn = Some(Syn {
                    seq: packet.seq,
                    first_at: packet.at,
                    last_at: packet.at,
                    last_frame: packet.frame,
                    first_tsval: packet.timestamps.map(|timestamps| timestamps.val),
                    last_tsval: packet.timestamps.map(|timestamps| timestamps.val),
                    copies: 1,
                });
                if !half.has_stated_kind {
                    half.sender.set_kind(SenderKind::of_syn(&packet.syn, packet.window));
                }
                if !half.sender.is_started() {
                    half.sender.start(after(packet.seq));
                }
            }
        }
        if packet.has(Flags::ACK) {
            self.note_syn_ack(packet, direction);
        }
        // RFC 2018 §2: both ends permit SACK, or none uses it.
        if !packet.syn.sack_permitted {
            for half in &mut self.halves {
                half.sender.set_without_sack();
            }
        }
        self.agree_on_mss();
    }

    /// SYN to SYN-ACK: the round trip between the capture and the responder.
    fn note_syn_ack(&mut self, packet: &Packet, direction: usize) {
        let Some(syn) = self.halves[1 - direction].syn else { return };
        if self.syn_rtt.is_some() {
            return;
        }
        let Some(rtt) = syn.answered_after(packet) else {
            let rtt = syn.echoed_after(packet);
            self.halves[1 - direction].sender.repeated_handshake(rtt, packet.at);
            return;
        };
        self.syn_rtt = Some(rtt);
        self.halves[direction].sender.set_lag(rtt);
    }

    /// SYN-ACK to ACK: the round trip between the capture and the originator.
    fn complete_handshake(&mut self, packet: &Packet, direction: usize) {
        if direction != 0 || self.ack_rtt.is_some() {
            return;
        }
        let Some(syn) = self.halves[1].syn else { return };
        if packet.ack != after(syn.seq) {
            return;
        }
        let Some(rtt) = syn.answered_after(packet) else {
            if !self.halves[1].sender.is_timed() {
                let rtt = syn.echoed_after(packet);
                self.halves[1].sender.repeated_handshake(rtt, packet.at);
            }
            return;
        };
        self.ack_rtt = Some(rtt);
        self.halves[1].sender.handshake(rtt, packet.at);
        self.halves[0].sender.set_lag(rtt);
        if let Some(other) = self.syn_rtt {
            self.halves[0].sender.handshake(other, packet.at);
            self.halves[0].vantage = Vantage::of(rtt, other);
            self.halves[1].vantage = Vantage::of(other, rtt);
        }
    }

    /// RFC 9293 §3.7.1 and RFC 6691: both options limit the segment size, minus TCP options.
    fn agree_on_mss(&mut self) {
        let announced = self.halves.iter().filter_map(|half| half.facts.mss_option).min();
        let Some(mss) = announced else { return };
        let timestamps = self.halves.iter().all(|half| half.facts.timestamps);
        let options = if timestamps { 12 } else { 0 };
        let sack = self.halves.iter().all(|half| half.facts.sack_permitted);
        for half in &mut self.halves {
            half.sender.set_mss(u32::from(mss).saturating_sub(options), sack);
        }
    }

    fn take_closing(&mut self, packet: &Packet, direction: usize) {
        if packet.has(Flags::FIN) {
            self.halves[direction].fin = true;
            self.first_fin.get_or_insert(direction);
            if self.closing == Closing::Open {
                self.closing = Closing::HalfClosed;
            }
            if self.closing == Closing::HalfClosed && self.halves[1 - direction].fin {
                self.closing = Closing::Closed;
                self.closed_at = Some(packet.at);
            }
        }
        // A RST after both FINs only refuses late packets.
        if packet.has(Flags::RST) && self.reset_by.is_none() {
            self.reset_by = Some(direction);
            self.closed_at.get_or_insert(packet.at);
            if self.closing != Closing::Closed {
                self.closing = Closing::Reset;
            }
        }
    }

    /// Whether a SYN opens a new connection between the same ports.
    pub(crate) fn is_reused_by(&self, packet: &Packet) -> bool {
        if !packet.has(Flags::SYN) || packet.has(Flags::ACK) {
            return false;
        }
        let direction = self.direction_of(packet);
        match self.halves[direction].syn {
            Some(syn) => syn.seq != packet.seq && (direction == 0 || self.closed_at.is_some()),
            None => self.closed_at.is_some() || self.halves[direction].sender.is_started(),
        }
    }

    /// Number of ranges in memory.
    pub(crate) fn ranges(&self) -> usize {
        self.halves.iter().map(|half| half.sender.ranges()).sum()
    }

    /// Whether a direction has rows that will not change.
    #[inline]
    pub(crate) fn has_rows(&mut self) -> bool {
        (0..2).any(|direction| {
            self.has_episodes(direction)
                || self.has_transfers(direction)
                || self.has_outcomes(direction)
        })
    }

    /// Whether a direction has episodes that will not change.
    #[inline]
    pub(crate) fn has_episodes(&self, direction: usize) -> bool {
        self.halves[direction].sender.has_episodes()
    }

    /// Episodes of a direction that will not change.
    pub(crate) fn take_episodes(&mut self, direction: usize, at_end: bool) -> Vec<Episode> {
        self.halves[direction].sender.take_episodes(at_end)
    }

    /// Whether a direction has transfers that have ended.
    #[inline]
    pub(crate) fn has_transfers(&self, direction: usize) -> bool {
        self.halves[direction].transfers.has_finished()
    }

    /// Transfers of a direction that have ended.
    pub(crate) fn take_transfers(&mut self, direction: usize, at_end: bool) -> Vec<Transfer> {
        self.halves[direction].transfers.take(at_end)
    }

    /// Server completion time of the paper (section II-A): from the first to the last segment with
    /// data of the responder.
    pub fn server_completion(&self) -> Option<Duration> {
        let facts = &self.halves[1].facts;
        facts.first_data_at.map(|first| facts.last_data_at.since(first))
    }
}

/// Sequence number after a SYN.
fn after(seq: SeqNum) -> SeqNum {
    SeqNum::new(seq.value().wrapping_add(1))
}

#[cfg(test)]
mod tests;

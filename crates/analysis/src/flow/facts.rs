//! Facts about one direction of a connection, as Tstat and tcptrace list them.

use units::{Duration, Instant};
use wire::Ecn;
use wire::tcp::Flags;

use crate::packet::Packet;
use crate::sender::{Effect, Role};

/// Facts about the packets of one direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Packets.
    pub packets: u64,
    /// Packets with ACK and nothing else: no payload, SYN, FIN or RST.
    pub pure_acks: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Bytes of payload, with those sent again.
    pub payload_bytes: u64,
    /// Bytes of payload that were sent for the first time.
    pub unique_bytes: u64,
    /// Packets whose data had been sent before.
    pub retransmitted_packets: u64,
    /// Bytes of these packets.
    pub retransmitted_bytes: u64,
    /// Packets whose data overtook later data.
    pub reordered_packets: u64,
    /// Copies of the packet before, with its header or one of their own.
    pub duplicate_packets: u64,
    /// Keep-alives.
    pub keep_alives: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Duplicate acknowledgments (RFC 5681 §2).
    pub duplicate_acks: u64,
    /// Packets with SACK blocks.
    pub sack_packets: u64,
    /// Packets that report a duplicate (RFC 2883).
    pub dsack_packets: u64,
    /// Acknowledgments of data that the capture does not have.
    pub acks_of_unseen: u64,
    /// SYN, FIN and RST packets.
    pub syns: u64,
    /// FIN packets.
    pub fins: u64,
    /// RST packets.
    pub resets: u64,
    /// Packets with PSH.
    pub pushes: u64,
    /// Packets with a window of zero, without RST.
    pub zero_windows: u64,
    /// Packets that a router marked (ECN CE).
    pub congestion_marks: u64,
    /// Maximum advertised window in bytes.
    pub window_max_bytes: u32,
    /// Largest payload of a packet in bytes; more than the MSS if the capture has joined segments.
    pub largest_payload: u32,
    /// Smallest payload of a packet with payload in bytes; zero without one.
    pub smallest_payload: u32,
    /// Maximum of outstanding bytes.
    pub flight_max_bytes: u64,
    /// Bytes and packets sent before the first acknowledgment of data.
    pub initial_window_bytes: u64,
    /// Packets of the initial window.
    pub initial_window_packets: u64,
    initial_window_over: bool,
    /// Time of the first packet with payload.
    pub first_data_at: Option<Instant>,
    /// Time of the last packet with payload.
    pub last_data_at: Instant,
    /// Longest time between packets with payload.
    pub idle_max: Duration,
    /// MSS option in bytes.
    pub mss_option: Option<u16>,
    /// Window scale option.
    pub window_scale: Option<u8>,
    /// SACK-permitted option.
    pub sack_permitted: bool,
    /// Timestamps option on the SYN.
    pub timestamps: bool,
    /// Time to live of the first packet.
    pub hops: u8,
    /// Time of the first packet with ACK and the last one.
    pub last_at: Instant,
}

impl Facts {
    /// Counts a packet.
    #[inline]
    pub(crate) fn take(&mut self, packet: &Packet) {
        if self.packets == 0 {
            self.hops = packet.hops;
        }
        self.packets += 1;
        self.last_at = packet.at;
        let has = |flag: Flags| u64::from(packet.has(flag));
        self.syns += has(Flags::SYN);
        self.fins += has(Flags::FIN);
        self.resets += has(Flags::RST);
        self.pushes += has(Flags::PSH);
        self.congestion_marks += u64::from(packet.ecn == Ecn::Ce);
    }

    /// Takes the options of a SYN.
    pub(crate) fn take_syn(&mut self, packet: &Packet) {
        self.mss_option = packet.syn.mss;
        self.window_scale = packet.syn.window_scale;
        self.sack_permitted = packet.syn.sack_permitted;
        self.timestamps = packet.timestamps.is_some();
    }

    /// Counts a packet with data, or a FIN.
    #[inline]
    pub(crate) fn note_data(&mut self, packet: &Packet, role: Role, flight: u64) {
        self.flight_max_bytes = self.flight_max_bytes.max(flight);
        let len = u64::from(packet.payload_len);
        match role {
            Role::Retransmission => {
                self.retransmitted_packets += 1;
                self.retransmitted_bytes += len;
            }
            Role::Reordered => self.reordered_packets += 1,
            Role::Duplicate | Role::SenderCopy => self.duplicate_packets += 1,
            Role::KeepAlive => self.keep_alives += 1,
            Role::WindowProbe => self.window_probes += 1,
            Role::New => {}
        }
        if len == 0 {
            return;
        }
        self.data_packets += 1;
        self.payload_bytes += len;
        self.largest_payload = self.largest_payload.max(packet.payload_len);
        self.smallest_payload = match self.smallest_payload {
            0 => packet.payload_len,
            smallest => smallest.min(packet.payload_len),
        };
        if role.is_original() {
            self.unique_bytes += len;
            if !self.initial_window_over {
                self.initial_window_bytes += len;
                self.initial_window_packets += 1;
            }
        }
        // A keep-alive repeats a byte, or has a byte that is no data (RFC 9293 §3.8.4).
        if matches!(role, Role::KeepAlive | Role::Duplicate | Role::SenderCopy) {
            return;
        }
        match self.first_data_at {
            None => self.first_data_at = Some(packet.at),
            Some(_) => self.idle_max = self.idle_max.max(packet.at.since(self.last_data_at)),
        }
        self.last_data_at = self.last_data_at.max(packet.at);
    }

    /// Counts an acknowledgment with its effect.
    #[inline]
    pub(crate) fn note_ack(&mut self, packet: &Packet, effect: &Effect, window: u32) {
        let reset = packet.has(Flags::RST);
        self.pure_acks += u64::from(packet.seq_len() == 0 && !reset);
        self.zero_windows += u64::from(window == 0 && !reset);
        self.window_max_bytes = self.window_max_bytes.max(window);
        self.sack_packets += u64::from(!packet.sack.is_empty());
        self.dsack_packets += u64::from(effect.dsack);
        self.duplicate_acks += u64::from(effect.duplicate);
        self.acks_of_unseen += u64::from(effect.unseen);
    }

    /// Ends the initial window: data of this direction has been acknowledged.
    pub(crate) fn end_initial_window(&mut self) {
        self.initial_window_over = true;
    }
}

//! Packets of chosen connections, kept while a capture is read.
//!
//! [`Analysis`](crate::Analysis) hands its packets to a [`Watch`]. Memory is bounded: a connection
//! keeps at most a given number of packets, and at most [`MAX_CONNECTIONS`] connections are kept.

use std::collections::VecDeque;

use units::Instant;
use wire::tcp::Flags;
use wire::{SackBlocks, SeqNum};

use crate::packet::{Endpoint, Packet};

/// Maximum number of connections whose packets are kept.
pub const MAX_CONNECTIONS: usize = 16;

/// One end of the chosen connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct End {
    /// Address as in [`Endpoint`]; any address if there is none.
    pub address: Option<u128>,
    /// Port; any port if there is none.
    pub port: Option<u16>,
}

impl End {
    fn is_of(self, endpoint: Endpoint) -> bool {
        self.address.is_none_or(|address| address == endpoint.address)
            && self.port.is_none_or(|port| port == endpoint.port)
    }
}

/// Chosen connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Both ends, in either order.
    pub ends: [End; 2],
    /// Interface of the capture; any interface if there is none.
    pub interface: Option<u32>,
    /// Earliest and latest time, which separate connections between the same ports.
    pub between: [Instant; 2],
    /// Number of the packet around which packets are kept, if there are too many. With zero, the
    /// first packets are kept.
    pub around: u64,
}

impl Choice {
    fn is_of(&self, packet: &Packet) -> bool {
        let [one, other] = self.ends;
        let (source, destination) = (packet.source, packet.destination);
        (one.is_of(source) && other.is_of(destination)
            || one.is_of(destination) && other.is_of(source))
            && self.interface.is_none_or(|interface| interface == packet.interface)
            && self.between[0] <= packet.at
            && packet.at <= self.between[1]
    }
}

/// A packet of a connection, without the fields that all its packets share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptPacket {
    /// Number of the packet in the file.
    pub frame: u64,
    /// Time of the capture.
    pub at: Instant,
    /// Whether the source of the connection's first packet sent it.
    pub is_forward: bool,
    /// Sequence number.
    pub seq: SeqNum,
    /// Acknowledgment number, valid only with ACK.
    pub ack: SeqNum,
    /// Control bits.
    pub flags: Flags,
    /// Window field, not scaled.
    pub window: u16,
    /// Length of the payload on the wire in bytes.
    pub payload_len: u32,
    /// SACK blocks in their order.
    pub sack: SackBlocks,
}

/// A connection whose packets are kept.
#[derive(Debug)]
pub struct Watched {
    /// Number of the connection in the analysis; `None` if it has only one packet.
    pub flow: Option<u64>,
    /// Position of the choice that the connection fulfils.
    choice: usize,
    /// Source of the first packet.
    pub source: Endpoint,
    /// Destination of the first packet.
    pub destination: Endpoint,
    /// Interface of the capture.
    pub interface: u32,
    /// Number of packets that were not kept.
    pub left_out: u64,
    packets: VecDeque<KeptPacket>,
    /// Number of kept packets from the one around which packets are kept.
    from_middle: usize,
}

impl Watched {
    /// Packets in the order of the file.
    pub fn packets(&self) -> impl Iterator<Item = &KeptPacket> {
        self.packets.iter()
    }

    fn is_of(&self, packet: &Packet) -> bool {
        self.interface == packet.interface
            && (self.source == packet.source && self.destination == packet.destination
                || self.source == packet.destination && self.destination == packet.source)
    }

    /// Keeps a packet. A full connection loses its first packet, until half of the packets are
    /// those from the middle on.
    fn keep(&mut self, packet: &Packet, around: u64, limit: usize) {
        if self.packets.len() >= limit {
            self.left_out += 1;
            if self.from_middle >= limit / 2 {
                return;
            }
            self.packets.pop_front();
        }
        self.from_middle += usize::from(packet.frame >= around);
        self.packets.push_back(KeptPacket {
            frame: packet.frame,
            at: packet.at,
            is_forward: packet.source == self.source,
            seq: packet.seq,
            ack: packet.ack,
            flags: packet.flags,
            window: packet.window,
            payload_len: packet.payload_len,
            sack: packet.sack,
        });
    }
}

/// Keeper of the packets of chosen connections.
#[derive(Debug, Default)]
pub struct Watch {
    choices: Vec<Choice>,
    limit: usize,
    watched: Vec<Watched>,
    unwatched: u64,
}

impl Watch {
    /// Keeps up to `limit` packets of each chosen connection.
    pub fn new(choices: Vec<Choice>, limit: usize) -> Self {
        Self { choices, limit, watched: Vec::new(), unwatched: 0 }
    }

    /// Takes a packet, with the number of its connection if it has one.
    #[inline]
    pub(crate) fn take(&mut self, packet: &Packet, flow: Option<u64>) {
        if let Some(choice) = self.choices.iter().position(|choice| choice.is_of(packet)) {
            self.keep(packet, flow, choice);
        }
    }

    fn keep(&mut self, packet: &Packet, flow: Option<u64>, choice: usize) {
        let around = self.choices.get(choice).map_or(0, |choice| choice.around);
        // The first packet of a connection has no number yet.
        let of = |each: &&mut Watched| {
            each.choice == choice
                && each.is_of(packet)
                && (flow.is_none() || each.flow.is_none() || each.flow == flow)
        };
        if let Some(found) = self.watched.iter_mut().rev().find(of) {
            found.flow = found.flow.or(flow);
            return found.keep(packet, around, self.limit);
        }
        if self.watched.len() >= MAX_CONNECTIONS {
            self.unwatched += 1;
            return;
        }
        let mut found = Watched {
            flow,
            choice,
            source: packet.source,
            destination: packet.destination,
            interface: packet.interface,
            left_out: 0,
            packets: VecDeque::new(),
            from_middle: 0,
        };
        found.keep(packet, around, self.limit);
        self.watched.push(found);
    }

    /// Connections with their packets, in the order of their first packets.
    pub fn watched(&self) -> &[Watched] {
        &self.watched
    }

    /// Number of packets of chosen connections beyond [`MAX_CONNECTIONS`].
    pub fn unwatched(&self) -> u64 {
        self.unwatched
    }
}

#[cfg(test)]
mod tests;

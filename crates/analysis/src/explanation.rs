//! Description of one packet and of its effect.

use std::net::SocketAddr;

use units::Instant;
use wire::tcp::Flags;

use crate::flow::Flow;
use crate::packet::{Endpoint, Other, Packet};
use crate::sender::{Effect, Role};

/// A packet that the caller asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Explanation {
    /// A packet that is not analysed.
    Other(Other),
    /// A TCP packet.
    Tcp(Box<ExplainedPacket>),
}

/// A TCP packet with its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedPacket {
    /// Time of the capture.
    pub at: Instant,
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
    /// Number of the connection; `None` if it has no other packet so far.
    pub flow: Option<u64>,
    /// Direction: 0 from the end that opened the connection.
    pub direction: Option<usize>,
    /// Names of the flags that are set, in the order of the header.
    pub flags: Vec<&'static str>,
    /// Sequence number.
    pub seq: u32,
    /// Payload in bytes.
    pub payload: u32,
    /// Acknowledgment number, if the packet has one.
    pub ack: Option<u32>,
    /// Window field, without its scale.
    pub window: u16,
    /// Number of SACK blocks.
    pub sack_blocks: usize,
    /// Role of the data, if the packet has data or a FIN.
    pub role: Option<Role>,
    /// Effect of the acknowledgment, if the packet has one.
    pub effect: Option<Effect>,
    /// Outstanding bytes of the packet's sender after it.
    pub flight: Option<u64>,
}

impl ExplainedPacket {
    /// Describes a packet that its connection has taken.
    pub(crate) fn new(packet: &Packet, flow: Option<&Flow>) -> Self {
        const NAMES: [(Flags, &str); 8] = [
            (Flags::CWR, "CWR"),
            (Flags::ECE, "ECE"),
            (Flags::URG, "URG"),
            (Flags::ACK, "ACK"),
            (Flags::PSH, "PSH"),
            (Flags::RST, "RST"),
            (Flags::SYN, "SYN"),
            (Flags::FIN, "FIN"),
        ];
        let address = |end: &Endpoint| SocketAddr::new(end.ip(), end.port);
        let direction = flow.map(|flow| flow.direction_of(packet));
        let names = NAMES.iter().filter(|(flag, _)| packet.has(*flag));
        Self {
            at: packet.at,
            source: address(&packet.source),
            destination: address(&packet.destination),
            flow: flow.map(|flow| flow.number),
            direction,
            flags: names.map(|&(_, name)| name).collect(),
            seq: packet.seq.value(),
            payload: packet.payload_len,
            ack: packet.has(Flags::ACK).then(|| packet.ack.value()),
            window: packet.window,
            sack_blocks: packet.sack.iter().count(),
            role: flow.and_then(|flow| flow.last.role),
            effect: flow.and_then(|flow| flow.last.effect),
            flight: flow.zip(direction).map(|(flow, direction)| flow.halves[direction].flight()),
        }
    }
}

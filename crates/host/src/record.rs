//! Records of ended connections.

use tcp::SendStatistics;
use units::{Duration, Instant};

use crate::event::EndReason;
use crate::tuple::Tuple;

/// Record of an ended connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The serial number of the connection.
    pub serial: u64,
    /// The index of its sender policy in the configuration.
    pub sender: u16,
    /// The addresses and ports.
    pub tuple: Tuple,
    /// The time at which the first SYN was sent or received.
    pub start: Instant,
    /// The time at which the connection ended.
    pub end: Instant,
    /// The time from this host's SYN to its acknowledgment. `None` if the SYN was retransmitted or
    /// a SYN cookie.
    pub handshake: Option<Duration>,
    /// Payload bytes sent, without retransmissions and copies.
    pub sent_bytes: u64,
    /// Payload bytes that the application has read.
    pub received_bytes: u64,
    /// The time at which the first data segment was sent.
    pub first_sent: Option<Instant>,
    /// The last time at which all written data was acknowledged.
    pub last_acknowledged: Option<Instant>,
    /// The smoothed round-trip time at the end (RFC 6298 SRTT).
    pub srtt: Option<Duration>,
    /// The retransmission timeout at the end of the handshake.
    pub rto_first: Duration,
    /// The retransmission timeout at the end.
    pub rto_last: Duration,
    /// Counts of transmissions and retransmissions, by cause.
    pub statistics: SendStatistics,
    /// Data segments sent a second time by `dup-tail`, included in `statistics.segments`.
    pub copied_segments: u32,
    /// The reason for the end.
    pub ending: EndReason,
}

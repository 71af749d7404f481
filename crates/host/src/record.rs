//! A row for each connection that has ended.

use tcp::SendStatistics;
use units::{Duration, Instant};

use crate::event::EndReason;
use crate::tuple::Tuple;

/// What there is to say of a connection when it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Its number.
    pub serial: u64,
    /// The place of its sender among those of the stack.
    pub sender: u16,
    /// Between whom.
    pub tuple: Tuple,
    /// When it began: with a SYN sent or received.
    pub start: Instant,
    /// When it ended.
    pub end: Instant,
    /// From our first SYN until it was acknowledged; empty if that was sent twice, or was a
    /// cookie.
    pub handshake: Option<Duration>,
    /// Payload bytes sent, each counted once.
    pub sent_bytes: u64,
    /// Payload bytes read.
    pub received_bytes: u64,
    /// When the first byte of data left.
    pub first_sent: Option<Instant>,
    /// When all data that had been written was last acknowledged.
    pub last_acknowledged: Option<Instant>,
    /// The smoothed round-trip time at the end.
    pub srtt: Option<Duration>,
    /// The retransmission timeout when it was open.
    pub rto_first: Duration,
    /// The retransmission timeout at the end.
    pub rto_last: Duration,
    /// What was sent, and sent again, and why.
    pub statistics: SendStatistics,
    /// Why it ended.
    pub ending: EndReason,
}

//! Events that a stack delivers to the application.

use std::fmt;

use tcp::CloseReason;

/// Identifier of a connection, unique within a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    pub(crate) serial: u64,
    pub(crate) index: u32,
}

impl ConnectionId {
    /// The serial number of the connection, counted from 0 in the order of creation.
    pub fn serial(self) -> u64 {
        self.serial
    }

    /// The slot index of the connection. No two existing connections share it; indexes are small
    /// and reused.
    pub fn index(self) -> usize {
        usize::try_from(self.index).unwrap_or(usize::MAX)
    }
}

/// An event of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The connection.
    pub id: ConnectionId,
    /// The kind of event.
    pub kind: EventKind,
}

/// The kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A peer opened the connection, on this local port.
    Accepted(u16),
    /// The handshake of a connection opened by this host is complete.
    Connected,
    /// Data can be read, or the peer has closed its sending direction.
    Readable,
    /// There is room for data that did not fit into an earlier write.
    Writable,
    /// The connection has ended. This is its last event.
    Closed(EndReason),
}

/// Reasons for the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// Both ends closed and all data was acknowledged.
    Finished,
    /// The peer reset the connection.
    ResetByPeer,
    /// The peer refused the connection with a reset.
    Refused,
    /// The peer acknowledged nothing until the limit of retransmissions or of time was reached.
    TimedOut,
    /// The application aborted the connection.
    Aborted,
    /// The peer answered no keep-alive probe.
    KeepAlive,
    /// The peer acknowledged the FIN and then sent nothing until the FIN-WAIT-2 timeout.
    FinWait2,
    /// An ICMP error reported, before the connection was open, that the peer is unreachable.
    Unreachable,
    /// The idle limit was reached.
    Idle,
    /// The lifetime limit was reached.
    Lifetime,
    /// The connection was slow and was evicted to free a slot or memory.
    Evicted,
}

impl EndReason {
    /// All variants, in the order of their discriminants.
    pub const ALL: [Self; 11] = [
        Self::Finished,
        Self::ResetByPeer,
        Self::Refused,
        Self::TimedOut,
        Self::Aborted,
        Self::KeepAlive,
        Self::FinWait2,
        Self::Unreachable,
        Self::Idle,
        Self::Lifetime,
        Self::Evicted,
    ];
}

impl From<CloseReason> for EndReason {
    fn from(reason: CloseReason) -> Self {
        match reason {
            CloseReason::Finished => Self::Finished,
            CloseReason::ResetByPeer => Self::ResetByPeer,
            CloseReason::Refused => Self::Refused,
            CloseReason::TimedOut => Self::TimedOut,
            CloseReason::Aborted => Self::Aborted,
            CloseReason::KeepAlive => Self::KeepAlive,
            CloseReason::FinWait2 => Self::FinWait2,
            CloseReason::Unreachable => Self::Unreachable,
        }
    }
}

/// Prints the name used in tables, e.g. `reset-by-peer`.
impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Finished => "finished",
            Self::ResetByPeer => "reset-by-peer",
            Self::Refused => "refused",
            Self::TimedOut => "timed-out",
            Self::Aborted => "aborted",
            Self::KeepAlive => "keep-alive",
            Self::FinWait2 => "fin-wait-2",
            Self::Unreachable => "unreachable",
            Self::Idle => "idle",
            Self::Lifetime => "lifetime",
            Self::Evicted => "evicted",
        })
    }
}

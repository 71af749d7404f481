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
    /// The connection ended for this reason of TCP.
    Tcp(CloseReason),
    /// The idle limit was reached.
    Idle,
    /// The lifetime limit was reached.
    Lifetime,
    /// The connection was slow and was evicted to free a slot or memory.
    Evicted,
}

impl EndReason {
    /// Returns true if both ends closed and all data was acknowledged.
    pub fn is_finished(self) -> bool {
        self == Self::Tcp(CloseReason::Finished)
    }
}

/// Prints the name used in tables, e.g. `reset-by-peer`.
impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tcp(CloseReason::Finished) => "finished",
            Self::Tcp(CloseReason::ResetByPeer) => "reset-by-peer",
            Self::Tcp(CloseReason::Refused) => "refused",
            Self::Tcp(CloseReason::TimedOut) => "timed-out",
            Self::Tcp(CloseReason::Aborted) => "aborted",
            Self::Tcp(CloseReason::KeepAlive) => "keep-alive",
            Self::Tcp(CloseReason::FinWait2) => "fin-wait-2",
            Self::Tcp(CloseReason::Unreachable) => "unreachable",
            Self::Idle => "idle",
            Self::Lifetime => "lifetime",
            Self::Evicted => "evicted",
        })
    }
}

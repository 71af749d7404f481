//! What a stack tells its user.

use std::fmt;

use tcp::CloseReason;

/// A connection of a stack. No two connections of one stack have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    pub(crate) serial: u64,
    pub(crate) index: u32,
}

impl ConnectionId {
    /// The number of the connection, counted from 0 in the order of their beginning.
    pub fn serial(self) -> u64 {
        self.serial
    }

    /// A place that no other living connection has: small numbers, used again.
    pub fn index(self) -> usize {
        usize::try_from(self.index).unwrap_or(usize::MAX)
    }
}

/// Something that happened to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// To which.
    pub id: ConnectionId,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A peer has opened it, on this port of ours.
    Accepted(u16),
    /// It was opened here, and the handshake is complete.
    Connected,
    /// There is something to read, or the peer has closed.
    Readable,
    /// There is room again for what did not fit.
    Writable,
    /// It is over. Nothing more can be said of it.
    Closed(EndReason),
}

/// Why a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// Both ends closed and everything was acknowledged.
    Finished,
    /// The peer reset the connection.
    ResetByPeer,
    /// Nothing was listening.
    Refused,
    /// The peer did not answer for too long.
    TimedOut,
    /// The user aborted.
    Aborted,
    /// No keep-alive was answered.
    KeepAlive,
    /// The peer acknowledged our FIN and then was silent for too long.
    FinWait2,
    /// A router or the peer's host reported that it cannot come about.
    Unreachable,
    /// It was idle for too long.
    Idle,
    /// It lasted too long.
    Lifetime,
    /// It was idle, and made room for another.
    Evicted,
}

impl EndReason {
    /// All of them, in the order of their numbers.
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

/// Prints a word as it stands in tables, e.g. `reset-by-peer`.
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

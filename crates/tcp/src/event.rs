//! What a connection tells its driver, and how a user's call can fail.

use thiserror::Error;
use units::Instant;

use crate::state::State;

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// The peer sends no more: every byte before its FIN has been received.
    PeerClosed,
    /// The connection is over.
    Closed(CloseReason),
    /// The sender noticed a loss, or a mark in its place.
    Loss(LossEvent),
}

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// Both ends closed and everything was acknowledged.
    Finished,
    /// The peer reset the connection.
    ResetByPeer,
    /// Nothing was listening.
    Refused,
    /// The peer didn't answer for too long.
    TimedOut,
    /// The user aborted.
    Aborted,
}

/// How a loss is being repaired, or what else reduced the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Repair {
    /// Fast recovery was entered: once a window.
    FastRetransmit,
    /// The retransmission timer expired: each back-off step.
    Timeout,
    /// The timer expired for a SYN.
    SynTimeout,
    /// Nothing was lost: the peer echoed a router's mark (RFC 3168 §6.1.2). Once a window.
    Mark,
}

/// A loss as the sender saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossEvent {
    /// When it was noticed.
    pub at: Instant,
    /// What it led to.
    pub repair: Repair,
    /// The congestion window before it was reduced, in bytes.
    pub cwnd: u32,
    /// Bytes in flight.
    pub flight: u32,
}

/// The part of a segment's payload that the receiver took: what has to be copied, and where to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// Bytes of the payload to leave out at its start.
    pub skip: u32,
    /// Where the rest belongs, counted from the first byte the user hasn't read.
    pub offset: u32,
    /// How many bytes.
    pub len: u32,
}

/// Why a user's call was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CallError {
    /// The connection isn't in a state for it.
    #[error("cannot {call} in state {state}")]
    State {
        /// The call.
        call: &'static str,
        /// The state.
        state: State,
    },
    /// The connection has come to its end.
    #[error("cannot {call}: the connection is over")]
    Over {
        /// The call.
        call: &'static str,
    },
}

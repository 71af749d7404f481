//! Result of a request of the client: its times, its bytes, and how it ended.

use std::fmt;

use units::Instant;

use crate::event::EndReason;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The whole response arrived.
    Complete,
    /// The connection ended before the response did.
    Incomplete,
    /// The response is not HTTP/1.
    Malformed,
    /// The response was not complete within [`FetchConfig::timeout`](super::FetchConfig::timeout).
    TimedOut,
    /// The connection failed.
    Failed(EndReason),
    /// The connection could not be opened.
    NotOpened,
}

/// Prints a word for tables, e.g. `timed-out`.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.pad("complete"),
            Self::Incomplete => f.pad("incomplete"),
            Self::Malformed => f.pad("malformed"),
            Self::TimedOut => f.pad("timed-out"),
            Self::Failed(ending) => ending.fmt(f),
            Self::NotOpened => f.pad("not-opened"),
        }
    }
}

/// The result of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetched {
    /// The number of its connection, from 0.
    pub serial: u64,
    /// The position of the sender policy of our end among those of the stack.
    pub sender: u16,
    /// The time at which the SYN was sent.
    pub start: Instant,
    /// The time at which the handshake was complete.
    pub connected: Option<Instant>,
    /// The time at which the first byte of the response arrived.
    pub first_byte: Option<Instant>,
    /// The time at which the last byte of the response arrived, or the request failed.
    pub end: Instant,
    /// The status code of the response.
    pub status: Option<u16>,
    /// The bytes of the response's body that arrived.
    pub body_bytes: u64,
    /// The outcome of the request.
    pub outcome: Outcome,
}

impl Fetched {
    /// A request that starts at `now` and has received nothing.
    pub(super) fn started(serial: u64, sender: u16, now: Instant) -> Self {
        Self {
            serial,
            sender,
            start: now,
            connected: None,
            first_byte: None,
            end: now,
            status: None,
            body_bytes: 0,
            outcome: Outcome::Incomplete,
        }
    }
}

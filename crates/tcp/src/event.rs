//! Events of a connection, and errors of user calls.

use std::collections::VecDeque;

use thiserror::Error;
use units::Instant;

use crate::state::State;

/// An event of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// The peer closed its direction, and every byte before its FIN has been received.
    PeerClosed,
    /// The connection has ended.
    Closed(CloseReason),
    /// The sender detected a loss or an echoed mark, or sends a segment again as a precaution.
    Loss(LossEvent),
}

/// Reason for the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// Both ends closed, and everything was acknowledged.
    Finished,
    /// The peer reset the connection.
    ResetByPeer,
    /// The peer refused the connection: nothing was listening.
    Refused,
    /// The peer did not answer before a timeout.
    TimedOut,
    /// The application aborted the connection.
    Aborted,
    /// The peer answered no keep-alive.
    KeepAlive,
    /// The peer was silent for too long in FIN-WAIT-2.
    FinWait2,
    /// An ICMP error during the handshake reported that the peer is unreachable.
    Unreachable,
}

/// Response to a loss or to a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Repair {
    /// Fast recovery began: once per window.
    FastRetransmit,
    /// The retransmission timer expired: once per back-off step.
    Timeout,
    /// The retransmission timer of a SYN expired.
    SynTimeout,
    /// A tail loss probe is sent, because acknowledgments are overdue (RFC 8985 §7). Whether a loss
    /// occurred is not known yet.
    LossProbe,
    /// The last segment of a write is sent a second time, as a precaution. Nothing indicates a
    /// loss.
    TailCopy,
    /// Nothing was lost: the peer echoed a mark (RFC 3168 §6.1.2). Once per window.
    Mark,
}

/// A loss as the sender detected it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossEvent {
    /// Time of detection.
    pub at: Instant,
    /// Response of the sender.
    pub repair: Repair,
    /// Congestion window before the reduction, in bytes.
    pub cwnd: u32,
    /// Number of bytes in flight.
    pub flight: u32,
}

/// Part of a segment's payload that the receiver accepted and the caller must copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// Number of payload bytes to skip at the start.
    pub skip: u32,
    /// Position of the accepted bytes, from the first unread byte.
    pub offset: u32,
    /// Number of accepted bytes.
    pub len: u32,
}

/// `Option<Accepted>` in two registers. A function that returns 16 bytes writes them to memory, and
/// a caller that ignores them could no longer omit their computation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedAccepted {
    skip_and_offset: u64,
    /// Zero represents `None`.
    len: u32,
}

impl From<Option<Accepted>> for PackedAccepted {
    #[inline]
    fn from(accepted: Option<Accepted>) -> Self {
        let Accepted { skip, offset, len } =
            accepted.unwrap_or(Accepted { skip: 0, offset: 0, len: 0 });
        Self { skip_and_offset: u64::from(skip) << 32 | u64::from(offset), len }
    }
}

impl PackedAccepted {
    #[inline]
    pub(crate) fn unpacked(self) -> Option<Accepted> {
        let [skip, offset] =
            [self.skip_and_offset >> 32, self.skip_and_offset & u64::from(u32::MAX)]
                .map(|half| u32::try_from(half).unwrap_or(u32::MAX));
        (self.len > 0).then_some(Accepted { skip, offset, len: self.len })
    }
}

/// Error of a user call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CallError {
    /// The state of the connection does not allow the call.
    #[error("cannot {call} in state {state}")]
    State {
        /// Name of the call.
        call: &'static str,
        /// State of the connection.
        state: State,
    },
    /// The connection has ended.
    #[error("cannot {call}: the connection is over")]
    Over {
        /// Name of the call.
        call: &'static str,
    },
}

/// Queue of events. Most of the time it has at most one event, which needs no heap memory.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Oldest event.
    first: Option<Event>,
    #[expect(clippy::box_collection, reason = "for its size: hardly any connection ever has one")]
    later: Option<Box<VecDeque<Event>>>,
}

impl Events {
    pub(crate) fn push(&mut self, event: Event) {
        if self.first.is_none() {
            self.first = Some(event);
        } else {
            self.later.get_or_insert_default().push_back(event);
        }
    }

    pub(crate) fn any(&self) -> bool {
        self.first.is_some()
    }

    #[cold]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let event = self.first.take();
        self.first = self.later.as_mut().and_then(|later| later.pop_front());
        if self.first.is_none() {
            self.later = None;
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_in_order_and_free_their_memory() {
        let mut events = Events::default();
        assert_eq!(events.pop(), None);
        let three = [Event::Connected, Event::PeerClosed, Event::Closed(CloseReason::Finished)];
        for taken_between in [0, 1, 2] {
            for (index, event) in three.into_iter().enumerate() {
                events.push(event);
                assert!(events.later.is_none() || index > 0);
                if index < taken_between {
                    assert_eq!(events.pop(), Some(event));
                }
            }
            for event in &three[taken_between..] {
                assert_eq!(events.pop(), Some(*event));
            }
            assert_eq!(events.pop(), None);
            assert!(events.later.is_none());
        }
    }

    #[test]
    fn an_empty_queue_is_small() {
        assert!(size_of::<Events>() <= size_of::<VecDeque<Event>>());
    }
}

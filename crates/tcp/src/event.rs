//! What a connection tells its driver, and how a user's call can fail.

use std::collections::VecDeque;

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
    /// No keep-alive was answered.
    KeepAlive,
    /// The peer was silent for too long in FIN-WAIT-2.
    FinWait2,
    /// A router or the peer's host reported, before the connection was open, that it can't come
    /// about.
    Unreachable,
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

/// Events that haven't been taken. There is seldom more than one, and that one needs no memory of
/// its own.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The oldest, if there is any.
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
    fn events_are_taken_in_order_and_leave_no_memory_behind() {
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
    fn a_connection_without_events_is_no_larger_for_them() {
        assert!(size_of::<Events>() <= size_of::<VecDeque<Event>>());
    }
}

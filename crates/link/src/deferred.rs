//! Deferred verdicts: decisions on a packet that are made after its arrival at the queue.

use std::collections::VecDeque;

use units::{Duration, Instant};

use crate::atm::Port;
use crate::books::Tally;
use crate::codel::CoDelQueue;
use crate::link::{DropReason, InFlight, Offered};
use crate::statistics::QueueStatistics;

/// A decision on a packet whose [`Outcome`](crate::Outcome) was `Pending`. There is none for a
/// packet that is delivered unmarked.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<'a, P> {
    /// The packet was dropped.
    Dropped(P, DropReason),
    /// The packet will be delivered, and the driver has to mark it.
    Marked(&'a mut P),
}

/// A queue with deferred verdicts, its undecided packets and the verdicts not yet polled.
#[derive(Debug)]
pub(crate) struct Deferred<P> {
    pub(crate) queue: DeferredQueue,
    /// Undecided packets, in order of arrival.
    pub(crate) undecided: VecDeque<InFlight<P>>,
    /// Verdicts that the driver has not polled.
    pub(crate) verdicts: VecDeque<QueuedVerdict<P>>,
}

#[derive(Debug)]
pub(crate) enum DeferredQueue {
    Port(Port),
    CoDel(CoDelQueue),
}

/// A queue's decision on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The time of the decision.
    pub(crate) at: Instant,
    /// The packet's index among the undecided packets, in order of arrival.
    pub(crate) index: usize,
    pub(crate) kind: DecisionKind,
}

/// The decision of a queue on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecisionKind {
    /// The packet's last bit leaves at this time.
    Leaves(Instant),
    /// The packet is marked, and its last bit leaves at this time.
    LeavesMarked(Instant),
    Dropped(DropReason),
}

/// A verdict that the driver has not polled, and the time of the decision.
#[derive(Debug)]
pub(crate) struct QueuedVerdict<P> {
    pub(crate) at: Instant,
    pub(crate) kind: VerdictKind<P>,
}

#[derive(Debug)]
pub(crate) enum VerdictKind<P> {
    Dropped(P, DropReason),
    /// A packet is marked. The number counts the packets that are delivered after it.
    Marked(usize),
}

impl<P> Deferred<P> {
    pub(crate) fn new(queue: DeferredQueue) -> Self {
        Self { queue, undecided: VecDeque::new(), verdicts: VecDeque::new() }
    }

    /// Adjusts the positions of marked packets after an insertion before the last `behind` packets.
    pub(crate) fn shift_marked(&mut self, behind: usize) {
        for verdict in &mut self.verdicts {
            if let VerdictKind::Marked(index) = &mut verdict.kind
                && *index >= behind
            {
                *index += 1;
            }
        }
    }

    /// The time of the next verdict that can be polled, or of the queue's next decision.
    pub(crate) fn next(&self) -> Option<Instant> {
        match self.verdicts.front() {
            Some(verdict) => Some(verdict.at),
            None => self.queue.next_decision(),
        }
    }
}

impl DeferredQueue {
    /// Returns true if there is room for a packet, or for the first cell of a frame.
    pub(crate) fn has_room(&self, bytes: u32) -> bool {
        match self {
            Self::Port(_) => true,
            Self::CoDel(queue) => queue.has_room(bytes),
        }
    }

    /// Adds a packet. With `lost` it will be lost on the line.
    pub(crate) fn offer(&mut self, now: Instant, packet: Offered, lost: bool) {
        match self {
            Self::Port(port) => port.offer(now, packet, lost),
            Self::CoDel(queue) => queue.offer(now, packet, lost),
        }
    }

    fn next_decision(&self) -> Option<Instant> {
        match self {
            Self::Port(port) => port.next_decision(),
            Self::CoDel(queue) => queue.next_decision(),
        }
    }

    /// The next decision made by `now`. Call until `None`.
    pub(crate) fn poll_decision(&mut self, now: Instant) -> Option<Decision> {
        match self {
            Self::Port(port) => port.poll_decision(now),
            Self::CoDel(queue) => queue.poll_decision(now),
        }
    }

    pub(crate) fn depth(&mut self, now: Instant) -> Tally {
        match self {
            Self::Port(port) => port.depth(now),
            Self::CoDel(queue) => queue.depth(),
        }
    }

    pub(crate) fn statistics(&mut self, now: Instant, elapsed: Duration) -> QueueStatistics {
        match self {
            Self::Port(port) => port.statistics(now, elapsed),
            Self::CoDel(queue) => queue.statistics(now, elapsed),
        }
    }

    pub(crate) fn reset_statistics(&mut self, now: Instant) {
        match self {
            Self::Port(port) => port.reset_statistics(now),
            Self::CoDel(queue) => queue.reset_statistics(now),
        }
    }
}

//! What a link doesn't know when a packet is offered: there a packet's fate comes later.

use std::collections::VecDeque;

use units::{Duration, Instant};

use crate::atm::Port;
use crate::books::Tally;
use crate::codel::CoDelQueue;
use crate::link::{DropReason, InFlight, Offered};
use crate::statistics::QueueStatistics;

/// VerdictKind became of a packet whose [`Outcome`](crate::Outcome) was `Pending`, other than that it will
/// be delivered.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<'a, P> {
    /// It was dropped.
    Dropped(P, DropReason),
    /// It will be delivered, and the driver marks it: only it knows how.
    Marked(&'a mut P),
}

/// A queue that decides on packets after it has taken them, and the news of them.
#[derive(Debug)]
pub(crate) struct Deferred<P> {
    pub(crate) queue: DeferredQueue,
    /// The packets whose fate is open, in order of arrival.
    pub(crate) undecided: VecDeque<InFlight<P>>,
    /// What the driver has not been told yet.
    pub(crate) verdicts: VecDeque<QueuedVerdict<P>>,
}

#[derive(Debug)]
pub(crate) enum DeferredQueue {
    Port(Port),
    CoDel(CoDelQueue),
}

/// A packet whose fate is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decision {
    /// Since when it is.
    pub(crate) at: Instant,
    /// How many that came earlier are still open.
    pub(crate) index: usize,
    pub(crate) fate: Fate,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its last bit leaves then.
    Leaves(Instant),
    /// The same, and it is marked.
    LeavesMarked(Instant),
    Dropped(DropReason),
}

/// What the driver is told of, and since when it is so.
#[derive(Debug)]
pub(crate) struct QueuedVerdict<P> {
    pub(crate) at: Instant,
    pub(crate) kind: VerdictKind<P>,
}

#[derive(Debug)]
pub(crate) enum VerdictKind<P> {
    Dropped(P, DropReason),
    /// The packet behind which so many come out.
    Marked(usize),
}

impl<P> Deferred<P> {
    pub(crate) fn new(queue: DeferredQueue) -> Self {
        Self { queue, undecided: VecDeque::new(), verdicts: VecDeque::new() }
    }

    /// A packet is on its way, and so many come out after it.
    pub(crate) fn shift_marked(&mut self, behind: usize) {
        for verdict in &mut self.verdicts {
            if let VerdictKind::Marked(index) = &mut verdict.kind
                && *index >= behind
            {
                *index += 1;
            }
        }
    }

    /// When there is something to be told, or to be decided.
    pub(crate) fn next(&self) -> Option<Instant> {
        match self.verdicts.front() {
            Some(verdict) => Some(verdict.at),
            None => self.queue.next_decision(),
        }
    }
}

impl DeferredQueue {
    /// Whether there is room for a packet, or for the first cell of one.
    pub(crate) fn has_room(&self, bytes: u32) -> bool {
        match self {
            Self::Port(_) => true,
            Self::CoDel(queue) => queue.has_room(bytes),
        }
    }

    /// Takes a packet in, which will perhaps vanish on the line.
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

    /// The next packet whose fate is known by `now`.
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

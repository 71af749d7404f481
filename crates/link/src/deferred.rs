//! Deferred verdicts: decisions on a packet that are made after its arrival at the queue.

use std::collections::VecDeque;

use units::Instant;

use crate::decision::DeferringQueue;
use crate::packet::{DropReason, InFlight};

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
    pub(crate) queue: Box<dyn DeferringQueue>,
    /// Undecided packets, in order of arrival.
    pub(crate) undecided: VecDeque<InFlight<P>>,
    /// Verdicts that the driver has not polled.
    pub(crate) verdicts: VecDeque<QueuedVerdict<P>>,
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
    pub(crate) fn new(queue: Box<dyn DeferringQueue>) -> Self {
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

//! What a link doesn't know when a packet is offered: there a packet's fate comes later.

use std::collections::VecDeque;

use units::{Duration, Instant};

use crate::atm::Port;
use crate::books::Tally;
use crate::codel::CoDelQueue;
use crate::link::{Drop, InFlight, Offered};
use crate::statistics::QueueStatistics;

/// What became of a packet whose [`Outcome`](crate::Outcome) was `Pending`, other than that it will
/// be delivered.
#[derive(Debug, PartialEq, Eq)]
pub enum Late<'a, P> {
    /// It was dropped.
    Dropped(P, Drop),
    /// It will be delivered, and the driver marks it: only it knows how.
    Marked(&'a mut P),
}

/// A queue that decides on packets after it has taken them, and the news of them.
#[derive(Debug)]
pub(crate) struct Later<P> {
    pub(crate) queue: LateQueue,
    /// The packets whose fate is open, in order of arrival.
    pub(crate) contents: VecDeque<InFlight<P>>,
    /// What the driver has not been told yet.
    pub(crate) news: VecDeque<News<P>>,
}

#[derive(Debug)]
pub(crate) enum LateQueue {
    Port(Port),
    CoDel(CoDelQueue),
}

/// A packet whose fate is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settled {
    /// Since when it is.
    pub(crate) at: Instant,
    /// How many that came earlier are still open.
    pub(crate) place: usize,
    pub(crate) fate: Fate,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its last bit leaves then.
    Leaves(Instant),
    /// The same, and it is marked.
    LeavesMarked(Instant),
    Dropped(Drop),
}

/// What the driver is told of, and since when it is so.
#[derive(Debug)]
pub(crate) struct News<P> {
    pub(crate) at: Instant,
    pub(crate) what: What<P>,
}

#[derive(Debug)]
pub(crate) enum What<P> {
    Dropped(P, Drop),
    /// The packet behind which so many come out.
    Marked(usize),
}

impl<P> Later<P> {
    pub(crate) fn new(queue: LateQueue) -> Self {
        Self { queue, contents: VecDeque::new(), news: VecDeque::new() }
    }

    /// A packet is on its way, and so many come out after it.
    pub(crate) fn make_way(&mut self, behind: usize) {
        for news in &mut self.news {
            if let What::Marked(place) = &mut news.what
                && *place >= behind
            {
                *place += 1;
            }
        }
    }

    /// When there is something to be told, or to be decided.
    pub(crate) fn next(&self) -> Option<Instant> {
        match self.news.front() {
            Some(news) => Some(news.at),
            None => self.queue.next_settled(),
        }
    }
}

impl LateQueue {
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

    fn next_settled(&self) -> Option<Instant> {
        match self {
            Self::Port(port) => port.next_settled(),
            Self::CoDel(queue) => queue.next_settled(),
        }
    }

    /// The next packet whose fate is known by `now`.
    pub(crate) fn settle(&mut self, now: Instant) -> Option<Settled> {
        match self {
            Self::Port(port) => port.settle(now),
            Self::CoDel(queue) => queue.settle(now),
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

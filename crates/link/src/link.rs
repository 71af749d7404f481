//! The link itself: a packet goes in with the time, and comes out at its delivery time or not at all.
//!
//! The discipline is first in, first out at a constant rate, so everything about a packet is known when it is
//! accepted: when its last bit leaves and when that bit arrives. A packet costs the driver one event, its delivery.

use std::collections::VecDeque;

use units::{Duration, Instant, Serializer};

use crate::books::{Books, Tally};
use crate::config::{Discipline, LinkConfig, LossPlace};
use crate::loss::Loss;
use crate::queue::Queue;
use crate::red::{RedState, Verdict};
use crate::statistics::QueueStatistics;

/// What a link needs to know of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered {
    /// Its size on the wire.
    pub bytes: u32,
    /// Whether it carries data: an explicit loss mask counts only these.
    pub data: bool,
    /// Whether it may be marked instead of being dropped early (RFC 3168 §5).
    pub ecn_capable: bool,
}

/// What a uniform number decides: the numbers of one packet are independent of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Chance {
    /// Whether the loss model takes it.
    Loss,
    /// Whether the discipline chooses it.
    Early,
}

/// What becomes of a packet, known as soon as it is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It will be delivered.
    Accepted,
    /// It will be delivered, and the driver marks it ([`Link::newest_mut`]): only it knows how.
    Marked,
    /// It will not.
    Dropped(Drop),
}

impl Outcome {
    /// Whether it will be delivered.
    pub const fn is_accepted(self) -> bool {
        matches!(self, Self::Accepted | Self::Marked)
    }
}

/// Why a packet is not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// There was no room for it.
    Buffer,
    /// The discipline chose it although there was room.
    Early,
    /// The loss model took it. With [`LossPlace::Line`] it still takes up the buffer and the line.
    Loss,
}

/// A buffer, a line and a delay, through which packets carrying a `P` go in order.
///
/// # Driving
/// Offer packets as they come; take one with [`deliver`](Self::deliver) when [`next_delivery`](Self::next_delivery)
/// is due. Time never goes backwards: a `now` earlier than one already passed to `offer`, `queue`,
/// `queue_statistics` or `reset_statistics` is taken as that one.
///
/// # Order within an instant
/// A packet is in the queue from its arrival up to, not including, the nanosecond by which its last bit has left.
/// Departure comes first: a packet that leaves at `now` has given up its place to one offered at `now`.
#[derive(Debug)]
pub struct Link<P> {
    /// `None` is infinitely fast.
    line: Option<Serializer>,
    delay: Duration,
    loss: Loss,
    loss_place: LossPlace,
    queue: Queue,
    /// `None` is drop-tail.
    red: Option<Box<RedState>>,
    /// Everything that will be delivered, from acceptance on: packets still in the queue are here as well.
    in_flight: VecDeque<InFlight<P>>,
    now: Instant,
    offered: Tally,
    delivered: Tally,
    dropped_buffer: Tally,
    dropped_early: Tally,
    dropped_loss: Tally,
    marked: Tally,
}

#[derive(Debug)]
struct InFlight<P> {
    delivery: Instant,
    bytes: u32,
    content: P,
}

impl<P> Link<P> {
    /// An idle link at the start of a run.
    pub fn new(config: LinkConfig) -> Self {
        Self {
            line: config.rate.map(Serializer::new),
            delay: config.delay,
            loss: Loss::new(config.loss),
            loss_place: config.loss_place,
            queue: Queue::new(config.buffer, config.counts_in_service),
            red: match config.discipline {
                Discipline::DropTail => None,
                Discipline::Red(red) => Some(Box::new(RedState::new(red, config.rate))),
            },
            in_flight: VecDeque::new(),
            now: Instant::ZERO,
            offered: Tally::default(),
            delivered: Tally::default(),
            dropped_buffer: Tally::default(),
            dropped_early: Tally::default(),
            dropped_loss: Tally::default(),
            marked: Tally::default(),
        }
    }

    /// Offers a packet at `now`. `draw` yields a uniform number for a chance; it is called once for each that the packet is
    /// left to.
    #[expect(clippy::inline_always, reason = "the packet goes from registers to its place in the ring")]
    #[inline(always)]
    pub fn offer(
        &mut self,
        now: Instant,
        packet: Offered,
        content: P,
        draw: impl Fn(Chance) -> u64,
    ) -> Outcome {
        let now = self.advance(now);
        self.offered.count(packet.bytes);
        let room = self.queue.has_room(packet.bytes);
        let (admission, lost) = if self.red.is_some() {
            self.admit_early(now, packet, room, draw)
        } else {
            self.admit(packet, room, draw)
        };
        if !admission.is_accepted() {
            return admission;
        }
        let departure = self.transmit(now, packet.bytes, lost);
        if lost {
            return Outcome::Dropped(Drop::Loss);
        }
        let delivery = departure + self.delay;
        self.in_flight.push_back(InFlight { delivery, bytes: packet.bytes, content });
        admission
    }

    /// The packet that was accepted last and hasn't been taken.
    pub fn newest_mut(&mut self) -> Option<&mut P> {
        self.in_flight.back_mut().map(|newest| &mut newest.content)
    }

    /// The packet at the head, if it is due at `now`: what [`deliver`](Self::deliver) takes next, in its place.
    #[inline]
    pub fn head(&self, now: Instant) -> Option<&P> {
        self.in_flight.front().filter(|head| head.delivery <= now).map(|head| &head.content)
    }

    /// Takes the packet at the head if it is due at `now`. Call until `None`: several may be due.
    #[expect(clippy::inline_always, reason = "who has looked at the packet in its place needs no copy")]
    #[inline(always)]
    pub fn deliver(&mut self, now: Instant) -> Option<P> {
        let head = self.in_flight.pop_front_if(|head| head.delivery <= now)?;
        self.delivered.count(head.bytes);
        Some(head.content)
    }

    /// The packets that at `now` wait or are in transmission; not those that travel.
    pub fn queue(&mut self, now: Instant) -> Tally {
        self.advance(now);
        self.queue.depth()
    }

    /// The queue from the last reset up to `now`. Costs a walk through the queue.
    pub fn queue_statistics(&mut self, now: Instant) -> QueueStatistics {
        let now = self.advance(now);
        self.queue.statistics(now)
    }

    /// Starts the queue statistics and the books anew at `now`, as at the end of a warm-up. What the link holds
    /// opens the new books as offered.
    pub fn reset_statistics(&mut self, now: Instant) {
        let now = self.advance(now);
        self.queue.reset_statistics(now);
        self.offered = self.held();
        self.delivered = Tally::default();
        self.dropped_buffer = Tally::default();
        self.dropped_early = Tally::default();
        self.dropped_loss = Tally::default();
        self.marked = Tally::default();
    }

    /// When the next packet arrives at the far end; `None` when there is none. Taking or offering packets never
    /// makes it earlier.
    pub fn next_delivery(&self) -> Option<Instant> {
        self.in_flight.front().map(|head| head.delivery)
    }

    /// Where every packet went. A packet that vanishes on the line is held until its departure and moves to dropped
    /// when the link is next told of a time past it (by `offer`, `queue` or `queue_statistics`). Costs a walk through
    /// the link.
    pub fn books(&self) -> Books {
        Books {
            offered: self.offered,
            delivered: self.delivered,
            dropped_buffer: self.dropped_buffer,
            dropped_early: self.dropped_early,
            dropped_loss: self.dropped_loss,
            held: self.held(),
            marked: self.marked,
        }
    }

    fn advance(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.queue.retire(self.now, &mut self.dropped_loss);
        self.now
    }

    /// Whether drop-tail lets a packet into the queue, and whether it is lost on the line behind it.
    fn admit(&mut self, packet: Offered, room: bool, draw: impl Fn(Chance) -> u64) -> (Outcome, bool) {
        let lost = if room || self.loss_place == LossPlace::Entry {
            self.loss.takes(packet, || draw(Chance::Loss))
        } else {
            self.loss.pass_over(packet);
            false
        };
        if lost && self.loss_place == LossPlace::Entry {
            self.dropped_loss.count(packet.bytes);
            return (Outcome::Dropped(Drop::Loss), true);
        }
        if !room {
            self.dropped_buffer.count(packet.bytes);
            return (Outcome::Dropped(Drop::Buffer), false);
        }
        (Outcome::Accepted, lost)
    }

    /// The same with RED: what is lost at the entry isn't seen by it, what it drops isn't put to the loss model. Apart, so
    /// that the way of a drop-tail link stays short.
    #[inline(never)]
    fn admit_early(
        &mut self,
        now: Instant,
        packet: Offered,
        room: bool,
        draw: impl Fn(Chance) -> u64,
    ) -> (Outcome, bool) {
        let at_entry = self.loss_place == LossPlace::Entry;
        if at_entry && self.loss.takes(packet, || draw(Chance::Loss)) {
            self.dropped_loss.count(packet.bytes);
            return (Outcome::Dropped(Drop::Loss), true);
        }
        let admission = self.detect_early(now, packet, room, &draw);
        if admission.is_accepted() {
            return (admission, !at_entry && self.loss.takes(packet, || draw(Chance::Loss)));
        }
        if !at_entry {
            self.loss.pass_over(packet);
        }
        (admission, false)
    }

    fn detect_early(
        &mut self,
        now: Instant,
        packet: Offered,
        room: bool,
        draw: impl Fn(Chance) -> u64,
    ) -> Outcome {
        let Some(red) = &mut self.red else { return Outcome::Accepted };
        let (queue, idle_since) = self.queue.counted();
        red.observe(now, queue, idle_since);
        if !room {
            red.overflowed();
            self.dropped_buffer.count(packet.bytes);
            return Outcome::Dropped(Drop::Buffer);
        }
        match red.decide(packet.bytes, || draw(Chance::Early)) {
            Verdict::Pass => Outcome::Accepted,
            // RFC 3168 §7: where every packet is chosen, those that could be marked are dropped as well.
            Verdict::Chosen if packet.ecn_capable => {
                self.marked.count(packet.bytes);
                Outcome::Marked
            }
            Verdict::Chosen | Verdict::Forced => {
                self.dropped_early.count(packet.bytes);
                Outcome::Dropped(Drop::Early)
            }
        }
    }

    /// Puts a packet in the queue, if the line takes any time, and returns when its last bit leaves.
    fn transmit(&mut self, now: Instant, bytes: u32, lost: bool) -> Instant {
        let departure = match &mut self.line {
            Some(line) => line.send(now, bytes),
            None => now,
        };
        if departure > now {
            self.queue.push(now, departure, bytes, lost);
        } else if lost {
            self.dropped_loss.count(bytes);
        }
        departure
    }

    fn held(&self) -> Tally {
        let mut held = self.queue.doomed();
        for packet in &self.in_flight {
            held.count(packet.bytes);
        }
        held
    }
}

#[cfg(test)]
mod tests;

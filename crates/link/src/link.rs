//! The link itself: a packet goes in with the time, and comes out at its delivery time or not at all.
//!
//! The discipline is first in, first out at a constant rate, so everything about a packet is known when it is
//! accepted: when its last bit leaves and when that bit arrives. A packet costs the driver one event, its delivery.

use std::collections::VecDeque;

use units::{Duration, Instant, Serializer};

use crate::books::{Books, Tally};
use crate::config::{LinkConfig, LossPlace};
use crate::loss::Loss;
use crate::queue::Queue;
use crate::statistics::QueueStatistics;

/// What a link needs to know of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered {
    /// Its size on the wire.
    pub bytes: u32,
    /// Whether it carries data: an explicit loss mask counts only these.
    pub data: bool,
}

/// What becomes of a packet, known as soon as it is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It will be delivered.
    Accepted,
    /// It will not.
    Dropped(Drop),
}

/// Why a packet is not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// There was no room for it.
    Buffer,
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
    /// Everything that will be delivered, from acceptance on: packets still in the queue are here as well.
    in_flight: VecDeque<InFlight<P>>,
    now: Instant,
    offered: Tally,
    delivered: Tally,
    dropped_buffer: Tally,
    dropped_loss: Tally,
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
            in_flight: VecDeque::new(),
            now: Instant::ZERO,
            offered: Tally::default(),
            delivered: Tally::default(),
            dropped_buffer: Tally::default(),
            dropped_loss: Tally::default(),
        }
    }

    /// Offers a packet at `now`. `draw` yields a uniform number; it is called once, and only if the packet is put
    /// to a loss model that leaves its fate to chance.
    #[expect(clippy::inline_always, reason = "the packet goes from registers to its place in the ring")]
    #[inline(always)]
    pub fn offer(
        &mut self,
        now: Instant,
        packet: Offered,
        content: P,
        draw: impl FnOnce() -> u64,
    ) -> Outcome {
        let now = self.advance(now);
        self.offered.count(packet.bytes);
        let room = self.queue.has_room(packet.bytes);
        let lost = if room || self.loss_place == LossPlace::Entry {
            self.loss.takes(packet, draw)
        } else {
            self.loss.pass_over(packet);
            false
        };
        if lost && self.loss_place == LossPlace::Entry {
            self.dropped_loss.count(packet.bytes);
            return Outcome::Dropped(Drop::Loss);
        }
        if !room {
            self.dropped_buffer.count(packet.bytes);
            return Outcome::Dropped(Drop::Buffer);
        }
        let departure = self.transmit(now, packet.bytes, lost);
        if lost {
            return Outcome::Dropped(Drop::Loss);
        }
        let delivery = departure + self.delay;
        self.in_flight.push_back(InFlight { delivery, bytes: packet.bytes, content });
        Outcome::Accepted
    }

    /// Takes the packet at the head if it is due at `now`. Call until `None`: several may be due.
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
        self.dropped_loss = Tally::default();
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
            dropped_loss: self.dropped_loss,
            held: self.held(),
        }
    }

    fn advance(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.queue.retire(self.now, &mut self.dropped_loss);
        self.now
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

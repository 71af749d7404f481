//! The link: a packet is offered at a time, and is delivered later or dropped.
//!
//! The line is first in, first out at a constant rate. The departure and the delivery of a packet
//! are therefore known when the link accepts it. A packet costs the driver one event, its delivery.
//!
//! Some links can still drop a packet after they have accepted it: a port drops cells while a frame
//! arrives. Such a link decides when its state is advanced ([`Link::advance_to`]), and the driver
//! then polls the decisions ([`Link::poll_verdict`]).

use std::collections::VecDeque;

use units::{Duration, Instant, Serializer};

use crate::atm::{CellBooks, Framing};
use crate::books::{Books, Dropped, Tally};
use crate::config::{LinkConfig, LossPoint};
use crate::deferred::{Verdict, VerdictKind};
use crate::loss::Loss;
use crate::packet::{Chance, DropReason, InFlight, Offered, Outcome};
use crate::queue::Queue;
use crate::statistics::QueueStatistics;

mod extensions;
mod reading;
mod reconfigure;
pub mod reserved;

use extensions::Extensions;
pub use reading::Reading;
use reserved::EarlyDeliveries;

/// A buffer, a line and a delay, for packets with contents of type `P`.
///
/// Packets are delivered in order, unless the delay changes or some packets are reordered.
///
/// # Driving
/// Offer packets as they arrive. Take one with [`deliver`](Self::deliver) when
/// [`next_delivery`](Self::next_delivery) is due. If `deliver` returns `None` at that time, call
/// [`advance_to`](Self::advance_to) and then [`poll_verdict`](Self::poll_verdict) for the pending
/// packets.
///
/// A driver that can handle a packet before it arrives uses [`reserved`] delivery as well.
///
/// Time never goes backwards. The latest `now` passed to `offer`, `advance_to`, `queue`,
/// `queue_statistics` or `reset_statistics` replaces any earlier one.
///
/// # Order within an instant
/// A packet is in the queue from its arrival up to, not including, the nanosecond by which its last
/// bit has left. Departures precede arrivals: a packet that leaves at `now` has released its buffer
/// space for one offered at `now`.
#[derive(Debug)]
pub struct Link<P> {
    /// The line's serializer; `None` is an infinitely fast line.
    line: Option<Serializer>,
    delay: Duration,
    loss: Loss,
    loss_point: LossPoint,
    queue: Queue,
    /// The state of the optional features; `None` for a drop-tail link without any of them.
    extensions: Option<Box<Extensions<P>>>,
    /// All packets that will be delivered, in order of delivery. Packets still in the queue are
    /// included.
    in_flight: VecDeque<InFlight<P>>,
    delivered_early: EarlyDeliveries,
    now: Instant,
    offered: Tally,
    delivered: Tally,
    dropped: Dropped,
    marked: Tally,
    /// The configuration. Packets in the link do not need it.
    config: Box<LinkConfig>,
}

impl<P> Link<P> {
    /// Makes an idle link at the start of a run.
    pub fn new(config: LinkConfig) -> Self {
        Self {
            extensions: Extensions::new(&config).map(Box::new),
            line: config.rate.map(Serializer::new),
            delay: config.delay,
            loss: Loss::new(config.loss.clone()),
            loss_point: config.loss_point,
            queue: Queue::new(config.buffer, config.counts_in_service),
            in_flight: VecDeque::new(),
            delivered_early: EarlyDeliveries::default(),
            now: Instant::ZERO,
            offered: Tally::default(),
            delivered: Tally::default(),
            dropped: Dropped::default(),
            marked: Tally::default(),
            config: Box::new(config),
        }
    }

    /// Offers a packet at `now`. `draw` returns a uniform number for a random decision. It is
    /// called once for each decision that is needed.
    #[expect(
        clippy::inline_always,
        reason = "the packet goes from registers directly into the ring"
    )]
    #[inline(always)]
    pub fn offer(
        &mut self,
        now: Instant,
        packet: Offered,
        content: P,
        draw: impl Fn(Chance) -> u64,
    ) -> Outcome {
        let (outcome, delivery) = if self.extensions.is_some() {
            let decided = self.decide_extended(now, packet, draw);
            if !decided.0.is_accepted() {
                return decided.0;
            }
            decided
        } else {
            match self.decide(now, packet, draw) {
                Ok(delivery) => (Outcome::Accepted, delivery),
                Err(why) => return Outcome::Dropped(why),
            }
        };
        // Both cases share this push, so that the packet is built directly in the ring.
        self.in_flight.push_back(InFlight { delivery, bytes: packet.bytes, content });
        if outcome != Outcome::Accepted {
            self.defer_or_reorder_newest();
        }
        outcome
    }

    /// The content of the packet that was accepted last and has not been delivered.
    pub fn newest_mut(&mut self) -> Option<&mut P> {
        let path = self.extensions.as_deref().and_then(|extensions| extensions.path.as_ref());
        let behind = path.map_or(0, |path| path.behind_newest);
        let deferred =
            self.extensions.as_deref_mut().and_then(|extensions| extensions.deferred.as_mut());
        match deferred.and_then(|deferred| deferred.undecided.back_mut()) {
            Some(pending) => Some(&mut pending.content),
            None => packet_from_end(&mut self.in_flight, behind),
        }
    }

    /// Advances the link's state to `now`. Call [`poll_verdict`](Self::poll_verdict) afterwards.
    pub fn advance_to(&mut self, now: Instant) {
        self.make_changes(now);
        self.advance_clock(now);
        self.apply_verdicts();
    }

    /// Returns the next deferred verdict on a pending packet. Call until `None`. A packet must not
    /// have been delivered before its mark is polled.
    pub fn poll_verdict(&mut self) -> Option<Verdict<'_, P>> {
        let deferred = self.extensions.as_deref_mut()?.deferred.as_mut()?;
        match deferred.verdicts.pop_front()?.kind {
            VerdictKind::Dropped(content, why) => Some(Verdict::Dropped(content, why)),
            VerdictKind::Marked(behind) => {
                packet_from_end(&mut self.in_flight, behind).map(Verdict::Marked)
            }
        }
    }

    /// The packet at the head of the link, if it is due at `now`: the next result of
    /// [`deliver`](Self::deliver), without removing it.
    #[inline]
    pub fn head(&self, now: Instant) -> Option<&P> {
        self.in_flight.front().filter(|head| head.delivery <= now).map(|head| &head.content)
    }

    /// The packet `index` positions behind the head, among those whose delivery is known.
    #[inline]
    pub fn upcoming_at(&self, index: usize) -> Option<&P> {
        self.in_flight.get(index).map(|packet| &packet.content)
    }

    /// Delivery times and contents of the packets whose delivery is known, in order.
    pub fn upcoming(&self) -> impl Iterator<Item = (Instant, &P)> {
        self.in_flight.iter().map(|packet| (packet.delivery, &packet.content))
    }

    /// Takes the packet at the head if it is due at `now`. Call until `None`: several may be due.
    #[expect(
        clippy::inline_always,
        reason = "a caller that has read the head in place needs no copy"
    )]
    #[inline(always)]
    pub fn deliver(&mut self, now: Instant) -> Option<P> {
        let head = self.in_flight.pop_front_if(|head| head.delivery <= now)?;
        self.delivered.count(head.bytes);
        Some(head.content)
    }

    /// The packets in the queue at `now`, waiting or in transmission. Packets in propagation are
    /// not included.
    pub fn queue(&mut self, now: Instant) -> Tally {
        self.advance_to(now);
        let now = self.now;
        match self.deferred() {
            Some(deferred) => deferred.queue.depth(now),
            None => self.queue.depth(),
        }
    }

    /// The queue's statistics from the last reset up to `now`. The cost is linear in the queue's
    /// length.
    pub fn queue_statistics(&mut self, now: Instant) -> QueueStatistics {
        self.advance_to(now);
        let now = self.now;
        let elapsed = self.queue.elapsed(now);
        match self.deferred() {
            Some(deferred) => deferred.queue.statistics(now, elapsed),
            None => self.queue.statistics(now),
        }
    }

    /// Resets the queue statistics and the books at `now`, as at the end of a warm-up. Packets in
    /// the link count as offered in the new books.
    pub fn reset_statistics(&mut self, now: Instant) {
        self.advance_to(now);
        let now = self.now;
        self.queue.reset_statistics(now);
        if let Some(deferred) = self.deferred() {
            deferred.queue.reset_statistics(now);
        }
        self.offered = self.held();
        self.delivered = Tally::default();
        self.dropped = Dropped::default();
        self.marked = Tally::default();
    }

    /// The time of the next delivery, of the next decision on a pending packet, or of the next
    /// change of the configuration; `None` if the link is empty. At a decision or a change, call
    /// [`advance_to`](Self::advance_to).
    ///
    /// Delivering or offering packets never makes this time earlier, except for an offer whose
    /// outcome is pending or marked.
    #[inline]
    pub fn next_delivery(&self) -> Option<Instant> {
        let delivery = self.in_flight.front().map(|head| head.delivery);
        match &self.extensions {
            None => delivery,
            Some(extensions) => extensions.next(delivery),
        }
    }

    /// Returns true if no packet has a known delivery.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The time between the arrivals of the first and the last cell of a packet of `bytes` at the
    /// far end.
    pub fn lag(&self, bytes: u32) -> Duration {
        let framing =
            self.extensions.as_ref().map_or(Framing::Packet, |extensions| extensions.framing);
        self.line.map_or(Duration::ZERO, |line| framing.lag(line.rate(), bytes))
    }

    /// The books of cells, if the link is a port. They are up to date once the link's state has
    /// been advanced.
    pub fn cell_books(&self) -> Option<CellBooks> {
        self.extensions.as_ref()?.deferred.as_ref()?.queue.cell_books()
    }

    /// The books of packets. The cost is linear in the number of packets in the link.
    ///
    /// A packet lost on the line is held until its departure. It moves to dropped when `offer`,
    /// `queue` or `queue_statistics` advances the link past that time.
    pub fn books(&self) -> Books {
        Books {
            offered: self.offered,
            delivered: self.delivered,
            dropped_buffer: self.dropped.buffer,
            dropped_early: self.dropped.early,
            dropped_loss: self.dropped.loss,
            held: self.held(),
            marked: self.marked,
        }
    }

    fn advance_clock(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.queue.retire(self.now, &mut self.dropped.loss);
        self.delivered_early.retire(self.now, &mut self.delivered);
        self.now
    }

    /// Applies drop-tail and the loss model `loses`. Returns whether an accepted packet is lost on
    /// the line.
    fn admit(
        &mut self,
        packet: Offered,
        room: bool,
        loses: impl FnOnce(&mut Self) -> bool,
    ) -> Result<bool, DropReason> {
        let lost = if room || self.loss_point == LossPoint::Entry {
            loses(self)
        } else {
            self.loss.skip(packet);
            false
        };
        if lost && self.loss_point == LossPoint::Entry {
            self.dropped.loss.count(packet.bytes);
            return Err(DropReason::Loss);
        }
        if !room {
            self.dropped.buffer.count(packet.bytes);
            return Err(DropReason::Buffer);
        }
        Ok(lost)
    }

    /// The delivery time of a packet on a first-in, first-out link.
    ///
    /// # Errors
    /// The reason for which the packet is dropped.
    #[expect(clippy::inline_always, reason = "the path of most packets")]
    #[inline(always)]
    fn decide(
        &mut self,
        now: Instant,
        packet: Offered,
        draw: impl Fn(Chance) -> u64,
    ) -> Result<Instant, DropReason> {
        let now = self.advance_clock(now);
        self.offered.count(packet.bytes);
        let room = self.queue.has_room(packet.bytes);
        let lost =
            self.admit(packet, room, |link| link.loss.loses(packet, || draw(Chance::Loss)))?;
        let departure = self.transmit(now, packet.bytes, packet.bytes, lost);
        if lost { Err(DropReason::Loss) } else { Ok(departure + self.delay) }
    }

    /// Adds a packet to the queue, if its transmission takes any time. Returns the time at which
    /// its last bit leaves.
    #[inline]
    fn transmit(&mut self, now: Instant, bytes: u32, line_bytes: u32, lost: bool) -> Instant {
        let departure = match &mut self.line {
            Some(line) => line.send(now, line_bytes),
            None => now,
        };
        self.enqueue(now, departure, bytes, lost)
    }

    /// Adds a packet that leaves at `departure` to the queue. Returns that time.
    #[inline]
    fn enqueue(&mut self, now: Instant, departure: Instant, bytes: u32, lost: bool) -> Instant {
        if departure > now {
            self.queue.push(now, departure, bytes, lost);
        } else if lost {
            self.dropped.loss.count(bytes);
        }
        departure
    }

    fn held(&self) -> Tally {
        let mut held = self.queue.lost_on_line();
        let deferred = self.extensions.as_ref().and_then(|extensions| extensions.deferred.as_ref());
        for packet in
            deferred.iter().flat_map(|deferred| &deferred.undecided).chain(&self.in_flight)
        {
            held.count(packet.bytes);
        }
        self.delivered_early.sizes().for_each(|bytes| held.count(bytes));
        held
    }
}

/// The packet after which `behind` others are delivered.
fn packet_from_end<P>(in_flight: &mut VecDeque<InFlight<P>>, behind: usize) -> Option<&mut P> {
    let index = in_flight.len().checked_sub(behind + 1)?;
    in_flight.get_mut(index).map(|packet| &mut packet.content)
}

#[cfg(test)]
mod tests;

//! The link itself: a packet goes in with the time, and comes out at its delivery time or not at
//! all.
//!
//! The line is first in, first out at a constant rate, so everything about a packet is known when
//! it is accepted: when its last bit leaves and when that bit arrives. A packet costs the driver
//! one event, its delivery.
//!
//! Where a packet can still be dropped after it was taken (a port drops cells while a frame comes
//! in), the link learns of it when it is next told the time, and tells the driver then
//! ([`Link::poll_verdict`]).

use std::collections::VecDeque;

use units::{Duration, Instant, Serializer};

use crate::atm::{CellBooks, Framing};
use crate::books::{Books, Dropped, Tally};
use crate::config::{LinkConfig, LossPoint};
use crate::deferred::{DeferredQueue, Verdict, VerdictKind};
use crate::loss::Loss;
use crate::queue::Queue;
use crate::statistics::QueueStatistics;

mod extensions;

use extensions::Extensions;

/// What a link needs to know of a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offered {
    /// Its size on the wire.
    pub bytes: u32,
    /// Whether it carries data: an explicit loss mask counts only these.
    pub data: bool,
    /// Whether it may be marked instead of being dropped early (RFC 3168 §5).
    pub ecn_capable: bool,
    /// Whose it is, for what goes by flows: the packets of a flow, in one direction, have a number
    /// of their own.
    pub flow: u64,
    /// The same for all that go from one source to one destination.
    pub path: u64,
    /// To a port: how long after its first cell its last one comes.
    pub lag: Duration,
}

/// What a uniform number decides: the numbers of one packet are independent of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Chance {
    /// Whether the loss model takes it.
    Loss,
    /// Whether the discipline chooses it.
    Early,
    /// Whether it is late.
    Reorder,
}

/// What becomes of a packet, known as soon as it is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It will be delivered.
    Accepted,
    /// It will be delivered, and the driver marks it ([`Link::newest_mut`]): only it knows how.
    Marked,
    /// That will be known later: it is delivered unless the driver is told otherwise
    /// ([`Link::poll_verdict`]). Perhaps before others that were accepted earlier.
    Pending,
    /// It will not.
    Dropped(DropReason),
}

impl Outcome {
    /// Whether it will be delivered, as far as is known.
    pub const fn is_accepted(self) -> bool {
        matches!(self, Self::Accepted | Self::Marked | Self::Pending)
    }
}

/// Why a packet is not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// There was no room for it.
    Buffer,
    /// The discipline chose it although there was room.
    Early,
    /// The loss model took it. With [`LossPoint::Line`] it still takes up the buffer and the line.
    Loss,
}

/// A buffer, a line and a delay, through which packets carrying a `P` go: in order, unless the
/// delay changes or some are late.
///
/// # Driving
/// Offer packets as they come; take one with [`deliver`](Self::deliver) when
/// [`next_delivery`](Self::next_delivery) is due. Time never goes backwards: a `now` earlier than
/// one already passed to `offer`, `attend`, `queue`, `queue_statistics` or `reset_statistics` is
/// taken as that one.
///
/// If nothing can be taken then, the link wanted to be told the time: [`advance_to`](Self::advance_to) to
/// it, and take what it says of packets that were pending.
///
/// # Order within an instant
/// A packet is in the queue from its arrival up to, not including, the nanosecond by which its last
/// bit has left. Departure comes first: a packet that leaves at `now` has given up its place to one
/// offered at `now`.
#[derive(Debug)]
pub struct Link<P> {
    /// `None` is infinitely fast.
    line: Option<Serializer>,
    delay: Duration,
    loss: Loss,
    loss_point: LossPoint,
    queue: Queue,
    /// `None` is drop-tail, and packets on the line.
    extensions: Option<Box<Extensions<P>>>,
    /// Everything that will be delivered, from acceptance on, in order of delivery: packets still
    /// in the queue are here as well.
    in_flight: VecDeque<InFlight<P>>,
    /// When packets that the driver keeps are delivered, and their bytes.
    delivered_early: VecDeque<(Instant, u32)>,
    now: Instant,
    offered: Tally,
    delivered: Tally,
    dropped: Dropped,
    marked: Tally,
}

/// A packet in the link; while it is in a queue that decides later, its delivery is by how much it
/// will be late.
#[derive(Debug)]
pub(crate) struct InFlight<P> {
    delivery: Instant,
    bytes: u32,
    content: P,
}

/// What has been decided on a packet that a link has [accepted](Link::reserve).
#[derive(Debug)]
#[must_use = "the packet is to be carried or to pass"]
pub struct Reservation {
    delivery: Instant,
    bytes: u32,
}

impl Reservation {
    /// When it is delivered.
    #[inline]
    pub fn delivery(&self) -> Instant {
        self.delivery
    }
}

impl<P> Link<P> {
    /// An idle link at the start of a run.
    pub fn new(config: LinkConfig) -> Self {
        Self {
            extensions: Extensions::new(&config).map(Box::new),
            line: config.rate.map(Serializer::new),
            delay: config.delay,
            loss: Loss::new(config.loss),
            loss_point: config.loss_point,
            queue: Queue::new(config.buffer, config.counts_in_service),
            in_flight: VecDeque::new(),
            delivered_early: VecDeque::new(),
            now: Instant::ZERO,
            offered: Tally::default(),
            delivered: Tally::default(),
            dropped: Dropped::default(),
            marked: Tally::default(),
        }
    }

    /// Offers a packet at `now`. `draw` yields a uniform number for a chance; it is called once for
    /// each that the packet is left to.
    #[expect(
        clippy::inline_always,
        reason = "the packet goes from registers to its place in the ring"
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
        // One way in, so that the packet is not put together somewhere else first.
        self.in_flight.push_back(InFlight { delivery, bytes: packet.bytes, content });
        if outcome != Outcome::Accepted {
            self.place_newest();
        }
        outcome
    }

    /// Offers a packet to a [plain](LinkConfig::is_plain) link without handing it over. If it is
    /// accepted, it is to be put on the link ([`carry`](Self::carry)), or to be kept by the
    /// driver ([`pass`](Self::pass)).
    ///
    /// # Errors
    /// Why it will not be delivered.
    #[inline]
    pub fn reserve(&mut self, now: Instant, packet: Offered) -> Result<Reservation, DropReason> {
        // A plain link draws nothing.
        self.decide(now, packet, |_| 0)
            .map(|delivery| Reservation { delivery, bytes: packet.bytes })
    }

    /// Puts a packet that was accepted on the link.
    #[expect(clippy::needless_pass_by_value, reason = "what has been decided is done once")]
    pub fn commit(&mut self, reservation: Reservation, content: P) {
        let Reservation { delivery, bytes } = reservation;
        self.in_flight.push_back(InFlight { delivery, bytes, content });
    }

    /// The driver keeps a packet that was accepted, and sees to its delivery. The link keeps the
    /// books: the packet is held until the link is told of the time of its delivery, or a later
    /// one.
    #[expect(clippy::needless_pass_by_value, reason = "what has been decided is done once")]
    #[inline]
    pub fn commit_delivered(&mut self, reservation: Reservation) {
        self.delivered_early.push_back((reservation.delivery, reservation.bytes));
    }

    /// Whether its line takes time.
    #[inline]
    pub fn has_rate(&self) -> bool {
        self.line.is_some()
    }

    /// Offers a packet at a time that may lie ahead to a [plain](LinkConfig::is_plain) link without
    /// rate and bounds, where nothing depends on what was offered before. The books count it at
    /// once. Returns whether it is now the first to be delivered.
    #[expect(
        clippy::inline_always,
        reason = "the packet goes from registers to its place in the ring"
    )]
    #[inline(always)]
    pub fn offer_ahead(&mut self, at: Instant, bytes: u32, content: P) -> bool {
        let delivery = at + self.delay;
        self.offered.count(bytes);
        let is_last = self.in_flight.back().is_none_or(|last| last.delivery <= delivery);
        self.in_flight.push_back(InFlight { delivery, bytes, content });
        let behind = if is_last { 0 } else { self.put_by_delivery() };
        behind + 1 == self.in_flight.len()
    }

    /// The packet that was accepted last and hasn't been taken.
    pub fn newest_mut(&mut self) -> Option<&mut P> {
        let path = self.extensions.as_deref().and_then(|extensions| extensions.path.as_ref());
        let behind = path.map_or(0, |path| path.behind_newest);
        let deferred =
            self.extensions.as_deref_mut().and_then(|extensions| extensions.deferred.as_mut());
        match deferred.and_then(|deferred| deferred.undecided.back_mut()) {
            Some(pending) => Some(&mut pending.content),
            None => packet_before(&mut self.in_flight, behind),
        }
    }

    /// Tells the link the time. Then take what it says ([`poll_verdict`](Self::poll_verdict)).
    pub fn advance_to(&mut self, now: Instant) {
        self.advance_clock(now);
        self.apply_verdicts();
    }

    /// What became of a packet that was pending: call until `None`. A packet that is to be marked
    /// must not have been taken before.
    pub fn poll_verdict(&mut self) -> Option<Verdict<'_, P>> {
        let deferred = self.extensions.as_deref_mut()?.deferred.as_mut()?;
        match deferred.verdicts.pop_front()?.kind {
            VerdictKind::Dropped(content, why) => Some(Verdict::Dropped(content, why)),
            VerdictKind::Marked(behind) => {
                packet_before(&mut self.in_flight, behind).map(Verdict::Marked)
            }
        }
    }

    /// The packet at the head, if it is due at `now`: what [`deliver`](Self::deliver) takes next,
    /// in its place.
    #[inline]
    pub fn head(&self, now: Instant) -> Option<&P> {
        self.in_flight.front().filter(|head| head.delivery <= now).map(|head| &head.content)
    }

    /// What is delivered so many packets after the head, as far as is known.
    #[inline]
    pub fn upcoming_at(&self, place: usize) -> Option<&P> {
        self.in_flight.get(place).map(|packet| &packet.content)
    }

    /// What is to be delivered and when, in order, as far as is known.
    pub fn upcoming(&self) -> impl Iterator<Item = (Instant, &P)> {
        self.in_flight.iter().map(|packet| (packet.delivery, &packet.content))
    }

    /// Takes the packet at the head if it is due at `now`. Call until `None`: several may be due.
    #[expect(
        clippy::inline_always,
        reason = "who has looked at the packet in its place needs no copy"
    )]
    #[inline(always)]
    pub fn deliver(&mut self, now: Instant) -> Option<P> {
        let head = self.in_flight.pop_front_if(|head| head.delivery <= now)?;
        self.delivered.count(head.bytes);
        Some(head.content)
    }

    /// The packets that at `now` wait or are in transmission; not those that travel.
    pub fn queue(&mut self, now: Instant) -> Tally {
        self.advance_to(now);
        let now = self.now;
        match self.deferred() {
            Some(deferred) => deferred.queue.depth(now),
            None => self.queue.depth(),
        }
    }

    /// The queue from the last reset up to `now`. Costs a walk through the queue.
    pub fn queue_statistics(&mut self, now: Instant) -> QueueStatistics {
        self.advance_to(now);
        let now = self.now;
        let elapsed = self.queue.elapsed(now);
        match self.deferred() {
            Some(deferred) => deferred.queue.statistics(now, elapsed),
            None => self.queue.statistics(now),
        }
    }

    /// Starts the queue statistics and the books anew at `now`, as at the end of a warm-up. What
    /// the link holds opens the new books as offered.
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

    /// Takes what has been delivered since the last reset out of the books: where statistics were
    /// reset for a time that lay ahead, once that time has come.
    pub fn discount_delivered(&mut self) {
        let Tally { packets, bytes } = std::mem::take(&mut self.delivered);
        self.offered.packets -= packets;
        self.offered.bytes -= bytes;
    }

    /// When the next packet arrives at the far end, or the link wants to be [told the
    /// time](Self::advance_to); `None` when there is nothing to come. Taking or offering packets
    /// never makes it earlier, but for an offer that is pending or marked.
    #[inline]
    pub fn next_delivery(&self) -> Option<Instant> {
        let delivery = self.in_flight.front().map(|head| head.delivery);
        match &self.extensions {
            None => delivery,
            Some(extensions) => extensions.next(delivery),
        }
    }

    /// Whether there is nothing to be delivered, as far as is known.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// How long after its first cell the last one of a packet of `bytes` comes out at the far end.
    pub fn lag(&self, bytes: u32) -> Duration {
        let framing =
            self.extensions.as_ref().map_or(Framing::Packet, |extensions| extensions.framing);
        self.line.map_or(Duration::ZERO, |line| framing.lag(line.rate(), bytes))
    }

    /// Where every cell went, if the link is a port. As `books`, once the link has been told the
    /// time.
    pub fn cell_books(&self) -> Option<CellBooks> {
        match &self.extensions.as_ref()?.deferred.as_ref()?.queue {
            DeferredQueue::Port(port) => Some(port.books()),
            DeferredQueue::CoDel(_) => None,
        }
    }

    /// Where every packet went. A packet that vanishes on the line is held until its departure and
    /// moves to dropped when the link is next told of a time past it (by `offer`, `queue` or
    /// `queue_statistics`). Costs a walk through the link.
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
        while let Some((_, bytes)) =
            self.delivered_early.pop_front_if(|(delivery, _)| *delivery <= self.now)
        {
            self.delivered.count(bytes);
        }
        self.now
    }

    /// Whether drop-tail lets a packet into the queue; if so, whether it is lost on the line behind
    /// it.
    fn admit(
        &mut self,
        packet: Offered,
        room: bool,
        draw: impl Fn(Chance) -> u64,
    ) -> Result<bool, DropReason> {
        let lost = if room || self.loss_point == LossPoint::Entry {
            self.loss.takes(packet, || draw(Chance::Loss))
        } else {
            self.loss.pass_over(packet);
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

    /// When a packet is delivered, unless it is dropped.
    #[expect(clippy::inline_always, reason = "the way of most packets")]
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
        let lost = self.admit(packet, room, draw)?;
        let departure = self.transmit(now, packet.bytes, packet.bytes, lost);
        if lost { Err(DropReason::Loss) } else { Ok(departure + self.delay) }
    }

    /// Puts a packet in the queue, if the line takes any time, and returns when its last bit
    /// leaves.
    #[inline]
    fn transmit(&mut self, now: Instant, bytes: u32, line_bytes: u32, lost: bool) -> Instant {
        let departure = match &mut self.line {
            Some(line) => line.send(now, line_bytes),
            None => now,
        };
        if departure > now {
            self.queue.push(now, departure, bytes, lost);
        } else if lost {
            self.dropped.loss.count(bytes);
        }
        departure
    }

    fn held(&self) -> Tally {
        let mut held = self.queue.doomed();
        let deferred = self.extensions.as_ref().and_then(|extensions| extensions.deferred.as_ref());
        for packet in
            deferred.iter().flat_map(|deferred| &deferred.undecided).chain(&self.in_flight)
        {
            held.count(packet.bytes);
        }
        for &(_, bytes) in &self.delivered_early {
            held.count(bytes);
        }
        held
    }
}

/// The packet behind which `behind` come out.
fn packet_before<P>(in_flight: &mut VecDeque<InFlight<P>>, behind: usize) -> Option<&mut P> {
    let place = in_flight.len().checked_sub(behind + 1)?;
    in_flight.get_mut(place).map(|packet| &mut packet.content)
}

#[cfg(test)]
mod tests;

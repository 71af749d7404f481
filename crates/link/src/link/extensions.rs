//! Optional features of a link: disciplines that drop early, queues with deferred verdicts, cells,
//! and delays that change.

use units::Instant;

use super::Link;
use crate::atm::{Framing, Port};
use crate::balanced::BalancedState;
use crate::codel::SingleQueue;
use crate::config::{Discipline, LinkConfig, LossPoint};
use crate::custom::{Admission, CustomDiscipline, CustomLoss, LossFacts, QueueFacts};
use crate::decision::{Decision, DecisionKind, DeferringQueue};
use crate::deferred::{Deferred, QueuedVerdict, VerdictKind};
use crate::fq_codel::FairQueues;
use crate::loss::LossModel;
use crate::packet::{Chance, DropReason, InFlight, Offered, Outcome};
use crate::path::{Extra, Path, Queued};
use crate::red::{EarlyDecision, RedState};
use crate::scheduled::{ScheduledLine, ScheduledQueue};
use crate::token_bucket::BucketState;
use crate::transmitter::Transmitter;

/// The state of a link's optional features.
#[derive(Debug)]
pub(super) struct Extensions<P> {
    pub(super) early: Early,
    /// The loss model, if the driver implements it. Then `loss` of the link is not used.
    pub(super) loss: Option<Box<dyn CustomLoss>>,
    /// The queue with deferred verdicts. If there is one, `queue` of the link is not used.
    pub(super) deferred: Option<Deferred<P>>,
    /// The policer in front of the buffer.
    pub(super) policer: Option<BucketState>,
    /// The line, if it has a shaper or a trace. Then `line` of the link is not used.
    pub(super) transmitter: Option<Transmitter>,
    pub(super) framing: Framing,
    pub(super) cut_through: bool,
    /// The path; `None` if its delay is constant.
    pub(super) path: Option<Path>,
    /// The time of the next change of the configuration.
    pub(super) next_change: Option<Instant>,
}

/// The discipline that drops packets although there is room.
#[derive(Debug)]
pub(super) enum Early {
    Nothing,
    Red(RedState),
    Balanced(BalancedState),
    Custom(Box<dyn CustomDiscipline>),
}

impl<P> Extensions<P> {
    /// The optional features of a link; `None` for a drop-tail link without any of them.
    pub(super) fn new(config: &LinkConfig) -> Option<Self> {
        (!config.is_fifo()).then(|| Self::build(config))
    }

    /// The state of all features, also for a link without any of them.
    pub(super) fn build(config: &LinkConfig) -> Self {
        let early = match &config.discipline {
            // CoDel and FQ-CoDel decide when packets leave.
            Discipline::DropTail | Discipline::CoDel(_) | Discipline::FqCoDel(_) => Early::Nothing,
            Discipline::Red(red) => Early::Red(RedState::new(*red, config.mean_rate())),
            Discipline::Balanced(balanced) => {
                Early::Balanced(BalancedState::new(*balanced, config.buffer.capacity()))
            }
            Discipline::Custom(factory) => Early::Custom(factory.make()),
        };
        let deferred = deferring_queue(config).map(Deferred::new);
        let loss = match &config.loss {
            LossModel::Custom(factory) => Some(factory.make()),
            _ => None,
        };
        let (delay, jitter, reorder) = (config.delay, config.jitter.as_ref(), config.reorder);
        let path = if config.changes.is_empty() {
            Path::new(delay, &config.delay_changes, jitter, reorder)
        } else {
            Some(Path::adjustable(delay, &config.delay_changes, jitter, reorder))
        };
        let next_change = config.changes.first();
        let (framing, cut_through) = (config.framing, config.cut_through);
        let changes_rate = config.rate_trace.is_some() || config.shape.is_some();
        let transmitter = transmitter(config).filter(|_| changes_rate && deferred.is_none());
        let policer = config.police.map(BucketState::new);
        Self {
            early,
            loss,
            deferred,
            policer,
            transmitter,
            framing,
            cut_through,
            path,
            next_change,
        }
    }

    #[inline(never)]
    pub(super) fn next(&self, delivery: Option<Instant>) -> Option<Instant> {
        let next = match (delivery, self.deferred.as_ref().and_then(Deferred::next)) {
            (Some(delivery), Some(deferred)) => Some(delivery.min(deferred)),
            (delivery, deferred) => delivery.or(deferred),
        };
        // Without packets, a change can wait for the next one.
        next.map(|next| self.next_change.map_or(next, |change| change.min(next)))
    }
}

/// The line of a link; `None` if it is infinitely fast.
fn transmitter(config: &LinkConfig) -> Option<Transmitter> {
    Transmitter::new(config.rate, config.rate_trace.as_ref(), config.shape)
}

/// The queue of a link that decides after the arrival of packets.
fn deferring_queue(config: &LinkConfig) -> Option<Box<dyn DeferringQueue>> {
    if let Some(port) = config.port {
        return config.rate.map(|rate| Box::new(Port::new(port, rate)) as Box<_>);
    }
    let line = |transmitter| ScheduledLine {
        transmitter,
        framing: config.framing,
        buffer: config.buffer,
        counts_in_service: config.counts_in_service,
    };
    let line = transmitter(config).map(line)?;
    match config.discipline {
        Discipline::CoDel(codel) => {
            Some(Box::new(ScheduledQueue::new(SingleQueue::new(codel), line)))
        }
        Discipline::FqCoDel(fair) => {
            Some(Box::new(ScheduledQueue::new(FairQueues::new(fair), line)))
        }
        _ => None,
    }
}

/// The path of packets through a link with optional features.
impl<P> Link<P> {
    /// The outcome and the delivery time of a packet on a link with optional features. Out of line,
    /// to keep the common path short.
    #[inline(never)]
    pub(super) fn decide_extended(
        &mut self,
        now: Instant,
        packet: Offered,
        draw: impl Fn(Chance) -> u64,
    ) -> (Outcome, Instant) {
        self.advance_to(now);
        let now = self.now;
        self.offered.count(packet.bytes);
        if !self.conforms(now, packet.bytes) {
            if self.loss_point == LossPoint::Line {
                self.loss.skip(packet);
            }
            return (self.refuse(packet, DropReason::Early), Instant::NEVER);
        }
        if let Some(room) = self.deferred().map(|deferred| deferred.queue.has_room(packet.bytes)) {
            return match self.admit(packet, room, |link| link.loses_extended(now, packet, &draw)) {
                Ok(lost) => {
                    if let Some(deferred) = self.deferred() {
                        deferred.queue.offer(now, packet, lost);
                    }
                    let extra = if lost { Extra::default() } else { self.extra_delay(draw) };
                    (Outcome::Pending, extra.as_instant())
                }
                Err(why) => (Outcome::Dropped(why), Instant::NEVER),
            };
        }
        let room = self.queue.has_room(packet.bytes);
        let (admission, lost) = self.admit_early(now, packet, room, &draw);
        let Some(extensions) = self.extensions.as_deref().filter(|_| admission.is_accepted())
        else {
            return (admission, Instant::NEVER);
        };
        let line_bytes = extensions.framing.line_bytes(packet.bytes);
        let transmitter =
            self.extensions.as_deref_mut().and_then(|extensions| extensions.transmitter.as_mut());
        let departure = match transmitter {
            Some(transmitter) => {
                let departure = transmitter.send(now, now, line_bytes);
                self.enqueue(now, departure, packet.bytes, lost)
            }
            None => self.transmit(now, packet.bytes, line_bytes, lost),
        };
        if lost {
            return (Outcome::Dropped(DropReason::Loss), Instant::NEVER);
        }
        let extra = self.extra_delay(draw);
        let delivery = self.delivery_time(departure, packet.bytes, extra);
        self.record_queued(now, departure, delivery, extra);
        match admission {
            Outcome::Accepted if self.has_path() => (Outcome::Pending, delivery),
            _ => (admission, delivery),
        }
    }

    /// Returns false if a policer drops the packet.
    fn conforms(&mut self, now: Instant, bytes: u32) -> bool {
        let policer =
            self.extensions.as_deref_mut().and_then(|extensions| extensions.policer.as_mut());
        policer.is_none_or(|policer| policer.conforms(now, bytes))
    }

    fn has_path(&self) -> bool {
        self.extensions.as_ref().is_some_and(|extensions| extensions.path.is_some())
    }

    /// The random parts of the packet's delay.
    fn extra_delay(&self, draw: impl Fn(Chance) -> u64) -> Extra {
        let path = self.extensions.as_deref().and_then(|extensions| extensions.path.as_ref());
        path.map_or(Extra::default(), |path| path.draw(draw))
    }

    /// Records the delivery of a packet. A change of the configuration needs it until the packet
    /// has left the line.
    fn record_queued(&mut self, now: Instant, departure: Instant, delivery: Instant, extra: Extra) {
        let path = self.extensions.as_deref_mut().and_then(|extensions| extensions.path.as_mut());
        if let Some(path) = path {
            path.queued.retire(now);
            let (extra, late) = path.separate(extra);
            path.queued.push(Queued { departure, delivery, extra, late });
        }
    }

    /// Moves the newest packet to its position in order of delivery, if the path may reorder
    /// packets. Returns the number of packets that are delivered after it.
    #[inline(never)]
    fn restore_order(&mut self) -> usize {
        if !self.has_path() {
            return 0;
        }
        let behind = self.sort_newest_by_delivery();
        if let Some(path) =
            self.extensions.as_deref_mut().and_then(|extensions| extensions.path.as_mut())
        {
            path.behind_newest = behind;
        }
        behind
    }

    /// Moves the newest packet behind all packets whose delivery is not later. Returns the number
    /// of packets that are delivered after it.
    #[inline(never)]
    pub(super) fn sort_newest_by_delivery(&mut self) -> usize {
        let Some(newest) = self.in_flight.pop_back() else { return 0 };
        let index = self.in_flight.partition_point(|packet| packet.delivery <= newest.delivery);
        let behind = self.in_flight.len() - index;
        self.in_flight.insert(index, newest);
        behind
    }

    /// The time at which the link delivers a packet that leaves the line at `departure`.
    pub(super) fn delivery_time(
        &mut self,
        departure: Instant,
        bytes: u32,
        extra: Extra,
    ) -> Instant {
        let path = self.extensions.as_deref_mut().and_then(|extensions| extensions.path.as_mut());
        let delivery = match path {
            Some(path) => path.delivery(departure, extra),
            None => departure + self.delay,
        };
        if !self.extensions.as_ref().is_some_and(|extensions| extensions.cut_through) {
            return delivery;
        }
        let first =
            Instant::from_nanos(delivery.as_nanos().saturating_sub(self.lag(bytes).as_nanos()));
        // Cells shorter than a nanosecond could be rounded into the packet before.
        self.in_flight.back().map_or(first, |before| first.max(before.delivery))
    }

    /// Applies the decisions of a queue with deferred verdicts up to now.
    pub(super) fn apply_verdicts(&mut self) {
        while let Some((decision, packet)) = self.poll_decision() {
            let InFlight { delivery: extra, bytes, content } = packet;
            let kind = match decision.kind {
                DecisionKind::Leaves(departure) | DecisionKind::LeavesMarked(departure) => {
                    let extra = Extra::from_instant(extra);
                    let delivery = self.delivery_time(departure, bytes, extra);
                    self.in_flight.push_back(InFlight { delivery, bytes, content });
                    let behind = self.restore_order();
                    let Some(deferred) = self.deferred() else { return };
                    deferred.shift_marked(behind);
                    if decision.kind == DecisionKind::Leaves(departure) {
                        continue;
                    }
                    self.marked.count(bytes);
                    VerdictKind::Marked(behind)
                }
                DecisionKind::Dropped(why) => {
                    self.dropped.count(why, bytes);
                    VerdictKind::Dropped(content, why)
                }
            };
            if let Some(deferred) = self.deferred() {
                deferred.verdicts.push_back(QueuedVerdict { at: decision.at, kind });
            }
        }
    }

    fn poll_decision(&mut self) -> Option<(Decision, InFlight<P>)> {
        let now = self.now;
        let deferred = self.deferred()?;
        let decision = deferred.queue.poll_decision(now)?;
        Some((decision, deferred.undecided.remove(decision.index)?))
    }

    pub(super) fn deferred(&mut self) -> Option<&mut Deferred<P>> {
        self.extensions.as_deref_mut().and_then(|extensions| extensions.deferred.as_mut())
    }

    /// Moves the newest packet, which is pending: to the undecided packets, or to its position in
    /// order of delivery.
    #[cold]
    #[inline(never)]
    pub(super) fn defer_or_reorder_newest(&mut self) {
        if self.deferred().is_none() {
            self.restore_order();
            return;
        }
        let newest = self.in_flight.pop_back();
        if let (Some(newest), Some(deferred)) = (newest, self.deferred()) {
            deferred.undecided.push_back(newest);
        }
    }

    /// Applies the discipline and the loss model; returns whether an accepted packet is lost on the
    /// line. The discipline does not see packets lost at the entry, and the loss model does not
    /// decide on packets that the discipline drops.
    fn admit_early(
        &mut self,
        now: Instant,
        packet: Offered,
        room: bool,
        draw: impl Fn(Chance) -> u64,
    ) -> (Outcome, bool) {
        let at_entry = self.loss_point == LossPoint::Entry;
        if at_entry && self.loses_extended(now, packet, &draw) {
            return (self.refuse(packet, DropReason::Loss), true);
        }
        let admission = self.detect_early(now, packet, room, &draw);
        if admission.is_accepted() {
            return (admission, !at_entry && self.loses_extended(now, packet, &draw));
        }
        if !at_entry {
            self.loss.skip(packet);
        }
        (admission, false)
    }

    /// Returns true if the loss model of a link with optional features loses the packet.
    fn loses_extended(
        &mut self,
        now: Instant,
        packet: Offered,
        draw: impl Fn(Chance) -> u64,
    ) -> bool {
        let extensions = self.extensions.as_deref_mut();
        match extensions.and_then(|extensions| extensions.loss.as_deref_mut()) {
            Some(custom) => custom.loses(&LossFacts { now, packet, draw: draw(Chance::Loss) }),
            None => self.loss.loses(packet, || draw(Chance::Loss)),
        }
    }

    /// Applies the discipline to a packet. `room` tells whether the packet fits.
    fn detect_early(
        &mut self,
        now: Instant,
        packet: Offered,
        room: bool,
        draw: impl Fn(Chance) -> u64,
    ) -> Outcome {
        let Some(extensions) = &mut self.extensions else { return Outcome::Accepted };
        let decision = match &mut extensions.early {
            Early::Nothing => EarlyDecision::Pass,
            Early::Balanced(balanced) => {
                let refuses = balanced.refuses(packet.flow, self.queue.taken(), room);
                if refuses { EarlyDecision::Forced } else { EarlyDecision::Pass }
            }
            Early::Red(red) => {
                let (queue, idle_since) = self.queue.counted();
                red.observe(now, queue, idle_since);
                if room {
                    red.decide(packet.bytes, || draw(Chance::Early))
                } else {
                    red.overflowed();
                    EarlyDecision::Pass
                }
            }
            Early::Custom(custom) => {
                let (queue, idle_since) = self.queue.counted();
                let (buffer, draw) = (self.queue.buffer(), draw(Chance::Early));
                let facts = QueueFacts { now, packet, draw, queue, idle_since, buffer, fits: room };
                match custom.decide(&facts) {
                    Admission::Accept => EarlyDecision::Pass,
                    Admission::Mark => EarlyDecision::Chosen,
                    Admission::Drop => EarlyDecision::Forced,
                }
            }
        };
        match decision {
            _ if !room => self.refuse(packet, DropReason::Buffer),
            EarlyDecision::Pass => Outcome::Accepted,
            // RFC 3168 §7: if every packet is chosen, ECN-capable ones are dropped as well.
            EarlyDecision::Chosen if packet.ecn_capable => {
                self.marked.count(packet.bytes);
                Outcome::Marked
            }
            EarlyDecision::Chosen | EarlyDecision::Forced => self.refuse(packet, DropReason::Early),
        }
    }

    fn refuse(&mut self, packet: Offered, why: DropReason) -> Outcome {
        self.dropped.count(why, packet.bytes);
        Outcome::Dropped(why)
    }
}

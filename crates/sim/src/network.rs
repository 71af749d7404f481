//! Links and the packets on them: what has been sent arrives, later, somewhere else, or not at all.

use link::{Chance, DropReason, Link, Offered, Outcome, Reservation, Verdict};
use units::{Duration, Instant};
use wire::{Ecn, Segment};

use crate::flow::End;
use crate::plan::Plan;
use crate::streams::{LinkDraws, Seed};
use crate::tables::{LinkRow, Links, Names};
use crate::tournament::Tournament;

/// A segment on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    pub(crate) segment: Segment,
    /// Its size on the wire.
    pub(crate) bytes: u32,
    /// The flow's place among the flows alive.
    pub(crate) slot: u32,
    /// The flow's name in the links' draws.
    pub(crate) identity: u64,
    /// The packet's number in its flow.
    pub(crate) serial: u32,
    /// The way it takes, and how many links of it lie behind.
    pub(crate) path_id: PathId,
    pub(crate) hop: u16,
    /// The link that it is on, or comes to next, is the last of its way: then it need not be
    /// looked up on arrival.
    pub(crate) at_last: bool,
}

impl Packet {
    /// The end of its flow that it is for.
    #[inline]
    pub(crate) fn end(&self) -> End {
        if self.path_id.back { End::Sender } else { End::Receiver }
    }

    /// RFC 3168 §5: it has experienced congestion.
    fn mark(&mut self) {
        self.segment.flags = self.segment.flags.with_ecn(Ecn::Ce);
    }
}

/// The path of a workload's data, or of its acknowledgments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathId {
    pub(crate) workload: u16,
    pub(crate) back: bool,
}

/// Every link, and which of them delivers next.
///
/// A link delivers in order of time, so its next delivery stands for all of its packets. It gets
/// earlier only with an offer that is pending or marked.
#[derive(Debug)]
pub(crate) struct Network {
    links: Vec<Link<Packet>>,
    draws: Vec<Draws>,
    /// Which links are ports of cells.
    ports: Vec<bool>,
    /// The end of the warm-up, as long as it lies ahead.
    warm_up: Instant,
    /// Which links have passed it already, because they are ahead of the run's time.
    warmed_up: Vec<bool>,
    paths: Vec<[Vec<u32>; 2]>,
    deliveries: Tournament,
}

/// What chance decides at a link, each by a name of its own.
#[derive(Debug, Clone, Copy)]
struct Draws {
    loss: LinkDraws,
    early: LinkDraws,
    reorder: LinkDraws,
}

impl Network {
    pub(crate) fn new(plan: &Plan, seed: Seed) -> Self {
        let indexes = |path: &[usize]| path.iter().map(|&link| index(link)).collect();
        let warm_up = if plan.warm_up == Instant::ZERO { Instant::NEVER } else { plan.warm_up };
        Self {
            links: plan.links.iter().map(|link| Link::new(link.config.clone())).collect(),
            draws: plan
                .links
                .iter()
                .map(|link| Draws {
                    loss: seed.link_draws(&link.loss_stream()),
                    early: seed.link_draws(&link.early_stream()),
                    reorder: seed.link_draws(&link.reorder_stream()),
                })
                .collect(),
            ports: plan.links.iter().map(|link| link.config.port.is_some()).collect(),
            warm_up,
            warmed_up: vec![false; plan.links.len()],
            paths: plan.workloads.iter().map(|w| [indexes(&w.forward), indexes(&w.back)]).collect(),
            deliveries: Tournament::new(plan.links.len()),
        }
    }

    /// The link at this place of a way, and whether it is the last.
    #[inline]
    pub(crate) fn link_of(&self, path_id: PathId, hop: u16) -> (u32, bool) {
        let (path, hop) = (self.path(path_id), usize::from(hop));
        (path[hop], path.len() == hop + 1)
    }

    /// Puts a packet on the link where its way goes on. Returns what will become of it there.
    #[inline(never)]
    pub(crate) fn forward(&mut self, now: Instant, packet: &Packet) -> Outcome {
        let (number, at_last) = self.link_of(packet.path_id, packet.hop);
        let lag = if self.ports[number as usize] { self.lag(packet) } else { Duration::ZERO };
        self.send(now, number, Packet { at_last, ..*packet }, lag)
    }

    /// How long after its first cell the last one of a packet comes, at the end of the link behind
    /// it.
    #[cold]
    fn lag(&self, packet: &Packet) -> Duration {
        let behind = usize::from(packet.hop)
            .checked_sub(1)
            .and_then(|hop| self.path(packet.path_id).get(hop));
        behind.map_or(Duration::ZERO, |&link| self.links[link as usize].lag(packet.bytes))
    }

    /// Puts a packet on this link, which is on its way. Returns what will become of it there. To a
    /// port its first cell comes now, and the last one after `lag`.
    #[expect(
        clippy::inline_always,
        reason = "the packet goes from registers directly into the ring"
    )]
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        now: Instant,
        number: u32,
        packet: Packet,
        lag: Duration,
    ) -> Outcome {
        let link = &mut self.links[number as usize];
        let was_idle = link.is_idle();
        let segment = &packet.segment;
        let offered = Offered {
            bytes: packet.bytes,
            data: segment.payload_len > 0,
            ecn_capable: segment.flags.ecn().is_capable(),
            flow: packet.identity ^ u64::from(packet.path_id.back),
            path: u64::from(packet.path_id.workload) << 1 | u64::from(packet.path_id.back),
            lag,
        };
        let draws = &self.draws[number as usize];
        let (identity, serial) = (packet.identity, u64::from(packet.serial));
        let outcome = link.offer(now, offered, packet, move |chance| {
            let draws = match chance {
                Chance::Loss => draws.loss,
                Chance::Early => draws.early,
                Chance::Reorder => draws.reorder,
            };
            draws.draw(identity, serial)
        });
        if outcome == Outcome::Accepted {
            if was_idle {
                self.schedule(number);
            }
        } else if outcome.is_accepted() {
            self.on_marked_or_pending(number, outcome);
        }
        outcome
    }

    /// Offers so many bytes to this link, which is plain, and the only one of their way.
    #[inline]
    pub(crate) fn reserve(
        &mut self,
        now: Instant,
        number: u32,
        bytes: u32,
    ) -> Result<Reservation, DropReason> {
        self.links[number as usize].reserve(now, Offered { bytes, ..Offered::default() })
    }

    /// The receiver has been told of a packet that was accepted.
    #[inline]
    pub(crate) fn commit_delivered(&mut self, number: u32, reservation: Reservation) {
        self.links[number as usize].commit_delivered(reservation);
    }

    /// The receiver will be told when it arrives.
    #[cold]
    #[inline(never)]
    pub(crate) fn commit(&mut self, number: u32, reservation: Reservation, packet: Packet) {
        self.links[number as usize].commit(reservation, packet);
        self.schedule(number);
    }

    /// As [`send`](Self::send), at a time that may lie ahead, on a link that is plain. With a rate,
    /// packets come in order. The packet is made where it is needed, so that it goes from
    /// registers to its place on the link.
    #[expect(clippy::inline_always, reason = "see above")]
    #[inline(always)]
    pub(crate) fn send_ahead(
        &mut self,
        at: Instant,
        number: u32,
        packet: impl Fn() -> Packet,
    ) -> Outcome {
        let link = &mut self.links[number as usize];
        if link.has_rate() {
            if at > self.warm_up {
                self.end_warm_up_ahead(number);
            }
            return self.send(at, number, packet(), Duration::ZERO);
        }
        if link.offer_ahead(at, packet().bytes, packet()) {
            self.schedule(number);
        }
        Outcome::Accepted
    }

    /// Accepted on this link, but not just so.
    #[cold]
    #[inline(never)]
    fn on_marked_or_pending(&mut self, number: u32, outcome: Outcome) {
        if outcome == Outcome::Marked
            && let Some(newest) = self.links[number as usize].newest_mut()
        {
            newest.mark();
        }
        // What is pending may want to be looked at before anything else arrives.
        self.schedule(number);
    }

    /// Something is to come on this link, perhaps before all that was to come.
    fn schedule(&mut self, number: u32) {
        if let Some(at) = self.links[number as usize].next_delivery() {
            self.deliveries.set(number, at);
        }
    }

    /// When the next packet arrives at the end of a link, [`Instant::NEVER`] if none does.
    #[inline]
    pub(crate) fn next_delivery(&self) -> Instant {
        self.deliveries.first().0
    }

    /// The next packet to arrive at the end of a link, in its place there: it isn't copied only to
    /// be looked at.
    #[inline]
    pub(crate) fn arriving(&self) -> Option<&Packet> {
        let (at, number) = self.deliveries.first();
        self.links.get(number as usize)?.head(at)
    }

    /// The link that it is on.
    #[inline]
    pub(crate) fn arriving_link(&self) -> u32 {
        self.deliveries.first().1
    }

    /// The packet that arrives at the end of this link so many packets after the next.
    #[inline]
    pub(crate) fn upcoming(&self, link: u32, index: usize) -> Option<&Packet> {
        self.links.get(link as usize)?.upcoming_at(index)
    }

    /// Takes that packet off its link.
    #[expect(
        clippy::inline_always,
        reason = "a caller that has read the packet in place needs no copy"
    )]
    #[inline(always)]
    pub(crate) fn deliver(&mut self) -> Option<Packet> {
        let (at, number) = self.deliveries.first();
        let link = self.links.get_mut(number as usize)?;
        let packet = link.deliver(at);
        self.deliveries.set(number, link.next_delivery().unwrap_or(Instant::NEVER));
        packet
    }

    /// What the link that is due, but delivers nothing now, has to say of a packet that was pending
    /// on it. Call until `None`.
    #[cold]
    pub(crate) fn poll_verdict(&mut self, now: Instant) -> Option<(Packet, Outcome)> {
        let (_, number) = self.deliveries.first();
        let link = self.links.get_mut(number as usize)?;
        link.advance_to(now);
        let verdict = match link.poll_verdict() {
            Some(Verdict::Dropped(packet, why)) => Some((packet, Outcome::Dropped(why))),
            Some(Verdict::Marked(packet)) => {
                packet.mark();
                Some((*packet, Outcome::Marked))
            }
            None => None,
        };
        if verdict.is_none() {
            self.deliveries.set(number, link.next_delivery().unwrap_or(Instant::NEVER));
        }
        verdict
    }

    /// Packets and bytes in a link's queue.
    pub(crate) fn queue(&mut self, link: usize, now: Instant) -> link::Tally {
        self.links[link].queue(now)
    }

    /// The warm-up ends now: statistics start anew.
    pub(crate) fn end_warm_up(&mut self, now: Instant) {
        self.warm_up = Instant::NEVER;
        for (link, &warmed_up) in self.links.iter_mut().zip(&self.warmed_up) {
            if warmed_up {
                link.discount_delivered();
            } else {
                link.reset_statistics(now);
            }
        }
    }

    /// The warm-up has ended by the time of a link that is ahead of the run's.
    #[cold]
    #[inline(never)]
    fn end_warm_up_ahead(&mut self, number: u32) {
        if !std::mem::replace(&mut self.warmed_up[number as usize], true) {
            self.links[number as usize].reset_statistics(self.warm_up);
        }
    }

    pub(crate) fn table(&mut self, names: &Names, now: Instant) -> Links {
        let mut table = Links::new(names);
        for (number, link) in self.links.iter_mut().enumerate() {
            // Reading the queue first retires what has left by now from the books.
            let queue = link.queue_statistics(now);
            table.push(LinkRow::new(index(number), &link.books(), link.cell_books(), &queue));
        }
        table
    }

    fn path(&self, path_id: PathId) -> &[u32] {
        &self.paths[usize::from(path_id.workload)][usize::from(path_id.back)]
    }
}

/// The size of a segment's packet: with headers of a fixed size, or with those that its options
/// need.
pub(crate) fn wire_bytes(segment: &Segment, header: Option<u16>) -> u32 {
    let Some(bytes) = header else {
        // Of a copy, for what is looked at by address is kept in memory wherever else it is used.
        let segment = *segment;
        return segment.ipv4_len();
    };
    u32::from(bytes) + segment.payload_len
}

/// A uniform share of `most`, from a uniform draw.
pub(crate) fn share(most: Duration, draw: u64) -> Duration {
    let product = u128::from(most.as_nanos()) * u128::from(draw);
    Duration::from_nanos(u64::try_from(product >> 64).unwrap_or(0))
}

/// Links and workloads are counted in a few thousands at the most.
fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

//! The links and the packets on them.

use link::reserved::ReservedDelivery;
use link::{Chance, Link, Offered, Outcome, Verdict};
use units::{Duration, Instant};

use crate::plan::Plan;
use crate::streams::{LinkDraws, Seed};
use crate::tables::{LinkRow, Links, Names};

mod packet;
mod reserved;
mod tournament;

pub(crate) use packet::{End, Packet, PathId, wire_bytes};

use tournament::Tournament;

/// All links, and the order of their next deliveries.
///
/// A link delivers in order of time, so only its next delivery is scheduled. That time gets earlier
/// only with an offer whose outcome is pending or marked.
#[derive(Debug)]
pub(crate) struct Network {
    links: Vec<Link<Packet>>,
    draws: Vec<Draws>,
    /// Whether each link is a port of cells.
    ports: Vec<bool>,
    paths: Vec<[Vec<u32>; 2]>,
    deliveries: Tournament,
}

/// The random draws of a link, a stream for each kind of decision.
#[derive(Debug, Clone, Copy)]
struct Draws {
    loss: LinkDraws,
    early: LinkDraws,
    reorder: LinkDraws,
    jitter: LinkDraws,
}

impl Network {
    pub(crate) fn new(plan: &Plan, seed: Seed) -> Self {
        let indexes = |path: &[usize]| path.iter().map(|&link| index(link)).collect();
        Self {
            links: plan.links.iter().map(|link| Link::new(link.config.clone())).collect(),
            draws: plan
                .links
                .iter()
                .map(|link| Draws {
                    loss: seed.link_draws(&link.loss_stream()),
                    early: seed.link_draws(&link.early_stream()),
                    reorder: seed.link_draws(&link.reorder_stream()),
                    jitter: seed.link_draws(&link.jitter_stream()),
                })
                .collect(),
            ports: plan.links.iter().map(|link| link.config.port.is_some()).collect(),
            paths: plan.workloads.iter().map(|w| [indexes(&w.forward), indexes(&w.back)]).collect(),
            deliveries: Tournament::new(plan.links.len()),
        }
    }

    /// The link at this hop of a path, and whether it is the last.
    #[inline]
    pub(crate) fn link_of(&self, path_id: PathId, hop: u16) -> (u32, bool) {
        let (path, hop) = (self.path(path_id), usize::from(hop));
        (path[hop], path.len() == hop + 1)
    }

    /// Puts a packet on the next link of its path. Returns the outcome.
    #[inline(never)]
    pub(crate) fn forward(&mut self, now: Instant, packet: &Packet) -> Outcome {
        let (number, at_last) = self.link_of(packet.path_id, packet.hop);
        let lag = if self.ports[number as usize] { self.lag(packet) } else { Duration::ZERO };
        self.send(now, number, Packet { at_last, ..*packet }, lag)
    }

    /// The time between a packet's first and last cell at the end of the previous link.
    #[cold]
    fn lag(&self, packet: &Packet) -> Duration {
        let behind = usize::from(packet.hop)
            .checked_sub(1)
            .and_then(|hop| self.path(packet.path_id).get(hop));
        behind.map_or(Duration::ZERO, |&link| self.links[link as usize].lag(packet.bytes))
    }

    /// Puts a packet on a link of its path. Returns the outcome. At a port, the packet's first cell
    /// arrives now and its last after `lag`.
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
                Chance::Jitter => draws.jitter,
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

    /// Handles an offer that was marked or is pending.
    #[cold]
    #[inline(never)]
    fn on_marked_or_pending(&mut self, number: u32, outcome: Outcome) {
        if outcome == Outcome::Marked
            && let Some(newest) = self.links[number as usize].newest_mut()
        {
            newest.mark();
        }
        // A pending packet may make the link's next decision earlier than its next delivery.
        self.schedule(number);
    }

    /// Schedules a link's next delivery, which may have become earlier.
    fn schedule(&mut self, number: u32) {
        if let Some(at) = self.links[number as usize].next_delivery() {
            self.deliveries.set(number, at);
        }
    }

    /// The time of the next delivery of any link; [`Instant::NEVER`] if there is none.
    #[inline]
    pub(crate) fn next_delivery(&self) -> Instant {
        self.deliveries.first().0
    }

    /// The next packet to be delivered, in place, to avoid a copy.
    #[inline]
    pub(crate) fn arriving(&self) -> Option<&Packet> {
        let (at, number) = self.deliveries.first();
        self.links.get(number as usize)?.head(at)
    }

    /// The link that delivers next.
    #[inline]
    pub(crate) fn arriving_link(&self) -> u32 {
        self.deliveries.first().1
    }

    /// The packet `index` positions behind the next to be delivered by this link.
    #[inline]
    pub(crate) fn upcoming(&self, link: u32, index: usize) -> Option<&Packet> {
        self.links.get(link as usize)?.upcoming_at(index)
    }

    /// Takes the next packet off its link.
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

    /// The next deferred verdict of the link that is due, if it delivers no packet now. Call until
    /// `None`.
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

    /// Resets the statistics of the links at the end of the warm-up. For links that are `past` it,
    /// this has been done ahead of time.
    pub(crate) fn end_warm_up(&mut self, now: Instant, past: &[bool]) {
        for (link, &is_past) in self.links.iter_mut().zip(past) {
            if is_past {
                link.discount_delivered();
            } else {
                link.reset_statistics(now);
            }
        }
    }

    pub(crate) fn table(&mut self, names: &Names, now: Instant) -> Links {
        let mut table = Links::new(names);
        for (number, link) in self.links.iter_mut().enumerate() {
            // Reading the queue first moves packets that have left by now in the books.
            let queue = link.queue_statistics(now);
            table.push(LinkRow::new(index(number), &link.books(), link.cell_books(), &queue));
        }
        table
    }

    fn path(&self, path_id: PathId) -> &[u32] {
        &self.paths[usize::from(path_id.workload)][usize::from(path_id.back)]
    }
}

/// A uniform share of `most`, from a uniform 64-bit draw.
pub(crate) fn share(most: Duration, draw: u64) -> Duration {
    let product = u128::from(most.as_nanos()) * u128::from(draw);
    Duration::from_nanos(u64::try_from(product >> 64).unwrap_or(0))
}

/// There are at most a few thousand links and workloads.
fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

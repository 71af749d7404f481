//! One direction of an emulated link, without a clock and without a device: a [`Link`], with
//! duplication and corruption.
//!
//! A packet may be duplicated when it arrives. Each copy goes through the link (buffer, line,
//! delay, loss, marks, reordering). A packet that will be delivered may have a bit inverted.

use std::collections::VecDeque;

use link::{
    Books, ConfigError, Discipline, Link, LinkConfig, LossModel, Outcome, Probability,
    QueueStatistics, Reading, Reorder, Tally,
};
use units::{Duration, Instant};

use crate::chance::{Draws, Question};
use crate::packet;

/// The configuration of a direction. The default has no effect on packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineConfig {
    /// Buffer, rate, delay, loss and reordering.
    pub link: LinkConfig,
    /// The probability that a packet is duplicated.
    pub duplicate: Probability,
    /// The probability that one bit of a delivered packet is inverted.
    pub corrupt: Probability,
    /// The path MTU in bytes. The driver acts as a router: it drops longer packets before the link
    /// and reports them by ICMP.
    pub path_mtu: Option<u32>,
}

/// The outcome of an offered packet, as far as it is known at once. CoDel decides when a packet
/// leaves the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketOutcome {
    /// The link's outcome.
    pub outcome: Outcome,
    /// The link's outcome for the second copy, if there is one.
    pub duplicate: Option<Outcome>,
    /// A bit of the packet was inverted.
    pub corrupted: bool,
    /// The packet takes additional delay and may be overtaken.
    pub reordered: bool,
}

/// A packet delivered at the far end.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The packet's bytes.
    pub bytes: Vec<u8>,
    /// The time at which the delivery was due.
    pub due: Instant,
    /// The number of packets dropped between the previously delivered packet and this one.
    pub gap: u32,
    /// The link marked the packet.
    pub marked: bool,
    /// The packet was offered as part of a larger segment, and is intact.
    pub is_part: bool,
}

/// Counters beside the link's books.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extras {
    /// Second copies. The link's books include them.
    pub duplicated: Tally,
    /// Packets with an inverted bit.
    pub corrupted: Tally,
    /// Packets with additional delay.
    pub reordered: Tally,
}

/// The number of hash classes of flows. State is kept for some of the flows.
const FLOWS: u64 = 1024;

/// The number of packets that are searched ahead for parts of one segment.
const MAX_JOINED_AHEAD: usize = 64;

/// The state of one direction. Time never goes backwards.
#[derive(Debug)]
pub struct Line {
    link: Link<Content>,
    /// The number of hash classes of flows, if a decision depends on the flow.
    flows: Option<u64>,
    duplicate: Probability,
    corrupt: Probability,
    /// The link's reordering, repeated here to count the packets.
    reorder: Option<Reorder>,
    draws: Draws,
    /// The number of the next packet.
    next: u64,
    gap: u32,
    /// Packets dropped after the link accepted them: their numbers, and the number of drops that
    /// each represents.
    gaps: VecDeque<(u64, u32)>,
    extras: Extras,
    /// The maximum of the queue since the last reading.
    max_queue: Tally,
    /// Free buffers for reuse, so that no memory is allocated per packet.
    spare: Vec<Vec<u8>>,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a packet")]
struct Content {
    bytes: Vec<u8>,
    number: u64,
    gap: u32,
    marked: bool,
    corrupted: bool,
    reordered: bool,
    is_part: bool,
}

impl Line {
    /// An idle line. `name` selects the direction's random numbers.
    pub fn new(config: &LineConfig, seed: u64, name: &str) -> Self {
        Self {
            link: Link::new(config.link.clone()),
            flows: flows(&config.link),
            duplicate: config.duplicate,
            corrupt: config.corrupt,
            reorder: config.link.reorder,
            draws: Draws::new(seed, name),
            next: 0,
            gap: 0,
            gaps: VecDeque::new(),
            extras: Extras::default(),
            max_queue: Tally::default(),
            spare: Vec::new(),
        }
    }

    /// Offers a packet at `now`.
    pub fn offer(&mut self, now: Instant, bytes: &[u8]) -> PacketOutcome {
        self.offer_part(now, bytes, false)
    }

    /// Offers a packet that may be part of a larger segment. The [delivery](Delivery::is_part)
    /// repeats `is_part`, which does not change the outcome.
    pub fn offer_part(&mut self, now: Instant, bytes: &[u8], is_part: bool) -> PacketOutcome {
        let twice = self.duplicate.hits(self.draws.draw(Question::Duplicate, self.next));
        let mut outcomes = self.offer_one(now, bytes, is_part);
        self.observe_queue(now);
        if twice {
            count(&mut self.extras.duplicated, bytes.len());
            outcomes.duplicate = Some(self.offer_one(now, bytes, is_part).outcome);
            self.observe_queue(now);
        }
        outcomes
    }

    /// Updates the maximum of the queue.
    fn observe_queue(&mut self, now: Instant) {
        let queue = self.link.queue(now);
        self.max_queue.packets = self.max_queue.packets.max(queue.packets);
        self.max_queue.bytes = self.max_queue.bytes.max(queue.bytes);
    }

    fn offer_one(&mut self, now: Instant, bytes: &[u8], is_part: bool) -> PacketOutcome {
        let number = self.next;
        self.next += 1;
        let draws = self.draws;
        let draw = |chance: link::Chance| draws.draw(chance.into(), number);
        self.advance_to(now);
        let mut offered = packet::offered(bytes);
        if let Some(flows) = self.flows {
            offered.flow = packet::flow(bytes, flows);
        }
        let outcome = self.link.offer(now, offered, Content::default(), draw);
        let mut outcomes =
            PacketOutcome { outcome, duplicate: None, corrupted: false, reordered: false };
        let Some(content) = self.link.newest_mut().filter(|_| outcome.is_accepted()) else {
            self.gap += 1;
            return outcomes;
        };
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(bytes);
        if outcome == Outcome::Marked {
            packet::mark(&mut buffer);
            content.marked = true;
        }
        if self.corrupt.hits(draws.draw(Question::Corrupt, number)) && !buffer.is_empty() {
            let bit = draws.below(Question::Bit, number, 8 * buffer.len() as u64);
            // Less than the number of bits, which is a `usize`.
            if let Some(byte) = usize::try_from(bit / 8).ok().and_then(|at| buffer.get_mut(at)) {
                *byte ^= 1 << (bit % 8);
            }
            outcomes.corrupted = true;
            content.corrupted = true;
            count(&mut self.extras.corrupted, bytes.len());
        }
        // The link makes the same draw.
        if self
            .reorder
            .is_some_and(|reorder| reorder.probability.hits(draws.draw(Question::Reorder, number)))
        {
            outcomes.reordered = true;
            content.reordered = true;
            count(&mut self.extras.reordered, bytes.len());
        }
        content.is_part = is_part && !outcomes.corrupted;
        content.number = number;
        content.gap = std::mem::take(&mut self.gap);
        content.bytes = buffer;
        outcomes
    }

    /// Changes the configuration at `now`. The packets in the link stay there
    /// ([`Link::reconfigure`]). Packet numbers and random numbers continue.
    ///
    /// # Errors
    /// If the link cannot make the change. It is unchanged then.
    pub fn reconfigure(&mut self, now: Instant, config: &LineConfig) -> Result<(), ConfigError> {
        self.advance_to(now);
        if *self.link.config() != config.link {
            self.link.reconfigure(now, config.link.clone())?;
        }
        self.flows = flows(&config.link);
        self.duplicate = config.duplicate;
        self.corrupt = config.corrupt;
        self.reorder = config.link.reorder;
        Ok(())
    }

    /// The time of the next delivery or of the link's next decision.
    pub fn next_delivery(&self) -> Option<Instant> {
        self.link.next_delivery()
    }

    /// The time of the next write, for a driver that joins the parts of a segment. If the next
    /// packet is a part, this is the delivery time of the last part that directly follows it within
    /// `max_wait`.
    pub fn next_write(&self, max_wait: Duration) -> Option<Instant> {
        let next = self.next_delivery()?;
        let until = next + max_wait;
        let parts = self.link.upcoming().take(MAX_JOINED_AHEAD).map_while(|(due, content)| {
            (content.is_part && (next..=until).contains(&due)).then_some(due)
        });
        // A deferred decision does not wait for other packets.
        let head = self.link.upcoming().next().map(|(due, _)| due);
        Some(parts.last().filter(|_| head == Some(next)).unwrap_or(next))
    }

    /// Advances the link to `now` and applies its verdicts to the packets and the counters.
    fn advance_to(&mut self, now: Instant) {
        self.link.advance_to(now);
        while let Some(verdict) = self.link.poll_verdict() {
            let content = match verdict {
                link::Verdict::Marked(content) => {
                    packet::mark(&mut content.bytes);
                    content.marked = true;
                    continue;
                }
                link::Verdict::Dropped(content, _) => content,
            };
            // The packet is not delivered after all.
            let bytes = content.bytes.len();
            if content.corrupted {
                self.extras.corrupted = subtract(self.extras.corrupted, bytes);
            }
            if content.reordered {
                self.extras.reordered = subtract(self.extras.reordered, bytes);
            }
            self.gaps.push_back((content.number, content.gap + 1));
            self.spare.push(content.bytes);
        }
    }

    /// The number of packets dropped between the previous packet and this one.
    fn gap_before(&mut self, content: &Content) -> u32 {
        let mut gap = content.gap;
        while let Some((_, more)) = self.gaps.pop_front_if(|(number, _)| *number < content.number) {
            gap += more;
        }
        gap
    }

    /// Takes the next packet that is due at `now`. Call until `None`.
    pub fn deliver(&mut self, now: Instant) -> Option<Delivery> {
        self.advance_to(now);
        let due = self.link.next_delivery()?;
        let content = self.link.deliver(now)?;
        let gap = self.gap_before(&content);
        let Content { bytes, marked, is_part, .. } = content;
        Some(Delivery { bytes, due, gap, marked, is_part })
    }

    /// Returns a buffer for reuse.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.spare.push(buffer);
    }

    /// Returns true if the link is empty.
    pub fn is_empty(&self) -> bool {
        self.next_delivery().is_none()
    }

    /// The books of packets at `now`.
    pub fn books(&mut self, now: Instant) -> Books {
        // Packets that were lost on the line by now count as dropped, not as held.
        self.advance_to(now);
        self.link.books()
    }

    /// The counters and the queue at `now`, and the maximum of the queue since the last reading.
    pub fn read(&mut self, now: Instant) -> (Reading, Tally) {
        self.advance_to(now);
        let reading = self.link.reading(now);
        (reading, std::mem::replace(&mut self.max_queue, reading.queue))
    }

    /// The packets in the queue at `now`, waiting or in transmission.
    pub fn queue(&mut self, now: Instant) -> Tally {
        self.advance_to(now);
        self.link.queue(now)
    }

    /// The counters beside the books.
    pub fn extras(&self) -> Extras {
        self.extras
    }

    /// The queue's statistics up to `now`.
    pub fn queue_statistics(&mut self, now: Instant) -> QueueStatistics {
        self.link.queue_statistics(now)
    }
}

/// The number of hash classes of flows that a link tells apart; `None` if no decision depends on
/// the flow. A mask for each connection and FQ-CoDel need all of them.
fn flows(link: &LinkConfig) -> Option<u64> {
    match (&link.loss, &link.discipline) {
        (LossModel::Custom(_), _) | (_, Discipline::FqCoDel(_)) => Some(u64::MAX),
        (_, Discipline::Balanced(_)) => Some(FLOWS),
        _ => None,
    }
}

fn count(tally: &mut Tally, bytes: usize) {
    *tally += Tally { packets: 1, bytes: bytes as u64 };
}

fn subtract(tally: Tally, bytes: usize) -> Tally {
    Tally { packets: tally.packets - 1, bytes: tally.bytes - bytes as u64 }
}

#[cfg(test)]
mod tests;

//! One direction, without a clock and without a device: a [`Link`], and what only an emulator needs
//! behind it.
//!
//! A packet that comes may be doubled; each goes through the link (buffer, line, delay, loss,
//! marks, reordering); one that will arrive may have a bit turned.

use std::collections::VecDeque;

use link::{
    Books, Discipline, Link, LinkConfig, Outcome, Probability, QueueStatistics, Reorder, Tally,
};
use units::{Duration, Instant};

use crate::chance::{Draws, Question};
use crate::packet;

/// What a direction does. The default is a wire.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineConfig {
    /// Buffer, rate, delay, loss and reordering.
    pub link: LinkConfig,
    /// How likely a packet is to come twice.
    pub duplicate: Probability,
    /// How likely a packet that arrives is to have one bit turned.
    pub corrupt: Probability,
    /// The longest packet that passes, in bytes: a router's business, who drops longer ones before
    /// the link and says so.
    pub path_mtu: Option<u32>,
}

/// What became of a packet that was offered, as far as it is known at once: CoDel decides when a
/// packet leaves the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// What the link did.
    pub outcome: Outcome,
    /// What it did to the second copy, if there is one.
    pub duplicate: Option<Outcome>,
    /// A bit of it was turned.
    pub corrupted: bool,
    /// It will be late.
    pub reordered: bool,
}

/// A packet at the far end.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// When it should have come.
    pub due: Instant,
    /// How many packets that were offered before it, and after the last one that left the link,
    /// were dropped.
    pub gap: u32,
    /// A router marked it.
    pub marked: bool,
    /// It was offered as part of a longer one, and is intact.
    pub is_part: bool,
}

/// What there is to count beside the link's books.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extras {
    /// Second copies: the link's books have them too.
    pub duplicated: Tally,
    /// With a bit turned.
    pub corrupted: Tally,
    /// Late.
    pub reordered: Tally,
}

/// How many flows are told apart: state is kept for some of them.
const FLOWS: u64 = 1024;

/// How far ahead is looked for packets that belong together.
const MAX_JOINED_AHEAD: usize = 64;

/// One direction at work. Time never goes backwards.
#[derive(Debug)]
pub struct Line {
    link: Link<Content>,
    /// Whether packets go by flows.
    by_flow: bool,
    duplicate: Probability,
    corrupt: Probability,
    /// What the link does as well: here the packets are counted.
    reorder: Option<Reorder>,
    draws: Draws,
    /// The number of the next packet.
    next: u64,
    gap: u32,
    /// What was dropped after it was taken: the numbers of the packets, and how many dropped ones
    /// each stands for.
    gaps: VecDeque<(u64, u32)>,
    extras: Extras,
    /// Buffers to be used again: nothing is allocated for a packet.
    spare: Vec<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    number: u64,
    gap: u32,
    marked: bool,
    corrupted: bool,
    is_part: bool,
}

impl Line {
    /// An idle line. `name` tells its random numbers from those of the other direction.
    pub fn new(config: &LineConfig, seed: u64, name: &str) -> Self {
        Self {
            link: Link::new(config.link.clone()),
            by_flow: matches!(config.link.discipline, Discipline::Balanced(_)),
            duplicate: config.duplicate,
            corrupt: config.corrupt,
            reorder: config.link.reorder,
            draws: Draws::new(seed, name),
            next: 0,
            gap: 0,
            gaps: VecDeque::new(),
            extras: Extras::default(),
            spare: Vec::new(),
        }
    }

    /// Offers a packet at `now`.
    pub fn offer(&mut self, now: Instant, bytes: &[u8]) -> Fate {
        self.offer_part(now, bytes, false)
    }

    /// Offers a packet that may be part of a longer one, which is told when it is
    /// [delivered](Delivery::is_part): it changes nothing about the packet's fate.
    pub fn offer_part(&mut self, now: Instant, bytes: &[u8], is_part: bool) -> Fate {
        let twice = self.duplicate.hits(self.draws.draw(Question::Duplicate, self.next));
        let mut fate = self.offer_one(now, bytes, is_part);
        if twice {
            count(&mut self.extras.duplicated, bytes.len());
            fate.duplicate = Some(self.offer_one(now, bytes, is_part).outcome);
        }
        fate
    }

    fn offer_one(&mut self, now: Instant, bytes: &[u8], is_part: bool) -> Fate {
        let number = self.next;
        self.next += 1;
        let draws = self.draws;
        let draw = |chance: link::Chance| draws.draw(chance.into(), number);
        self.advance_to(now);
        let mut offered = packet::offered(bytes);
        if self.by_flow {
            offered.flow = packet::flow(bytes, FLOWS);
        }
        let outcome = self.link.offer(now, offered, Content::default(), draw);
        let mut fate = Fate { outcome, duplicate: None, corrupted: false, reordered: false };
        let Some(content) = self.link.newest_mut().filter(|_| outcome.is_accepted()) else {
            self.gap += 1;
            return fate;
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
            // Below the number of bits, which was counted in `usize`.
            if let Some(byte) = usize::try_from(bit / 8).ok().and_then(|at| buffer.get_mut(at)) {
                *byte ^= 1 << (bit % 8);
            }
            fate.corrupted = true;
            content.corrupted = true;
            count(&mut self.extras.corrupted, bytes.len());
        }
        // The link has drawn the same.
        if self
            .reorder
            .is_some_and(|reorder| reorder.probability.hits(draws.draw(Question::Reorder, number)))
        {
            fate.reordered = true;
            count(&mut self.extras.reordered, bytes.len());
        }
        content.is_part = is_part && !fate.corrupted;
        content.number = number;
        content.gap = std::mem::take(&mut self.gap);
        content.bytes = buffer;
        fate
    }

    /// When the next packet is due at the far end, or the line wants to be asked for it.
    pub fn next_delivery(&self) -> Option<Instant> {
        self.link.next_delivery()
    }

    /// The same for a driver that hands on together what belongs together: if the next packet is
    /// part of a longer one, when the last of the parts is due that follow it directly, within
    /// `patience` of the first.
    pub fn next_write(&self, max_wait: Duration) -> Option<Instant> {
        let next = self.next_delivery()?;
        let until = next + max_wait;
        let parts = self.link.upcoming().take(MAX_JOINED_AHEAD).map_while(|(due, content)| {
            (content.is_part && (next..=until).contains(&due)).then_some(due)
        });
        // What is still to be decided on waits for none.
        let head = self.link.upcoming().next().map(|(due, _)| due);
        Some(parts.last().filter(|_| head == Some(next)).unwrap_or(next))
    }

    /// Tells the link the time, and takes in what it says of packets that it had taken.
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
            // It didn't arrive after all.
            let bytes = content.bytes.len();
            if content.corrupted {
                self.extras.corrupted = subtract(self.extras.corrupted, bytes);
            }
            if is_reordered(self.reorder, self.draws, content.number) {
                self.extras.reordered = subtract(self.extras.reordered, bytes);
            }
            self.gaps.push_back((content.number, content.gap + 1));
            self.spare.push(content.bytes);
        }
    }

    /// What was dropped before this packet, behind the one before it.
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

    /// Takes a buffer back.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.spare.push(buffer);
    }

    /// Whether nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.next_delivery().is_none()
    }

    /// Where every packet went.
    pub fn books(&mut self, now: Instant) -> Books {
        // What has vanished on the line by now is dropped, not held.
        self.advance_to(now);
        self.link.books()
    }

    /// What there is to count beside the books.
    pub fn extras(&self) -> Extras {
        self.extras
    }

    /// The queue so far.
    pub fn queue_statistics(&mut self, now: Instant) -> QueueStatistics {
        self.link.queue_statistics(now)
    }
}

/// Whether the link, which draws the same, has a packet fall behind.
fn is_reordered(reorder: Option<Reorder>, draws: Draws, number: u64) -> bool {
    reorder.is_some_and(|reorder| reorder.probability.hits(draws.draw(Question::Reorder, number)))
}

fn count(tally: &mut Tally, bytes: usize) {
    *tally += Tally { packets: 1, bytes: bytes as u64 };
}

fn subtract(tally: Tally, bytes: usize) -> Tally {
    Tally { packets: tally.packets - 1, bytes: tally.bytes - bytes as u64 }
}

#[cfg(test)]
mod tests;

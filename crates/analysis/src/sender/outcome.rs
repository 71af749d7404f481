//! Outcomes of first transmissions in the order of their data: counts by size and position, lost
//! segments with their runs, and the observations that the test for a policer needs.
//!
//! Counts are kept in blocks of 256 segments, because losses that are near each other are not
//! independent. Memory does not grow with the connection.

use units::hash::mix;
use units::{Duration, Instant};

use super::policer::{MAX_OBSERVATIONS, Observation, Progress};

/// Segments in a block.
pub const BLOCK: u64 = 256;

/// A first transmission whose outcome is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) at: Instant,
    /// Packet of the capture; zero if the capture does not have it.
    pub(super) frame: u64,
    /// Bytes of IP packets that the sender had sent before.
    pub(super) sent_before: u64,
    /// Size of the IP packet in bytes; zero if it is unknown.
    pub(super) size: u32,
    pub(super) is_lost: bool,
    /// Whether later data was sent before a timer of the sender could expire, so that a loss before
    /// the capture is visible.
    pub(super) is_followed: bool,
    pub(super) round_trip: Option<Duration>,
}

/// Counts of first transmissions of about one size, at about one position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// First transmissions.
    pub packets: u64,
    /// Sum of the sizes of their IP packets.
    pub bytes: u64,
    /// Number of these that were lost.
    pub lost: u64,
}

impl Count {
    fn add(&mut self, size: u32, is_lost: bool) {
        self.packets += 1;
        self.bytes += u64::from(size);
        self.lost += u64::from(is_lost);
    }
}

/// Counts of one class of sizes and positions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cell {
    /// Class of positions: the binary logarithm of the position, counted from 1.
    pub position: u8,
    /// Class of sizes: eight for each octave.
    pub size: u8,
    /// Segments that later data followed before a timer of the sender could expire.
    pub followed: Count,
    /// Other segments. A loss of these before the capture is invisible.
    pub last: Count,
}

impl Cell {
    /// First position of the class, counted from 1.
    pub fn first_position(&self) -> u64 {
        1 << self.position.min(63)
    }

    /// Smallest size of the class in bytes.
    pub fn least_size(&self) -> u32 {
        let (octave, eighth) = (u32::from(self.size / 8), u32::from(self.size % 8));
        if octave < 3 { 0 } else { (8 + eighth) << (octave - 3).min(28) }
    }
}

/// Counts of consecutive segments of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// Number of the block in its direction, from 0.
    pub number: u64,
    /// Counts that are not zero.
    pub cells: Vec<Cell>,
    /// Segments of unknown size or outcome.
    pub unknown: u64,
    /// Losses after which another packet than the next segment was sent, or none. Whether the run
    /// would have continued is unknown.
    pub interrupted: u64,
}

/// A first transmission that was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// Position of the segment in its direction, from 0.
    pub number: u64,
    /// Packet of the capture; zero if the capture does not have it.
    pub frame: u64,
    /// Time of the transmission, or at which its absence was noticed.
    pub at: Instant,
    /// Size of the IP packet in bytes.
    pub size: u32,
    /// Position in a run of losses that were sent one after the other, from 1.
    pub run: u32,
    /// Whether later data was sent before a timer of the sender could expire.
    pub is_followed: bool,
    /// Bytes of the IP packets before it that were not lost, as far as the capture shows.
    pub passed_bytes: u64,
    /// Round-trip time between the capture and the receiver at about the same time.
    pub round_trip: Option<Duration>,
}

/// A run of losses that may continue.
#[derive(Debug, Clone, Copy)]
struct Run {
    len: u32,
    /// Position after it.
    end: u64,
    /// Bytes that the sender has sent when the next segment follows at once.
    sent: u64,
}

/// Outcomes of one direction.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    /// Number of segments.
    segments: u64,
    block: Block,
    finished: Vec<Block>,
    losses: Vec<Loss>,
    /// Run to which the latest segment belongs.
    run: Option<Run>,
    lost_bytes: u64,
    /// First segment, with which the policer's bucket may be full.
    first: Option<Progress>,
    /// One segment, chosen at random, of those that passed since the latest loss.
    passed: Option<Progress>,
    passed_count: u64,
    observations: Vec<Observation>,
}

impl Outcomes {
    /// Adds the next segment.
    #[inline]
    pub(super) fn add(&mut self, outcome: &Outcome) {
        let number = self.segments;
        self.segments += 1;
        if number / BLOCK != self.block.number {
            self.end_block(number / BLOCK);
        }
        let is_next = |run: &Run| {
            outcome.size > 0 && outcome.start == run.end && outcome.sent_before == run.sent
        };
        let run = self.run.take();
        let continued = run.filter(is_next);
        self.block.interrupted += u64::from(run.is_some() && continued.is_none());
        if outcome.size == 0 {
            self.block.unknown += 1;
            return;
        }
        let position = u8::try_from((number + 1).ilog2()).unwrap_or(u8::MAX);
        self.count(position, outcome);
        if outcome.is_lost {
            self.add_loss(number, outcome, continued.map_or(1, |run| run.len.saturating_add(1)));
        } else {
            self.add_passed(number, outcome);
        }
    }

    fn count(&mut self, position: u8, outcome: &Outcome) {
        let size = size_class(outcome.size);
        let cells = &mut self.block.cells;
        let found = cells.iter().rposition(|cell| cell.position == position && cell.size == size);
        let index = found.unwrap_or(cells.len());
        if found.is_none() {
            let (followed, last) = (Count::default(), Count::default());
            cells.push(Cell { position, size, followed, last });
        }
        let Some(cell) = cells.get_mut(index) else { return };
        let count = if outcome.is_followed { &mut cell.followed } else { &mut cell.last };
        count.add(outcome.size, outcome.is_lost);
    }

    fn add_loss(&mut self, number: u64, outcome: &Outcome, len: u32) {
        // A segment that the capture does not have is not part of the bytes sent.
        let seen = if outcome.frame == 0 { 0 } else { u64::from(outcome.size) };
        self.run = Some(Run { len, end: outcome.end, sent: outcome.sent_before + seen });
        let passed_bytes = outcome.sent_before.saturating_sub(self.lost_bytes);
        self.lost_bytes += seen;
        self.losses.push(Loss {
            number,
            frame: outcome.frame,
            at: outcome.at,
            size: outcome.size,
            run: len,
            is_followed: outcome.is_followed,
            passed_bytes,
            round_trip: outcome.round_trip,
        });
        if len == 1 && self.observations.len() < MAX_OBSERVATIONS {
            let passed = self.passed.take();
            self.passed_count = 0;
            let at = Progress { at: outcome.at, bytes: passed_bytes };
            let observation = Observation { lost: at, passed, round_trip: outcome.round_trip };
            self.observations.push(observation);
        }
    }

    fn add_passed(&mut self, number: u64, outcome: &Outcome) {
        let bytes = outcome.sent_before.saturating_sub(self.lost_bytes);
        let passed = Progress { at: outcome.at, bytes };
        self.first.get_or_insert(passed);
        self.passed_count += 1;
        // Reservoir sampling with one place (Vitter 1985).
        if mix(number).is_multiple_of(self.passed_count) {
            self.passed = Some(passed);
        }
    }

    fn end_block(&mut self, next: u64) {
        let block = std::mem::take(&mut self.block);
        self.block.number = next;
        if block.unknown + block.interrupted > 0 || !block.cells.is_empty() {
            self.finished.push(block);
        }
    }

    /// Ends the last run and the last block, at the end of the connection.
    pub(super) fn finish(&mut self) {
        self.block.interrupted += u64::from(self.run.take().is_some());
        self.end_block(self.block.number);
    }

    /// Whether there are blocks or losses to take.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        !self.finished.is_empty() || !self.losses.is_empty()
    }

    /// Blocks and losses since the last call.
    pub(crate) fn take(&mut self) -> (Vec<Block>, Vec<Loss>) {
        (std::mem::take(&mut self.finished), std::mem::take(&mut self.losses))
    }

    /// Observations for the test of a policer: the first segment, and the losses.
    pub(crate) fn observations(&self) -> (Option<Progress>, &[Observation]) {
        (self.first, &self.observations)
    }

    /// Number of observations in memory.
    pub(super) fn len(&self) -> usize {
        self.observations.len()
    }
}

/// Class of a size: its octave and the three bits below the highest one.
fn size_class(size: u32) -> u8 {
    let octave = size.max(8).ilog2();
    u8::try_from(octave * 8 + (size >> (octave - 3) & 7)).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests;

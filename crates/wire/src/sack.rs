//! Selective acknowledgment blocks (RFC 2018), held inline.

use crate::seq::SeqNum;

/// A half-open range of sequence numbers `[start, end)`, never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SeqRange {
    start: SeqNum,
    end: SeqNum,
}

impl SeqRange {
    /// Creates the range from `start` to `end`, without `end`. Returns `None` unless `start` is
    /// before `end`.
    pub const fn new(start: SeqNum, end: SeqNum) -> Option<Self> {
        if start.before(end) { Some(Self { start, end }) } else { None }
    }

    /// First sequence number in the range.
    pub const fn start(self) -> SeqNum {
        self.start
    }

    /// First sequence number after the range.
    pub const fn end(self) -> SeqNum {
        self.end
    }

    /// Number of sequence numbers in the range.
    pub const fn len(self) -> u32 {
        self.end.distance_from(self.start)
    }

    /// Always false: a range is never empty.
    pub const fn is_empty(self) -> bool {
        false
    }

    /// Returns whether `other` lies completely within this range.
    pub const fn contains(self, other: Self) -> bool {
        self.start.at_or_before(other.start) && other.end.at_or_before(self.end)
    }

    /// Returns whether the two ranges overlap or are adjacent.
    pub const fn touches(self, other: Self) -> bool {
        self.start.at_or_before(other.end) && other.start.at_or_before(self.end)
    }

    /// Smallest range that contains both.
    pub const fn union(self, other: Self) -> Self {
        Self { start: self.start.earliest(other.start), end: self.end.latest(other.end) }
    }
}

/// Up to four SACK blocks, most recent first (RFC 2018 §3, §4).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct SackBlocks {
    count: u8,
    edges: [(SeqNum, SeqNum); Self::CAPACITY],
}

impl SackBlocks {
    /// Number of blocks that fit into 40 bytes of options without timestamps.
    pub const CAPACITY: usize = 4;
    /// No blocks.
    pub const EMPTY: Self =
        Self { count: 0, edges: [(SeqNum::new(0), SeqNum::new(0)); Self::CAPACITY] };

    /// Appends a block. Returns `false`, without changes, if there is no room.
    pub fn push(&mut self, block: SeqRange) -> bool {
        let slot = usize::from(self.count);
        if slot == Self::CAPACITY {
            return false;
        }
        self.edges[slot] = (block.start, block.end);
        self.count += 1;
        true
    }

    /// Iterates over the blocks in the order in which they were sent.
    pub fn iter(&self) -> impl Iterator<Item = SeqRange> + '_ {
        self.edges[..usize::from(self.count)].iter().map(|&(start, end)| SeqRange { start, end })
    }

    /// Number of blocks.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Encodes the blocks for [`PackedReport`](crate::layout::PackedReport): their number, and both
    /// edges of a block per word.
    #[inline]
    pub(crate) const fn to_words(self) -> (u8, [u64; Self::CAPACITY]) {
        const fn word((start, end): (SeqNum, SeqNum)) -> u64 {
            (start.value() as u64) << 32 | end.value() as u64
        }
        let [first, second, third, fourth] = self.edges;
        (self.count, [word(first), word(second), word(third), word(fourth)])
    }

    /// Decodes such words.
    pub(crate) fn of_words(count: u8, words: [u64; Self::CAPACITY]) -> Self {
        let edge = |word: u64| SeqNum::new(u32::try_from(word & u64::from(u32::MAX)).unwrap_or(0));
        Self { count, edges: words.map(|word| (edge(word >> 32), edge(word))) }
    }

    /// Returns whether there are no blocks.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl std::fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().map(|b| (b.start.value(), b.end.value()))).finish()
    }
}

impl FromIterator<SeqRange> for SackBlocks {
    /// Takes the first four blocks and ignores the rest.
    fn from_iter<I: IntoIterator<Item = SeqRange>>(blocks: I) -> Self {
        let mut all = Self::EMPTY;
        for block in blocks {
            if !all.push(block) {
                break;
            }
        }
        all
    }
}

//! Timers: deadlines of flows, starts of flows, the end of the warm-up, and samples.
//!
//! Entries have a total order, as in a heap, but the cost of an entry in a heap grows with the
//! number of flows. Only the entries of the current time slice are therefore in a heap. Later
//! entries wait unsorted, in one bucket per slice, and enter the heap when their slice begins.
//! Entries after the last bucket wait in a second heap.
//!
//! When a slice begins, the deadlines of all its entries are checked. Most have moved since the
//! entry was made; those entries go to another bucket and never enter the heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Instant;

/// A timer entry. The order of the fields is the order of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timer {
    pub(crate) at: Instant,
    pub(crate) class: Class,
    /// The serial number of the flow, [`last_armed_first`](Self::last_armed_first), or the index of
    /// the workload.
    pub(crate) number: u64,
    /// The flow's slot in the flow table, or the index of the workload.
    pub(crate) slot: u32,
}

impl Timer {
    /// The number of the `armed`th timer, by which the last one is the first of those at one time.
    pub(crate) fn last_armed_first(armed: u64) -> u64 {
        !armed
    }

    /// Whether the number is from [`last_armed_first`](Self::last_armed_first). Counts and serial
    /// numbers are below 2⁶³.
    pub(crate) fn is_by_arming(&self) -> bool {
        self.number >> 63 == 1
    }
}

/// The order of events at one instant. Deliveries precede all of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A flow's deadline.
    Flow,
    /// A flow starts.
    Start,
    /// The warm-up ends.
    WarmUp,
    /// Samples are taken.
    Sample,
}

/// A priority queue of timer entries.
#[derive(Debug)]
pub(crate) struct Timers {
    /// The entries of the current slice and of slices before it.
    due: BinaryHeap<Reverse<Timer>>,
    /// The current slice.
    slice: u64,
    /// The entries of the next slices: the last chunk of each bucket, by the slice's number modulo
    /// [`SLICES`].
    buckets: Vec<Option<ChunkIndex>>,
    /// The number of entries in the buckets.
    waiting: usize,
    chunks: Vec<Chunk>,
    /// The head of the list of free chunks: the most recently used one.
    free: Option<ChunkIndex>,
    /// The entries of slices after those in the buckets.
    later: BinaryHeap<Reverse<Timer>>,
}

/// A part of a bucket, in no order.
#[derive(Debug)]
struct Chunk {
    /// Up to [`CHUNK`] entries, with memory for all of them.
    entries: Vec<Timer>,
    /// The previous chunk of the bucket, which is full; for a free chunk, the next free one.
    previous: Option<ChunkIndex>,
}

/// The entries of a bucket behind one that is checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind<'a> {
    chunks: &'a [Chunk],
    /// The entries of the chunk.
    entries: &'a [Timer],
    /// The index of the entry that is checked.
    at: usize,
    /// The chunk that is checked next.
    next: Option<ChunkIndex>,
}

impl<'a> Behind<'a> {
    /// The entry `positions` behind the one that is checked, at most one chunk away.
    #[inline]
    pub(crate) fn get(&self, positions: usize) -> Option<&'a Timer> {
        let index = self.at + positions;
        self.entries
            .get(index)
            .or_else(|| self.chunks.get(self.next?)?.entries.get(index - self.entries.len()))
    }
}

/// An index in [`Timers::chunks`].
type ChunkIndex = usize;

/// Entries per chunk. On average half of the last chunk of each bucket is unused.
const CHUNK: usize = 32;

/// The length of a slice is 2²⁶ ns, 67 ms.
const SLICE_BITS: u32 = 26;

/// The number of buckets, up to 17 s: most retransmission timeouts are shorter.
const SLICES: u64 = 256;

impl Timers {
    pub(crate) fn new() -> Self {
        Self {
            due: BinaryHeap::new(),
            slice: 0,
            buckets: (0..SLICES).map(|_| None).collect(),
            waiting: 0,
            chunks: Vec::new(),
            free: None,
            later: BinaryHeap::new(),
        }
    }

    /// Returns true if [`refill`](Self::refill) must be called before `next`, `foremost` or `pop`.
    #[inline]
    pub(crate) fn needs_refill(&self) -> bool {
        self.due.is_empty() && (self.waiting > 0 || !self.later.is_empty())
    }

    /// The time of the first entry; [`Instant::NEVER`] if there is none. Requires
    /// `!needs_refill()`.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.due.peek().map_or(Instant::NEVER, |Reverse(timer)| timer.at)
    }

    /// The entries in the heap's internal order: the first, then most likely the next two. Requires
    /// `!needs_refill()`.
    #[inline]
    pub(crate) fn foremost(&self) -> impl Iterator<Item = &Timer> {
        self.due.iter().map(|Reverse(timer)| timer)
    }

    pub(crate) fn push(&mut self, timer: Timer) {
        let slice = slice(timer.at);
        if slice <= self.slice {
            self.due.push(Reverse(timer));
        } else if slice - self.slice < SLICES {
            self.wait(slice, timer);
        } else {
            self.later.push(Reverse(timer));
        }
    }

    /// Takes the first entry. Requires `!needs_refill()`.
    pub(crate) fn pop(&mut self) -> Option<Timer> {
        self.due.pop().map(|Reverse(first)| first)
    }

    /// Advances to the next slice with entries, if the current one has none left.
    ///
    /// `still_due` returns the current deadline of an entry, which must not precede the entry's
    /// time, or `None` if the entry is stale. Its second argument has the entries that are checked
    /// after it.
    pub(crate) fn refill(
        &mut self,
        mut still_due: impl FnMut(&Timer, Behind<'_>) -> Option<Instant>,
    ) {
        while self.due.is_empty() {
            if self.waiting > 0 {
                self.slice += 1;
            } else if let Some(Reverse(first)) = self.later.peek() {
                self.slice = slice(first.at);
            } else {
                return;
            }
            while let Some(Reverse(first)) = self.later.peek()
                && slice(first.at) - self.slice < SLICES
                && let Some(Reverse(timer)) = self.later.pop()
            {
                self.wait(slice(timer.at), timer);
            }
            let mut current = self.buckets[bucket(self.slice)].take();
            while let Some(index) = current {
                let mut entries = std::mem::take(&mut self.chunks[index].entries);
                let previous = self.chunks[index].previous;
                self.waiting -= entries.len();
                for (at, timer) in entries.iter().enumerate() {
                    let behind =
                        Behind { chunks: &self.chunks, entries: &entries, at, next: previous };
                    if let Some(at) = still_due(timer, behind) {
                        self.push(Timer { at, ..*timer });
                    }
                }
                entries.clear();
                self.chunks[index] = Chunk { entries, previous: self.free.replace(index) };
                current = previous;
            }
        }
    }

    /// Puts an entry into the bucket of a future slice.
    fn wait(&mut self, slice: u64, timer: Timer) {
        self.waiting += 1;
        let bucket = &mut self.buckets[bucket(slice)];
        if let Some(last) = *bucket
            && self.chunks[last].entries.len() < CHUNK
        {
            self.chunks[last].entries.push(timer);
            return;
        }
        let index = self.free.unwrap_or_else(|| {
            self.chunks.push(Chunk { entries: Vec::with_capacity(CHUNK), previous: None });
            self.chunks.len() - 1
        });
        let chunk = &mut self.chunks[index];
        self.free = chunk.previous.take();
        chunk.previous = bucket.replace(index);
        chunk.entries.push(timer);
    }
}

fn slice(at: Instant) -> u64 {
    at.as_nanos() >> SLICE_BITS
}

/// The bucket of a slice.
fn bucket(slice: u64) -> usize {
    // Less than 256.
    usize::try_from(slice % SLICES).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn timer(at: u64, number: u64) -> Timer {
        Timer { at: Instant::from_nanos(at), class: Class::Flow, number, slot: 0 }
    }

    /// The distance of an entry: now, in this slice, in the buckets, at their end, far behind them,
    /// never.
    fn any_distance() -> BoxedStrategy<u64> {
        let end = SLICES << SLICE_BITS;
        prop_oneof![
            0..3u64,
            0..1u64 << SLICE_BITS,
            0..end,
            end - 3..end + 3,
            end..20 * end,
            Just(u64::MAX)
        ]
        .boxed()
    }

    /// Refills the heap, as a driver does before every query.
    fn fill(timers: &mut Timers, mut still_due: impl FnMut(&Timer) -> Option<Instant>) {
        if timers.needs_refill() {
            timers.refill(|timer, _| still_due(timer));
        }
        assert!(!timers.needs_refill());
    }

    proptest! {
        #[test]
        fn entries_come_in_order(steps in proptest::collection::vec((any_distance(), 0..4usize), 1..300)) {
            let mut timers = Timers::new();
            let mut heap = BinaryHeap::new();
            let mut now = 0u64;
            let same = |timer: &Timer| Some(timer.at);
            for (number, (distance, takes)) in (0u64..).zip(steps) {
                let entry = timer(now.saturating_add(distance), number);
                timers.push(entry);
                heap.push(Reverse(entry));
                for _ in 0..takes {
                    fill(&mut timers, same);
                    prop_assert_eq!(timers.next(), heap.peek().map_or(Instant::NEVER, |Reverse(t)| t.at));
                    prop_assert_eq!(timers.foremost().next(), heap.peek().map(|Reverse(timer)| timer));
                    let first = timers.pop();
                    prop_assert_eq!(first, heap.pop().map(|Reverse(timer)| timer));
                    now = first.map_or(now, |timer| timer.at.as_nanos().min(1 << 60));
                }
            }
            while let Some(Reverse(first)) = heap.pop() {
                fill(&mut timers, same);
                prop_assert_eq!(timers.pop(), Some(first));
            }
            fill(&mut timers, same);
            prop_assert_eq!((timers.pop(), timers.next()), (None, Instant::NEVER));
        }

        /// Each flow has one entry; its deadline moves later or is removed while the entry waits.
        #[test]
        fn no_deadline_is_missed_or_early(
            flows in proptest::collection::vec((any_distance(), any_distance(), any::<bool>()), 1..100),
        ) {
            let mut timers = Timers::new();
            let mut deadlines = Vec::new();
            for (number, (distance, later, over)) in (0u64..).zip(flows) {
                timers.push(timer(distance, number));
                deadlines.push((!over).then(|| Instant::from_nanos(distance.saturating_add(later))));
            }
            let mut expected: Vec<_> = (0u64..).zip(&deadlines).filter_map(|(n, at)| at.map(|at| (at, n))).collect();
            expected.sort_unstable();
            let mut seen = Vec::new();
            loop {
                fill(&mut timers, |timer| deadlines[usize::try_from(timer.number).unwrap()]);
                let Some(entry) = timers.pop() else { break };
                // Like the event loop for an entry in the heap whose deadline has moved.
                match deadlines[usize::try_from(entry.number).unwrap()] {
                    Some(at) if at == entry.at => seen.push((at, entry.number)),
                    Some(at) => timers.push(Timer { at, ..entry }),
                    None => {}
                }
            }
            prop_assert_eq!(seen, expected);
        }
    }

    #[test]
    fn entries_behind_are_checked_next() {
        let mut timers = Timers::new();
        let entries = 3 * u64::try_from(CHUNK).unwrap() + 1;
        for number in 0..entries {
            timers.push(timer(1 << SLICE_BITS, number));
        }
        let (mut checked, mut announced) = (Vec::new(), Vec::new());
        timers.refill(|timer, behind| {
            checked.push(*timer);
            announced.push(behind.get(4).copied());
            Some(timer.at)
        });
        let expected = (0..checked.len()).map(|index| checked.get(index + 4).copied());
        assert_eq!(announced, expected.collect::<Vec<_>>());
    }

    /// With any distribution of entries, the buckets use little more memory than their entries
    /// need.
    #[test]
    fn memory_goes_from_bucket_to_bucket() {
        const ENTRIES: u64 = 10_000;
        let mut timers = Timers::new();
        for slice in 0..1000 {
            let at = (slice + 1 + slice % 7) << SLICE_BITS;
            for number in 0..ENTRIES / 10 {
                timers.push(timer(at, number));
            }
            while timers.waiting > usize::try_from(ENTRIES).unwrap() / 2 {
                fill(&mut timers, |timer| Some(timer.at));
                timers.due.clear();
            }
        }
        let chunks = &timers.chunks;
        assert!(chunks.len() * CHUNK <= usize::try_from(ENTRIES).unwrap(), "{}", chunks.len());
        assert!(chunks.iter().all(|chunk| chunk.entries.capacity() == CHUNK));
    }

    #[test]
    fn an_entry_is_small() {
        let size = size_of::<Timer>();
        assert!(
            size <= 24,
            "Timer grew to {size} bytes; see benches/NOTES.md, \"Memory\"; the number may be raised"
        );
    }
}

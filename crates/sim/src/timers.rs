//! What is due at times to come: flows' deadlines, starts, samples.
//!
//! Order is total, as in a heap, but a heap of every flow's entry grows deeper and colder with
//! their number. So only what is due soon is in a heap; what is due later waits unsorted, in a
//! bucket for each slice of time, and enters the heap when its slice comes. What is due later than
//! the last bucket waits in a heap of its own.
//!
//! A deadline that has moved on since its entry was made is asked for again when the slice comes,
//! for all of a bucket at once: most entries go on to another bucket and never see the heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Instant;

/// An entry. The order of the fields is the order of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timer {
    pub(crate) at: Instant,
    pub(crate) class: Class,
    /// The serial number of the flow, or the index of the workload.
    pub(crate) number: u64,
    /// The flow's place among the flows alive, or the index of the workload.
    pub(crate) slot: u32,
}

/// The order among events of one instant. Deliveries come first, then these.
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

/// Entries, of which the first can be taken.
#[derive(Debug)]
pub(crate) struct Timers {
    /// Those of the slice that has come, and of slices before it.
    due: BinaryHeap<Reverse<Timer>>,
    /// The slice that has come.
    slice: u64,
    /// Those of the slices after it: the last chunk of each, by the slice's number modulo
    /// [`SLICES`].
    buckets: Vec<Option<ChunkIndex>>,
    /// How many entries the buckets hold.
    waiting: usize,
    chunks: Vec<Chunk>,
    /// Of those without entries the one that had them last, for it is at hand.
    free: Option<ChunkIndex>,
    /// Those of slices after these.
    later: BinaryHeap<Reverse<Timer>>,
}

/// A part of a bucket, in no order.
#[derive(Debug)]
struct Chunk {
    /// Up to [`CHUNK`], and memory for as many.
    entries: Vec<Timer>,
    /// The part before it, which is full; of a spare chunk, the next one.
    previous: Option<ChunkIndex>,
}

/// Where a chunk is among all.
type ChunkIndex = usize;

/// Half of the last chunk of each bucket holds nothing, on average.
const CHUNK: usize = 32;

/// A slice is 2²⁶ ns, 67 ms.
const SLICE_BITS: u32 = 26;

/// Up to 17 s ahead: most retransmission timeouts are shorter.
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

    /// Whether [`refill`](Self::refill) has something to do: then what `next` and `pop` say is not
    /// the whole truth.
    #[inline]
    pub(crate) fn needs_refill(&self) -> bool {
        self.due.is_empty() && (self.waiting > 0 || !self.later.is_empty())
    }

    /// When the first entry is due, [`Instant::NEVER`] if there is none. Not to be asked while dry.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.due.peek().map_or(Instant::NEVER, |Reverse(timer)| timer.at)
    }

    /// Entries in the order that the heap keeps them in: the first, then most likely the next two.
    /// Not to be asked while dry.
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

    /// Takes the first entry. Not while dry.
    pub(crate) fn pop(&mut self) -> Option<Timer> {
        self.due.pop().map(|Reverse(first)| first)
    }

    /// Goes on to the next slice that has anything, if this one has nothing left: then the first
    /// entry is among those that are due. `still_due` says when an entry is due by now, no
    /// earlier than it was; `None` when it is void. It is told of the one that it will be asked
    /// for as its fourth from there, too.
    pub(crate) fn refill(
        &mut self,
        mut still_due: impl FnMut(&Timer, Option<&Timer>) -> Option<Instant>,
    ) {
        const AHEAD: usize = 4;
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
                    let soon = entries
                        .get(at + AHEAD)
                        .or_else(|| self.chunks[previous?].entries.get(at + AHEAD - entries.len()));
                    if let Some(at) = still_due(timer, soon) {
                        self.push(Timer { at, ..*timer });
                    }
                }
                entries.clear();
                self.chunks[index] = Chunk { entries, previous: self.free.replace(index) };
                current = previous;
            }
        }
    }

    /// Puts an entry into the bucket of a slice to come.
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

/// Which bucket a slice has.
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

    /// How far ahead an entry lies: at once, in this slice, in the buckets, at their end, far
    /// behind them, never.
    fn any_distance() -> impl Strategy<Value = u64> {
        let end = SLICES << SLICE_BITS;
        prop_oneof![
            0..3u64,
            0..1u64 << SLICE_BITS,
            0..end,
            end - 3..end + 3,
            end..20 * end,
            Just(u64::MAX)
        ]
    }

    /// Fills up what is due, as a driver does before every look.
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

        /// Each flow has one entry; its deadline moves on, or goes away, while the entry waits.
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
                // As the event loop does with what was already due when its deadline moved on.
                match deadlines[usize::try_from(entry.number).unwrap()] {
                    Some(at) if at == entry.at => seen.push((at, entry.number)),
                    Some(at) => timers.push(Timer { at, ..entry }),
                    None => {}
                }
            }
            prop_assert_eq!(seen, expected);
        }
    }

    /// However unevenly entries come, what waits takes little more memory than it needs.
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
        assert!(size_of::<Timer>() <= 24, "{} bytes", size_of::<Timer>());
    }
}

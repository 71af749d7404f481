//! What is due at times to come: flows' deadlines, starts, samples.
//!
//! Order is total, as in a heap, but a heap of every flow's entry grows deeper and colder with their number. So only
//! what is due soon is in a heap; what is due later waits unsorted, in a bucket for each slice of time, and enters the
//! heap when its slice comes. What is due later than the last bucket waits in a heap of its own.

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
    /// Those of the slices after it, by the slice's number modulo [`SLICES`].
    buckets: Vec<Vec<Timer>>,
    /// How many entries the buckets hold.
    waiting: usize,
    /// Those of slices after these.
    later: BinaryHeap<Reverse<Timer>>,
}

/// A slice is 2²⁶ ns, 67 ms.
const SLICE_BITS: u32 = 26;

/// Up to 17 s ahead: most retransmission timeouts are shorter.
const SLICES: u64 = 256;

impl Timers {
    pub(crate) fn new() -> Self {
        Self {
            due: BinaryHeap::new(),
            slice: 0,
            buckets: (0..SLICES).map(|_| Vec::new()).collect(),
            waiting: 0,
            later: BinaryHeap::new(),
        }
    }

    /// When the first entry is due, [`Instant::NEVER`] if there is none.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.due.peek().map_or(Instant::NEVER, |Reverse(timer)| timer.at)
    }

    pub(crate) fn push(&mut self, timer: Timer) {
        let slice = slice(timer.at);
        if slice <= self.slice {
            self.due.push(Reverse(timer));
        } else if slice - self.slice < SLICES {
            self.bucket(slice).push(timer);
            self.waiting += 1;
        } else {
            self.later.push(Reverse(timer));
        }
        self.refill();
    }

    /// Takes the first entry.
    pub(crate) fn pop(&mut self) -> Option<Timer> {
        let Reverse(first) = self.due.pop()?;
        self.refill();
        Some(first)
    }

    /// Goes on to the next slice that has anything, if this one has nothing left: the first entry is always among
    /// those that are due.
    fn refill(&mut self) {
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
                self.bucket(slice(timer.at)).push(timer);
                self.waiting += 1;
            }
            let mut come = std::mem::take(self.bucket(self.slice));
            self.waiting -= come.len();
            self.due.extend(come.drain(..).map(Reverse));
            *self.bucket(self.slice) = come;
        }
    }

    fn bucket(&mut self, slice: u64) -> &mut Vec<Timer> {
        // Less than 256.
        &mut self.buckets[usize::try_from(slice % SLICES).unwrap_or(0)]
    }
}

fn slice(at: Instant) -> u64 {
    at.as_nanos() >> SLICE_BITS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn timer(at: u64, number: u64) -> Timer {
        Timer { at: Instant::from_nanos(at), class: Class::Flow, number, slot: 0 }
    }

    /// How far ahead an entry lies: at once, in this slice, in the buckets, at their end, far behind them, never.
    fn any_distance() -> impl Strategy<Value = u64> {
        let end = SLICES << SLICE_BITS;
        prop_oneof![0..3u64, 0..1u64 << SLICE_BITS, 0..end, end - 3..end + 3, end..20 * end, Just(u64::MAX)]
    }

    proptest! {
        #[test]
        fn entries_come_in_order(steps in proptest::collection::vec((any_distance(), 0..4usize), 1..300)) {
            let mut timers = Timers::new();
            let mut heap = BinaryHeap::new();
            let mut now = 0u64;
            for (number, (distance, takes)) in (0u64..).zip(steps) {
                let entry = timer(now.saturating_add(distance), number);
                timers.push(entry);
                heap.push(Reverse(entry));
                for _ in 0..takes {
                    prop_assert_eq!(timers.next(), heap.peek().map_or(Instant::NEVER, |Reverse(t)| t.at));
                    let first = timers.pop();
                    prop_assert_eq!(first, heap.pop().map(|Reverse(timer)| timer));
                    now = first.map_or(now, |timer| timer.at.as_nanos().min(1 << 60));
                }
            }
            while let Some(Reverse(first)) = heap.pop() {
                prop_assert_eq!(timers.pop(), Some(first));
            }
            prop_assert_eq!((timers.pop(), timers.next()), (None, Instant::NEVER));
        }
    }

    #[test]
    fn an_entry_is_small() {
        assert!(size_of::<Timer>() <= 24, "{} bytes", size_of::<Timer>());
    }
}

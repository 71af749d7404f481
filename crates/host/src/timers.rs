//! One deadline a connection, kept so that moving it later costs nothing.
//!
//! A connection has one entry in the heap. When its deadline moves later the entry stays, and is
//! looked at again when it comes up: a retransmission timer moves with every acknowledgment and
//! hardly ever fires. When it moves earlier there is a second entry, and the first counts no more;
//! those are swept out when they become the most.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Instant;

use crate::ConnectionId;

/// The entries of all connections, earliest first.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, ConnectionId)>>,
}

impl Timers {
    /// The time of the foremost entry, which may be earlier than any deadline but never later.
    pub(crate) fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// Has `id` come up at `deadline`, or earlier. `entry` is the time of the entry that stands for
    /// it.
    pub(crate) fn set(&mut self, id: ConnectionId, entry: &mut Instant, deadline: Instant) {
        if deadline < *entry {
            *entry = deadline;
            self.heap.push(Reverse((deadline, id)));
        }
    }

    /// Drops the entries that count no more, if they are the most with so many `connections`:
    /// sweeping costs no more than what led to it.
    pub(crate) fn sweep(
        &mut self,
        connections: usize,
        counts: impl Fn(Instant, ConnectionId) -> bool,
    ) {
        if self.heap.len() > 64 + 2 * connections {
            self.heap.retain(|Reverse((at, id))| counts(*at, *id));
        }
    }

    /// The next entry that is due, with its time. It counts only if that is still the time noted
    /// for it.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, ConnectionId)> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}

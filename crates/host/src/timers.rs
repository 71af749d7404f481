//! One deadline per connection, in a heap with lazy updates.
//!
//! A connection has one valid entry in the heap. If its deadline moves later, the entry stays and
//! is checked when it comes up: a retransmission timer is restarted with every acknowledgment and
//! rarely expires. If the deadline moves earlier, a second entry is added and the first becomes
//! stale. Stale entries are removed once they are the majority.

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
    /// The time of the first entry. It may be earlier than all deadlines, but never later.
    pub(crate) fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// Ensures an entry for `id` no later than `deadline`. `entry` is the time of its valid entry.
    pub(crate) fn set(&mut self, id: ConnectionId, entry: &mut Instant, deadline: Instant) {
        if deadline < *entry {
            *entry = deadline;
            self.heap.push(Reverse((deadline, id)));
        }
    }

    /// Removes stale entries if they are the majority for this number of connections, so that the
    /// amortized cost is constant. `counts` tells whether an entry is valid.
    pub(crate) fn sweep(
        &mut self,
        connections: usize,
        counts: impl Fn(Instant, ConnectionId) -> bool,
    ) {
        if self.heap.len() > 64 + 2 * connections {
            self.heap.retain(|Reverse((at, id))| counts(*at, *id));
        }
    }

    /// Number of entries, including stale ones.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Removes and returns the next entry that is due at `now`. It is valid only if its time equals
    /// the stored entry of the connection.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, ConnectionId)> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}

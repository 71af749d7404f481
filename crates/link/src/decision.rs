//! Queues that decide on packets after their arrival, and their decisions.

use units::{Duration, Instant, Rate};

use crate::books::{CellBooks, Tally};
use crate::buffer::Buffer;
use crate::packet::{DropReason, Offered};
use crate::statistics::QueueStatistics;

/// A queue's decision on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The time of the decision.
    pub(crate) at: Instant,
    /// The packet's index among the undecided packets, in order of arrival.
    pub(crate) index: usize,
    pub(crate) kind: DecisionKind,
}

/// The decision of a queue on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecisionKind {
    /// The packet's last bit leaves at this time.
    Leaves(Instant),
    /// The packet is marked, and its last bit leaves at this time.
    LeavesMarked(Instant),
    Dropped(DropReason),
}

/// The parameters of a queue with a line that can change while it has packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueParameters {
    /// The new rate; `None` if the line does not change.
    pub(crate) rate: Option<Rate>,
    pub(crate) buffer: Buffer,
    pub(crate) counts_in_service: bool,
    /// The target, the interval and the use of ECN of CoDel; `None` for another queue.
    pub(crate) codel: Option<(Duration, Duration, bool)>,
}

/// A queue that decides on packets after their arrival. [`Link`](crate::Link) drives it in order of
/// time.
pub(crate) trait DeferringQueue: std::fmt::Debug + Send + Sync {
    /// Returns true if there is room for a packet of `bytes`, or for the first cell of its frame.
    /// All decisions must have been [polled](Self::poll_decision).
    fn has_room(&self, bytes: u32) -> bool;

    /// Adds a packet. With `lost` it will be lost on the line.
    fn offer(&mut self, now: Instant, packet: Offered, lost: bool);

    /// The time of the next decision, if any packet is undecided.
    fn next_decision(&self) -> Option<Instant>;

    /// The next decision made by `now`. Call until `None`.
    fn poll_decision(&mut self, now: Instant) -> Option<Decision>;

    /// The packets and bytes in the queue.
    fn depth(&mut self, now: Instant) -> Tally;

    /// The statistics of the last `elapsed`, up to `now`.
    fn statistics(&mut self, now: Instant, elapsed: Duration) -> QueueStatistics;

    /// Begins new statistics at `now`.
    fn reset_statistics(&mut self, now: Instant);

    /// Changes the parameters. Packets in the queue stay, and the packet in transmission ends at
    /// the old rate.
    fn change(&mut self, to: QueueParameters);

    /// The cells of a port; `None` for a queue of packets.
    fn cell_books(&self) -> Option<CellBooks> {
        None
    }
}

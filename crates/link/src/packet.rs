//! A packet that is offered to a link, the random decisions on it, and their outcome.

use units::{Duration, Instant};

/// The properties of a packet on which a link's decisions depend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offered {
    /// The packet's size on the wire, in bytes.
    pub bytes: u32,
    /// The packet carries data. An explicit loss mask counts only data packets.
    pub data: bool,
    /// The packet may be marked instead of being dropped early (RFC 3168 §5).
    pub ecn_capable: bool,
    /// The flow identity, for decisions per flow. Each direction of a flow has an identity of its
    /// own.
    pub flow: u64,
    /// The path identity: equal for all packets from one source to one destination.
    pub path: u64,
    /// For a port: the time from the arrival of the packet's first cell to that of its last.
    pub lag: Duration,
}

/// A random decision on a packet. The uniform numbers for one packet's decisions are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Chance {
    /// Whether the loss model loses the packet.
    Loss,
    /// Whether the discipline drops or marks the packet.
    Early,
    /// Whether the packet takes the additional delay of [`Reorder`](crate::Reorder).
    Reorder,
    /// The packet's additional delay from [`Jitter`](crate::Jitter).
    Jitter,
}

/// The result of offering a packet to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The packet will be delivered.
    Accepted,
    /// The packet will be delivered, and the driver has to mark it
    /// ([`Link::newest_mut`](crate::Link::newest_mut)).
    Marked,
    /// The decision comes later. The packet is delivered unless
    /// [`Link::poll_verdict`](crate::Link::poll_verdict) returns a drop. It may overtake
    /// packets that were accepted earlier.
    Pending,
    /// The packet will not be delivered.
    Dropped(DropReason),
}

impl Outcome {
    /// Returns true unless the packet is dropped. A pending packet may still be dropped later.
    pub const fn is_accepted(self) -> bool {
        matches!(self, Self::Accepted | Self::Marked | Self::Pending)
    }
}

/// The reason for which a packet is not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// The buffer had no room for the packet.
    Buffer,
    /// The discipline dropped the packet although there was room.
    Early,
    /// The loss model lost the packet. With [`LossPoint::Line`](crate::LossPoint::Line) it still
    /// occupies the buffer and the line.
    Loss,
}

/// A packet in the link. In a queue with deferred verdicts `delivery` holds the packet's additional
/// delay ([`Extra`](crate::path::Extra)) instead of its delivery time.
#[derive(Debug)]
pub(crate) struct InFlight<P> {
    pub(crate) delivery: Instant,
    pub(crate) bytes: u32,
    pub(crate) content: P,
}

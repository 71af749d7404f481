//! The accounts of a link's packets.

use std::ops::{Add, AddAssign};

use crate::packet::DropReason;

/// A number of packets and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Tally {
    /// The number of packets.
    pub packets: u64,
    /// Their size on the wire, in bytes.
    pub bytes: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

impl Add for Tally {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Dropped packets, by reason.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    pub(crate) buffer: Tally,
    pub(crate) early: Tally,
    pub(crate) loss: Tally,
}

impl Dropped {
    pub(crate) fn count(&mut self, why: DropReason, bytes: u32) {
        match why {
            DropReason::Buffer => self.buffer.count(bytes),
            DropReason::Early => self.early.count(bytes),
            DropReason::Loss => self.loss.count(bytes),
        }
    }
}

/// Counts of the packets offered to a link since it was built or its statistics were last reset.
///
/// At every instant offered = delivered + dropped + held. `held` is counted from the packets in the
/// link, not inferred from the other three. After a reset, the packets in the link count as both
/// offered and held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Books {
    /// Packets offered to the link.
    pub offered: Tally,
    /// Packets delivered at its far end.
    pub delivered: Tally,
    /// Packets refused because the buffer was full.
    pub dropped_buffer: Tally,
    /// Packets dropped by the discipline although there was room.
    pub dropped_early: Tally,
    /// Packets lost by the loss model.
    pub dropped_loss: Tally,
    /// Packets waiting, in transmission, in propagation, or arrived and not yet taken.
    pub held: Tally,
    /// Packets marked by the discipline. They also count as delivered, held or lost on the line.
    pub marked: Tally,
}

impl Books {
    /// Packets dropped for any reason.
    pub fn dropped(&self) -> Tally {
        self.dropped_buffer + self.dropped_early + self.dropped_loss
    }

    /// Returns true if offered = delivered + dropped + held, in packets and in bytes.
    pub fn balance(&self) -> bool {
        self.offered == self.delivered + self.dropped() + self.held
    }
}

/// Counts of the cells that arrived at a port since it was built or its statistics were last reset.
///
/// At every instant offered = delivered + dropped + held. After a reset, the cells in the buffer
/// count as both offered and held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CellBooks {
    /// Cells that arrived.
    pub offered: u64,
    /// Cells that were sent.
    pub delivered: u64,
    /// Cells that were dropped: by a full buffer, by a threshold, or because of an earlier loss in
    /// their packet.
    pub dropped: u64,
    /// Cells in the buffer, including the one in transmission.
    pub held: u64,
    /// Cells that were stored for packets that are not delivered. They are sent like others.
    pub wasted: u64,
}

impl CellBooks {
    /// Returns true if offered = delivered + dropped + held.
    pub const fn balance(&self) -> bool {
        self.offered == self.delivered + self.dropped + self.held
    }
}

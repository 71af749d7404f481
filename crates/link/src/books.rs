//! Where every packet went.

use std::ops::{Add, AddAssign};

use crate::link::DropReason;

/// A number of packets and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Tally {
    /// How many packets.
    pub packets: u64,
    /// Their size on the wire.
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

/// What was dropped, by reason.
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

/// What became of everything offered to a link since it was built or its statistics were last
/// reset.
///
/// At every instant offered = delivered + dropped + held. `held` is counted from what is in the
/// link, not inferred from the other three. A packet in the link at a reset opens the new books as
/// both offered and held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Books {
    /// Handed to the link.
    pub offered: Tally,
    /// Taken from its far end.
    pub delivered: Tally,
    /// Refused for want of room.
    pub dropped_buffer: Tally,
    /// Dropped by the discipline although there was room.
    pub dropped_early: Tally,
    /// Taken by the loss model.
    pub dropped_loss: Tally,
    /// Waiting, in transmission, travelling, or arrived and not yet taken.
    pub held: Tally,
    /// Marked by the discipline. They are delivered, held or lost on the line like any others, and
    /// counted there.
    pub marked: Tally,
}

impl Books {
    /// Dropped for whatever reason.
    pub fn dropped(&self) -> Tally {
        self.dropped_buffer + self.dropped_early + self.dropped_loss
    }

    /// Whether offered = delivered + dropped + held, in packets and in bytes.
    pub fn balance(&self) -> bool {
        self.offered == self.delivered + self.dropped() + self.held
    }
}

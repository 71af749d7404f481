//! The accounts of a port's cells.

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

//! Where every cell went.

/// What became of the cells that came to a port since it was built or its statistics were last
/// reset.
///
/// At every instant offered = delivered + dropped + held. A cell in the buffer at a reset opens the
/// new books as both offered and held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CellBooks {
    /// Arrived.
    pub offered: u64,
    /// Sent.
    pub delivered: u64,
    /// For want of room, early, or because a part of their packet was.
    pub dropped: u64,
    /// In the buffer, the one being sent included.
    pub held: u64,
    /// Stored in vain: sent, or about to be, for packets that are not delivered.
    pub wasted: u64,
}

impl CellBooks {
    /// Whether offered = delivered + dropped + held.
    pub const fn balance(&self) -> bool {
        self.offered == self.delivered + self.dropped + self.held
    }
}

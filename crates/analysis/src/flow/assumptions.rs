//! Facts that the caller states, in place of those that the analysis infers.

use super::vantage::Vantage;
use crate::kind::SenderKind;

/// Facts about every connection of a capture. What is `None` is inferred for each connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Assumptions {
    /// Position of the capture with respect to the responder, which usually sends most of the data.
    pub vantage: Option<Vantage>,
    /// Kind of both senders.
    pub sender: Option<SenderKind>,
}

impl Assumptions {
    /// Position with respect to the sender of a direction: 0 from the end that opened the
    /// connection.
    pub(crate) fn vantage_of(&self, direction: usize) -> Option<Vantage> {
        self.vantage.map(|vantage| if direction == 0 { vantage.of_other_end() } else { vantage })
    }
}

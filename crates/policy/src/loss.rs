//! What is lost? Duplicate acknowledgments (RFC 5681) or the SACK scoreboard (RFC 6675).
//!
//! Both wait for the same evidence, three segments that arrived after the missing one, and differ in how they
//! see it: one counts acknowledgments that say nothing new, the other what the receiver says it holds.

mod dup_ack;
mod sack;
mod scoreboard;

pub use dup_ack::DupAck;
pub use sack::Sack;
pub use scoreboard::{Acked, Cut, Scoreboard};

/// How many segments must have arrived above a hole before it counts as lost (RFC 5681 §3.2, RFC 6675 §2).
pub const DUP_THRESH: u32 = 3;

/// An acknowledgment that didn't advance `snd.una`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplicate {
    /// A duplicate in the sense of RFC 5681 §2: outstanding data, no payload, no SYN or FIN, and the same
    /// window as before. The last condition is why four segments are one too few where a receiver shrinks
    /// its window for data out of order.
    pub exact: bool,
    /// Bytes that SACK blocks reported for the first time.
    pub newly_sacked: u32,
}

/// Decides when the first unacknowledged segment is lost.
pub trait LossDetector {
    /// Shows an acknowledgment that brought nothing new; returns whether a loss has been detected.
    fn on_duplicate(&mut self, duplicate: &Duplicate, board: &Scoreboard) -> bool;

    /// `snd.una` advanced, or a timeout started everything afresh.
    fn reset(&mut self);

    /// Duplicate acknowledgments since `snd.una` last advanced.
    fn duplicates(&self) -> u32;
}

/// Any of the detectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnyDetector {
    /// Three duplicate acknowledgments.
    DupAck(DupAck),
    /// The scoreboard.
    Sack(Sack),
}

macro_rules! each {
    ($self:ident, $inner:ident => $call:expr) => {
        match $self {
            Self::DupAck($inner) => $call,
            Self::Sack($inner) => $call,
        }
    };
}

impl LossDetector for AnyDetector {
    fn on_duplicate(&mut self, duplicate: &Duplicate, board: &Scoreboard) -> bool {
        each!(self, d => d.on_duplicate(duplicate, board))
    }

    fn reset(&mut self) {
        each!(self, d => d.reset());
    }

    fn duplicates(&self) -> u32 {
        each!(self, d => d.duplicates())
    }
}

/// RFC 3042: what the first two duplicate acknowledgments let out beyond the window, in bytes.
pub fn limited_transmit(duplicates: u32, mss_c: u32) -> u32 {
    duplicates.min(DUP_THRESH - 1) * mss_c
}

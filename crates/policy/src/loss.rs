//! What is lost? Duplicate acknowledgments (RFC 5681), the SACK scoreboard (RFC 6675), Vegas's look
//! at the clock, or the ACK window of TCP Santa Cruz.
//!
//! The first two wait for the same evidence, three segments that arrived after the missing one, and
//! differ in how they see it: one counts acknowledgments that say nothing new, the other what the
//! receiver says it holds. The last is told which transmission has arrived, and goes by the order
//! in which they left.

mod ack_window;
mod dup_ack;
mod early;
mod sack;
mod scoreboard;
mod vegas;

pub use ack_window::AckWindow;
pub use dup_ack::DupAck;
pub use early::EarlyRetransmit;
pub use sack::Sack;
pub use scoreboard::{Acked, Scoreboard, SentSegment};
pub use vegas::Vegas;

use std::fmt;

use units::Instant;

use crate::facts::{AckSample, ForwardSample};

/// How many segments must have arrived above a hole before it counts as lost (RFC 5681 §3.2, RFC
/// 6675 §2).
pub const DUP_THRESH: u32 = 3;

/// An acknowledgment that didn't advance `snd.una`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplicate {
    /// A duplicate in the sense of RFC 5681 §2: outstanding data, no payload, no SYN or FIN, and
    /// the same window as before. The last condition is why four segments are one too few
    /// where a receiver shrinks its window for data out of order.
    pub exact: bool,
    /// Bytes that SACK blocks reported for the first time.
    pub newly_sacked: u32,
    /// When it came. The first segment of the scoreboard says when that one was last sent.
    pub now: Instant,
}

/// What a report gave away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detection {
    /// Whether something is lost that wasn't before.
    pub lost: bool,
    /// When more will be if nothing else arrives; [`Instant::NEVER`] if nothing.
    pub next_deadline: Instant,
}

impl Detection {
    /// Nothing is lost, nor will be.
    pub const NONE: Self = Self { lost: false, next_deadline: Instant::NEVER };
}

/// Decides when the first unacknowledged segment is lost.
pub trait LossDetector: fmt::Debug + Send + Sync {
    /// Shows an acknowledgment that brought nothing new; returns whether a loss has been detected.
    fn on_duplicate(&mut self, duplicate: &Duplicate, board: &Scoreboard) -> bool;

    /// The same while a loss is being repaired: whether what was resent of the first segment is
    /// lost too.
    fn on_duplicate_in_repair(&mut self, _duplicate: &Duplicate, _board: &Scoreboard) -> bool {
        false
    }

    /// `snd.una` advanced, and the scoreboard holds what is left; returns whether the segment that
    /// is now the first is lost.
    fn on_ack(&mut self, _ack: &AckSample, _board: &Scoreboard) -> bool {
        self.reset();
        false
    }

    /// An acknowledgment, of whatever, said which transmission caused it, and the scoreboard knows
    /// what it reports; or the time has come to look at the last of them again. Marks what is
    /// lost.
    fn on_report(&mut self, _report: &ForwardSample, _board: &mut Scoreboard) -> Detection {
        Detection::NONE
    }

    /// Something was reported while a loss is being repaired, or its repair begins (`first`: with
    /// the first segment in any case): marks what is lost.
    fn mark(&self, _board: &mut Scoreboard, _first: bool) {}

    /// Whether reports of the receiver are kept after a timeout, so that only what it has not
    /// reported is sent again.
    fn survives_timeout(&self) -> bool {
        false
    }

    /// A timeout started everything afresh.
    fn reset(&mut self);

    /// Duplicate acknowledgments since `snd.una` last advanced.
    fn duplicates(&self) -> u32;
}

/// Any of the detectors; what is not common stands elsewhere.
#[derive(Debug)]
pub enum AnyDetector {
    /// Three duplicate acknowledgments.
    DupAck(DupAck),
    /// The scoreboard.
    Sack(Sack),
    /// Acknowledgments that are asked for the time.
    Vegas(Box<Vegas>),
    /// The ACK window.
    AckWindow(AckWindow),
}

macro_rules! each {
    ($self:ident, $inner:ident => $call:expr) => {
        match $self {
            Self::DupAck($inner) => $call,
            Self::Sack($inner) => $call,
            Self::Vegas($inner) => $call,
            Self::AckWindow($inner) => $call,
        }
    };
}

impl AnyDetector {
    /// Whether it looks at an acknowledgment of new data; others are [`reset`](LossDetector::reset)
    /// by it.
    pub fn needs_samples(&self) -> bool {
        matches!(self, Self::Vegas(_) | Self::AckWindow(_))
    }
}

impl LossDetector for AnyDetector {
    fn on_duplicate(&mut self, duplicate: &Duplicate, board: &Scoreboard) -> bool {
        each!(self, d => d.on_duplicate(duplicate, board))
    }

    fn on_duplicate_in_repair(&mut self, duplicate: &Duplicate, board: &Scoreboard) -> bool {
        each!(self, d => d.on_duplicate_in_repair(duplicate, board))
    }

    fn on_ack(&mut self, ack: &AckSample, board: &Scoreboard) -> bool {
        each!(self, d => d.on_ack(ack, board))
    }

    fn on_report(&mut self, report: &ForwardSample, board: &mut Scoreboard) -> Detection {
        each!(self, d => d.on_report(report, board))
    }

    #[inline]
    fn mark(&self, board: &mut Scoreboard, first: bool) {
        each!(self, d => d.mark(board, first));
    }

    fn survives_timeout(&self) -> bool {
        each!(self, d => d.survives_timeout())
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

//! Loss detection: duplicate acknowledgments (RFC 5681), the SACK scoreboard (RFC 6675), the
//! fine-grained timeout of Vegas, or the ACK window of TCP Santa Cruz.
//!
//! The first two need the same evidence: three segments that arrived after the missing one. One
//! counts duplicate acknowledgments, the other uses the receiver's SACK blocks. The ACK window
//! identifies the transmission that arrived, and the detector uses the order of transmission.

mod ack_window;
mod dup_ack;
mod early;
mod rack;
mod reordering;
mod sack;
mod scoreboard;
mod tail_loss_probe;
mod vegas;

pub use ack_window::AckWindow;
pub use dup_ack::DupAck;
pub use early::EarlyRetransmit;
pub use rack::{Rack, RackFacts};
pub use reordering::Reordering;
pub use sack::Sack;
pub use scoreboard::{Acked, Scoreboard, SentSegment};
pub use tail_loss_probe::{ProbeAck, ProbeVerdict, TailLossProbe};
pub use vegas::Vegas;

use std::fmt;

use enum_dispatch::enum_dispatch;
use units::Instant;
use wire::SeqNum;

pub use crate::facts::Transmission;
use crate::facts::{AckSample, ForwardSample};

/// Number of segments that must have arrived above a hole before it counts as lost (RFC 5681 §3.2,
/// RFC 6675 §2).
pub const DUP_THRESH: u32 = 3;

/// An acknowledgment that did not advance `snd.una`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplicate {
    /// Whether it is a duplicate in the sense of RFC 5681 §2: outstanding data, no payload, no SYN
    /// or FIN, and an unchanged window. The last condition makes four segments one too few if the
    /// receiver shrinks its window for out-of-order data.
    pub exact: bool,
    /// Number of bytes that SACK blocks reported for the first time.
    pub newly_sacked: u32,
    /// Arrival time. The scoreboard has the time of the last transmission of the first segment.
    pub now: Instant,
}

/// Segments that a detector found lost. A segment that the receiver has reported is never lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// None, besides those found before.
    Nothing,
    /// The first unacknowledged segment, or its retransmission.
    First,
    /// Every segment before this sequence number. Retransmissions are not lost again.
    Before(SeqNum),
    /// Every segment whose last transmission was this one or an earlier one, including
    /// retransmissions.
    SentUpTo(Transmission),
}

/// Result of loss detection on a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detection {
    /// Segments that are lost.
    pub lost: Lost,
    /// Time at which more segments will count as lost if nothing else arrives; [`Instant::NEVER`]
    /// if there are none.
    pub next_deadline: Instant,
}

impl Detection {
    /// Result without a present or a future loss.
    pub const NONE: Self = Self { lost: Lost::Nothing, next_deadline: Instant::NEVER };
}

/// Decides which segments are lost. The caller marks them in the scoreboard.
#[enum_dispatch]
pub trait LossDetector: fmt::Debug + Send + Sync {
    /// Handles an acknowledgment that acknowledges nothing new, outside recovery.
    fn on_duplicate(&mut self, duplicate: &Duplicate, board: &Scoreboard) -> Lost;

    /// Handles such an acknowledgment during recovery. [`Lost::First`] is the retransmission of the
    /// first segment here, and reduces the window again.
    fn on_duplicate_in_recovery(&mut self, _duplicate: &Duplicate, board: &Scoreboard) -> Lost {
        self.lost_by_reports(board)
    }

    /// Handles an advance of `snd.una`, after its removal from the scoreboard.
    fn on_ack(&mut self, _ack: &AckSample, _board: &Scoreboard) -> Lost {
        self.reset();
        Lost::Nothing
    }

    /// Handles a report of the transmission that caused an acknowledgment, or the deadline of the
    /// last report. The scoreboard already contains what it reports.
    fn on_report(&mut self, _report: &ForwardSample, _board: &Scoreboard) -> Detection {
        Detection::NONE
    }

    /// Finds the segments that the reports in the scoreboard show to be lost. The caller asks when
    /// recovery begins, and after each acknowledgment during recovery.
    fn lost_by_reports(&self, _board: &Scoreboard) -> Lost {
        Lost::Nothing
    }

    /// Whether reports of the receiver are kept after a timeout, so that only unreported data is
    /// retransmitted.
    fn survives_timeout(&self) -> bool {
        false
    }

    /// Resets the state, after a timeout for example.
    fn reset(&mut self);

    /// Number of duplicate acknowledgments since `snd.una` last advanced.
    fn duplicates(&self) -> u32;
}

/// Any loss detector.
#[enum_dispatch(LossDetector)]
#[derive(Debug)]
pub enum AnyDetector {
    /// Three duplicate acknowledgments (RFC 5681).
    DupAck(DupAck),
    /// SACK scoreboard (RFC 6675).
    Sack(Sack),
    /// Duplicate acknowledgments and a fine-grained timeout (TCP Vegas).
    Vegas(Vegas),
    /// ACK window (TCP Santa Cruz).
    AckWindow(AckWindow),
}

/// RFC 3042: number of bytes beyond the window that the first two duplicate acknowledgments allow.
pub fn limited_transmit(duplicates: u32, mss_c: u32) -> u32 {
    duplicates.min(DUP_THRESH - 1) * mss_c
}

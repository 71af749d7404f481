//! How fast while recovering? Between noticing a loss and having repaired it.
//!
//! They differ in what they take an acknowledgment in that time for. Tahoe doesn't care and starts
//! over. Reno takes a duplicate for a segment that left the network and ends at the first news.
//! NewReno (RFC 6582) takes news that stops short of the recovery point for another hole. SACK (RFC
//! 6675) looks at the scoreboard, and so does its ancestor SACK1, which counts acknowledgments to
//! know how much is in the network. TCP Santa Cruz leaves it to the detector what is lost.

mod ack_window;
mod new_reno;
mod reno;
mod sack;
mod sack1;

pub use ack_window::AckWindow;
pub use new_reno::NewReno;
pub use reno::Reno;
pub use sack::SackPipe;
pub use sack1::Sack1;

use crate::facts::LossSample;
use crate::loss::{Scoreboard, SentSegment};

/// An acknowledgment of new data during recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveryAck {
    /// Bytes newly acknowledged.
    pub acked: u32,
    /// Whether everything sent before the loss was noticed is now acknowledged.
    pub full: bool,
    /// What is in flight after it.
    pub flight: u32,
    /// The sender maximum segment size.
    pub smss: u32,
    /// The size of the segment that is now the first.
    pub segment: u32,
    /// The slow start threshold.
    pub ssthresh: u32,
    /// The controller's window, as it was reduced when recovery began.
    pub cwnd: u32,
}

/// What an acknowledgment of new data means to recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Recovery is over and the window becomes this wide.
    Done {
        /// Bytes.
        cwnd: u32,
    },
    /// There is more to repair.
    Partial {
        /// Resend the first unacknowledged segment at once.
        resend: bool,
        /// Restart the retransmission timer.
        restart_timer: bool,
    },
}

/// Repairs a loss without waiting for the timer.
pub trait Recovery {
    /// A loss was detected and the window has been reduced.
    fn enter(&mut self, loss: &LossSample);

    /// The retransmission timer expired. Everything that the receiver has not reported is lost, and
    /// is sent again in a slow start.
    fn enter_after_timeout(&mut self) {}

    /// Another duplicate acknowledgment; `segment` is the size of the first unacknowledged segment.
    fn on_duplicate(&mut self, segment: u32);

    /// New data was acknowledged.
    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress;

    /// The window in force, given the controller's.
    fn window(&self, cwnd: u32) -> u32;

    /// The bytes that count against the window; `None`: everything unacknowledged.
    fn pipe(&self, board: &Scoreboard) -> Option<u32>;

    /// The segment to retransmit before any new data, if the window has room for one.
    fn next_repair(&mut self, board: &Scoreboard) -> Option<SentSegment>;

    /// The segment to retransmit if the window has room for one and no new data can be sent.
    fn next_repair_without_new_data(&mut self, _board: &Scoreboard) -> Option<SentSegment> {
        None
    }

    /// A segment was sent.
    fn on_sent(&mut self, bytes: u32);

    /// Whether what the receiver reported still counts when recovery is over.
    fn keeps_reports(&self) -> bool {
        true
    }

    /// Whether duplicates for exactly the end of recovery say nothing of the next loss, because
    /// they may come from what was resent.
    fn guards_its_end(&self) -> bool {
        false
    }
}

/// Any of the recoveries that repair. (Tahoe's is to have none.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnyRecovery {
    /// RFC 5681 §3.2.
    Reno(Reno),
    /// RFC 6582.
    NewReno(NewReno),
    /// RFC 6675.
    SackPipe(SackPipe),
    /// Fall and Floyd 1996.
    Sack1(Sack1),
    /// Parsa and Garcia-Luna-Aceves 1999.
    AckWindow(AckWindow),
}

macro_rules! each {
    ($self:ident, $inner:ident => $call:expr) => {
        match $self {
            Self::Reno($inner) => $call,
            Self::NewReno($inner) => $call,
            Self::SackPipe($inner) => $call,
            Self::Sack1($inner) => $call,
            Self::AckWindow($inner) => $call,
        }
    };
}

impl Recovery for AnyRecovery {
    fn enter(&mut self, loss: &LossSample) {
        each!(self, r => r.enter(loss));
    }

    fn enter_after_timeout(&mut self) {
        each!(self, r => r.enter_after_timeout());
    }

    fn on_duplicate(&mut self, segment: u32) {
        each!(self, r => r.on_duplicate(segment));
    }

    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress {
        each!(self, r => r.on_ack(ack))
    }

    fn window(&self, cwnd: u32) -> u32 {
        each!(self, r => r.window(cwnd))
    }

    fn pipe(&self, board: &Scoreboard) -> Option<u32> {
        each!(self, r => r.pipe(board))
    }

    fn next_repair(&mut self, board: &Scoreboard) -> Option<SentSegment> {
        each!(self, r => r.next_repair(board))
    }

    fn next_repair_without_new_data(&mut self, board: &Scoreboard) -> Option<SentSegment> {
        each!(self, r => r.next_repair_without_new_data(board))
    }

    fn on_sent(&mut self, bytes: u32) {
        each!(self, r => r.on_sent(bytes));
    }

    fn keeps_reports(&self) -> bool {
        each!(self, r => r.keeps_reports())
    }

    fn guards_its_end(&self) -> bool {
        each!(self, r => r.guards_its_end())
    }
}

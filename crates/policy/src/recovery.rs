//! Recovery: how much is sent between the detection of a loss and its repair.
//!
//! The algorithms differ in their use of acknowledgments during that time. Tahoe ignores them and
//! restarts. Reno counts each duplicate as a segment that left the network, and ends with the first
//! new acknowledgment. NewReno (RFC 6582) treats an acknowledgment below the recovery point as
//! another hole. SACK (RFC 6675) uses the scoreboard. So does its predecessor SACK1, which counts
//! acknowledgments to estimate the data in the network, and FACK, which derives that estimate from
//! the highest report. TCP Santa Cruz lets the detector decide what is lost.

mod ack_window;
mod fack;
mod new_reno;
mod prr;
mod reno;
mod sack;
mod sack1;
mod undo;

pub use ack_window::AckWindow;
pub use fack::Fack;
pub use new_reno::NewReno;
pub use prr::{Prr, PrrAck};
pub use reno::Reno;
pub use sack::SackPipe;
pub use sack1::Sack1;
pub use undo::Undo;

use enum_dispatch::enum_dispatch;

use crate::facts::LossSample;
use crate::loss::{Scoreboard, SentSegment};

/// An acknowledgment of new data during recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveryAck {
    /// Number of bytes newly acknowledged.
    pub acked: u32,
    /// Whether it acknowledges everything sent before the loss was detected.
    pub full: bool,
    /// `FlightSize` after the acknowledgment, in bytes.
    pub flight: u32,
    /// Sender maximum segment size in bytes.
    pub smss: u32,
    /// Size of the segment that is now the first, in bytes.
    pub segment: u32,
    /// Slow start threshold in bytes.
    pub ssthresh: u32,
    /// Window of the controller in bytes, as reduced at the beginning of recovery.
    pub cwnd: u32,
}

/// Effect of an acknowledgment of new data on recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Recovery is complete.
    Done(Completion),
    /// A partial acknowledgment: more remains to be repaired.
    Partial {
        /// Whether to retransmit the first unacknowledged segment at once.
        resend: bool,
        /// Whether to restart the retransmission timer.
        restart_timer: bool,
    },
}

/// End of recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Window after recovery, in bytes.
    pub cwnd: u32,
    /// Whether reports of the receiver are kept.
    pub keeps_reports: bool,
    /// Whether duplicates of exactly the recovery point are ignored from now on, because
    /// retransmissions may have caused them.
    pub guards_recovery_point: bool,
}

impl Completion {
    /// Creates an end of recovery after which reports are kept and every duplicate counts. `cwnd`
    /// is the window after recovery, in bytes.
    pub const fn with_window(cwnd: u32) -> Self {
        Self { cwnd, keeps_reports: true, guards_recovery_point: false }
    }
}

/// Repairs a loss without waiting for the retransmission timer.
///
/// By default the scoreboard is not used: everything unacknowledged counts against the window, and
/// a segment is retransmitted only if [`Progress::Partial`] asks for it.
#[enum_dispatch]
pub trait Recovery {
    /// Begins recovery after a loss was detected and the window was reduced. After an expiry of the
    /// retransmission timer ([`LossSample::timer_expired`]) everything that the receiver has not
    /// reported is lost, and is retransmitted in slow start.
    fn enter(&mut self, loss: &LossSample);

    /// Handles a further duplicate acknowledgment. `segment` is the size of the first
    /// unacknowledged segment in bytes.
    fn on_duplicate(&mut self, _segment: u32) {}

    /// Handles an acknowledgment of new data.
    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress;

    /// Window in force in bytes, given the window of the controller.
    fn window(&self, cwnd: u32) -> u32 {
        cwnd
    }

    /// Number of bytes that count against the window; `None` if that is everything unacknowledged.
    fn pipe(&self, _board: &Scoreboard) -> Option<u32> {
        None
    }

    /// Segment to retransmit before any new data, if the window has room for it.
    fn next_repair(&mut self, _board: &Scoreboard) -> Option<SentSegment> {
        None
    }

    /// Segment to retransmit if the window has room for it and no new data can be sent.
    fn next_repair_without_new_data(&mut self, _board: &Scoreboard) -> Option<SentSegment> {
        None
    }

    /// Notes that a segment with this number of bytes was sent.
    fn on_sent(&mut self, _bytes: u32) {}
}

/// Any recovery algorithm. Tahoe has none.
#[enum_dispatch(Recovery)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnyRecovery {
    /// Fast recovery of Reno (RFC 5681 §3.2).
    Reno(Reno),
    /// Fast recovery of NewReno (RFC 6582).
    NewReno(NewReno),
    /// SACK-based recovery (RFC 6675).
    SackPipe(SackPipe),
    /// SACK1 (Fall and Floyd 1996).
    Sack1(Sack1),
    /// FACK (Mathis and Mahdavi 1996).
    Fack(Fack),
    /// TCP Santa Cruz (Parsa and Garcia-Luna-Aceves 1999).
    AckWindow(AckWindow),
}

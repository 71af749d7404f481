//! How fast while recovering? Between noticing a loss and having repaired it.
//!
//! The four differ in what they take an acknowledgment in that time for. Tahoe doesn't care and starts over.
//! Reno takes a duplicate for a segment that left the network and ends at the first news. NewReno (RFC 6582)
//! takes news that stops short of the recovery point for another hole. SACK (RFC 6675) looks at the scoreboard.

mod new_reno;
mod reno;
mod sack;

pub use new_reno::NewReno;
pub use reno::Reno;
pub use sack::SackPipe;

use crate::facts::LossSample;

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

    /// Another duplicate acknowledgment; `segment` is the size of the first unacknowledged segment.
    fn on_duplicate(&mut self, segment: u32);

    /// New data was acknowledged.
    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress;

    /// The window in force, given the controller's.
    fn window(&self, cwnd: u32) -> u32;
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
}

macro_rules! each {
    ($self:ident, $inner:ident => $call:expr) => {
        match $self {
            Self::Reno($inner) => $call,
            Self::NewReno($inner) => $call,
            Self::SackPipe($inner) => $call,
        }
    };
}

impl Recovery for AnyRecovery {
    fn enter(&mut self, loss: &LossSample) {
        each!(self, r => r.enter(loss));
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
}

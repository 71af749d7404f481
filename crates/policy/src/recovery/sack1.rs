//! SACK recovery as it was before RFC 3517.

use crate::facts::LossSample;
use crate::loss::{Scoreboard, SentSegment};
use crate::recovery::{Progress, Recovery, RecoveryAck};

/// Fall and Floyd's SACK1 (*Simulation-based Comparisons of Tahoe, Reno, and SACK TCP*, CCR 26(3),
/// 1996, §5), which ns-2's `TCP/Sack1` implements: the sender of the simulations of the papers'
/// time.
///
/// Unlike RFC 6675, which finds the pipe from the scoreboard, it counts: every acknowledgment takes
/// a segment out of the pipe, a partial one two (the segment that was lost and its copy). A hole
/// below the highest reported segment is resent without waiting for three reports above it, and the
/// reports are forgotten when recovery is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sack1 {
    pipe: u32,
    /// The acknowledgment that began recovery lets nothing out but the first segment.
    entering: bool,
}

impl Recovery for Sack1 {
    fn enter(&mut self, loss: &LossSample) {
        self.pipe = loss.flight.saturating_sub(loss.duplicates * loss.segment);
        self.entering = true;
    }

    fn on_duplicate(&mut self, segment: u32) {
        self.pipe = self.pipe.saturating_sub(segment);
        self.entering = false;
    }

    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress {
        if ack.full {
            return Progress::Done { cwnd: ack.cwnd };
        }
        self.pipe = self.pipe.saturating_sub(2 * ack.segment);
        self.entering = false;
        Progress::Partial { resend: false, restart_timer: true }
    }

    fn window(&self, cwnd: u32) -> u32 {
        cwnd
    }

    fn pipe(&self, _board: &Scoreboard) -> Option<u32> {
        Some(if self.entering { u32::MAX } else { self.pipe })
    }

    fn next_repair(&mut self, board: &Scoreboard) -> Option<SentSegment> {
        board.next_hole()
    }

    fn on_sent(&mut self, bytes: u32) {
        if !self.entering {
            self.pipe += bytes;
        }
    }
    fn keeps_reports(&self) -> bool {
        false
    }
}

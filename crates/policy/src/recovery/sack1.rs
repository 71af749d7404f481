//! SACK recovery before RFC 3517.

use crate::facts::LossSample;
use crate::loss::{Scoreboard, SentSegment};
use crate::recovery::{Completion, Progress, Recovery, RecoveryAck};

/// Fall and Floyd's SACK1 (*Simulation-based Comparisons of Tahoe, Reno, and SACK TCP*, CCR 26(3),
/// 1996, §5), which ns-2's `TCP/Sack1` implements. Simulations of the papers' time used it.
///
/// Unlike RFC 6675, which derives the pipe from the scoreboard, it counts acknowledgments. Each
/// removes one segment from the pipe, a partial one two: the lost segment and its retransmission. A
/// hole below the highest reported segment is retransmitted without three reports above it. The
/// reports are discarded when recovery ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sack1 {
    pipe: u32,
    /// Set by the acknowledgment that begins recovery: only the first segment may be sent.
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
            let end = Completion { keeps_reports: false, ..Completion::with_window(ack.cwnd) };
            return Progress::Done(end);
        }
        self.pipe = self.pipe.saturating_sub(2 * ack.segment);
        self.entering = false;
        Progress::Partial { resend: false, restart_timer: true }
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
}

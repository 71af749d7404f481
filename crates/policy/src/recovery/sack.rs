//! Recovery with the SACK scoreboard.

use crate::facts::LossSample;
use crate::loss::{Scoreboard, SentSegment};
use crate::recovery::{Completion, Progress, Recovery, RecoveryAck};

/// RFC 6675 §5: the pipe of the scoreboard, an estimate of the bytes in the network, is compared
/// with the reduced window. Window inflation is not needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SackPipe {
    stage: Stage,
}

/// Stage of recovery, as far as `NextSeg` needs it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    /// Fast recovery has begun, and its first retransmission has not been sent yet.
    #[default]
    Entered,
    /// The first retransmission has been sent. The value is the number of its bytes that are not
    /// acknowledged.
    FirstResent(u32),
    /// More than the first retransmission is acknowledged: a rescue retransmission is allowed.
    Advanced,
    /// The rescue retransmission of this recovery has been sent.
    Rescued,
    /// A timeout began this recovery.
    AfterTimeout,
}

impl Recovery for SackPipe {
    fn enter(&mut self, loss: &LossSample) {
        self.stage = if loss.timer_expired { Stage::AfterTimeout } else { Stage::Entered };
    }

    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress {
        if ack.full {
            return Progress::Done(Completion::with_window(ack.cwnd));
        }
        if let Stage::FirstResent(left) = self.stage {
            // RFC 6675 §4, NextSeg rule (4): HighACK must be greater than RescueRxt, which step
            // (4.3) of §5 sets to the end of the first retransmission. Acknowledgment of that
            // retransmission alone is not enough.
            self.stage = match left.checked_sub(ack.acked) {
                Some(left) => Stage::FirstResent(left),
                None => Stage::Advanced,
            };
        }
        // RFC 6675 §5, step (B): the scoreboard decides the next retransmission. RFC 6298 §5.3
        // restarts the timer.
        Progress::Partial { resend: false, restart_timer: true }
    }

    fn pipe(&self, board: &Scoreboard) -> Option<u32> {
        Some(board.pipe())
    }

    /// RFC 6675 §4, `NextSeg` rule (1): a lost segment. New data is rule (2).
    fn next_repair(&mut self, board: &Scoreboard) -> Option<SentSegment> {
        board.next_lost()
    }

    /// RFC 6675 §4, `NextSeg` rules (3) and (4): a segment that may be lost; then, once per
    /// recovery, the last segment. After a timeout §5.1 does not use `NextSeg`, so neither rule
    /// applies.
    fn next_repair_without_new_data(&mut self, board: &Scoreboard) -> Option<SentSegment> {
        if self.stage == Stage::AfterTimeout {
            return None;
        }
        if let Some(hole) = board.next_hole() {
            return Some(hole);
        }
        if self.stage != Stage::Advanced {
            return None;
        }
        self.stage = Stage::Rescued;
        board.last_hole()
    }

    fn on_sent(&mut self, bytes: u32) {
        if self.stage == Stage::Entered {
            self.stage = Stage::FirstResent(bytes);
        }
    }
}

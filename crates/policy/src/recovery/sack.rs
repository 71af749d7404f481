//! Recovery by the scoreboard.

use crate::facts::LossSample;
use crate::loss::{Cut, Scoreboard};
use crate::recovery::{Progress, Recovery, RecoveryAck};

/// RFC 6675 §5: what is believed to be in the network (the scoreboard's pipe) is held against the reduced
/// window; no inflation is needed, because what left the network is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SackPipe {
    /// RFC 6675 §4, `NextSeg` rule (4) has been used in this recovery.
    rescued: bool,
}

impl Recovery for SackPipe {
    fn enter(&mut self, _loss: &LossSample) {
        self.rescued = false;
    }

    fn on_duplicate(&mut self, _segment: u32) {}

    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress {
        if ack.full {
            return Progress::Done { cwnd: ack.cwnd };
        }
        // RFC 6675 §5, step (B): the scoreboard says what to send. RFC 6298 §5.3 restarts the timer.
        Progress::Partial { resend: false, restart_timer: true }
    }

    fn window(&self, cwnd: u32) -> u32 {
        cwnd
    }

    fn pipe(&self, board: &Scoreboard) -> Option<u32> {
        Some(board.pipe())
    }

    /// RFC 6675 §4, `NextSeg`: (1) what is lost, (2) new data, (3) what may be lost, (4) once, the last segment.
    fn next_repair(&mut self, board: &Scoreboard, new_data: bool) -> Option<Cut> {
        if let Some(lost) = board.next_lost() {
            return Some(lost);
        }
        if new_data {
            return None;
        }
        if let Some(hole) = board.next_hole() {
            return Some(hole);
        }
        if std::mem::replace(&mut self.rescued, true) { None } else { board.last_hole() }
    }

    fn on_sent(&mut self, _bytes: u32) {}
}

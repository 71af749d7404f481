//! Recovery of TCP Santa Cruz.

use crate::facts::LossSample;
use crate::loss::{Scoreboard, SentSegment};
use crate::recovery::{Completion, Progress, Recovery, RecoveryAck};

/// Parsa and Garcia-Luna-Aceves 1999, section 3.2.3: every transmission that the detector marks as
/// lost is repeated, including retransmissions, and nothing else. The scoreboard's pipe is compared
/// with the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AckWindow;

impl Recovery for AckWindow {
    fn enter(&mut self, _loss: &LossSample) {}

    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress {
        if ack.full {
            return Progress::Done(Completion::with_window(ack.cwnd));
        }
        Progress::Partial { resend: false, restart_timer: true }
    }

    fn pipe(&self, board: &Scoreboard) -> Option<u32> {
        Some(board.pipe())
    }

    fn next_repair(&mut self, board: &Scoreboard) -> Option<SentSegment> {
        board.next_lost()
    }
}

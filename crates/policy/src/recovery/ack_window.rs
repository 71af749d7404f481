//! TCP Santa Cruz's recovery.

use crate::facts::LossSample;
use crate::loss::{Scoreboard, SentSegment};
use crate::recovery::{Progress, Recovery, RecoveryAck};

/// Parsa and Garcia-Luna-Aceves 1999, section 3.2.3: what the detector takes for lost is sent
/// again, copies too, and nothing on suspicion. What is in the network is known from the scoreboard
/// and held against the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AckWindow;

impl Recovery for AckWindow {
    fn enter(&mut self, _loss: &LossSample) {}

    fn on_duplicate(&mut self, _segment: u32) {}

    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress {
        if ack.full {
            return Progress::Done { cwnd: ack.cwnd };
        }
        Progress::Partial { resend: false, restart_timer: true }
    }

    fn window(&self, cwnd: u32) -> u32 {
        cwnd
    }

    fn pipe(&self, board: &Scoreboard) -> Option<u32> {
        Some(board.pipe())
    }

    fn next_repair(&mut self, board: &Scoreboard) -> Option<SentSegment> {
        board.next_lost()
    }

    fn on_sent(&mut self, _bytes: u32) {}
}

//! Recovery by the scoreboard.

use crate::facts::LossSample;
use crate::recovery::{Progress, Recovery, RecoveryAck};

/// RFC 6675 §5: what is believed to be in the network (the scoreboard's pipe) is held against the reduced
/// window; no inflation is needed, because what left the network is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SackPipe;

impl Recovery for SackPipe {
    fn enter(&mut self, _loss: &LossSample) {}

    fn on_duplicate(&mut self, _segment: u32) {}

    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress {
        if ack.full {
            return Progress::Done { cwnd: ack.ssthresh };
        }
        // RFC 6675 §5, step (B): the scoreboard says what to send. RFC 6298 §5.3 restarts the timer.
        Progress::Partial { resend: false, restart_timer: true }
    }

    fn window(&self, cwnd: u32) -> u32 {
        cwnd
    }
}

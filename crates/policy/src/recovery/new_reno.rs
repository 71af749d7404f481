//! Fast recovery of NewReno.

use crate::facts::LossSample;
use crate::recovery::{Completion, Progress, Recovery, RecoveryAck};

/// RFC 6582: an acknowledgment below the recovery point reveals the next hole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NewReno {
    /// Bytes added to the controller's window. Partial acknowledgments can make it negative.
    inflation: i64,
    partial_seen: bool,
}

impl Recovery for NewReno {
    fn enter(&mut self, loss: &LossSample) {
        // RFC 6582 §3.2, step 2 (RFC 5681 §3.2, step 3), in segments of the size of the lost one.
        self.inflation = i64::from(loss.duplicates) * i64::from(loss.segment);
        self.partial_seen = false;
    }

    fn on_duplicate(&mut self, segment: u32) {
        self.inflation += i64::from(segment);
    }

    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress {
        if ack.full {
            // RFC 6582 §3.2, step 3, first option: avoids a burst when little is in flight.
            self.inflation = 0;
            let cwnd = ack.ssthresh.min(ack.flight.max(ack.smss) + ack.smss);
            // RFC 6582 §3.2, step 2: the next fast retransmit requires an acknowledgment of more
            // than `recover`.
            let end = Completion { guards_recovery_point: true, ..Completion::with_window(cwnd) };
            return Progress::Done(end);
        }
        // RFC 6582 §3.2, step 3, partial: deflate by the bytes acknowledged, and add back one
        // segment for the one that has left the network.
        self.inflation -= i64::from(ack.acked);
        if ack.acked >= ack.segment {
            self.inflation += i64::from(ack.segment);
        }
        // RFC 6582 §4, the "Impatient" variant, which §3.2 prescribes: only the first partial
        // acknowledgment restarts the timer. Many holes then end in a timeout, not in one round
        // trip each.
        let restart_timer = !self.partial_seen;
        self.partial_seen = true;
        Progress::Partial { resend: true, restart_timer }
    }

    fn window(&self, cwnd: u32) -> u32 {
        u32::try_from((i64::from(cwnd) + self.inflation).max(0)).unwrap_or(u32::MAX)
    }
}

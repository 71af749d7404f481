//! Reno's fast recovery.

use crate::facts::LossSample;
use crate::loss::{Scoreboard, SentSegment};
use crate::recovery::{Progress, Recovery, RecoveryAck};

/// RFC 5681 §3.2: each duplicate is a segment that left the network and lets another one in; the
/// first acknowledgment of new data ends it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reno {
    inflation: u32,
}

impl Recovery for Reno {
    fn enter(&mut self, loss: &LossSample) {
        // RFC 5681 §3.2, step 3: the segments that the duplicates stand for have left the network.
        // With framing they are of the lost segment's size rather than of SMSS.
        self.inflation = loss.duplicates * loss.segment;
    }

    fn on_duplicate(&mut self, segment: u32) {
        // RFC 5681 §3.2, step 4.
        // A peer may send duplicates without end.
        self.inflation = self.inflation.saturating_add(segment);
    }

    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress {
        // RFC 5681 §3.2, step 6: deflate.
        self.inflation = 0;
        Progress::Done { cwnd: ack.ssthresh }
    }

    fn window(&self, cwnd: u32) -> u32 {
        cwnd.saturating_add(self.inflation)
    }
    fn pipe(&self, _board: &Scoreboard) -> Option<u32> {
        None
    }

    fn next_repair(&mut self, _board: &Scoreboard) -> Option<SentSegment> {
        None
    }

    fn on_sent(&mut self, _bytes: u32) {}
}

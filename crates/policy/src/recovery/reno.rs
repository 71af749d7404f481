//! Fast recovery of Reno.

use crate::facts::LossSample;
use crate::recovery::{Completion, Progress, Recovery, RecoveryAck};

/// RFC 5681 §3.2: each duplicate stands for a segment that left the network, and allows another
/// one. The first acknowledgment of new data ends recovery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reno {
    inflation: u32,
}

impl Recovery for Reno {
    fn enter(&mut self, loss: &LossSample) {
        // RFC 5681 §3.2, step 3: the segments that the duplicates stand for have left the network.
        // With framing they have the size of the lost segment, not SMSS.
        self.inflation = loss.duplicates * loss.segment;
    }

    fn on_duplicate(&mut self, segment: u32) {
        // RFC 5681 §3.2, step 4. The number of duplicates from a peer is unbounded, so the sum
        // saturates.
        self.inflation = self.inflation.saturating_add(segment);
    }

    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress {
        // RFC 5681 §3.2, step 6: deflate.
        self.inflation = 0;
        Progress::Done(Completion::with_window(ack.ssthresh))
    }

    fn window(&self, cwnd: u32) -> u32 {
        cwnd.saturating_add(self.inflation)
    }
}

//! Loss detection of TCP Vegas.

use units::{Duration, Instant};

use crate::facts::AckSample;
use crate::loss::{DUP_THRESH, Duplicate, LossDetector, Lost, Scoreboard};

/// Brakmo and Peterson, IEEE JSAC 13(8), 1995, §III-A: a duplicate acknowledgment makes the sender
/// check the time. The first segment is lost at the first duplicate if it was sent longer ago than
/// a fine-grained timeout. The first two acknowledgments of new data after a retransmission cause
/// the same check. Three duplicates are enough in any case.
///
/// The paper does not define the timeout. As in ns-2 it is `srtt + 2 · rttvar` plus a sixteenth.
/// Until the next measurement it grows by an eighth after a retransmission and doubles if a
/// retransmission was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vegas {
    count: u32,
    /// Number of acknowledgments of new data that still cause a check.
    acks_to_check: u8,
    /// Smoothed round-trip time in nanoseconds; zero before the first measurement.
    srtt: u64,
    rttvar: u64,
    timeout: Duration,
}

impl Vegas {
    const ACKS_CHECKED: u8 = 2;

    /// Creates a detector without a measurement.
    #[expect(
        clippy::new_without_default,
        reason = "a sender policy selects its detector explicitly"
    )]
    pub const fn new() -> Self {
        Self {
            count: 0,
            acks_to_check: 0,
            srtt: 0,
            rttvar: 0,
            timeout: Duration::from_nanos(u64::MAX),
        }
    }

    fn measure(&mut self, rtt: Duration) {
        let rtt = rtt.as_nanos();
        if self.srtt == 0 {
            (self.srtt, self.rttvar) = (rtt, rtt / 4);
        }
        let error = self.srtt.abs_diff(rtt);
        self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
        self.rttvar = self.rttvar - self.rttvar / 4 + error / 4;
        let timeout = self.srtt + 2 * self.rttvar;
        self.timeout = Duration::from_nanos(timeout + timeout / 16);
    }

    fn has_expired(&self, now: Instant, board: &Scoreboard) -> bool {
        board.first().is_some_and(|first| now.since(first.sent_at()) >= self.timeout)
    }

    /// Returns the first segment if a duplicate shows that it is lost, and lengthens the timeout.
    fn first_if(&mut self, is_lost: bool, board: &Scoreboard) -> Lost {
        if !is_lost {
            return Lost::Nothing;
        }
        self.acks_to_check = Self::ACKS_CHECKED;
        let copy = board.first().is_some_and(|first| first.was_resent());
        let timeout = self.timeout.as_nanos();
        self.timeout =
            Duration::from_nanos(timeout.saturating_add(if copy { timeout } else { timeout / 8 }));
        Lost::First
    }
}

impl LossDetector for Vegas {
    fn on_duplicate(&mut self, duplicate: &Duplicate, board: &Scoreboard) -> Lost {
        if !duplicate.exact {
            return Lost::Nothing;
        }
        self.count += 1;
        let is_lost = self.count == DUP_THRESH || self.has_expired(duplicate.now, board);
        self.first_if(is_lost, board)
    }

    fn on_duplicate_in_recovery(&mut self, duplicate: &Duplicate, board: &Scoreboard) -> Lost {
        let is_lost = duplicate.exact && self.has_expired(duplicate.now, board);
        self.first_if(is_lost, board)
    }

    fn on_ack(&mut self, ack: &AckSample, board: &Scoreboard) -> Lost {
        self.count = 0;
        if let Some(rtt) = ack.rtt {
            self.measure(rtt);
        }
        if self.acks_to_check > 0 && self.has_expired(ack.now, board) {
            self.acks_to_check -= 1;
            return Lost::First;
        }
        self.acks_to_check = 0;
        Lost::Nothing
    }

    fn reset(&mut self) {
        self.count = 0;
        self.acks_to_check = 0;
    }

    fn duplicates(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests;

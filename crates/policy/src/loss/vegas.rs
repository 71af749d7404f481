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
///
/// The state is on the heap, because it is larger than that of the other detectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vegas(Box<State>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
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
    pub fn new() -> Self {
        Self(Box::new(State {
            count: 0,
            acks_to_check: 0,
            srtt: 0,
            rttvar: 0,
            timeout: Duration::from_nanos(u64::MAX),
        }))
    }

    fn measure(&mut self, rtt: Duration) {
        let rtt = rtt.as_nanos();
        if self.0.srtt == 0 {
            (self.0.srtt, self.0.rttvar) = (rtt, rtt / 4);
        }
        let error = self.0.srtt.abs_diff(rtt);
        self.0.srtt = self.0.srtt - self.0.srtt / 8 + rtt / 8;
        self.0.rttvar = self.0.rttvar - self.0.rttvar / 4 + error / 4;
        let timeout = self.0.srtt + 2 * self.0.rttvar;
        self.0.timeout = Duration::from_nanos(timeout + timeout / 16);
    }

    #[inline(never)]
    fn take_ack(&mut self, ack: &AckSample, board: &Scoreboard) -> Lost {
        self.0.count = 0;
        if let Some(rtt) = ack.rtt {
            self.measure(rtt);
        }
        if self.0.acks_to_check > 0 && self.has_expired(ack.now, board) {
            self.0.acks_to_check -= 1;
            return Lost::First;
        }
        self.0.acks_to_check = 0;
        Lost::Nothing
    }

    fn has_expired(&self, now: Instant, board: &Scoreboard) -> bool {
        board.first().is_some_and(|first| now.since(first.sent_at()) >= self.0.timeout)
    }

    /// Returns the first segment if a duplicate shows that it is lost, and lengthens the timeout.
    fn first_if(&mut self, is_lost: bool, board: &Scoreboard) -> Lost {
        if !is_lost {
            return Lost::Nothing;
        }
        self.0.acks_to_check = Self::ACKS_CHECKED;
        let copy = board.first().is_some_and(|first| first.was_resent());
        let timeout = self.0.timeout.as_nanos();
        self.0.timeout =
            Duration::from_nanos(timeout.saturating_add(if copy { timeout } else { timeout / 8 }));
        Lost::First
    }
}

impl LossDetector for Vegas {
    fn on_duplicate(&mut self, duplicate: &Duplicate, board: &Scoreboard) -> Lost {
        if !duplicate.exact {
            return Lost::Nothing;
        }
        self.0.count += 1;
        let is_lost = self.0.count == DUP_THRESH || self.has_expired(duplicate.now, board);
        self.first_if(is_lost, board)
    }

    fn on_duplicate_in_recovery(&mut self, duplicate: &Duplicate, board: &Scoreboard) -> Lost {
        let is_lost = duplicate.exact && self.has_expired(duplicate.now, board);
        self.first_if(is_lost, board)
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckSample, board: &Scoreboard) -> Lost {
        // A copy, as in `Boxed`.
        let ack = *ack;
        self.take_ack(&ack, board)
    }

    fn reset(&mut self) {
        self.0.count = 0;
        self.0.acks_to_check = 0;
    }

    fn duplicates(&self) -> u32 {
        self.0.count
    }
}

#[cfg(test)]
mod tests;

//! RACK (RFC 8985): a segment is lost if one that was sent sufficiently later was delivered.

use units::{Duration, Instant};
use wire::SeqNum;

use super::{DUP_THRESH, Detection, Lost, Reordering, Scoreboard};
use crate::facts::Transmission;

/// State of RACK (RFC 8985 §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rack {
    /// `RACK.xmit_ts` and `RACK.end_seq`: the delivered transmission that was sent last.
    newest: Transmission,
    /// `RACK.rtt`. Unlike RFC 8985 §6.2, step 2, this is the round-trip time of the last segment
    /// that an acknowledgment delivers in sequence order, also if `newest` was sent later. Linux
    /// has this rule: an original that is acknowledged together with a retransmission lengthens
    /// the time that younger segments are given.
    rtt: Duration,
    /// Whether a delivery has been noted since the last detection.
    advanced: bool,
    /// `RACK.reo_wnd_mult`: quarters of the minimum RTT in the reordering window.
    steps: u8,
    /// `RACK.reo_wnd_persist`: number of recoveries after which `steps` returns to one.
    persist: u8,
    /// Whether a DSACK arrived since the window was adjusted last.
    dsack: bool,
    /// `RACK.dsack_round`: DSACKs before this sequence number is acknowledged do not adjust the
    /// window again.
    round: Option<SeqNum>,
}

/// Facts for the reordering window and for loss detection.
#[derive(Debug, Clone, Copy)]
pub struct RackFacts<'a> {
    /// Time of the detection.
    pub now: Instant,
    /// Whether fast recovery or recovery after a timeout is active.
    pub in_recovery: bool,
    /// Number of segments that SACK blocks report.
    pub sacked: u32,
    /// Measured reordering.
    pub reordering: &'a Reordering,
    /// Minimum round-trip time; `None` before the first measurement.
    pub min_rtt: Option<Duration>,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub srtt: Option<Duration>,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            newest: Transmission { sent_at: Instant::ZERO, seq: SeqNum::default() },
            rtt: Duration::ZERO,
            advanced: false,
            steps: 1,
            persist: 0,
            dsack: false,
            round: None,
        }
    }
}

impl Rack {
    /// RFC 8985 §6.2, step 4: number of recoveries for which a widened reordering window persists.
    const PERSIST: u8 = 16;

    /// Creates the state of a connection whose first sequence number is `iss`.
    pub fn new(iss: SeqNum) -> Self {
        Self { newest: Transmission { sent_at: Instant::ZERO, seq: iss }, ..Self::default() }
    }

    /// Notes that a transmission was delivered, by a cumulative acknowledgment or by a SACK block
    /// (RFC 8985 §6.2, steps 1 and 2). `resent` says that the segment was sent more than once.
    pub fn on_delivered(
        &mut self,
        sent: Transmission,
        resent: bool,
        now: Instant,
        min_rtt: Option<Duration>,
    ) {
        let rtt = now.since(sent.sent_at);
        // RFC 8985 §6.2, step 2: an acknowledgment that arrives within the minimum RTT after a
        // retransmission belongs to an earlier transmission.
        if resent && min_rtt.is_none_or(|min| rtt < min) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if sent.is_after(&self.newest) {
            self.newest = sent;
        }
    }

    /// `RACK.xmit_ts` and `RACK.end_seq`: the delivered transmission that was sent last.
    pub fn newest(&self) -> Transmission {
        self.newest
    }

    /// `RACK.rtt`: zero before the first delivery.
    pub fn rtt(&self) -> Duration {
        self.rtt
    }

    /// RFC 8985 §6.2, step 4: the reordering window.
    pub fn reordering_window(&self, facts: &RackFacts<'_>) -> Duration {
        if facts.reordering.seen() == 0
            && (facts.in_recovery || facts.sacked >= facts.reordering.degree().max(DUP_THRESH))
        {
            return Duration::ZERO;
        }
        let min_rtt = facts.min_rtt.unwrap_or(Duration::ZERO);
        let window = Duration::from_nanos(min_rtt.as_nanos() / 4 * u64::from(self.steps));
        // RFC 8985 §6.2, step 4: at most SRTT.
        window.min(facts.srtt.unwrap_or(Duration::ZERO))
    }

    /// RFC 8985 §6.2, step 5: finds the segments that are lost by now, and the time at which the
    /// last of those that were sent before a delivered one will be. Returns `None` if nothing was
    /// delivered since the last detection.
    pub fn detect_on_ack(
        &mut self,
        facts: &RackFacts<'_>,
        board: &Scoreboard,
    ) -> Option<Detection> {
        std::mem::take(&mut self.advanced).then(|| self.detect(facts, board))
    }

    /// Finds the segments that are lost by now, and the time at which the last of those that were
    /// sent before a delivered one will be.
    pub fn detect(&self, facts: &RackFacts<'_>, board: &Scoreboard) -> Detection {
        let settled = self.rtt + self.reordering_window(facts);
        let mut detection = Detection::NONE;
        let mut last_lost: Option<Transmission> = None;
        for sent in board.sent_before(self.newest) {
            let lost_at = sent.sent_at + settled;
            if lost_at <= facts.now {
                if last_lost.is_none_or(|last| sent.is_after(&last)) {
                    last_lost = Some(sent);
                }
            } else if detection.next_deadline == Instant::NEVER || lost_at > detection.next_deadline
            {
                detection.next_deadline = lost_at;
            }
        }
        if let Some(last) = last_lost {
            detection.lost = Lost::SentUpTo(last);
        }
        detection
    }

    /// Returns whether a segment sent at `sent_at` is too young to be lost when the retransmission
    /// timer expires (RFC 8985 §6.3: a segment counts as lost from RACK.rtt after its
    /// transmission).
    pub fn is_recent(&self, sent_at: Instant, now: Instant) -> bool {
        sent_at + self.rtt > now
    }

    /// Notes a DSACK that a reordered segment may have caused (RFC 8985 §6.2, step 4).
    pub fn on_dsack(&mut self) {
        self.dsack = true;
    }

    /// RFC 8985 §6.2, step 4: widens the reordering window once in a round trip with DSACKs, and
    /// narrows it after 16 recoveries without. `una` and `nxt` are SND.UNA and SND.NXT.
    pub fn adapt_window(&mut self, una: SeqNum, nxt: SeqNum) {
        if self.round.is_some_and(|round| una.before(round)) {
            self.dsack = false;
        } else {
            self.round = None;
        }
        if std::mem::take(&mut self.dsack) {
            self.steps = self.steps.saturating_add(1);
            self.round = Some(nxt);
            self.persist = Self::PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// Notes that a recovery ended without an undo.
    pub fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Notes that DSACKs showed a recovery to be spurious.
    pub fn on_spurious_recovery(&mut self) {
        self.persist = (self.persist + 1).min(Self::PERSIST);
    }

    /// Requests a detection at the next acknowledgment, after marks of losses were removed.
    pub fn reexamine(&mut self) {
        self.advanced = true;
    }
}

#[cfg(test)]
mod tests;

//! TCP Vegas: the window follows the queueing delay.
//!
//! Source: Brakmo and Peterson, *TCP Vegas: End-to-End Congestion Avoidance on a Global Internet*,
//! IEEE JSAC 13(8), 1995, §III. Points that the paper leaves open follow ns-2's `TCP/Vegas`: the
//! difference is rounded to whole segments, a single segment in flight sets the base round trip,
//! and the reduction is rounded.
//!
//! α, β and γ are buffers in the network. They are full-sized segments for every segmenter, because
//! framing keeps the bytes in flight, and with them the queue, unchanged. The segmenter decides how
//! far the window moves.

use units::{Duration, Instant};
use wire::SeqNum;

use crate::congestion::{CongestionController, Counting, Halving, MAX_WINDOW, WindowRules};
use crate::facts::{AckSample, Growth, LossSample};

/// Thresholds α, β and γ, in full-sized segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VegasThresholds {
    alpha: u8,
    beta: u8,
    gamma: u8,
}

impl VegasThresholds {
    /// Thresholds of the paper: one to three queued segments; slow start ends above one.
    pub const PAPER: Self = Self { alpha: 1, beta: 3, gamma: 1 };
    /// Maximum threshold.
    pub const MAX: u8 = 64;

    /// Creates thresholds. Returns `None` unless `1 ≤ alpha ≤ beta ≤ 64` and `1 ≤ gamma ≤ 64`.
    pub fn new(alpha: u8, beta: u8, gamma: u8) -> Option<Self> {
        let range = 1..=Self::MAX;
        (alpha <= beta && [alpha, beta, gamma].iter().all(|n| range.contains(n))).then_some(Self {
            alpha,
            beta,
            gamma,
        })
    }

    /// α: the window grows while fewer segments are queued.
    pub const fn alpha(self) -> u8 {
        self.alpha
    }

    /// β: the window shrinks while more segments are queued.
    pub const fn beta(self) -> u8 {
        self.beta
    }

    /// γ: slow start ends when more segments are queued.
    pub const fn gamma(self) -> u8 {
        self.gamma
    }
}

/// Growth per acknowledgment in the current round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    Hold,
    Double,
    /// One step per round trip, spread over a window of `over` bytes.
    Add {
        over: u32,
    },
}

/// A round trip, from the transmission of a segment to its acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Round {
    /// SND.NXT and the time at the beginning of the round trip.
    begin: SeqNum,
    begun_at: Instant,
    /// Sum of the round-trip times measured in it, in nanoseconds, and their number.
    sum: u64,
    count: u32,
}

/// Congestion controller of TCP Vegas. The module documentation describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vegas {
    thresholds: VegasThresholds,
    counting: Counting,
    halving: Halving,
    cwnd: u32,
    ssthresh: u32,
    slow_start: bool,
    pace: Pace,
    /// Whether slow start doubles the window in this round: every second round only.
    doubles: bool,
    /// Minimum round-trip time, without a queue.
    base: Option<Duration>,
    round: Option<Round>,
    /// Growth accumulated in this round and not yet added, in bytes · window.
    earned: u64,
    reduced_at: Option<Instant>,
}

impl Vegas {
    /// Creates a window of `initial` bytes in slow start.
    pub const fn new(initial: u32, rules: WindowRules, thresholds: VegasThresholds) -> Self {
        Self {
            thresholds,
            counting: rules.counting,
            halving: rules.halving,
            cwnd: initial,
            ssthresh: rules.ssthresh,
            slow_start: true,
            pace: Pace::Hold,
            doubles: true,
            base: None,
            round: None,
            earned: 0,
            reduced_at: None,
        }
    }

    /// Evaluates a completed round: estimates the queued segments and decides the next adjustment.
    fn compare(&mut self, ack: &AckSample, round: Round, step: u32) {
        let mean = round.sum.checked_div(u64::from(round.count));
        let rtt = mean.map_or(ack.now.since(round.begun_at), Duration::from_nanos);
        let sent = ack.nxt.distance_from(round.begin);
        if rtt.is_zero() {
            return;
        }
        // A single segment in flight finds no queue of its own sender, even after a change of path.
        let base = match self.base {
            Some(base) if base <= rtt && sent > ack.smss => base,
            _ => rtt,
        };
        self.base = Some(base);
        let queued = Self::queued(sent, ack.smss, base, rtt);
        let thresholds = self.thresholds;
        self.earned = 0;
        if self.slow_start {
            self.doubles = !self.doubles;
            self.pace = if self.doubles { Pace::Double } else { Pace::Hold };
            if self.doubles && queued > u64::from(thresholds.gamma) {
                self.cwnd = (self.cwnd - self.cwnd / 8).max(2 * ack.smss);
                self.avoid();
            }
        } else if queued > u64::from(thresholds.beta) {
            self.cwnd = self.cwnd.saturating_sub(step).max(2 * ack.smss);
            self.pace = Pace::Hold;
        } else {
            let few = queued < u64::from(thresholds.alpha);
            self.pace = if few { self.add() } else { Pace::Hold };
        }
    }

    /// The paper's `Diff` times the base round trip: the bytes sent in the round minus the bytes in
    /// transit at that rate without a queue, in whole segments. The paper has the window instead of
    /// the bytes sent. ns-2 has the bytes in flight plus one segment, which is equal if every
    /// segment is acknowledged separately.
    fn queued(sent: u32, smss: u32, base: Duration, rtt: Duration) -> u64 {
        let unqueued = u128::from(sent) * u128::from(base.as_nanos()) / u128::from(rtt.as_nanos());
        // The base is at most the mean, so the difference is not negative.
        let waits = u128::from(sent).saturating_sub(unqueued) + u128::from(smss) / 2;
        u64::try_from(waits / u128::from(smss)).unwrap_or(u64::MAX)
    }

    /// One byte more than the window, so that the step is complete only with the next round. The
    /// windows of ns-2, sums of fractions of a segment, fall short of a whole segment in the same
    /// way.
    fn add(&self) -> Pace {
        Pace::Add { over: self.cwnd + 1 }
    }

    /// Ends slow start and begins congestion avoidance.
    fn avoid(&mut self) {
        self.slow_start = false;
        self.ssthresh = self.cwnd;
        self.earned = 0;
        self.pace = Pace::Hold;
    }

    fn measure(&mut self, ack: &AckSample) {
        let Some(rtt) = ack.rtt else { return };
        self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        if let Some(round) = &mut self.round {
            round.sum += rtt.as_nanos();
            round.count += 1;
        }
    }

    fn widen(&mut self, ack: &AckSample, step: u32, per_rtt: u32) {
        // The window grows only while it is used.
        let used = ack.flight().saturating_add(ack.acked);
        if ack.app_limited || self.cwnd.saturating_sub(used) > 2 * ack.smss {
            return;
        }
        let covered = match self.counting {
            Counting::Acks => step,
            Counting::Bytes => step.min(ack.acked),
            Counting::Appropriate => (2 * step).min(ack.acked),
        };
        let more = match self.pace {
            Pace::Hold => 0,
            Pace::Double => covered,
            Pace::Add { over } => {
                self.earned += u64::from(covered) * u64::from(per_rtt);
                let whole = self.earned / u64::from(over);
                self.earned -= whole * u64::from(over);
                u32::try_from(whole).unwrap_or(u32::MAX)
            }
        };
        self.cwnd = self.cwnd.saturating_add(more).min(MAX_WINDOW);
    }
}

/// A quarter of the window in bytes, rounded to whole segments, at least one.
fn quarter(cwnd: u32, smss: u32) -> u32 {
    (cwnd / smss / 4).max(1) * smss
}

impl CongestionController for Vegas {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    fn on_ack(&mut self, ack: &AckSample, growth: Growth) {
        let (step, per_rtt) = match growth {
            Growth::Standard { step, per_rtt } => (step, per_rtt),
            Growth::Window(_) => (ack.smss, ack.smss),
        };
        let over = self.round.is_none_or(|round| ack.una.after(round.begin));
        if over {
            if let Some(round) = self.round {
                self.compare(ack, round, per_rtt);
            } else {
                // The queue has not been measured yet. Slow start only measures in this round;
                // congestion avoidance adds a step.
                self.doubles = false;
                self.pace = if self.slow_start { Pace::Hold } else { self.add() };
            }
            self.round = Some(Round { begin: ack.nxt, begun_at: ack.now, sum: 0, count: 0 });
        }
        if self.slow_start && self.cwnd >= self.ssthresh {
            self.avoid();
        }
        match growth {
            Growth::Window(bytes) => {
                // Variable-size framing controls the small window: its segments are sized to fill
                // it, one round trip at a time.
                if !ack.app_limited {
                    self.cwnd = self.cwnd.max(bytes.min(MAX_WINDOW));
                }
            }
            Growth::Standard { .. } => self.widen(ack, step, per_rtt),
        }
        self.measure(ack);
    }

    fn observe(&mut self, ack: &AckSample) {
        self.measure(ack);
    }

    fn on_loss(&mut self, loss: &LossSample) {
        // §III-A: the window is reduced only for a loss that happened after the last decrease. An
        // earlier loss was caused by the window before that decrease.
        let known = self.reduced_at.is_some_and(|at| loss.sent_at.is_none_or(|sent| sent <= at));
        if !known {
            // ns-2: a quarter; a half if a retransmission was lost.
            let reduction = if loss.resent {
                (self.cwnd / loss.smss).div_ceil(2) * loss.smss
            } else {
                quarter(self.cwnd, loss.smss)
            };
            self.cwnd = self.cwnd.saturating_sub(reduction).max(2 * loss.smss);
            self.reduced_at = Some(loss.now);
        }
        self.avoid();
    }

    fn on_mark(&mut self, loss: &LossSample) -> bool {
        // RFC 3168 §6.1.2: as for a loss, but down to one segment.
        let before = self.cwnd;
        self.cwnd = before.saturating_sub(quarter(before, loss.smss)).max(loss.smss).min(before);
        self.reduced_at = Some(loss.now);
        self.avoid();
        before <= loss.smss
    }

    fn on_timeout(&mut self, loss: &LossSample) {
        if !loss.already_reduced || self.halving == Halving::Window {
            let half = match self.halving {
                Halving::Flight => loss.flight / 2,
                Halving::Window => self.cwnd / 2 / loss.smss * loss.smss,
            };
            self.ssthresh = half.max(2 * loss.smss);
        }
        self.set_cwnd(loss.loss_window);
        self.reduced_at = Some(loss.now);
        // After a timeout the flight starts again, and the round trip with it.
        self.round = None;
    }

    fn set_cwnd(&mut self, bytes: u32) {
        self.cwnd = bytes.clamp(1, MAX_WINDOW);
        self.slow_start = self.cwnd < self.ssthresh;
        self.pace = Pace::Hold;
        self.earned = 0;
    }
}

#[cfg(test)]
mod tests;

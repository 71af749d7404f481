//! TCP Vegas: the window follows what the delay says of the queue.
//!
//! Source: Brakmo and Peterson, *TCP Vegas: End-to-End Congestion Avoidance on a Global Internet*,
//! IEEE JSAC 13(8), 1995, §III. What the paper leaves open is done as ns-2's `TCP/Vegas` does it:
//! that the difference is rounded to whole segments, the base round trip of a lone segment, the
//! rounding of the cut.
//!
//! α, β and γ are buffers in the network, and so full-sized segments whatever the segmenter cuts:
//! framing keeps the bytes in flight, and with them the queue, as they would be without it. How far
//! the window moves is the segmenter's to say.

use units::{Duration, Instant};
use wire::SeqNum;

use crate::congestion::{CongestionController, Counting, Halving, MAX_WINDOW, WindowRules};
use crate::facts::{AckSample, Growth, LossSample};

/// The thresholds, in full-sized segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VegasThresholds {
    alpha: u8,
    beta: u8,
    gamma: u8,
}

impl VegasThresholds {
    /// One to three segments in the queue; slow start ends beyond one.
    pub const PAPER: Self = Self { alpha: 1, beta: 3, gamma: 1 };
    /// The largest threshold.
    pub const MOST: u8 = 64;

    /// `None` unless `1 ≤ alpha ≤ beta ≤ 64` and `1 ≤ gamma ≤ 64`.
    pub fn new(alpha: u8, beta: u8, gamma: u8) -> Option<Self> {
        let range = 1..=Self::MOST;
        (alpha <= beta && [alpha, beta, gamma].iter().all(|n| range.contains(n))).then_some(Self {
            alpha,
            beta,
            gamma,
        })
    }

    /// α: with fewer in the queue the window grows.
    pub const fn alpha(self) -> u8 {
        self.alpha
    }

    /// β: with more in the queue the window shrinks.
    pub const fn beta(self) -> u8 {
        self.beta
    }

    /// γ: with more in the queue slow start ends.
    pub const fn gamma(self) -> u8 {
        self.gamma
    }
}

/// What acknowledgments add in this round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    Hold,
    Double,
    /// A step in a round trip, spread over a window of so many bytes.
    Add {
        over: u32,
    },
}

/// A round trip, from a segment's departure to its acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Round {
    /// SND.NXT and the time when it began.
    begin: SeqNum,
    begun_at: Instant,
    /// What acknowledgments measured in it: nanoseconds, and how many did.
    sum: u64,
    count: u32,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vegas {
    thresholds: VegasThresholds,
    counting: Counting,
    halving: Halving,
    cwnd: u32,
    ssthresh: u32,
    slow_start: bool,
    pace: Pace,
    /// Slow start doubles in every second round only.
    doubles: bool,
    /// The round trip without a queue.
    base: Option<Duration>,
    round: Option<Round>,
    /// Of this round's step, what is not yet added, in bytes · window.
    earned: u64,
    reduced_at: Option<Instant>,
}

impl Vegas {
    /// A window of `initial` bytes in slow start.
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

    /// A round is over: how much of what is in transit waits in a queue?
    fn compare(&mut self, ack: &AckSample, round: Round, step: u32) {
        let mean = round.sum.checked_div(u64::from(round.count));
        let rtt = mean.map_or(ack.now.since(round.begun_at), Duration::from_nanos);
        let sent = ack.nxt.distance_from(round.begin);
        if rtt.is_zero() {
            return;
        }
        // A segment alone in the network finds no queue of its own making, be it on another path
        // than before.
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

    /// The paper's `Diff` times the base round trip: what was sent in the round, less what would
    /// have been in transit at that rate without a queue; in whole segments. The paper has the
    /// window in place of the first. ns-2 has what is in flight and a segment, which is what
    /// was sent as long as every segment is acknowledged by itself.
    fn queued(sent: u32, smss: u32, base: Duration, rtt: Duration) -> u64 {
        let unqueued = u128::from(sent) * u128::from(base.as_nanos()) / u128::from(rtt.as_nanos());
        // The base is no more than the mean, so nothing is below zero.
        let waits = u128::from(sent).saturating_sub(unqueued) + u128::from(smss) / 2;
        u64::try_from(waits / u128::from(smss)).unwrap_or(u64::MAX)
    }

    /// A byte more than the window, so that the step is whole only with the next round: ns-2's
    /// windows, sums of fractions of a segment, fall short of a whole one in the same way.
    fn add(&self) -> Pace {
        Pace::Add { over: self.cwnd + 1 }
    }

    /// Slow start is over.
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
        // As fast as it is used, and no faster.
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

/// A quarter of the window, in whole segments and at least one.
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
                // Nothing is known of a queue: slow start only measures, congestion avoidance goes
                // on.
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
                // The small window is the framing's: its segments are cut to fill it, a round trip
                // at a time.
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
        // §III-A: only for a loss that happened after the last decrease; one before it was of the
        // window as it had been.
        let known = self.reduced_at.is_some_and(|at| loss.sent_at.is_none_or(|sent| sent <= at));
        if !known {
            // ns-2: a quarter; a half when it is a copy that was lost.
            let cut = if loss.resent {
                (self.cwnd / loss.smss).div_ceil(2) * loss.smss
            } else {
                quarter(self.cwnd, loss.smss)
            };
            self.cwnd = self.cwnd.saturating_sub(cut).max(2 * loss.smss);
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

    fn on_timeout(&mut self, loss: &LossSample, repeated: bool) {
        if !repeated || self.halving == Halving::Window {
            let half = match self.halving {
                Halving::Flight => loss.flight / 2,
                Halving::Window => self.cwnd / 2 / loss.smss * loss.smss,
            };
            self.ssthresh = half.max(2 * loss.smss);
        }
        self.set_cwnd(loss.loss_window);
        self.reduced_at = Some(loss.now);
        // What is in transit begins anew, and so does the comparison.
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

//! The window of RFC 5681: additive increase, multiplicative decrease.
//!
//! Tahoe, Reno, NewReno and SACK maintain the same window. They differ in [`crate::recovery`],
//! between the detection of a loss and its repair.

use crate::congestion::{CongestionController, Counting, Halving, MAX_WINDOW, WindowRules};
use crate::facts::{AckSample, Growth, LossSample};

/// Congestion window of RFC 5681.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reno {
    cwnd: u32,
    ssthresh: u32,
    /// Growth that congestion avoidance has accumulated and not yet added, in bytes · cwnd.
    earned: u64,
    counting: Counting,
    halving: Halving,
    /// Whether the current slow start follows a timeout.
    after_timeout: bool,
}

impl Reno {
    /// Creates a window of `initial` bytes in slow start.
    pub const fn new(initial: u32, rules: WindowRules) -> Self {
        let WindowRules { counting, halving, ssthresh } = rules;
        Self { cwnd: initial, ssthresh, earned: 0, counting, halving, after_timeout: false }
    }

    /// RFC 5681 §3.1: slow start is active while `cwnd < ssthresh`.
    pub(super) const fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// RFC 3465: the number of bytes that count for an acknowledgment.
    fn appropriate(&mut self, in_slow_start: bool, step: u32, acked: u32) -> u32 {
        if !in_slow_start {
            // §2.1: congestion avoidance counts all bytes.
            self.after_timeout = false;
            return acked;
        }
        // §2.2: L is 2·SMSS, here two of the segmenter's steps. §2.3: in the slow start after a
        // timeout an acknowledgment may cover many bytes that were sent long ago, so L is 1·SMSS.
        let limit = if self.after_timeout { step } else { 2 * step };
        limit.min(acked)
    }

    pub(super) fn widen(&mut self, bytes: u32) {
        self.cwnd = self.cwnd.saturating_add(bytes).min(MAX_WINDOW);
    }

    pub(super) fn widen_to(&mut self, bytes: u32) {
        self.cwnd = self.cwnd.max(bytes.min(MAX_WINDOW));
    }

    /// Ends slow start at the present window.
    pub(super) fn end_slow_start(&mut self) {
        self.ssthresh = self.ssthresh.min(self.cwnd);
    }

    /// RFC 5681 §3.1, eq. (4): sets ssthresh to half of what is in flight, at least two segments.
    /// Returns the corresponding window in bytes.
    fn halve(&mut self, loss: &LossSample) -> u32 {
        let least = 2 * loss.smss;
        self.earned = 0;
        match self.halving {
            Halving::Flight => {
                self.ssthresh = (loss.flight / 2).max(least);
                self.ssthresh
            }
            Halving::Window => {
                // Only the threshold is rounded to whole segments: ns-2's `slowdown`.
                let half = self.cwnd / 2;
                self.ssthresh = (half / loss.smss * loss.smss).max(least);
                half.max(least)
            }
        }
    }
}

impl CongestionController for Reno {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckSample, growth: Growth) {
        // RFC 5681 §3.1: the window grows only while it is used. Senders that count acknowledgments
        // do not check that.
        if ack.app_limited && self.counting != Counting::Acks {
            return;
        }
        match growth {
            Growth::Window(bytes) => self.widen_to(bytes),
            Growth::Standard { step, per_rtt } => {
                // RFC 5681 §3.1, eq. (2), and RFC 3465 §1 in congestion avoidance: an ACK counts
                // for no more than the bytes it covers. A peer then gains nothing by splitting its
                // ACKs.
                let in_slow_start = self.is_in_slow_start();
                let covered = match self.counting {
                    Counting::Acks => step,
                    Counting::Bytes => step.min(ack.acked),
                    Counting::Appropriate => self.appropriate(in_slow_start, step, ack.acked),
                };
                if in_slow_start {
                    self.widen(covered);
                } else {
                    // RFC 5681 §3.1, eq. (3), with the fraction carried instead of dropped.
                    self.earned += u64::from(covered) * u64::from(per_rtt);
                    let whole = self.earned / u64::from(self.cwnd.max(1));
                    self.earned -= whole * u64::from(self.cwnd);
                    self.widen(u32::try_from(whole).unwrap_or(u32::MAX));
                }
            }
        }
    }

    fn on_loss(&mut self, loss: &LossSample) {
        self.cwnd = self.halve(loss);
    }

    fn on_mark(&mut self, loss: &LossSample) -> bool {
        let before = self.cwnd;
        // RFC 3168 §6.1.2: the window is halved as for a loss. A loss leaves at least two segments
        // (RFC 5681 §3.1, eq. (4)), a mark at least one. A mark must not widen a window of one
        // segment.
        self.halve(loss);
        let half = match self.halving {
            Halving::Flight => loss.flight / 2,
            Halving::Window => before / 2,
        };
        self.cwnd = half.max(loss.smss).min(before);
        before <= loss.smss
    }

    fn on_timeout(&mut self, loss: &LossSample) {
        // RFC 5681 §3.1: ssthresh is held while the same segment keeps timing out.
        if !loss.already_reduced || self.halving == Halving::Window {
            self.halve(loss);
        }
        // RFC 5681 §3.1, after eq. (4): the loss window, not the initial one.
        self.cwnd = loss.loss_window;
        self.after_timeout = true;
    }

    fn set_cwnd(&mut self, bytes: u32) {
        self.cwnd = bytes.clamp(1, MAX_WINDOW);
        self.earned = 0;
    }
}

#[cfg(test)]
mod tests {
    use units::Instant;
    use wire::SeqNum;

    use super::*;

    const SMSS: u32 = 1000;

    fn at(cwnd: u32, halving: Halving) -> Reno {
        Reno::new(cwnd, WindowRules { halving, ..WindowRules::RFC })
    }

    fn sample(flight: u32) -> LossSample {
        LossSample {
            smss: SMSS,
            flight,
            segment: SMSS,
            duplicates: 0,
            loss_window: SMSS,
            now: Instant::ZERO,
            sent_at: None,
            resent: false,
            timer_expired: false,
            already_reduced: false,
        }
    }

    fn ack(acked: u32) -> AckSample {
        let (una, nxt) = (SeqNum::default() + acked, SeqNum::default() + acked);
        AckSample {
            acked,
            smss: SMSS,
            app_limited: false,
            now: Instant::ZERO,
            rtt: None,
            una,
            nxt,
            forward: None,
        }
    }

    /// RFC 3168 §6.1.2: a mark halves the window as a loss does, down to one segment. At one
    /// segment the sender has to wait. A mark never widens the window.
    #[test]
    fn a_mark_halves_down_to_one_segment() {
        // Window and flight before; window, threshold and whether to wait after.
        let table = [
            (10_000, 10_000, 5000, 5000, false),
            (10_000, 6000, 3000, 3000, false),
            (3000, 3000, 1500, 2000, false),
            (2000, 2000, 1000, 2000, false),
            (1500, 1000, 1000, 2000, false),
            (1000, 1000, 1000, 2000, true),
        ];
        for (cwnd, flight, halved, ssthresh, must_wait) in table {
            let mut reno = at(cwnd, Halving::Flight);
            assert_eq!(reno.on_mark(&sample(flight)), must_wait, "{cwnd}");
            assert_eq!((reno.cwnd(), reno.ssthresh()), (halved, ssthresh), "{cwnd}");
        }
        // `Halving::Window` ignores the bytes in flight.
        let mut reno = at(5000, Halving::Window);
        assert!(!reno.on_mark(&sample(1000)));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (2500, 2000));
    }

    /// RFC 5681 §3.1, eq. (3); RFC 3465 §1: with byte counting a round trip adds one segment, for
    /// any number of ACKs. A sender that counts ACKs grows too fast.
    #[test]
    fn splitting_acks_earns_nothing() {
        let after_a_round_trip = |counting, piece| {
            let mut reno = Reno::new(10_000, WindowRules { counting, ..WindowRules::RFC });
            reno.ssthresh = SMSS;
            for _ in 0..10_000 / piece {
                let growth = Growth::Standard { step: SMSS, per_rtt: SMSS };
                reno.on_ack(&ack(piece), growth);
            }
            reno.cwnd - 10_000
        };
        for piece in [1, 100, SMSS] {
            // The window grows during the round trip, which reduces the sum slightly.
            let earned = after_a_round_trip(Counting::Bytes, piece);
            assert!((SMSS * 9 / 10..=SMSS).contains(&earned), "{piece}: {earned}");
        }
        assert!(after_a_round_trip(Counting::Acks, 1) > 100 * SMSS);
    }

    /// RFC 3465 §2.1 to §2.3, with L = 2: the growth of the window for an acknowledgment of a given
    /// number of bytes.
    #[test]
    fn appropriate_byte_counting() {
        let rules = WindowRules { counting: Counting::Appropriate, ..WindowRules::RFC };
        let growth = Growth::Standard { step: SMSS, per_rtt: SMSS };
        let grown = |reno: &mut Reno, acked| {
            let before = reno.cwnd();
            reno.on_ack(&ack(acked), growth);
            reno.cwnd() - before
        };
        let mut reno = Reno::new(10_000, rules);
        for (acked, more) in [(1, 1), (1000, 1000), (1500, 1500), (2000, 2000), (3000, 2000)] {
            assert_eq!(grown(&mut reno, acked), more, "slow start, {acked}");
        }
        reno.on_timeout(&sample(8000));
        assert_eq!(reno.ssthresh(), 4000);
        for (acked, more) in [(500, 500), (2000, 1000), (2000, 1000), (2000, 1000)] {
            assert_eq!(grown(&mut reno, acked), more, "after a timeout, {acked}");
        }
        // At 4500 bytes congestion avoidance is active: an acknowledgment of the whole window adds
        // one segment.
        assert_eq!(grown(&mut reno, 4500), SMSS);
        // A slow start that does not follow a timeout has L = 2.
        reno.set_cwnd(2000);
        assert_eq!(grown(&mut reno, 3000), 2000);
        // The step of Smart Framing replaces SMSS.
        let small = Growth::Standard { step: SMSS / 4, per_rtt: SMSS / 4 };
        let mut framed = Reno::new(SMSS, rules);
        framed.on_ack(&ack(SMSS), small);
        assert_eq!(framed.cwnd(), SMSS * 3 / 2);
    }

    /// RFC 5681 §3.1, eq. (4): a loss leaves at least two segments.
    #[test]
    fn a_loss_halves_down_to_two() {
        let mut reno = at(1000, Halving::Flight);
        reno.on_loss(&sample(1000));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (2000, 2000));
    }
}

//! HyStart++ (RFC 9406): the end of slow start by delay, with Conservative Slow Start (CSS).
//!
//! An increase of the delay does not end slow start at once. The window first grows more slowly
//! for five rounds. If the delay falls again, slow start resumes.
//!
//! The growth and the samples are in packets. A sample is taken before the window grows for the
//! same acknowledgment, as HyStart in Linux does.

use wire::SeqNum;

use super::{PacketRtt, PacketWindow};

// RFC 9406 §4.3: recommended values. Times are in microseconds.
const MIN_RTT_THRESH: u32 = 4_000;
const MAX_RTT_THRESH: u32 = 16_000;
const MIN_RTT_DIVISOR: u32 = 8;
const N_RTT_SAMPLE: u8 = 8;
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u8 = 5;
/// L without pacing, in packets. With pacing L is infinite.
const L_NON_PACED: u32 = 8;

/// RFC 9406 §4.2: the minimum is undefined.
const NONE: u32 = u32::MAX;

/// State of HyStart++ in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HyStartPlusPlus {
    window_end: SeqNum,
    last_round_min: u32,
    current_round_min: u32,
    /// `cssBaselineMinRtt`: minimum at the begin of CSS; undefined outside of it.
    css_baseline: u32,
    samples: u8,
    /// Number of rounds in CSS that have ended.
    css_rounds: u8,
    /// Packets that CSS has counted and not yet added: a remainder of the growth divisor.
    remainder: u8,
    paced: bool,
}

impl HyStartPlusPlus {
    pub(super) const fn new(nxt: SeqNum) -> Self {
        Self {
            window_end: nxt,
            last_round_min: NONE,
            current_round_min: NONE,
            css_baseline: NONE,
            samples: 0,
            css_rounds: 0,
            remainder: 0,
            paced: false,
        }
    }

    /// Whether Conservative Slow Start is active.
    const fn is_in_css(&self) -> bool {
        self.css_baseline != NONE
    }

    /// RFC 9406 §4.3: HyStart++ serves the initial slow start only. Later ones end at `ssthresh`.
    const fn is_active(window: &PacketWindow) -> bool {
        window.is_in_slow_start() && window.ssthresh == PacketWindow::INFINITE
    }

    /// Takes a sample of `micros`.
    pub(super) fn on_rtt(&mut self, window: &mut PacketWindow, sample: &PacketRtt, micros: u32) {
        if !Self::is_active(window) {
            return;
        }
        self.paced = sample.paced;
        // RFC 9406 §4.2: the minimum and the number of samples of the round.
        self.current_round_min = self.current_round_min.min(micros);
        self.samples = self.samples.saturating_add(1);
        if self.samples >= N_RTT_SAMPLE {
            self.compare();
        }
        // RFC 9406 §4.2: the round ends when `windowEnd` is acknowledged.
        if sample.una.at_or_after(self.window_end) {
            self.end_round(window, sample.nxt);
        }
    }

    fn compare(&mut self) {
        if self.is_in_css() {
            // RFC 9406 §4.2: a smaller delay shows that the begin of CSS was spurious.
            if self.current_round_min < self.css_baseline {
                self.css_baseline = NONE;
                self.css_rounds = 0;
            }
        } else if self.last_round_min != NONE {
            // RFC 9406 §4.2: an increase by RttThresh begins CSS.
            let thresh =
                (self.last_round_min / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
            if self.current_round_min >= self.last_round_min.saturating_add(thresh) {
                self.css_baseline = self.current_round_min;
            }
        }
    }

    fn end_round(&mut self, window: &mut PacketWindow, nxt: SeqNum) {
        self.window_end = nxt;
        self.last_round_min = self.current_round_min;
        self.current_round_min = NONE;
        self.samples = 0;
        if self.is_in_css() {
            // RFC 9406 §4.2: CSS lasts five rounds. A partial round at its begin counts.
            self.css_rounds += 1;
            if self.css_rounds >= CSS_ROUNDS {
                window.ssthresh = window.cwnd;
            }
        }
    }

    /// Number of packets that an acknowledgment of `acked` packets adds in slow start.
    pub(super) fn growth(&mut self, window: &PacketWindow, acked: u32) -> u32 {
        if !Self::is_active(window) {
            return acked;
        }
        // RFC 9406 §4.2: cwnd grows by min(N, L), divided in CSS.
        let counted = if self.paced { acked } else { acked.min(L_NON_PACED) };
        if !self.is_in_css() {
            return counted;
        }
        let sum = counted.saturating_add(u32::from(self.remainder));
        self.remainder = u8::try_from(sum % CSS_GROWTH_DIVISOR).unwrap_or(0);
        sum / CSS_GROWTH_DIVISOR
    }
}

#[cfg(test)]
mod tests;

//! HyStart as in Linux (`tcp_cubic.c`): the end of slow start by delay or by the length of an ACK
//! train.
//!
//! Source: Ha and Rhee, *Taming the elephants: New TCP slow start*, Computer Networks 55(9), 2011.
//! RFC 9406 replaces it; [`super::hystart_pp`] implements that. Linux still uses HyStart.

use units::{Duration, Instant};
use wire::SeqNum;

use super::{PacketRtt, PacketWindow};

/// Smallest window at which slow start may end, in packets (`hystart_low_window`).
const LOW_WINDOW: u32 = 16;
/// Longest interval between two ACKs of a train (`hystart_ack_delta_us`).
const ACK_DELTA: Duration = Duration::from_millis(2);
/// Number of samples that collect the minimum of a round before it is compared.
const MIN_SAMPLES: u8 = 8;
/// Bounds of the increase of the delay that ends slow start, in microseconds.
const DELAY_BOUNDS: (u32, u32) = (4_000, 16_000);
/// Maximum allowance for segmentation offload in the length of an ACK train, in microseconds.
const MAX_ALLOWANCE: u64 = 1_000;
/// Largest offload packet in bytes (`gso_max_size`).
const GSO_MAX_SIZE: u64 = 65_536;

/// State of HyStart in a round. A round ends when SND.UNA passes SND.NXT as of its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HyStart {
    round_start: Instant,
    /// Arrival time of the last ACK of the train.
    last_ack: Instant,
    end: SeqNum,
    /// Minimum round-trip time of the round in microseconds.
    round_min: u32,
    samples: u8,
    /// Whether slow start has been ended.
    found: bool,
    /// Whether a small window postpones the begin of the round.
    late_rounds: bool,
}

impl HyStart {
    pub(super) const fn new(now: Instant, nxt: SeqNum, late_rounds: bool) -> Self {
        Self {
            round_start: now,
            last_ack: now,
            end: nxt,
            round_min: u32::MAX,
            samples: 0,
            found: false,
            late_rounds,
        }
    }

    /// Starts again after a timeout.
    pub(super) fn reset(&mut self, now: Instant, nxt: SeqNum) {
        *self = Self::new(now, nxt, self.late_rounds);
    }

    fn begin_round(&mut self, now: Instant, nxt: SeqNum) {
        *self = Self { found: self.found, ..Self::new(now, nxt, self.late_rounds) };
    }

    /// Takes a sample of `micros` before the window grows. `delay_min` includes it.
    pub(super) fn on_rtt(
        &mut self,
        window: &mut PacketWindow,
        sample: &PacketRtt,
        micros: u32,
        delay_min: u32,
    ) {
        let small = window.cwnd < LOW_WINDOW;
        if self.found || !window.is_in_slow_start() || small && self.late_rounds {
            return;
        }
        if sample.una.after(self.end) {
            self.begin_round(sample.now, sample.nxt);
        }
        if small {
            return;
        }
        let train = self.is_train_long(sample, delay_min);
        let delay = self.is_delay_high(micros, delay_min);
        if train || delay {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    /// ACKs in close succession since the round began. If they last longer than half of the
    /// round-trip time, the window fills the path. A paced sender spreads its packets over half of
    /// a round trip, so there the whole round-trip time counts.
    fn is_train_long(&mut self, sample: &PacketRtt, delay_min: u32) -> bool {
        if sample.now.since(self.last_ack) > ACK_DELTA {
            return false;
        }
        self.last_ack = sample.now;
        let whole = u64::from(delay_min) + offload_allowance(sample.pacing_rate);
        let threshold = if sample.paced { whole } else { whole / 2 };
        sample.now.since(self.round_start) > Duration::from_micros(threshold)
    }

    /// From the ninth sample of a round on, its minimum must not exceed the minimum of the
    /// connection by an eighth, at least 4 ms and at most 16 ms.
    fn is_delay_high(&mut self, micros: u32, delay_min: u32) -> bool {
        self.round_min = self.round_min.min(micros);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let increase = (delay_min / 8).clamp(DELAY_BOUNDS.0, DELAY_BOUNDS.1);
        self.round_min > delay_min.saturating_add(increase)
    }
}

/// Time for four offload packets at the pacing rate (bytes/s), at most 1 ms, in microseconds. Zero
/// without a rate.
fn offload_allowance(rate: u64) -> u64 {
    (GSO_MAX_SIZE * 4 * 1_000_000).checked_div(rate).unwrap_or(0).min(MAX_ALLOWANCE)
}

#[cfg(test)]
mod tests;

//! Selection of round-trip time measurements for the estimator (RFC 6298 §3, RFC 7323 appendix G).

use units::{Duration, Instant};
use wire::SeqNum;

use super::Sender;
use crate::config::{Config, RttSamples};

impl Sender {
    /// Takes the measurement that `ack` completes. `each` is the measurement that every
    /// acknowledgment gives, and `segments` were in flight before it.
    pub(super) fn measure(
        &mut self,
        ack: SeqNum,
        now: Instant,
        each: Option<Duration>,
        segments: u32,
        config: &Config,
    ) {
        let timed = self.timed().filter(|&(end, _)| ack.at_or_after(end));
        if timed.is_some() {
            self.stop_timing();
        }
        match config.rtt_samples {
            RttSamples::EveryAck => {
                if let Some(rtt) = each {
                    // RFC 7323, appendix G: one acknowledgment for two segments. Unlike there, the
                    // segments are counted, because framing makes them smaller than SMSS.
                    self.rtt.sample_of(rtt, segments.div_ceil(2), &config.rto);
                }
            }
            RttSamples::OnePerWindow => {
                if let Some((_, at)) = timed {
                    self.rtt.sample(now.since(at), &config.rto);
                }
            }
        }
    }

    /// Sequence number after the one timed segment, and its transmission time.
    pub(super) fn timed(&self) -> Option<(SeqNum, Instant)> {
        (self.timed_at != Instant::NEVER).then_some((self.timed_end, self.timed_at))
    }

    pub(super) fn start_timing(&mut self, end: SeqNum, now: Instant) {
        (self.timed_end, self.timed_at) = (end, now);
    }

    pub(super) fn stop_timing(&mut self) {
        self.timed_at = Instant::NEVER;
    }
}

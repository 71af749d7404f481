//! The retransmission timer's estimate (RFC 6298).

use units::Duration;

/// The parameters of the retransmission timeout. Ranges are kept by the constructor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtoConfig {
    initial: Duration,
    min: Duration,
    max: Duration,
    tick: Duration,
    ticks_expire: bool,
}

impl RtoConfig {
    /// RFC 6298 §2: 1 s at first, at least 1 s, at most 60 s, with a clock of a millisecond.
    pub const RFC: Self = Self {
        initial: Duration::from_secs(1),
        min: Duration::from_secs(1),
        max: Duration::from_secs(60),
        tick: Duration::from_millis(1),
        ticks_expire: false,
    };

    /// A timer that starts at `initial` and stays between `min` and `max`, on a clock that ticks
    /// every `tick` (zero: exact). `ticks_expire` when timers can only expire on a tick, as in
    /// BSD's slow timeout. `None` unless `0 < min ≤ initial ≤ max` and `tick ≤ min`.
    pub fn new(
        initial: Duration,
        min: Duration,
        max: Duration,
        tick: Duration,
        ticks_expire: bool,
    ) -> Option<Self> {
        let ordered = !min.is_zero() && min <= initial && initial <= max && tick <= min;
        ordered.then_some(Self { initial, min, max, tick, ticks_expire })
    }

    /// The granularity on which timers expire; zero for exact timers.
    pub const fn expiry_tick(&self) -> Duration {
        if self.ticks_expire { self.tick } else { Duration::ZERO }
    }
}

/// Smoothed round-trip time, its variation, and the timeout that follows from them.
///
/// Every connection has one at each end, so its parameters are not in it: whoever asks brings them,
/// the same ones every time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RttEstimator {
    /// Smoothed, in nanoseconds; [`NONE`](Self::NONE) before the first measurement.
    srtt: u64,
    rttvar: u64,
    /// RTO before back-off.
    base: Duration,
    /// How often the timer has expired since the last measurement.
    backoff: u32,
}

impl RttEstimator {
    const NONE: u64 = u64::MAX;

    /// No measurement yet.
    pub const fn new(config: &RtoConfig) -> Self {
        Self { srtt: Self::NONE, rttvar: 0, base: config.initial, backoff: 0 }
    }

    /// Takes the one measurement of a round trip. RFC 6298 §2.2, §2.3; Karn's rule (§3) is the
    /// caller's.
    pub fn sample(&mut self, rtt: Duration, config: &RtoConfig) {
        self.take(rtt, 8, 4, config);
    }

    /// Takes one of `expected` measurements of a round trip, at least one. RFC 7323 §4.2 and
    /// appendix G: each has a share of the weight, so that the history is as long as with one.
    // Out of line: its divisions would take registers from every acknowledgment: up to 0.4 % of all
    // instructions.
    #[inline(never)]
    pub fn sample_of(&mut self, rtt: Duration, expected: u32, config: &RtoConfig) {
        let expected = u64::from(expected.max(1));
        self.take(rtt, 8 * expected, 4 * expected, config);
    }

    #[inline]
    fn take(&mut self, rtt: Duration, alpha: u64, beta: u64, config: &RtoConfig) {
        let rtt = rtt.round_to(config.tick).as_nanos();
        (self.srtt, self.rttvar) = match self.srtt {
            Self::NONE => (rtt, rtt / 2),
            srtt => (
                srtt - srtt / alpha + rtt / alpha,
                self.rttvar - self.rttvar / beta + srtt.abs_diff(rtt) / beta,
            ),
        };
        // RFC 6298 §2.3: RTO = SRTT + max(G, 4 · RTTVAR), on a clock that knows whole ticks only.
        let tick = config.tick.as_nanos();
        let raw = self.srtt + (4 * self.rttvar).max(tick);
        let whole = if tick == 0 { raw } else { raw.next_multiple_of(tick) };
        self.base = Duration::from_nanos(whole).clamp(config.min, config.max);
        self.backoff = 0;
    }

    /// The timer expired. RFC 6298 §5.5.
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// The back-off was for another reason than a loss, and that reason is gone.
    pub fn end_back_off(&mut self) {
        self.backoff = 0;
    }

    /// RFC 6298 §5.7: if the timer expired for a SYN and the timeout is below 3 s, data starts with
    /// 3 s.
    pub fn after_syn_timeout(&mut self, config: &RtoConfig) {
        self.backoff = 0;
        self.base = self.base.max(Duration::from_secs(3)).min(config.max);
    }

    /// The timeout in force.
    pub fn rto(&self, config: &RtoConfig) -> Duration {
        if self.backoff == 0 {
            return self.base;
        }
        (self.base * (1u64 << self.backoff.min(32))).min(config.max)
    }

    /// The smoothed round-trip time, once there was a measurement.
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt != Self::NONE).then(|| Duration::from_nanos(self.srtt))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// RFC 6298 §2.2
    #[test]
    fn the_first_sample_gives_three_times_itself() {
        let config = RtoConfig::new(ms(3000), ms(1), ms(60_000), Duration::ZERO, false).unwrap();
        let mut rtt = RttEstimator::new(&config);
        assert_eq!(rtt.rto(&config), ms(3000));
        rtt.sample(ms(100), &config);
        assert_eq!((rtt.rto(&config), rtt.srtt()), (ms(300), Some(ms(100))));
    }

    /// RFC 6298 §2.4, §5.5
    #[test]
    fn the_timeout_has_a_floor_and_doubles_to_a_ceiling() {
        let mut rtt = RttEstimator::new(&RtoConfig::RFC);
        rtt.sample(ms(10), &RtoConfig::RFC);
        assert_eq!(rtt.rto(&RtoConfig::RFC), ms(1000));
        let seen: Vec<Duration> = (0..7)
            .map(|_| {
                rtt.back_off();
                rtt.rto(&RtoConfig::RFC)
            })
            .collect();
        assert_eq!(seen, [2, 4, 8, 16, 32, 60, 60].map(|s| ms(1000 * s)));
        rtt.sample(ms(10), &RtoConfig::RFC);
        assert_eq!(rtt.rto(&RtoConfig::RFC), ms(1000), "a measurement ends the back-off");
    }

    #[test]
    fn a_coarse_clock_counts_whole_ticks() {
        let config = RtoConfig::new(ms(3000), ms(100), ms(64_000), ms(100), false).unwrap();
        let mut rtt = RttEstimator::new(&config);
        rtt.sample(ms(140), &config);
        assert_eq!((rtt.srtt(), rtt.rto(&config)), (Some(ms(100)), ms(300)));
        rtt.sample(ms(40), &config);
        assert!(rtt.rto(&config).as_nanos().is_multiple_of(ms(100).as_nanos()));
    }

    proptest! {
        #[test]
        fn a_constant_path_converges_to_its_round_trip(rtt_ms in 2..500u64) {
            let mut rtt = RttEstimator::new(&RtoConfig::RFC);
            for _ in 0..200 {
                rtt.sample(ms(rtt_ms), &RtoConfig::RFC);
            }
            let srtt = rtt.srtt().unwrap();
            prop_assert!(srtt.abs_diff(ms(rtt_ms)) < Duration::from_micros(1));
            prop_assert_eq!(rtt.rto(&RtoConfig::RFC), ms(1000));
        }
    }
}

//! Round-trip time estimation by RFC 6298.

use units::Duration;

/// Parameters of the retransmission timeout. The constructor checks their ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtoConfig {
    initial: Duration,
    min: Duration,
    max: Duration,
    tick: Duration,
    ticks_expire: bool,
    phase: Duration,
}

impl RtoConfig {
    /// RFC 6298 §2: initially 1 s, at least 1 s, at most 60 s, with a clock granularity of 1 ms.
    pub const RFC: Self = Self {
        initial: Duration::from_secs(1),
        min: Duration::from_secs(1),
        max: Duration::from_secs(60),
        tick: Duration::from_millis(1),
        ticks_expire: false,
        phase: Duration::ZERO,
    };

    /// Creates parameters for a timer that starts at `initial` and stays between `min` and `max`,
    /// on a clock with granularity `tick` (zero: exact). `ticks_expire` says that timers expire
    /// only on a tick, as in BSD's slow timeout. Returns `None` unless `0 < min ≤ initial ≤ max`
    /// and `tick ≤ min`.
    pub fn new(
        initial: Duration,
        min: Duration,
        max: Duration,
        tick: Duration,
        ticks_expire: bool,
    ) -> Option<Self> {
        let ordered = !min.is_zero() && min <= initial && initial <= max && tick <= min;
        ordered.then_some(Self { initial, min, max, tick, ticks_expire, phase: Duration::ZERO })
    }

    /// Returns these parameters on a clock whose tick zero was `phase` before time zero. It
    /// concerns Linux's timer wheel, whose slots of several ticks begin at multiples of their
    /// length.
    #[must_use]
    pub const fn with_phase(self, phase: Duration) -> Self {
        Self { phase, ..self }
    }

    /// Time between tick zero and time zero.
    pub const fn phase(&self) -> Duration {
        self.phase
    }

    /// Returns the parameters with another minimum timeout. It is raised to the clock granularity,
    /// and the initial and the maximum timeout are raised to it, so that the result is valid.
    #[must_use]
    pub fn with_min(self, min: Duration) -> Self {
        let min = min.max(self.tick).max(Duration::from_nanos(1));
        Self { min, initial: self.initial.max(min), max: self.max.max(min), ..self }
    }

    /// Timeout before the first measurement.
    pub const fn initial(&self) -> Duration {
        self.initial
    }

    /// Minimum timeout.
    pub const fn min(&self) -> Duration {
        self.min
    }

    /// Maximum timeout.
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// Granularity of the clock; zero for an exact one.
    pub const fn tick(&self) -> Duration {
        self.tick
    }

    /// Granularity at which timers expire; zero for exact timers.
    pub const fn expiry_tick(&self) -> Duration {
        if self.ticks_expire { self.tick } else { Duration::ZERO }
    }
}

/// Smoothed round-trip time, its variation, and the resulting timeout.
///
/// Every connection has one at each end, so the parameters are not stored in it. The caller passes
/// the same parameters every time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RttEstimator {
    /// Smoothed round-trip time in nanoseconds; [`NONE`](Self::NONE) before the first measurement.
    srtt: u64,
    rttvar: u64,
    /// Retransmission timeout before back-off.
    base: Duration,
    /// Number of consecutive expiries since the last measurement.
    backoff: u32,
}

impl RttEstimator {
    const NONE: u64 = u64::MAX;

    /// Creates an estimator without a measurement.
    pub const fn new(config: &RtoConfig) -> Self {
        Self { srtt: Self::NONE, rttvar: 0, base: config.initial, backoff: 0 }
    }

    /// Takes the only measurement of a round trip (RFC 6298 §2.2, §2.3). The caller applies Karn's
    /// rule (§3).
    pub fn sample(&mut self, rtt: Duration, config: &RtoConfig) {
        self.take(rtt, 8, 4, config);
    }

    /// Takes one of `expected` measurements of a round trip, at least one. RFC 7323 §4.2 and
    /// appendix G: each measurement has a share of the weight, so the history is as long as with
    /// one measurement per round trip.
    // Not inlined: its divisions would take registers from every acknowledgment, up to 0.4 % of all
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
        // RFC 6298 §2.3: RTO = SRTT + max(G, 4 · RTTVAR), rounded up to whole ticks of the clock.
        let tick = config.tick.as_nanos();
        let raw = self.srtt + (4 * self.rttvar).max(tick);
        let whole = if tick == 0 { raw } else { raw.next_multiple_of(tick) };
        self.base = Duration::from_nanos(whole).clamp(config.min, config.max);
        self.backoff = 0;
    }

    /// Doubles the timeout after an expiry (RFC 6298 §5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Ends a back-off whose reason was not a loss and no longer exists.
    pub fn end_back_off(&mut self) {
        self.backoff = 0;
    }

    /// RFC 6298 §5.7: if the timer expired for a SYN and the timeout is below 3 s, data starts with
    /// 3 s.
    pub fn after_syn_timeout(&mut self, config: &RtoConfig) {
        self.backoff = 0;
        self.base = self.base.max(Duration::from_secs(3)).min(config.max);
    }

    /// Retransmission timeout in force, with back-off.
    pub fn rto(&self, config: &RtoConfig) -> Duration {
        if self.backoff == 0 {
            return self.base;
        }
        (self.base * (1u64 << self.backoff.min(32))).min(config.max)
    }

    /// Smoothed round-trip time; `None` before the first measurement.
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

    /// RFC 6298 §2.2: RTO = SRTT + 4 · SRTT/2.
    #[test]
    fn first_sample_sets_rto_to_three_times_rtt() {
        let config = RtoConfig::new(ms(3000), ms(1), ms(60_000), Duration::ZERO, false).unwrap();
        let mut rtt = RttEstimator::new(&config);
        assert_eq!(rtt.rto(&config), ms(3000));
        rtt.sample(ms(100), &config);
        assert_eq!((rtt.rto(&config), rtt.srtt()), (ms(300), Some(ms(100))));
    }

    /// RFC 6298 §2.4, §5.5: the minimum, and the exponential back-off up to the maximum.
    #[test]
    fn rto_doubles_between_minimum_and_maximum() {
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
    fn rto_is_rounded_to_ticks() {
        let config = RtoConfig::new(ms(3000), ms(100), ms(64_000), ms(100), false).unwrap();
        let mut rtt = RttEstimator::new(&config);
        rtt.sample(ms(140), &config);
        assert_eq!((rtt.srtt(), rtt.rto(&config)), (Some(ms(100)), ms(300)));
        rtt.sample(ms(40), &config);
        assert!(rtt.rto(&config).as_nanos().is_multiple_of(ms(100).as_nanos()));
    }

    /// Another minimum: within the clock granularity, and the other bounds follow it.
    #[test]
    fn a_sender_may_have_its_own_minimum() {
        let config = RtoConfig::new(ms(1000), ms(200), ms(60_000), ms(10), false).unwrap();
        let table =
            [(20, (20, 1000, 60_000)), (5, (10, 1000, 60_000)), (3000, (3000, 3000, 60_000))];
        for (min, (least, initial, max)) in table {
            let lowered = config.with_min(ms(min));
            assert_eq!(
                (lowered.min(), lowered.initial(), lowered.max()),
                (ms(least), ms(initial), ms(max))
            );
        }
    }

    proptest! {
        #[test]
        fn srtt_converges_on_a_constant_path(rtt_ms in 2..500u64) {
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

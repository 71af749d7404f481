//! Round-trip time estimation as in Linux (`tcp_rtt_estimator`, `tcp_set_rto`).
//!
//! It differs from RFC 6298 in the variation. The timeout is SRTT plus `rttvar`, and `rttvar` is
//! the maximum of four times the mean deviation over a window of data, at least 200 ms. It decays
//! by a quarter once per window of data.

use units::{Duration, Instant};
use wire::SeqNum;

use super::WindowedMin;

/// Parameters of Linux's retransmission timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinuxRtoConfig {
    /// Minimum of `rttvar`, by which the timeout exceeds SRTT (`tcp_rto_min_us`).
    pub min: Duration,
    /// Maximum timeout (`tcp_rto_max_ms`).
    pub max: Duration,
    /// Timeout before the first measurement (RFC 6298 §2.1).
    pub initial: Duration,
    /// Period of the timer interrupt, the jiffy: 1 ms with HZ = 1000, 4 ms with HZ = 250. Zero
    /// disables rounding.
    pub tick: Duration,
    /// Time between tick zero and time zero. Slots of the timer wheel begin at multiples of their
    /// length since tick zero.
    pub phase: Duration,
}

impl LinuxRtoConfig {
    /// Defaults of Linux 6.12 with HZ = 1000.
    pub const HZ_1000: Self = Self {
        min: Duration::from_millis(200),
        max: Duration::from_secs(120),
        initial: Duration::from_secs(1),
        tick: Duration::from_millis(1),
        phase: Duration::ZERO,
    };

    /// Defaults of Linux 6.12 with HZ = 250.
    pub const HZ_250: Self = Self { tick: Duration::from_millis(4), ..Self::HZ_1000 };

    /// Rounds a delay up to whole jiffies, as Linux does when it converts microseconds.
    pub const fn round_up(&self, delay: Duration) -> Duration {
        let tick = self.tick.as_nanos();
        if tick == 0 {
            return delay;
        }
        Duration::from_nanos(delay.as_nanos().div_ceil(tick).saturating_mul(tick))
    }

    /// Returns whether both times are in the same jiffy. False if the clock is exact.
    pub const fn is_same_jiffy(&self, a: Instant, b: Instant) -> bool {
        let tick = self.tick.as_nanos();
        // The comparison avoids the divisions in most cases.
        a.as_nanos().abs_diff(b.as_nanos()) < tick && a.as_nanos() / tick == b.as_nanos() / tick
    }

    /// Earliest time at which Linux's timer wheel runs a timer that is armed at `now` for `delay`
    /// (`kernel/time/timer.c`, without high-resolution timers). The wheel counts whole jiffies and
    /// never fires early. It rounds a delay of 63 jiffies or more up to 8 jiffies, one of 504 or
    /// more to 64, and so on by factors of 8.
    pub fn wheel_expiry(&self, now: Instant, delay: Duration) -> Instant {
        self.wheel_expiry_after(now, delay, false)
    }

    /// Expiry like [`wheel_expiry`](Self::wheel_expiry). `ran` says that a timer has expired in
    /// this jiffy. The clock of the wheel is then one jiffy ahead, so that the limits of the levels
    /// are one jiffy higher.
    pub fn wheel_expiry_after(&self, now: Instant, delay: Duration, ran: bool) -> Instant {
        let tick = self.tick.as_nanos();
        if tick == 0 {
            return now + delay;
        }
        let jiffies = delay.as_nanos().div_ceil(tick);
        let distance = jiffies.saturating_sub(u64::from(ran));
        // A search from zero would take longer: a timeout of more than 62 jiffies is usual.
        let level = match distance {
            63..504 => 1,
            504..4032 => 2,
            _ => (0..8).find(|level| distance < 63 << (3 * level)).unwrap_or(8),
        };
        let granularity = 1 << (3 * level);
        let expires = self.ticks_at(now).saturating_add(jiffies);
        let slot = (expires >> (3 * level)).saturating_add(1);
        let since_tick_zero = slot.saturating_mul(granularity).saturating_mul(tick);
        Instant::from_nanos(since_tick_zero.saturating_sub(self.phase.as_nanos()))
    }

    /// Number of whole ticks until `now`. An exact clock counts microseconds.
    pub const fn ticks_at(&self, now: Instant) -> u64 {
        let tick = match self.tick.as_nanos() {
            0 => 1_000,
            tick => tick,
        };
        now.as_nanos().saturating_add(self.phase.as_nanos()) / tick
    }
}

/// Smoothed round-trip time, its variation, its minimum, and the resulting timeout, in
/// microseconds as in Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinuxRtt {
    config: LinuxRtoConfig,
    /// Eight times SRTT; zero before the first measurement.
    srtt_8: i64,
    /// Four times the mean deviation.
    mdev_4: i64,
    /// Maximum of `mdev_4` in this window of data, at least the configured minimum.
    mdev_max: i64,
    /// Variation in force, to be added to SRTT.
    rttvar: i64,
    /// Acknowledgment beyond this sequence number ends the window of data.
    window_end: SeqNum,
    /// Timeout without back-off.
    base: Duration,
    backoff: u32,
    min: WindowedMin,
}

impl LinuxRtt {
    /// Window of the minimum round-trip time (`tcp_min_rtt_wlen`).
    pub const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

    /// Timeout of the first data if no handshake segment could be timed.
    const FALLBACK: Duration = Duration::from_secs(3);

    /// Creates an estimator without a measurement.
    pub fn new(config: &LinuxRtoConfig) -> Self {
        // Linux presets the deviation, but the first measurement replaces it.
        Self {
            config: *config,
            srtt_8: 0,
            mdev_4: 0,
            mdev_max: 0,
            rttvar: 0,
            window_end: SeqNum::default(),
            base: config.round_up(config.initial).min(config.max),
            backoff: 0,
            min: WindowedMin::new(),
        }
    }

    /// Takes a measurement for SRTT and for the minimum. The caller applies Karn's rule (RFC 6298
    /// §3). `una` and `nxt` are SND.UNA and SND.NXT after the acknowledgment. Ends a back-off.
    pub fn sample(&mut self, rtt: Duration, una: SeqNum, nxt: SeqNum, now: Instant) {
        self.observe_min(rtt, now);
        self.estimate(rtt, una, nxt);
    }

    /// Takes a measurement for SRTT and the timeout only. Linux measures SRTT with the first
    /// packet that an acknowledgment covers, and the minimum with the last.
    pub fn estimate(&mut self, rtt: Duration, una: SeqNum, nxt: SeqNum) {
        let micros = signed_micros(rtt);
        if self.srtt_8 == 0 {
            // RFC 6298 §2.2: SRTT = R and 4 · RTTVAR = 2 · R.
            self.srtt_8 = micros * 8;
            self.mdev_4 = micros * 2;
            self.rttvar = self.mdev_4.max(self.min_var());
            self.mdev_max = self.rttvar;
            self.window_end = nxt;
        } else {
            self.smooth(micros);
            self.vary(una, nxt);
        }
        self.srtt_8 = self.srtt_8.max(1);
        // Unlike RFC 6298 §2.4, no minimum of 1 s: `rttvar` contains the minimum.
        let micros = u64::try_from(self.srtt_8 / 8 + self.rttvar).unwrap_or(0);
        self.base = self.config.round_up(Duration::from_micros(micros)).min(self.config.max);
        self.backoff = 0;
    }

    /// Takes a measurement for the minimum only. Linux omits it if the acknowledgment may have been
    /// delayed and the measurement exceeds the minimum.
    pub fn observe_min(&mut self, rtt: Duration, now: Instant) {
        let rtt = if rtt.is_zero() { self.config.tick } else { rtt };
        self.min.update(rtt, now, Self::MIN_RTT_WINDOW);
    }

    /// RFC 6298 §2.3 with gains 1/8 and 1/4.
    fn smooth(&mut self, micros: i64) {
        let error = micros - self.srtt_8 / 8;
        self.srtt_8 += error;
        let change = error.abs() - self.mdev_4 / 4;
        // Unlike RFC 6298, a shorter round trip that would raise the deviation counts with 1/32.
        self.mdev_4 += if error < 0 && change > 0 { change / 8 } else { change };
    }

    /// Raises the variation at once, and lowers it by a quarter of the difference once per window
    /// of data.
    fn vary(&mut self, una: SeqNum, nxt: SeqNum) {
        self.mdev_max = self.mdev_max.max(self.mdev_4);
        self.rttvar = self.rttvar.max(self.mdev_max);
        if una.after(self.window_end) {
            self.rttvar -= (self.rttvar - self.mdev_max) / 4;
            self.window_end = nxt;
            self.mdev_max = self.min_var();
        }
    }

    fn min_var(&self) -> i64 {
        signed_micros(self.config.min)
    }

    /// RFC 6298 §5.7: if no segment of the handshake could be timed because it was sent again, data
    /// starts with 3 s. Does nothing after a measurement.
    pub fn after_syn_timeout(&mut self) {
        if self.srtt_8 == 0 {
            self.base = self.config.round_up(Self::FALLBACK).min(self.config.max);
            self.backoff = 0;
        }
    }

    /// Doubles the timeout after an expiry (RFC 6298 §5.5).
    pub fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// Number of doublings in force.
    pub const fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Ends a back-off without a measurement.
    pub const fn reset_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Retransmission timeout in force with back-off, in whole jiffies.
    pub fn rto(&self) -> Duration {
        if self.backoff == 0 {
            return self.base;
        }
        (self.base * (1u64 << self.backoff.min(32))).min(self.config.max)
    }

    /// Smoothed round-trip time; `None` before the first measurement.
    pub fn srtt(&self) -> Option<Duration> {
        let micros = u64::try_from(self.srtt_8 / 8).unwrap_or(0);
        (self.srtt_8 != 0).then(|| Duration::from_micros(micros))
    }

    /// Variation that is added to SRTT; zero before the first measurement.
    pub fn rttvar(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.rttvar).unwrap_or(0))
    }

    /// Minimum of the measurements of the last 300 s, as of the last one; `None` before the first.
    /// Linux reports it however long ago that was, so `_now` has no effect.
    pub fn min_rtt(&self, _now: Instant) -> Option<Duration> {
        self.min.get()
    }
}

/// Whole microseconds.
fn signed_micros(span: Duration) -> i64 {
    i64::try_from(span.as_nanos() / 1000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;

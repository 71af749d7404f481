//! CUBIC (RFC 9438) with the integer arithmetic of Linux (`tcp_cubic.c`, 6.12 to 6.18).
//!
//! In congestion avoidance the window follows a cubic function of the time since the last
//! reduction. The function has its plateau at the window of that reduction, `W_max`:
//!
//! `W_cubic(t) = C · (t − K)³ + W_max`, with `K = ∛((W_max − cwnd) / C)` (RFC 9438 §4.2).
//!
//! Linux counts time in jiffies and computes in units of 2⁻¹⁰ s. `β` is 717/1024 instead of 0.7,
//! and `C` is 410/1024 instead of 0.4.

use units::{Duration, Instant};
use wire::SeqNum;

use super::slow_start::SlowStart;
use super::{PacketAck, PacketRtt, PacketWindow, SlowStartExit};

/// β of RFC 9438 §4.6 in units of 1/1024.
const BETA: u64 = 717;
/// One, in the units of `BETA`.
const ONE: u64 = 1024;
/// C of RFC 9438 §5 in units of 1/1024: ten times `bic_scale`.
const C: u64 = 410;
/// Binary digits of the time after the point: its unit is 2⁻¹⁰ s.
const TIME_BITS: u32 = 10;
/// 1/C in units of 2⁻³⁰ s³, so that the cube root is in units of 2⁻¹⁰ s.
const INVERSE_C: u64 = (1 << (10 + 3 * TIME_BITS)) / C;
/// Acknowledged packets per packet of Reno's window, in eighths of the window. It is the reciprocal
/// of α = 3 · (1 − β) / (1 + β) (RFC 9438 §4.3), rounded down from 15.1.
const RENO_SCALE: u32 = 15;
/// Upper bound of the divisor before the first reduction: growth by 5 % per round trip.
const MAX_FIRST_DIVISOR: u32 = 20;
const SECOND: u64 = 1_000_000_000;

/// Parameters of [`Cubic`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CubicConfig {
    /// Period of the timer interrupt, the jiffy: 1 ms with HZ = 1000, 4 ms with HZ = 250. A value
    /// below 1 ms counts as 1 ms, and one above 1 s as 1 s.
    pub tick: Duration,
    /// Algorithm that ends slow start before a loss.
    pub exit: SlowStartExit,
    /// RFC 9438 §4.7: a flow whose window shrinks releases bandwidth earlier.
    pub fast_convergence: bool,
    /// RFC 9438 §4.3: the window grows at least as fast as Reno's.
    pub reno_friendly: bool,
}

impl CubicConfig {
    /// Defaults of Linux with HZ = 1000.
    pub const HZ_1000: Self = Self {
        tick: Duration::from_millis(1),
        exit: SlowStartExit::HyStart,
        fast_convergence: true,
        reno_friendly: true,
    };

    /// Defaults of Linux with HZ = 250.
    pub const HZ_250: Self = Self { tick: Duration::from_millis(4), ..Self::HZ_1000 };
}

/// State of CUBIC. Times are jiffies, windows are packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cubic {
    tick_nanos: u32,
    /// Jiffies per second, rounded down.
    hz: u32,
    fast_convergence: bool,
    reno_friendly: bool,
    /// Number of acknowledged packets per packet of growth.
    divisor: u32,
    /// Window of the last update, and its time.
    last_cwnd: u32,
    last_update: u32,
    /// Window before the last reduction; zero before the first one and after a timeout.
    last_max: u32,
    epoch: Option<Epoch>,
    slow_start: SlowStart,
}

/// Congestion avoidance since the last reduction (RFC 9438 §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Epoch {
    /// Begin in jiffies: `t_epoch`.
    start: u32,
    /// `W_max`, or the window at the begin if that is larger.
    origin: u32,
    /// K in units of 2⁻¹⁰ s.
    k: u32,
    /// Packets acknowledged that Reno's window has not used.
    acked: u32,
    /// Window of Reno: `W_est`.
    reno: u32,
}

impl Cubic {
    /// Creates the state when the connection is established. `nxt` is SND.NXT.
    pub fn new(config: &CubicConfig, now: Instant, nxt: SeqNum) -> Self {
        let tick_nanos = config.tick.as_nanos().clamp(SECOND / 1000, SECOND);
        Self {
            tick_nanos: wrap(tick_nanos),
            hz: wrap(SECOND / tick_nanos),
            fast_convergence: config.fast_convergence,
            reno_friendly: config.reno_friendly,
            divisor: 0,
            last_cwnd: 0,
            last_update: 0,
            last_max: 0,
            epoch: None,
            slow_start: SlowStart::new(config.exit, now, nxt),
        }
    }

    /// Number of whole jiffies. Wraps as in Linux.
    fn jiffies(&self, now: Instant) -> u32 {
        wrap(now.as_nanos() / u64::from(self.tick_nanos))
    }

    /// Takes a measurement of the round-trip time.
    pub fn on_rtt(&mut self, window: &mut PacketWindow, sample: &PacketRtt) {
        // In the first second of an epoch the queue of the congestion before it distorts delays.
        if let Some(epoch) = &self.epoch
            && self.jiffies(sample.now).wrapping_sub(epoch.start) < self.hz
        {
            return;
        }
        self.slow_start.on_rtt(window, sample);
    }

    /// Grows the window for an acknowledgment.
    pub fn on_ack(&mut self, window: &mut PacketWindow, ack: &PacketAck) {
        // RFC 9438 §5.8: an application-limited sender does not grow its window.
        if !ack.cwnd_limited {
            return;
        }
        let acked = self.slow_start.grow(window, ack.acked);
        if acked > 0 {
            self.update(window.cwnd, acked, self.jiffies(ack.now));
            window.additive_increase(self.divisor, acked);
        }
    }

    /// Computes the divisor, at most once per jiffy, and once per 1/32 s while the window stays.
    fn update(&mut self, cwnd: u32, acked: u32, now: u32) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acked = epoch.acked.saturating_add(acked);
        }
        let since_update = now.wrapping_sub(self.last_update);
        if self.last_cwnd == cwnd && since_update <= self.hz / 32 {
            return;
        }
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(cwnd, acked, now));
        if self.epoch.is_none() || since_update != 0 {
            self.last_cwnd = cwnd;
            self.last_update = now;
            self.divisor = self.cubic_divisor(&epoch, cwnd, now);
        }
        if self.reno_friendly {
            self.divisor = self.divisor.min(epoch.reno_divisor(cwnd));
        }
        // Unlike RFC 9438 §4.2, which bounds the target by 1.5 · cwnd, the bound is on the rate:
        // at most one packet per two acknowledged.
        self.divisor = self.divisor.max(2);
        self.epoch = Some(epoch);
    }

    /// RFC 9438 §4.2: `t_epoch`, K and the plateau.
    fn begin_epoch(&self, cwnd: u32, acked: u32, now: u32) -> Epoch {
        let missing = self.last_max.saturating_sub(cwnd);
        let k = cube_root(INVERSE_C * u64::from(missing));
        Epoch { start: now, origin: self.last_max.max(cwnd), k, acked, reno: cwnd }
    }

    /// RFC 9438 §4.4, §4.5: growth by (target − cwnd) / cwnd per acknowledged packet.
    fn cubic_divisor(&self, epoch: &Epoch, cwnd: u32, now: u32) -> u32 {
        let target = epoch.target(self.time(epoch, now));
        let divisor = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        // Unlike RFC 9438, the growth before the first reduction has a minimum, because the cubic
        // function begins flat at an arbitrary window.
        if self.last_max == 0 { divisor.min(MAX_FIRST_DIVISOR) } else { divisor }
    }

    /// Time at which the target is due, one round trip from now (RFC 9438 §4.2), in units of
    /// 2⁻¹⁰ s.
    fn time(&self, epoch: &Epoch, now: u32) -> u64 {
        let rtt = self.slow_start.delay_min().as_nanos().div_ceil(u64::from(self.tick_nanos));
        let jiffies = u64::from(now.wrapping_sub(epoch.start)) + rtt;
        (jiffies << TIME_BITS) / u64::from(self.hz)
    }

    /// Ends the epoch at a loss or mark. Returns the slow start threshold in packets. `_now` has no
    /// effect: the next epoch begins with the first acknowledgment in congestion avoidance.
    pub fn ssthresh_after_loss(&mut self, window: &PacketWindow, _now: Instant) -> u32 {
        self.epoch = None;
        let cwnd = u64::from(window.cwnd);
        // RFC 9438 §4.7: if the window is below the last maximum, the plateau is lower still.
        self.last_max = if window.cwnd < self.last_max && self.fast_convergence {
            wrap(cwnd * (ONE + BETA) / (2 * ONE))
        } else {
            window.cwnd
        };
        // RFC 9438 §4.6: multiplication by β, and at least two packets. Unlike the RFC, of the
        // window and not of the packets in flight.
        wrap(cwnd * BETA / ONE).max(2)
    }

    /// Forgets `W_max`, the epoch and the minimum delay after a timeout.
    ///
    /// The window then begins its next epoch at the plateau, as RFC 9438 §4.8 requires. Unlike the
    /// RFC, the lower bound of the growth before the first reduction applies again. `nxt` is
    /// SND.NXT.
    pub fn on_timeout(&mut self, now: Instant, nxt: SeqNum) {
        self.divisor = 0;
        self.last_cwnd = 0;
        self.last_update = 0;
        self.last_max = 0;
        self.epoch = None;
        self.slow_start.reset(now, nxt);
    }

    /// Moves the epoch by the idle time when sending resumes with nothing in flight. `last_sent` is
    /// the time of the transmission before.
    pub fn on_transmit_start(&mut self, now: Instant, last_sent: Instant) {
        // RFC 9438 §5.8: t does not include idle periods.
        let (now, last_sent) = (self.jiffies(now), self.jiffies(last_sent));
        if let Some(epoch) = &mut self.epoch {
            let age = now.wrapping_sub(epoch.start);
            epoch.start = epoch.start.wrapping_add(now.wrapping_sub(last_sent).min(age));
        }
    }
}

impl Epoch {
    /// RFC 9438 §4.2, eq. (1): the window at `time`, in packets.
    fn target(&self, time: u64) -> u32 {
        let k = u64::from(self.k);
        let offset = u128::from(time.abs_diff(k)).min(1 << 32);
        let delta = (u128::from(C) * offset.pow(3)) >> (10 + 3 * TIME_BITS);
        let delta = u32::try_from(delta).unwrap_or(u32::MAX);
        if time < k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) }
    }

    /// RFC 9438 §4.3: Reno's window grows by α per round trip. Returns the divisor with which
    /// `cwnd` reaches it in one. Unlike the RFC, α does not become 1 above `W_max`.
    fn reno_divisor(&mut self, cwnd: u32) -> u32 {
        let per_packet = wrap((u64::from(cwnd) * u64::from(RENO_SCALE)) >> 3).max(1);
        let steps = self.acked.saturating_sub(1) / per_packet;
        self.acked -= steps * per_packet;
        self.reno = self.reno.saturating_add(steps);
        if self.reno > cwnd { cwnd / (self.reno - cwnd) } else { u32::MAX }
    }
}

/// Integer cube root, rounded down. Linux approximates it from a table: its K differs by at most
/// 0.16 % for differences of up to 10⁶ packets, and by 0.03 % on average. The target at the begin
/// of an epoch differs by at most one packet if `W_max` is less than 100 packets above the window.
fn cube_root(value: u64) -> u32 {
    let mut root = 0u64;
    for bit in (0..22).rev() {
        let candidate = root | 1 << bit;
        if candidate.checked_pow(3).is_some_and(|cube| cube <= value) {
            root = candidate;
        }
    }
    wrap(root)
}

/// Low 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "counters wrap; other values fit")]
const fn wrap(value: u64) -> u32 {
    value as u32
}

#[cfg(test)]
mod tests;

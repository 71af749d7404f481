//! Pacing: packets leave at a rate that follows the window, as in Linux.
//!
//! The rate is twice the window per round trip in the first half of slow start, and 1.2 times the
//! window later (`tcp_update_pacing_rate`). Packets leave in bursts of about a millisecond of the
//! rate, at least two (`tcp_tso_autosize`), because segmentation offload hands them down together.
//! The interval after a burst is its length divided by the rate (`tcp_update_skb_after_send`).
//!
//! CUBIC in Linux paces on devices with the queueing discipline `fq`, or if the application limits
//! the rate (`SO_MAX_PACING_RATE`). This module has the rules of the second case: packets that may
//! not leave yet wait in the sender.

use units::{Duration, Instant};

/// Number of packets of a connection that leave without pacing.
const UNPACED: u64 = 10;
/// Smallest burst in packets (`tcp_min_tso_segs`).
const LEAST_BURST: u32 = 2;
/// Largest burst in bytes (`gso_max_size`).
const GSO_MAX_SIZE: u64 = 65_536;
/// Share of a second whose bytes a burst has, as a power of two (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// Round-trip times below 2⁹ µs allow larger bursts (`tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;

/// Facts that determine the pacing rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateFacts {
    /// Congestion window in packets.
    pub cwnd: u32,
    /// Slow start threshold in packets.
    pub ssthresh: u32,
    /// Packets that are not acknowledged cumulatively.
    pub packets_out: u32,
    /// Sender maximum segment size in bytes.
    pub smss: u32,
    /// Smoothed round-trip time, if it is known.
    pub srtt: Option<Duration>,
}

impl RateFacts {
    /// Pacing rate in bytes per second; zero without a round-trip time.
    #[must_use]
    pub fn rate(&self) -> u64 {
        // Linux computes in microseconds. No window in packets overflows the product.
        let micros = self.srtt.map_or(0, |srtt| srtt.as_nanos() / 1000);
        let percent = if self.cwnd < self.ssthresh / 2 { 200 } else { 120 };
        let window = u64::from(self.cwnd.max(self.packets_out));
        let bytes = window.saturating_mul(u64::from(self.smss) * percent);
        bytes.saturating_mul(10_000).checked_div(micros).unwrap_or(0)
    }
}

/// Packets that were handed down together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Burst {
    bytes: u64,
    begin: Instant,
    /// Time for which the connection could have sent before the burst.
    credit: Duration,
}

/// State of pacing. A sender that does not pace only computes the rate, which HyStart uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacing {
    paces: bool,
    rate: u64,
    /// Time from which the next burst may leave.
    next: Instant,
    burst: Burst,
    sent: u64,
}

impl Pacing {
    /// Creates the state of a connection.
    #[must_use]
    pub const fn new(paces: bool) -> Self {
        let burst = Burst { bytes: 0, begin: Instant::ZERO, credit: Duration::ZERO };
        Self { paces, rate: 0, next: Instant::ZERO, burst, sent: 0 }
    }

    /// Whether the sender paces its packets.
    #[must_use]
    pub const fn paces(&self) -> bool {
        self.paces
    }

    /// Pacing rate in bytes per second; zero if unknown.
    #[must_use]
    pub const fn rate(&self) -> u64 {
        self.rate
    }

    /// Sets the rate after an acknowledgment.
    pub fn set_rate(&mut self, facts: &RateFacts) {
        self.rate = facts.rate();
    }

    /// Whether a burst may begin now.
    #[must_use]
    pub fn may_begin(&self, now: Instant) -> bool {
        !self.paces || self.next <= now
    }

    /// Time from which the next burst may leave.
    #[must_use]
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// Largest burst in packets (Linux's `tcp_tso_autosize`). `min_rtt` is the minimum round-trip
    /// time, if it is known.
    #[must_use]
    pub fn most_in_burst(&self, smss: u32, min_rtt: Option<Duration>) -> u32 {
        let of_rate = if self.rate == 0 { GSO_MAX_SIZE } else { self.rate >> PACING_SHIFT };
        let shift = min_rtt.map_or(u64::MAX, |rtt| (rtt.as_nanos() / 1000) >> RTT_SHIFT);
        let of_rtt = u32::try_from(shift).ok().and_then(|shift| GSO_MAX_SIZE.checked_shr(shift));
        let bytes = of_rate.saturating_add(of_rtt.unwrap_or(0)).min(GSO_MAX_SIZE);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        (bytes / smss.max(1)).max(LEAST_BURST)
    }

    /// Notes that a packet of `len` bytes has left. `begins` says that it begins a burst; otherwise
    /// it continues the one before.
    pub fn on_sent(&mut self, now: Instant, len: u32, begins: bool) {
        if !self.paces {
            return;
        }
        self.sent += 1;
        if begins {
            let begin = self.next.max(now);
            self.burst = Burst { bytes: 0, begin, credit: begin.since(self.next) };
        }
        self.burst.bytes += u64::from(len);
        let interval = if self.sent >= UNPACED { self.interval() } else { Duration::ZERO };
        self.next = self.burst.begin + interval;
    }

    /// Interval after the burst: its length divided by the rate. At most half of it is waived if
    /// the connection could have sent earlier.
    fn interval(&self) -> Duration {
        if self.rate == 0 {
            return Duration::ZERO;
        }
        let nanos = u128::from(self.burst.bytes) * 1_000_000_000 / u128::from(self.rate);
        let interval = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let half = Duration::from_nanos(interval.as_nanos() / 2);
        interval - self.burst.credit.min(half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn paced(cwnd: u32, ssthresh: u32, rtt_ms: u64) -> Pacing {
        let mut pacing = Pacing { sent: UNPACED, ..Pacing::new(true) };
        pacing.set_rate(&RateFacts {
            cwnd,
            ssthresh,
            packets_out: 0,
            smss: 1000,
            srtt: Some(Duration::from_millis(rtt_ms)),
        });
        pacing
    }

    /// 200 % in the first half of slow start, 120 % later; the packets in flight count if they
    /// exceed the window.
    #[test]
    fn rate_follows_the_window() {
        assert_eq!(paced(10, 1 << 30, 100).rate(), 200_000);
        assert_eq!(paced(10, 20, 100).rate(), 120_000);
        assert_eq!(paced(10, 21, 100).rate(), 120_000, "half of 21 is 10");
        assert_eq!(paced(10, 22, 100).rate(), 200_000);
        let facts = RateFacts {
            cwnd: 5,
            ssthresh: 5,
            packets_out: 10,
            smss: 1000,
            srtt: Some(Duration::from_millis(100)),
        };
        assert_eq!(facts.rate(), 120_000);
        assert_eq!(RateFacts { srtt: None, ..facts }.rate(), 0);
    }

    /// At 200 kB/s a burst of two packets takes 10 ms.
    #[test]
    fn bursts_of_two_leave_at_the_rate() {
        let mut pacing = paced(10, 1 << 30, 100);
        pacing.next = at(1000);
        assert!(!pacing.may_begin(at(999)) && pacing.may_begin(at(1000)));
        pacing.on_sent(at(1000), 1000, true);
        pacing.on_sent(at(1000), 1000, false);
        assert!(!pacing.may_begin(at(10_999)) && pacing.may_begin(at(11_000)));
        // A late sender catches up by half of the interval at most.
        pacing.on_sent(at(13_000), 1000, true);
        assert_eq!(pacing.next(), at(13_000 + 5000 - 2000));
        pacing.on_sent(at(60_000), 1000, true);
        assert_eq!(pacing.next(), at(60_000 + 2500));
    }

    #[test]
    fn first_ten_packets_are_not_paced() {
        let mut pacing = Pacing { sent: 0, ..paced(10, 1 << 30, 100) };
        for _ in 0..9 {
            assert!(pacing.may_begin(at(5)));
            pacing.on_sent(at(5), 1000, true);
        }
        pacing.on_sent(at(5), 1000, true);
        assert!(pacing.next() > at(5));
    }

    /// A millisecond of the rate, and more on a short path. Without a rate all that fits.
    #[test]
    fn bursts_grow_with_the_rate() {
        let packets = |rate, micros| {
            let pacing = Pacing { rate, ..Pacing::new(true) };
            pacing.most_in_burst(1000, Some(Duration::from_micros(micros)))
        };
        assert_eq!(packets(1_000_000, 100_000), 2);
        assert_eq!(packets(10_240_000, 100_000), 10);
        assert_eq!(packets(1_000_000, 600), 33, "half of 64 KiB");
        assert_eq!(packets(1_000_000_000, 50_000), 65, "64 KiB");
        assert_eq!(packets(0, 50_000), 65);
    }

    #[test]
    fn sender_without_pacing_never_waits() {
        let mut pacing = Pacing { paces: false, ..paced(10, 20, 100) };
        pacing.on_sent(at(5), 1000, true);
        assert!(pacing.may_begin(at(5)));
    }
}

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
    /// Packets that may still join it.
    left: u32,
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
        let burst = Burst { left: 0, bytes: 0, begin: Instant::ZERO, credit: Duration::ZERO };
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

    /// Whether a packet may leave now: it joins a burst, or the interval has passed.
    #[must_use]
    pub fn may_send(&self, now: Instant) -> bool {
        !self.paces || self.burst.left > 0 || self.next <= now
    }

    /// Time from which the next burst may leave.
    #[must_use]
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// Notes that a packet of `len` bytes has left. `most` is the largest burst in packets that the
    /// window allows, and `min_rtt` the minimum round-trip time, if it is known.
    pub fn on_sent(
        &mut self,
        now: Instant,
        len: u32,
        smss: u32,
        most: u32,
        min_rtt: Option<Duration>,
    ) {
        if !self.paces {
            return;
        }
        self.sent += 1;
        if self.burst.left == 0 {
            let begin = self.next.max(now);
            let left = burst_packets(self.rate, smss, min_rtt).min(most).max(1);
            self.burst = Burst { left, bytes: 0, begin, credit: begin.since(self.next) };
        }
        self.burst.left -= 1;
        self.burst.bytes += u64::from(len);
        let interval = if self.sent >= UNPACED { self.interval() } else { Duration::ZERO };
        self.next = self.burst.begin + interval;
    }

    /// Ends a burst: what is sent later begins another.
    pub fn end_burst(&mut self) {
        self.burst.left = 0;
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

/// Number of packets that leave together at this rate (Linux's `tcp_tso_autosize`).
fn burst_packets(rate: u64, smss: u32, min_rtt: Option<Duration>) -> u32 {
    let mut bytes = rate >> PACING_SHIFT;
    if let Some(min_rtt) = min_rtt {
        let shift = (min_rtt.as_nanos() / 1000) >> RTT_SHIFT;
        bytes += u32::try_from(shift)
            .ok()
            .and_then(|shift| GSO_MAX_SIZE.checked_shr(shift))
            .unwrap_or(0);
    }
    let packets = bytes.min(GSO_MAX_SIZE) / u64::from(smss.max(1));
    u32::try_from(packets).unwrap_or(u32::MAX).max(LEAST_BURST)
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
        let far = Some(Duration::from_millis(100));
        pacing.next = at(1000);
        assert!(!pacing.may_send(at(999)) && pacing.may_send(at(1000)));
        pacing.on_sent(at(1000), 1000, 1000, 5, far);
        assert!(pacing.may_send(at(1000)), "the second packet of the burst");
        pacing.on_sent(at(1000), 1000, 1000, 5, far);
        assert!(!pacing.may_send(at(10_999)) && pacing.may_send(at(11_000)));
        // A late sender catches up by half of the interval at most.
        pacing.on_sent(at(13_000), 1000, 1000, 5, far);
        pacing.end_burst();
        assert_eq!(pacing.next(), at(13_000 + 5000 - 2000));
        pacing.on_sent(at(60_000), 1000, 1000, 5, far);
        pacing.end_burst();
        assert_eq!(pacing.next(), at(60_000 + 2500));
    }

    #[test]
    fn first_ten_packets_are_not_paced() {
        let mut pacing = Pacing { sent: 0, ..paced(10, 1 << 30, 100) };
        for _ in 0..9 {
            assert!(pacing.may_send(at(5)));
            pacing.on_sent(at(5), 1000, 1000, 5, None);
        }
        pacing.on_sent(at(5), 1000, 1000, 5, None);
        assert!(pacing.next() > at(5));
    }

    /// A millisecond of the rate, and more on a short path.
    #[test]
    fn bursts_grow_with_the_rate() {
        let rtt = |micros| Some(Duration::from_micros(micros));
        assert_eq!(burst_packets(1_000_000, 1000, rtt(100_000)), 2);
        assert_eq!(burst_packets(10_240_000, 1000, rtt(100_000)), 10);
        assert_eq!(burst_packets(1_000_000, 1000, rtt(600)), 33, "half of 64 KiB");
        assert_eq!(burst_packets(1_000_000_000, 1000, rtt(50_000)), 65, "64 KiB");
    }

    #[test]
    fn sender_without_pacing_never_waits() {
        let mut pacing = Pacing { paces: false, ..paced(10, 20, 100) };
        pacing.on_sent(at(5), 1000, 1000, 5, None);
        assert!(pacing.may_send(at(5)));
    }
}

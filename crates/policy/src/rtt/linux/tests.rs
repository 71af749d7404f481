//! Values of the kernel's rules, computed by hand, and properties.

use proptest::prelude::*;

use super::*;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// A connection whose every measurement is the only one of its window of data.
struct Path {
    rtt: LinuxRtt,
    sent: u32,
}

impl Path {
    fn new(config: LinuxRtoConfig) -> Self {
        Self { rtt: LinuxRtt::new(&config), sent: 1 }
    }

    fn sample(&mut self, rtt: Duration) -> &LinuxRtt {
        self.sent += 1000;
        let una = SeqNum::new(self.sent);
        self.rtt.sample(rtt, una, una + 999, at(0));
        &self.rtt
    }
}

/// RTO = RTT + max(2 · RTT, 200 ms) after the first measurement, rounded up to jiffies.
#[test]
fn the_first_sample_sets_the_timeout() {
    // RTT in µs; RTO in ms with HZ = 1000 and 250.
    let table = [
        (100_000, 300, 300),
        (10_000, 210, 212),
        (200_000, 600, 600),
        (1, 201, 204),
        (0, 200, 200),
    ];
    for (micros, hz_1000, hz_250) in table {
        for (config, rto) in [(LinuxRtoConfig::HZ_1000, hz_1000), (LinuxRtoConfig::HZ_250, hz_250)]
        {
            let mut path = Path::new(config);
            assert_eq!((path.rtt.rto(), path.rtt.srtt()), (ms(1000), None));
            let after = path.sample(Duration::from_micros(micros));
            assert_eq!(after.rto(), ms(rto), "{micros} µs");
        }
    }
}

/// On a steady path the variation decays to 200 ms: RTO = 300 ms at 100 ms, and 210 ms at 10 ms.
/// At 300 ms the integer arithmetic stops 3 µs above 200 ms, which costs a jiffy.
#[test]
fn the_timeout_is_200_ms_above_a_steady_round_trip() {
    for (rtt, rto) in [(100, 300), (10, 210), (300, 501)] {
        let mut path = Path::new(LinuxRtoConfig::HZ_1000);
        for _ in 0..100 {
            path.sample(ms(rtt));
        }
        assert_eq!((path.rtt.rto(), path.rtt.srtt()), (ms(rto), Some(ms(rtt))), "{rtt}");
        assert!(path.rtt.rttvar().abs_diff(ms(200)) <= Duration::from_micros(3));
    }
}

/// Gains 1/8 and 1/4. A deviation upwards counts in full; one downwards that would raise the mean
/// deviation counts an eighth of that.
#[test]
fn a_shorter_round_trip_raises_the_deviation_less() {
    // Steady at 400 ms, then one measurement. SRTT, and change of 4 · mean deviation, in µs.
    let table = [(400, 400_000, 0), (800, 450_000, 400_000), (200, 375_000, 25_000)];
    for (last, srtt, change) in table {
        let mut path = Path::new(LinuxRtoConfig::HZ_1000);
        for _ in 0..200 {
            path.sample(ms(400));
        }
        let before = path.rtt.mdev_4;
        assert!(before < 4);
        path.sample(ms(last));
        assert_eq!(path.rtt.srtt(), Some(Duration::from_micros(srtt)), "{last}");
        assert_eq!(path.rtt.mdev_4 - before, change, "{last}");
    }
}

/// The variation rises at once. It falls by a quarter of the difference, once per window of data.
#[test]
fn the_variation_falls_once_per_window() {
    let mut rtt = LinuxRtt::new(&LinuxRtoConfig::HZ_1000);
    let (una, nxt) = (SeqNum::new(1000), SeqNum::new(10_000));
    rtt.sample(ms(400), una, nxt, at(0));
    assert_eq!(rtt.rttvar(), ms(800));
    // The window ends beyond 10 000. The deviation shrinks, the variation stays.
    for _ in 0..50 {
        rtt.sample(ms(400), nxt, nxt + 5000, at(0));
    }
    assert_eq!(rtt.rttvar(), ms(800));
    // The maximum of the window was 800 ms, so its end changes nothing.
    rtt.sample(ms(400), nxt + 1, nxt + 5000, at(0));
    assert_eq!(rtt.rttvar(), ms(800));
    // The maximum of the next window is the minimum of 200 ms.
    rtt.sample(ms(400), nxt + 5001, nxt + 9000, at(0));
    assert_eq!(rtt.rttvar(), ms(650));
    rtt.sample(ms(400), nxt + 5002, nxt + 9000, at(0));
    assert_eq!(rtt.rttvar(), ms(650));
}

/// RFC 6298 §5.5: exponential back-off, here up to 120 s. A measurement ends it.
#[test]
fn the_timeout_doubles_up_to_its_maximum() {
    let mut path = Path::new(LinuxRtoConfig::HZ_1000);
    path.sample(ms(100));
    let seen: Vec<Duration> = (0..11)
        .map(|_| {
            path.rtt.back_off();
            path.rtt.rto()
        })
        .collect();
    let expected = [600, 1200, 2400, 4800, 9600, 19_200, 38_400, 76_800, 120_000, 120_000, 120_000];
    assert_eq!(seen, expected.map(ms));
    assert_eq!(path.rtt.backoff(), 11);
    path.rtt.reset_backoff();
    assert_eq!((path.rtt.backoff(), path.rtt.rto()), (0, ms(300)));
    path.rtt.back_off();
    assert_eq!(path.sample(ms(100)).backoff(), 0);
}

/// RFC 6298 §5.7: 3 s without a measurement of the handshake; no change after one.
#[test]
fn data_after_an_untimed_handshake_starts_with_3_s() {
    let mut path = Path::new(LinuxRtoConfig::HZ_1000);
    path.rtt.back_off();
    path.rtt.after_syn_timeout();
    assert_eq!((path.rtt.rto(), path.rtt.backoff()), (ms(3000), 0));
    assert_eq!(path.sample(ms(100)).rto(), ms(300));
    path.rtt.after_syn_timeout();
    assert_eq!(path.rtt.rto(), ms(300));
}

/// The minimum covers 300 s. A measurement of zero counts as one jiffy.
#[test]
fn the_minimum_covers_five_minutes() {
    let mut rtt = LinuxRtt::new(&LinuxRtoConfig::HZ_250);
    assert_eq!(rtt.min_rtt(at(0)), None);
    // Time in s, measurement in ms; minimum in ms.
    for (secs, sample, min) in [(0, 50, 50), (100, 80, 50), (300, 90, 50), (301, 90, 80)] {
        rtt.observe_min(ms(sample), at(secs * 1000));
        assert_eq!(rtt.min_rtt(at(secs * 1000)), Some(ms(min)), "{secs} s");
    }
    rtt.observe_min(Duration::ZERO, at(302_000));
    assert_eq!(rtt.min_rtt(at(302_000)), Some(ms(4)));
    assert_eq!(rtt.srtt(), None);
}

/// Jiffies: a delay is rounded up, and zero disables the rounding.
#[test]
fn delays_are_rounded_up_to_jiffies() {
    let exact = LinuxRtoConfig { tick: Duration::ZERO, ..LinuxRtoConfig::HZ_250 };
    let delay = Duration::from_micros(200_001);
    let rounded =
        [exact, LinuxRtoConfig::HZ_1000, LinuxRtoConfig::HZ_250].map(|c| c.round_up(delay));
    assert_eq!(rounded, [delay, ms(201), ms(204)]);
    assert_eq!(LinuxRtoConfig::HZ_250.round_up(ms(204)), ms(204));
    assert_eq!(exact.wheel_expiry(at(7), delay), at(7) + delay);
}

/// The timer wheel: a slot of 1 jiffy below 63, of 8 below 504, of 64 below 4032, and so on.
#[test]
fn the_timer_wheel_is_coarser_for_longer_delays() {
    // Now and delay in ms; expiry in ms with HZ = 1000.
    let table = [
        (0, 0, 1),
        (0, 62, 63),
        (5, 27, 33),
        (0, 63, 64),
        (0, 300, 304),
        (3, 300, 304),
        (4, 300, 312),
        (0, 503, 504),
        (0, 504, 512),
        (0, 3000, 3008),
        (0, 4032, 4096),
    ];
    for (now, delay, expiry) in table {
        let wheel = LinuxRtoConfig::HZ_1000.wheel_expiry(at(now), ms(delay));
        assert_eq!(wheel, at(expiry), "{now} {delay}");
        let slower = LinuxRtoConfig::HZ_250.wheel_expiry(at(now * 4), ms(delay * 4));
        assert_eq!(slower, at(expiry * 4), "{now} {delay}");
    }
}

/// The clock of the wheel is a jiffy ahead if a timer has expired in this jiffy.
#[test]
fn a_timer_set_by_an_expired_one_has_the_finer_level_for_a_jiffy_more() {
    for (now, delay, expiry) in [(5, 63, 69), (5, 64, 72), (5, 504, 512), (5, 62, 68)] {
        let wheel = LinuxRtoConfig::HZ_1000.wheel_expiry_after(at(now), ms(delay), true);
        assert_eq!(wheel, at(expiry), "{now} {delay}");
    }
}

proptest! {
    /// The timeout is at least SRTT + 200 ms, at most 120 s, and whole jiffies.
    #[test]
    fn the_timeout_is_bounded(samples in proptest::collection::vec(0..2_000_000u64, 1..200)) {
        let mut path = Path::new(LinuxRtoConfig::HZ_250);
        for micros in samples {
            let rtt = path.sample(Duration::from_micros(micros));
            let rto = rtt.rto();
            prop_assert!(rto >= rtt.srtt().unwrap() + ms(200) && rto <= ms(120_000));
            prop_assert!(rto.as_nanos().is_multiple_of(4_000_000));
            prop_assert!(rtt.mdev_4 >= 0 && rtt.rttvar >= 200_000);
        }
    }

    /// A timer never fires early. It is late by one slot at most, which is 8/63 of the delay, and
    /// two jiffies.
    #[test]
    fn the_wheel_is_late_by_at_most_one_slot(now in 0..1u64 << 40, delay in 0..1u64 << 34) {
        let (now, delay) = (Instant::from_nanos(now), Duration::from_nanos(delay));
        let expiry = LinuxRtoConfig::HZ_1000.wheel_expiry(now, delay);
        prop_assert!(expiry >= now + delay);
        let late = expiry.since(now + delay).as_nanos();
        prop_assert!(late <= delay.as_nanos() * 8 / 63 + 2_000_000, "{}", late);
    }

    /// A clock with a phase has the same slots at other times.
    #[test]
    fn the_phase_moves_the_slots(
        now in 0..1u64 << 40, delay in 0..1u64 << 34, phase in 0..1u64 << 50,
    ) {
        let (now, delay) = (Instant::from_nanos(now), Duration::from_nanos(delay));
        let phase = Duration::from_nanos(phase);
        let moved = LinuxRtoConfig { phase, ..LinuxRtoConfig::HZ_250 };
        let expiry = LinuxRtoConfig::HZ_250.wheel_expiry(now + phase, delay);
        prop_assert_eq!(moved.wheel_expiry(now, delay) + phase, expiry);
    }
}

//! Decision tables of the two detections, and values of packetdrill scripts.

use proptest::prelude::*;

use super::*;

const MSS: u32 = 1000;
const START: SeqNum = SeqNum::new(1);

const fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

/// A connection in slow start. Time is in microseconds.
struct Flow {
    hystart: HyStart,
    window: PacketWindow,
    delay_min: u32,
    una: SeqNum,
    nxt: SeqNum,
}

impl Flow {
    fn new(cwnd: u32) -> Self {
        let window = PacketWindow::new(cwnd);
        let nxt = START + cwnd * MSS;
        let hystart = HyStart::new(at(0), START, false);
        Self { hystart, window, delay_min: u32::MAX, una: START, nxt }
    }

    /// An acknowledgment of `packets` with a round-trip time of `rtt`. The window grows by them.
    fn ack(&mut self, now: u64, packets: u32, rtt: u32) -> &PacketWindow {
        self.ack_with_pacing(now, packets, rtt, false, 0)
    }

    fn ack_with_pacing(
        &mut self,
        now: u64,
        packets: u32,
        rtt: u32,
        paced: bool,
        pacing_rate: u64,
    ) -> &PacketWindow {
        self.una += packets * MSS;
        self.delay_min = self.delay_min.min(rtt);
        let span = Duration::from_micros(u64::from(rtt));
        let (now, una, nxt) = (at(now), self.una, self.nxt);
        let sample = PacketRtt { now, rtt: span, una, nxt, paced, pacing_rate };
        self.hystart.on_rtt(&mut self.window, &sample, rtt, self.delay_min);
        if self.window.is_in_slow_start() {
            self.window.slow_start(packets);
        }
        self.nxt = self.una + self.window.cwnd * MSS;
        &self.window
    }
}

/// A round trip of 200 ms becomes 240 to 248 ms. From the ninth sample of the round on, the minimum
/// exceeds 225 ms, and slow start ends at 36 packets, before that acknowledgment's growth.
#[test]
fn the_ninth_high_delay_ends_slow_start() {
    let mut flow = Flow::new(10);
    assert_eq!(flow.ack(200_000, 10, 200_000).cwnd, 20);
    for sample in 0..8 {
        let window =
            flow.ack(440_000 + sample * 1000, 2, 240_000 + u32::try_from(sample).unwrap() * 1000);
        assert_eq!(window.ssthresh, PacketWindow::INFINITE, "{sample}");
    }
    assert_eq!(flow.window.cwnd, 36);
    for now in [448_000, 449_000] {
        let window = flow.ack(now, 2, 248_000);
        assert_eq!((window.cwnd, window.ssthresh), (36, 36));
    }
}

/// A new minimum of 29 ms at the ninth sample counts for the round and for the connection, so the
/// delay has not risen.
#[test]
fn a_new_minimum_counts_on_both_sides() {
    let mut flow = Flow::new(10);
    flow.ack(200_000, 10, 200_000);
    for sample in 0..9 {
        flow.ack(400_000 + sample * 1000, 2, 200_000 + u32::try_from(sample).unwrap() * 1000);
    }
    let window = flow.ack(409_000, 2, 29_000);
    assert_eq!((window.cwnd, window.ssthresh), (40, PacketWindow::INFINITE));
}

/// The increase that ends slow start: an eighth of the minimum, at least 4 ms and at most 16 ms.
#[test]
fn the_threshold_of_the_delay_is_bounded() {
    // Minimum, then the delay of a round, in µs; whether slow start ends.
    let table = [
        (1000, 5000, false),
        (1000, 5001, true),
        (32_000, 36_000, false),
        (32_000, 36_001, true),
        (80_000, 90_000, false),
        (80_000, 90_001, true),
        (128_000, 144_000, false),
        (400_000, 416_000, false),
        (400_000, 416_001, true),
    ];
    for (min, delay, ended) in table {
        let mut hystart = HyStart::new(at(0), START, false);
        let decisions: Vec<bool> = (0..9).map(|_| hystart.is_delay_high(delay, min)).collect();
        assert_eq!(decisions, [[false; 8].as_slice(), &[ended]].concat(), "{min} {delay}");
    }
}

/// ACKs at intervals of at most 2 ms that last longer than half of the minimum round trip, or the
/// whole if the sender paces. The allowance for offload is the time of 4 · 64 KiB at the pacing
/// rate, at most 1 ms, and zero without a rate.
#[test]
fn a_long_ack_train_ends_slow_start() {
    // Interval in µs, paced, pacing rate in bytes/s; length in µs after which slow start ends.
    let table = [
        (1000, false, 0, Some(51_000)),
        (2000, false, 0, Some(52_000)),
        (2001, false, 0, None),
        (100, false, 0, Some(50_100)),
        (100, false, 1_000_000, Some(50_600)),
        (100, false, 1 << 30, Some(50_200)),
        (100, true, 0, Some(100_100)),
        (100, true, 1_000_000, Some(101_100)),
    ];
    for (interval, paced, rate, length) in table {
        let mut flow = Flow::new(20);
        // The first acknowledgment begins the round.
        flow.ack_with_pacing(100_000, 1, 100_000, paced, rate);
        let mut ended = None;
        for index in 1..1100 {
            // The round continues, because nothing is acknowledged.
            flow.ack_with_pacing(100_000 + index * interval, 0, 100_000, paced, rate);
            if ended.is_none() && !flow.window.is_in_slow_start() {
                ended = Some(index * interval);
            }
        }
        assert_eq!(ended, length, "{interval} {paced} {rate}");
    }
}

/// Below 16 packets nothing ends slow start. Rounds begin nevertheless, unless they are late.
#[test]
fn small_windows_stay_in_slow_start() {
    for (cwnd, late_rounds, ended) in
        [(15, false, false), (16, false, true), (16, true, true), (15, true, false)]
    {
        let mut hystart = HyStart::new(at(0), START, late_rounds);
        let mut window = PacketWindow::new(cwnd);
        for _ in 0..20 {
            let (now, una, rtt) = (at(500_000), START, Duration::from_millis(300));
            let sample = PacketRtt { now, rtt, una, nxt: una, paced: false, pacing_rate: 0 };
            hystart.on_rtt(&mut window, &sample, 300_000, 100_000);
        }
        assert_eq!(!window.is_in_slow_start(), ended, "{cwnd} {late_rounds}");
    }
    // SND.UNA passes the end of the round while the window is small.
    for (late_rounds, end) in [(false, START + 9000), (true, START)] {
        let mut hystart = HyStart::new(at(0), START, late_rounds);
        let (una, nxt) = (START + 1000, START + 9000);
        let rtt = Duration::from_millis(100);
        let sample = PacketRtt { now: at(1), rtt, una, nxt, paced: false, pacing_rate: 0 };
        hystart.on_rtt(&mut PacketWindow::new(10), &sample, 100_000, 100_000);
        assert_eq!(hystart.end, end, "{late_rounds}");
    }
}

/// A timeout allows slow start to be ended again. Without one it is ended once.
#[test]
fn slow_start_is_ended_once_until_a_timeout() {
    let mut flow = Flow::new(20);
    flow.hystart.found = true;
    for _ in 0..20 {
        flow.ack(500_000, 0, 300_000);
        flow.delay_min = 100_000;
    }
    assert!(flow.window.is_in_slow_start());
    flow.hystart.reset(at(500_000), flow.nxt);
    for _ in 0..9 {
        flow.ack(510_000, 0, 300_000);
    }
    assert!(!flow.window.is_in_slow_start());
}

proptest! {
    /// A steady path with less than half of a round trip of ACKs never ends slow start.
    #[test]
    fn a_steady_delay_keeps_slow_start(
        rtt in 10_000..400_000u32,
        jitter in proptest::collection::vec(0..4000u32, 1..200),
    ) {
        let mut flow = Flow::new(20);
        flow.ack(u64::from(rtt), 1, rtt);
        for (index, jitter) in (1..).zip(jitter) {
            flow.ack(u64::from(rtt) * (index + 1), 1, rtt + jitter);
            prop_assert!(flow.window.is_in_slow_start());
        }
    }
}

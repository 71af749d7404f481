//! Values of packetdrill scripts and decision tables of RFC 9438.

mod closed_form;
mod network;

use proptest::prelude::*;

use self::network::Network;
use super::*;

const START: SeqNum = SeqNum::new(1);

const fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn cubic(exit: SlowStartExit) -> Cubic {
    Cubic::new(&CubicConfig { exit, ..CubicConfig::HZ_1000 }, at(0), START)
}

const fn ack(now: Instant, acked: u32) -> PacketAck {
    PacketAck { now, acked, una: START, nxt: START, cwnd_limited: true }
}

const fn sample(now: Instant, rtt: u64) -> PacketRtt {
    let rtt = Duration::from_millis(rtt);
    PacketRtt { now, rtt, una: START, nxt: START, paced: false, pacing_rate: 0 }
}

/// RFC 9438 §4.6 with β = 717/1024: rounded down, at least two packets.
#[test]
fn a_loss_multiplies_by_beta() {
    let table = [(1, 2), (2, 2), (3, 2), (4, 2), (5, 3), (10, 7), (100, 70), (1000, 700)];
    for (cwnd, ssthresh) in table {
        let mut cubic = cubic(SlowStartExit::None);
        assert_eq!(cubic.ssthresh_after_loss(&PacketWindow::new(cwnd), at(0)), ssthresh, "{cwnd}");
    }
}

/// RFC 9438 §4.7: a second loss below the first plateau lowers it to (1 + β)/2 of the window.
#[test]
fn fast_convergence_lowers_the_plateau() {
    // Fast convergence, windows of two losses; plateau afterwards.
    let table =
        [(true, 100, 80, 68), (true, 100, 100, 100), (true, 100, 120, 120), (false, 100, 80, 80)];
    for (fast_convergence, first, second, plateau) in table {
        let config = CubicConfig { fast_convergence, ..CubicConfig::HZ_1000 };
        let mut cubic = Cubic::new(&config, at(0), START);
        cubic.ssthresh_after_loss(&PacketWindow::new(first), at(0));
        cubic.ssthresh_after_loss(&PacketWindow::new(second), at(1000));
        assert_eq!(cubic.last_max, plateau, "{first} {second}");
    }
}

/// The cube root is exact, rounded down.
#[test]
fn the_cube_root_is_exact() {
    for root in [0u64, 1, 2, 3, 10, 13_900, 1 << 20, 2_600_000] {
        assert_eq!(u64::from(cube_root(root.pow(3))), root);
        if root > 0 {
            assert_eq!(u64::from(cube_root(root.pow(3) - 1)), root - 1);
        }
    }
}

/// Two packets per ACK and an ACK each 100 ms, from a window of 10. HyStart of Linux 5.17 to 6.13
/// ends slow start at 48 packets. Then: 49 when 60 packets are acknowledged, 50 at 80, 52 at 100,
/// 58 at 120, and one packet per ACK from there.
#[test]
fn a_bulk_flow_at_166_kbit_per_s() {
    let mut network = Network::new(cubic(SlowStartExit::HyStartLateRounds));
    for (acked, cwnd) in
        [(10, 20), (20, 30), (30, 40), (38, 48), (60, 49), (80, 50), (100, 52), (120, 58)]
    {
        network.acknowledge_up_to(acked);
        assert_eq!(network.window.cwnd, cwnd, "{acked} packets acknowledged");
    }
    for more in 1..=140 {
        network.acknowledge_up_to(120 + 2 * more);
        assert_eq!(network.window.cwnd, 58 + more, "{more} ACKs later");
    }
}

/// That flow since Linux 6.14, whose rounds begin with the first ACK: the ninth sample of a
/// round comes earlier, at a window of 36.
#[test]
fn rounds_that_begin_earlier_end_slow_start_earlier() {
    let mut network = Network::new(cubic(SlowStartExit::HyStart));
    for (acked, cwnd) in [(26, 36), (28, 36), (40, 36), (46, 37)] {
        network.acknowledge_up_to(acked);
        assert_eq!(network.window.cwnd, cwnd, "{acked} packets acknowledged");
    }
    assert_eq!(network.window.ssthresh, 36);
}

/// RFC 9438 §5.8: 4 s of idleness do not count. The window continues as if there had been none: the
/// values are those of the flow without a pause.
#[test]
fn idleness_shifts_the_epoch() {
    let mut network = Network::new(cubic(SlowStartExit::HyStartLateRounds));
    network.acknowledge_up_to(40);
    network.pause(Duration::from_secs(4));
    for (acked, cwnd) in [(60, 49), (80, 50), (100, 52), (120, 58)] {
        network.acknowledge_up_to(acked);
        assert_eq!(network.window.cwnd, cwnd, "{acked} packets acknowledged");
    }
    // Without an epoch nothing moves. A pause that began before the epoch ends with it.
    let mut cubic = cubic(SlowStartExit::None);
    cubic.on_transmit_start(at(5000), at(0));
    assert_eq!(cubic.epoch, None);
    let mut window = PacketWindow::new(10).with_ssthresh(10);
    cubic.on_ack(&mut window, &ack(at(6000), 1));
    cubic.on_transmit_start(at(6500), at(0));
    assert_eq!(cubic.epoch.map(|epoch| epoch.start), Some(6500));
}

/// A paced sender needs some ACKs after the pause until it fills the window again. If 2 to 12 of
/// them do not count, the values are those of the packetdrill script: 48, 49, 52 and 58.
#[test]
fn a_paced_sender_fills_the_window_later() {
    for uncounted in 2..=12 {
        let mut network = Network::new(cubic(SlowStartExit::HyStartLateRounds));
        network.acknowledge_up_to(40);
        network.pause(Duration::from_secs(4));
        network.cwnd_limited = false;
        network.acknowledge_up_to(40 + 2 * uncounted);
        network.cwnd_limited = true;
        let seen = [60, 80, 100, 120].map(|acked| {
            network.acknowledge_up_to(acked);
            network.window.cwnd
        });
        assert_eq!(seen, [48, 49, 52, 58], "{uncounted}");
    }
}

/// After a timeout at 10 packets, slow start ends at 7. The window grows to 8 at exactly the 16th
/// ACK of congestion avoidance: Reno's window is computed once in 31 ms.
#[test]
fn after_a_timeout_the_sixteenth_ack_adds_a_packet() {
    let mut cubic = cubic(SlowStartExit::HyStart);
    let mut window = PacketWindow::new(10);
    window.ssthresh = cubic.ssthresh_after_loss(&window, at(0));
    assert_eq!(window.ssthresh, 7);
    cubic.on_timeout(at(0), START);
    window.cwnd = 1;
    cubic.on_rtt(&mut window, &sample(at(50), 100));
    for _ in 0..6 {
        cubic.on_ack(&mut window, &ack(at(50), 1));
    }
    assert_eq!(window.cwnd, 7);
    // Intervals of the ACKs in ms.
    let intervals = [2, 98, 2, 2, 2, 2, 2, 2, 98, 3, 2, 2, 2, 2, 2, 98];
    let mut now = 50;
    let grown: Vec<u32> = intervals
        .iter()
        .map(|interval| {
            now += interval;
            cubic.on_ack(&mut window, &ack(at(now), 1));
            window.cwnd
        })
        .collect();
    assert_eq!(grown, [[7; 15].as_slice(), &[8]].concat());
}

/// A timeout leaves the state of a new connection, with a round that begins at SND.NXT.
#[test]
fn a_timeout_forgets_the_path() {
    for exit in [SlowStartExit::HyStart, SlowStartExit::HyStartPlusPlus, SlowStartExit::None] {
        let config = CubicConfig { exit, ..CubicConfig::HZ_1000 };
        let mut used = Cubic::new(&config, at(0), START);
        let mut window = PacketWindow::new(100);
        used.on_rtt(&mut window, &sample(at(100), 100));
        window.ssthresh = used.ssthresh_after_loss(&window, at(100));
        used.on_ack(&mut window, &ack(at(200), 10));
        assert!(used.last_max > 0 && used.epoch.is_some() && used.divisor > 0);
        used.on_timeout(at(900), START + 5000);
        assert_eq!(used, Cubic::new(&config, at(900), START + 5000), "{exit:?}");
    }
}

/// RFC 9438 §4.3: Reno's window gains a packet once more than 15/8 windows are acknowledged.
#[test]
fn reno_gains_a_packet_per_15_eighths_of_a_window() {
    // Packets acknowledged; Reno's window, packets left, divisor.
    let table = [(15, 8, 15, u32::MAX), (16, 9, 1, 8), (30, 9, 15, 8), (31, 10, 1, 4)];
    for (acked, reno, left, divisor) in table {
        let mut epoch = Epoch { start: 0, origin: 8, k: 0, acked, reno: 8 };
        assert_eq!(epoch.reno_divisor(8), divisor, "{acked}");
        assert_eq!((epoch.reno, epoch.acked), (reno, left), "{acked}");
    }
}

/// Before the first reduction a window grows by at least 5 % per round trip: one packet per 20.
#[test]
fn the_first_growth_is_at_least_5_percent() {
    let mut cubic = cubic(SlowStartExit::None);
    let mut window = PacketWindow::new(200).with_ssthresh(200);
    cubic.on_ack(&mut window, &ack(at(0), 200));
    assert_eq!((cubic.divisor, window.cwnd), (20, 210));
    // After a reduction the plateau is flat.
    window.ssthresh = cubic.ssthresh_after_loss(&window, at(0));
    cubic.on_ack(&mut window, &ack(at(100), 1));
    assert_eq!(cubic.divisor, 21_000);
}

/// The target is computed at most once per jiffy, and once per 1/32 s while the window stays.
#[test]
fn the_divisor_is_computed_at_intervals() {
    // Interval to the last update in ms, window; whether the divisor is computed again.
    let table =
        [(0, 100, false), (31, 100, false), (32, 100, true), (0, 101, false), (1, 101, true)];
    for (interval, cwnd, computed) in table {
        let config = CubicConfig { reno_friendly: false, ..CubicConfig::HZ_1000 };
        let mut cubic = Cubic::new(&config, at(0), START);
        cubic.update(100, 1, 1000);
        cubic.divisor = 77;
        cubic.update(cwnd, 1, 1000 + interval);
        assert_eq!(cubic.divisor != 77, computed, "{interval} ms, {cwnd}");
    }
}

/// RFC 9438 §4.2: the target is that of a round trip later. Linux rounds the round trip up to
/// jiffies, and the time down to units of 2⁻¹⁰ s.
#[test]
fn the_target_is_a_round_trip_ahead() {
    // Round trip in µs, age of the epoch in jiffies; time with HZ = 1000 and 250.
    let table =
        [(1, 0, 1, 4), (1001, 0, 2, 4), (100_000, 0, 102, 102), (100_000, 1000, 1126, 4198)];
    for (micros, age, hz_1000, hz_250) in table {
        for (config, time) in [(CubicConfig::HZ_1000, hz_1000), (CubicConfig::HZ_250, hz_250)] {
            let mut cubic = Cubic::new(&config, at(0), START);
            let rtt = Duration::from_micros(micros);
            cubic.on_rtt(&mut PacketWindow::new(10), &PacketRtt { rtt, ..sample(at(0), 0) });
            let epoch = Epoch { start: u32::MAX, origin: 10, k: 0, acked: 0, reno: 10 };
            assert_eq!(
                cubic.time(&epoch, epoch.start.wrapping_add(age)),
                time,
                "{micros} µs, {age}"
            );
        }
    }
}

/// Samples of the first second of an epoch do not count.
#[test]
fn delays_right_after_a_reduction_are_ignored() {
    let mut cubic = cubic(SlowStartExit::None);
    let mut window = PacketWindow::new(10).with_ssthresh(10);
    cubic.on_rtt(&mut window, &sample(at(0), 100));
    cubic.on_ack(&mut window, &ack(at(0), 1));
    for (now, rtt, min) in [(999, 50, 100), (1000, 80, 80), (1001, 90, 80)] {
        cubic.on_rtt(&mut window, &sample(at(now), rtt));
        assert_eq!(cubic.slow_start.delay_min(), Duration::from_millis(min), "{now}");
    }
}

proptest! {
    /// RFC 9438 §4.2: the window never shrinks on an ACK, and grows by half of the acknowledged
    /// packets at most, apart from one packet of the old counter.
    #[test]
    fn growth_is_bounded(
        cwnd in 2..5000u32,
        max in 0..10_000u32,
        hz_250: bool,
        steps in proptest::collection::vec((0..200u64, 1..64u32), 1..100),
    ) {
        let config = if hz_250 { CubicConfig::HZ_250 } else { CubicConfig::HZ_1000 };
        let mut cubic = Cubic::new(&config, at(0), START);
        cubic.last_max = max;
        let mut window = PacketWindow::new(cwnd).with_ssthresh(2);
        let mut now = 0;
        for (step, acked) in steps {
            now += step;
            let before = window.cwnd;
            cubic.on_ack(&mut window, &ack(at(now), acked));
            prop_assert!(window.cwnd >= before && window.cwnd <= before + acked / 2 + 2);
        }
    }

    /// The threshold is at least two and less than a window of more than two packets.
    #[test]
    fn a_loss_always_reduces(cwnd in 3..1_000_000u32, max in 0..1_000_000u32) {
        let mut cubic = cubic(SlowStartExit::None);
        cubic.last_max = max;
        let ssthresh = cubic.ssthresh_after_loss(&PacketWindow::new(cwnd), at(0));
        prop_assert!((2..cwnd).contains(&ssthresh));
        prop_assert!(cubic.last_max <= cwnd);
    }
}

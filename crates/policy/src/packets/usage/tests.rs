//! Growth and decay by the use of the window.

use proptest::prelude::*;

use super::*;

const MSS: u32 = 1000;
const START: SeqNum = SeqNum::new(1);

const fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn sent(now: Instant, acked: u32, out: u32, cwnd: u32) -> SendFacts {
    let una = START + acked * MSS;
    SendFacts { now, una, nxt: una + out * MSS, packets_out: out, window_full: out >= cwnd }
}

/// Sends `out` packets in a window of 10, then receives an acknowledgment for each `ratio` of them.
fn slow_start_with(out: u32, ratio: u32) -> u32 {
    let mut window = PacketWindow::new(10);
    let mut usage = WindowUsage::new(at(0), START);
    usage.on_sent(&mut window, &sent(at(0), 0, out, 10), None);
    for _ in 0..out / ratio {
        if usage.is_cwnd_limited(&window) {
            window.slow_start(ratio);
        }
    }
    window.cwnd
}

/// In slow start the window grows while it is smaller than twice the packets out. Values of
/// packetdrill scripts: 5 of 10 packets leave 10, 6 make 12, 9 make 18, and 10 make 20.
#[test]
fn slow_start_needs_half_of_the_window() {
    for (out, ratio, cwnd) in [(5, 1, 10), (6, 2, 12), (9, 1, 18), (10, 2, 20), (10, 1, 20)] {
        assert_eq!(slow_start_with(out, ratio), cwnd, "{out}");
    }
}

/// In congestion avoidance the window grows only if it was full.
#[test]
fn congestion_avoidance_needs_a_full_window() {
    for (out, limited) in [(5, false), (9, false), (10, true)] {
        let mut window = PacketWindow::new(10).with_ssthresh(10);
        let mut usage = WindowUsage::new(at(0), START);
        usage.on_sent(&mut window, &sent(at(0), 0, out, 10), None);
        assert_eq!(usage.is_cwnd_limited(&window), limited, "{out}");
    }
}

/// A window of data that was full remains so until it is acknowledged. Then the next transmission
/// starts again.
#[test]
fn the_strongest_signal_of_a_window_of_data_counts() {
    let mut window = PacketWindow::new(10).with_ssthresh(10);
    let mut usage = WindowUsage::new(at(0), START);
    usage.on_sent(&mut window, &sent(at(0), 0, 10, 10), None);
    // Less is out, but the data of the full window is not all acknowledged.
    usage.on_sent(&mut window, &sent(at(10), 9, 2, 10), None);
    assert!(usage.is_cwnd_limited(&window));
    usage.on_sent(&mut window, &sent(at(20), 10, 2, 10), None);
    assert!(!usage.is_cwnd_limited(&window));
    // A larger number of packets out extends the window of data.
    usage.on_sent(&mut window, &sent(at(30), 10, 4, 10), None);
    assert_eq!((usage.max_packets_out, usage.end), (4, START + 14 * MSS));
    usage.on_sent(&mut window, &sent(at(40), 11, 3, 10), None);
    assert_eq!(usage.max_packets_out, 4);
}

/// A window of data that was full remains so if more packets are out later without filling the
/// window, which has grown.
#[test]
fn a_grown_window_does_not_hide_that_it_was_full() {
    let mut window = PacketWindow::new(10).with_ssthresh(10);
    let mut usage = WindowUsage::new(at(0), START);
    usage.on_sent(&mut window, &sent(at(0), 0, 10, 10), None);
    usage.on_sent(&mut window, &sent(at(10), 5, 12, 20), None);
    assert!(usage.is_cwnd_limited(&window));
}

/// A full window postpones the decay by a timeout, and forgets the part used before it.
#[test]
fn a_full_window_postpones_the_decay() {
    let validation = Validation { rto: Duration::from_millis(300), initial: 10 };
    let mut window = PacketWindow::new(40).with_ssthresh(40);
    let mut usage = WindowUsage::new(at(0), START);
    // Time in ms, packets acknowledged and out; window afterwards.
    let table = [(100, 0, 30, 40), (200, 30, 40, 40), (499, 70, 5, 40), (500, 75, 5, 25)];
    for (ms, acked, out, cwnd) in table {
        usage.on_sent(&mut window, &sent(at(ms), acked, out, 40), Some(&validation));
        assert_eq!(window.cwnd, cwnd, "{ms} ms");
    }
}

/// After a timeout without a full window, the window becomes the mean of itself and the part used,
/// which counts as at least the initial window.
#[test]
fn an_unused_window_decays_once_per_timeout() {
    let validation = Validation { rto: Duration::from_millis(300), initial: 10 };
    let mut window = PacketWindow::new(40).with_ssthresh(30);
    let mut usage = WindowUsage::new(at(0), START);
    // Time in ms, packets out; window and threshold afterwards.
    let table = [
        (100, 20, 40, 30),
        (299, 5, 40, 30),
        (300, 5, 30, 30),
        (599, 5, 30, 30),
        (600, 5, 20, 30),
        (900, 5, 15, 30),
    ];
    for (index, (ms, out, cwnd, ssthresh)) in (0..).zip(table) {
        usage.on_sent(&mut window, &sent(at(ms), index * 30, out, 40), Some(&validation));
        assert_eq!((window.cwnd, window.ssthresh), (cwnd, ssthresh), "{ms} ms");
    }
    // The threshold remembers three quarters of a larger window.
    let mut wide = PacketWindow::new(40).with_ssthresh(20);
    let mut usage = WindowUsage::new(at(0), START);
    usage.on_sent(&mut wide, &sent(at(300), 0, 5, 40), Some(&validation));
    assert_eq!((wide.cwnd, wide.ssthresh), (25, 30));
    // Growth and a restart postpone the decay.
    usage.on_window_change(at(599));
    usage.on_sent(&mut wide, &sent(at(600), 30, 5, 40), Some(&validation));
    assert_eq!(wide.cwnd, 25);
    usage.on_restart(at(899));
    usage.on_sent(&mut wide, &sent(at(1198), 60, 5, 40), Some(&validation));
    assert_eq!(wide.cwnd, 25);
}

proptest! {
    /// Decay never goes below the part used, nor below the initial window.
    #[test]
    fn decay_is_bounded(cwnd in 11..500u32, outs in proptest::collection::vec(1..10u32, 1..30)) {
        let validation = Validation { rto: Duration::from_millis(200), initial: 10 };
        let mut window = PacketWindow::new(cwnd).with_ssthresh(2);
        let mut usage = WindowUsage::new(at(0), START);
        for (index, &out) in (1..).zip(&outs) {
            let facts = sent(at(u64::from(index) * 200), index * 10, out, u32::MAX);
            let before = window.cwnd;
            usage.on_sent(&mut window, &facts, Some(&validation));
            prop_assert!(window.cwnd <= before && window.cwnd >= 10);
            prop_assert!([before, before.midpoint(10)].contains(&window.cwnd));
        }
    }

    /// An application that keeps fewer than half of the window out never widens it.
    #[test]
    fn half_of_the_window_is_the_limit(cwnd in 1..1000u32, out in 1..1000u32) {
        let mut window = PacketWindow::new(cwnd);
        let mut usage = WindowUsage::new(at(0), START);
        usage.on_sent(&mut window, &sent(at(0), 0, out, cwnd), None);
        prop_assert_eq!(usage.is_cwnd_limited(&window), out >= cwnd || 2 * out > cwnd);
    }
}

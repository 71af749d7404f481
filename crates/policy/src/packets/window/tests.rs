//! Growth of the window, clause by clause.

use proptest::prelude::*;

use super::*;

const fn window(cwnd: u32, ssthresh: u32) -> PacketWindow {
    PacketWindow::new(cwnd).with_ssthresh(ssthresh)
}

/// Every acknowledged packet counts in slow start, without a limit per acknowledgment. The
/// remainder beyond `ssthresh` goes to congestion avoidance.
#[test]
fn slow_start_ends_at_the_threshold() {
    // cwnd, ssthresh, acked; cwnd afterwards, remainder.
    let table = [
        (10, PacketWindow::INFINITE, 1, 11, 0),
        (10, PacketWindow::INFINITE, 4, 14, 0),
        (10, PacketWindow::INFINITE, 10, 20, 0),
        (6, 7, 1, 7, 0),
        (6, 7, 4, 7, 3),
        (7, 7, 4, 7, 4),
        // A window above the threshold does not shrink.
        (9, 7, 4, 9, 4),
        (10, PacketWindow::INFINITE, 0, 10, 0),
    ];
    for (cwnd, ssthresh, acked, after, remainder) in table {
        let mut window = window(cwnd, ssthresh);
        assert_eq!((window.slow_start(acked), window.cwnd), (remainder, after), "{cwnd} {acked}");
    }
    let mut clamped = PacketWindow { clamp: 12, ..PacketWindow::new(10) };
    assert_eq!((clamped.slow_start(5), clamped.cwnd), (0, 12));
}

/// One packet per `per_increase` acknowledged packets; several at once for a large
/// acknowledgment.
#[test]
fn additive_increase_counts_packets() {
    // per_increase, acknowledgments; cwnd afterwards, counter afterwards.
    let table: [(u32, &[u32], u32, u32); 6] = [
        (10, &[9], 10, 9),
        (10, &[9, 1], 11, 0),
        (10, &[4, 4, 4], 11, 2),
        (10, &[25], 12, 5),
        (2, &[1, 1, 1, 1], 12, 0),
        (0, &[1], 11, 0),
    ];
    for (per_increase, acks, cwnd, count) in table {
        let mut window = window(10, 2);
        for &acked in acks {
            window.additive_increase(per_increase, acked);
        }
        assert_eq!((window.cwnd, window.count), (cwnd, count), "{per_increase} {acks:?}");
    }
}

/// A counter that was earned with a larger divisor is worth one packet, however large it is.
#[test]
fn a_smaller_divisor_pays_the_old_counter_once() {
    let mut window = window(10, 2);
    window.additive_increase(100, 99);
    assert_eq!((window.cwnd, window.count), (10, 99));
    window.additive_increase(10, 1);
    assert_eq!((window.cwnd, window.count), (11, 1));
    window.reset_count();
    assert_eq!(window.count, 0);
}

/// RFC 2861 §3.2: one halving for each timeout beyond the first, not below the initial window. The
/// threshold keeps three quarters of the old window. The second row is the value of a packetdrill
/// script: 36 packets become 10 after 2 s with a timeout of 300 ms.
#[test]
fn idleness_halves_the_window_once_per_timeout() {
    // cwnd, idle and rto in ms; cwnd and ssthresh afterwards, whether the window was restarted.
    let table = [
        (36, 300, 300, 36, 7, false),
        (36, 2000, 300, 10, 27, true),
        (36, 301, 300, 18, 27, true),
        (36, 600, 300, 18, 27, true),
        (36, 601, 300, 10, 27, true),
        (100, 601, 300, 25, 75, true),
        (4, 2000, 300, 4, 7, true),
        (1 << 20, 3_600_000, 1, 10, 786_432, true),
    ];
    for (cwnd, idle, rto, after, ssthresh, restarted) in table {
        let mut window = window(cwnd, 7);
        let (idle, rto) = (Duration::from_millis(idle), Duration::from_millis(rto));
        assert_eq!(window.restart_after_idle(idle, rto, 10), restarted, "{cwnd} {idle}");
        assert_eq!((window.cwnd, window.ssthresh), (after, ssthresh), "{cwnd} {idle}");
    }
}

proptest! {
    /// The number of acknowledgments that cover the packets makes no difference in slow start.
    #[test]
    fn slow_start_is_independent_of_the_acknowledgment_ratio(
        cwnd in 1..100u32,
        room in 0..100u32,
        acks in proptest::collection::vec(1..10u32, 1..40),
    ) {
        let mut whole = window(cwnd, cwnd + room);
        let mut pieces = whole;
        let remainder = whole.slow_start(acks.iter().sum());
        let parts: u32 = acks.iter().map(|&acked| pieces.slow_start(acked)).sum();
        prop_assert_eq!((whole, remainder), (pieces, parts));
    }

    /// No packet is lost by counting: growth · divisor + counter equals the packets acknowledged.
    #[test]
    fn additive_increase_conserves_packets(
        per_increase in 1..50u32,
        acks in proptest::collection::vec(0..40u32, 1..60),
    ) {
        let mut window = window(10, 2);
        for &acked in &acks {
            window.additive_increase(per_increase, acked);
            prop_assert!(window.count < per_increase);
        }
        let earned = (window.cwnd - 10) * per_increase + window.count;
        prop_assert_eq!(earned, acks.iter().sum::<u32>());
    }

    /// Idleness never widens the window, and a longer pause never leaves more.
    #[test]
    fn restart_is_monotonic(cwnd in 1..10_000u32, idle in 0..5000u64, more in 0..5000u64) {
        let after = |idle| {
            let mut window = window(cwnd, 2);
            window.restart_after_idle(Duration::from_millis(idle), Duration::from_millis(200), 10);
            window.cwnd
        };
        prop_assert!(after(idle) <= cwnd);
        prop_assert!(after(idle + more) <= after(idle));
        prop_assert!(after(idle) >= cwnd.min(10));
    }
}

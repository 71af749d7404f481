use proptest::prelude::*;
use units::Duration;
use wire::SeqNum;

use super::*;
use crate::congestion::WindowRules;

const SMSS: u32 = 1000;
const FULL: Growth = Growth::Standard { step: SMSS, per_rtt: SMSS };

/// Reading with every window evaluated, n compared at the end of a window, and changes of one
/// segment at once.
const PLAIN: Reading = Reading {
    translation: Translation::Session,
    hold: Hold::None,
    startup: Startup::Window,
    change: Change::Step,
    back_off: BackOff::Repeated,
};

fn target(n_op: u16, delta: u16) -> Target {
    reading(n_op, delta, PLAIN)
}

fn reading(n_op: u16, delta: u16, reading: Reading) -> Target {
    let (n_op, delta) = (Packets::from_hundredths(n_op), Packets::from_hundredths(delta));
    Target::new(n_op, delta, reading).unwrap()
}

fn controller(target: Target, segments: u32) -> SantaCruz {
    SantaCruz::new(target, Reno::new(segments * SMSS, WindowRules::RFC))
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// Returns a report of packet `number`, counted from 0. The times in microseconds are those of
/// transmission, arrival and acknowledgment.
fn report(number: u64, [sent, arrived, now]: [u64; 3], acked: u32) -> AckSample {
    let seq = SeqNum::new(u32::try_from(number).unwrap() * SMSS);
    let forward = ForwardSample {
        now: at(now),
        seq,
        sent_at: at(sent),
        // The peer has another clock, and its counter wraps.
        arrived_us: u32::try_from((arrived + u64::from(u32::MAX) - 100) & u64::from(u32::MAX))
            .unwrap(),
        delivered: (number + 1) * u64::from(SMSS),
        srtt: Duration::from_micros(now - sent),
    };
    AckSample {
        acked,
        smss: SMSS,
        app_limited: false,
        now: at(now),
        rtt: None,
        una: seq + SMSS,
        nxt: seq + 20 * SMSS,
        forward: Some(forward),
    }
}

proptest! {
    /// (2) to (4): on a link that never idles, n equals the queue that the last packet of the
    /// window found, even if acknowledgments were lost.
    #[test]
    fn estimate_equals_queue_on_busy_link(
        service in 10..20_000u64,
        delay in 0..100_000u64,
        // The time by which a packet arrives before the link is ready for it, in thousandths of the
        // maximum, and whether its acknowledgment arrives.
        packets in prop::collection::vec((0..=1000u64, prop::bool::weighted(0.7)), 2..200),
    ) {
        let mut sc = controller(Target::PAPER, 2);
        let mut sent = 0;
        let mut last = None;
        let mut windows = 0;
        for (number, (early, reported)) in (0u64..).zip(packets) {
            // The link is free for the packet at `number · service` and not earlier.
            sent = (sent * early + number * service * (1000 - early)) / 1000;
            let arrived = (number + 1) * service + delay;
            if !reported && number > 0 {
                continue;
            }
            let began = sc.began;
            let before = last.replace((number * service - sent, number));
            sc.observe(&report(number, [sent, arrived, arrived + delay], SMSS));
            // The first report begins a window. A window of one packet gives no estimate.
            if let Some((waits, of)) = before.filter(|&(_, of)| of > 0 && sc.began != began) {
                let true_queue = i128::from(waits) * 1_000_000 / i128::from(service);
                prop_assert!((sc.queue_millionths() - true_queue).abs() < 1000, "{of}: {} {true_queue}", sc.queue);
                windows += 1;
            }
        }
        prop_assert!(windows <= 200);
    }
}

/// The numbers are those of the example of `tcpsf.models.santa_cruz.queue_estimate`: two windows of
/// three packets each. Afterwards 2 and 3 packets are queued, with either translation.
#[test]
fn estimate_matches_closed_model() {
    for translation in [Translation::Session, Translation::Window] {
        let mut sc = controller(reading(150, 25, Reading { translation, ..PLAIN }), 3);
        let mut seen = Vec::new();
        for (number, (sent, received)) in
            (0u64..).zip([(0, 1), (0, 2), (0, 3), (2, 4), (2, 5), (2, 6), (4, 7)])
        {
            let began = sc.began;
            let [sent, received] = [sent, received].map(|second: u64| second * 1_000_000);
            sc.observe(&report(number, [sent, received, received], SMSS));
            if number > 0 && sc.began != began {
                seen.push(sc.queue_millionths());
            }
        }
        assert_eq!(seen, [2_000_000, 3_000_000], "{translation:?}");
    }
}

/// Section 3.1.2: n is held within `N_op ± δ`. Outside, the window changes by one segment per
/// window.
#[test]
fn window_changes_by_one_segment() {
    for (waiting, verdict) in [(12, 1i64), (13, 0), (17, 0), (18, -1)] {
        let mut sc = controller(target(150, 25), 10);
        sc.slow_start = false;
        // Each packet of 1 ms waits a little longer than the one before. At the end of the window
        // `waiting` tenths are queued.
        let times = |number: u64| {
            let arrived = 1000 * (number + 1);
            [arrived - 1000 - number * waiting * 100 / 10, arrived, arrived + 9000]
        };
        for number in 0..=10 {
            sc.on_ack(&report(number, times(number), SMSS), FULL);
            assert_eq!(sc.cwnd(), 10 * SMSS, "not before the window is over");
        }
        // The first packet sent after the window began.
        let [_, arrived, now] = times(11);
        sc.on_ack(&report(11, [10_000, arrived, now], SMSS), FULL);
        assert_eq!(i64::from(sc.cwnd()), 10_000 + verdict * 1000, "{waiting}");
        sc.on_ack(&report(12, [10_000, arrived + 1000, now + 1000], SMSS), FULL);
        assert_eq!(i64::from(sc.cwnd()), 10_000 + verdict * 1000, "once a window");
    }
}

/// Startup: slow start doubles the window every round trip until the queue at the end of a window
/// exceeds half of the target.
#[test]
fn slow_start_ends_on_queue_at_window_end() {
    let mut sc = controller(target(300, 25), 2);
    // Two packets with a round trip of 10 ms and no queue.
    sc.on_ack(&report(0, [0, 5000, 10_000], SMSS), FULL);
    sc.on_ack(&report(1, [1000, 6000, 11_000], SMSS), FULL);
    assert_eq!((sc.cwnd(), sc.slow_start), (4 * SMSS, true));
    // The next packets are sent at the same time and arrive 1 ms apart. No single relative delay is
    // large enough.
    for number in 2..20 {
        let late = 1000 * (number - 2);
        sc.on_ack(&report(number, [11_000, 16_000 + late, 21_000 + late], SMSS), FULL);
        assert!(sc.slow_start);
    }
    assert_eq!(sc.cwnd(), 22 * SMSS);
    sc.on_ack(&report(20, [39_000, 44_000, 49_000], SMSS), FULL);
    assert_eq!((sc.slow_start, sc.ssthresh()), (false, 22 * SMSS));
}

/// Startup: a single relative delay above half of the target ends slow start. The second of two
/// packets sent at the same time waits for the first, which is one packet on any link.
#[test]
fn slow_start_ends_on_relative_delay() {
    for (n_op, on) in [(150, false), (199, false), (200, true), (300, true)] {
        let mut sc = controller(target(n_op, 25), 2);
        sc.on_ack(&report(0, [0, 5000, 10_000], SMSS), FULL);
        sc.on_ack(&report(1, [0, 10_333, 15_333], SMSS), FULL);
        assert_eq!(sc.slow_start, on, "{n_op}");
    }
}

/// Section 3.1.2: growth does not depend on the number of acknowledgments. The window is equally
/// wide if only one in four arrives, in slow start and after it.
#[test]
fn growth_ignores_lost_acknowledgments() {
    let after = |every: u64, slow_start: bool| {
        let mut sc = controller(target(150, 25), 16);
        sc.slow_start = slow_start;
        // Eight round trips with 16 packets each and no queue.
        for number in (0..128u64).filter(|number| (number + 1) % every == 0) {
            let sent = number / 16 * 20_000 + number % 16 * 1000;
            let acked = SMSS * u32::try_from(every).unwrap();
            sc.on_ack(&report(number, [sent, sent + 10_000, sent + 20_000], acked), FULL);
        }
        sc.cwnd()
    };
    for slow_start in [false, true] {
        assert_eq!(after(4, slow_start), after(1, slow_start));
    }
    assert_eq!(after(1, false), (16 + 7) * SMSS);
}

/// The paper does not specify this case. A loss has the effect it has on Reno and ends slow start.
/// A timeout begins slow start again.
#[test]
fn loss_response_is_that_of_reno() {
    let loss = LossSample {
        smss: SMSS,
        flight: 10_000,
        segment: SMSS,
        duplicates: 0,
        loss_window: SMSS,
        now: Instant::ZERO,
        sent_at: None,
        resent: false,
        timer_expired: false,
        already_reduced: false,
    };
    let mut sc = controller(Target::PAPER, 10);
    sc.on_loss(&loss);
    assert_eq!((sc.cwnd(), sc.ssthresh(), sc.slow_start), (5000, 5000, false));
    sc.on_timeout(&loss);
    assert_eq!((sc.cwnd(), sc.ssthresh(), sc.slow_start), (SMSS, 5000, true));
}

/// Sends one packet per millisecond over a link that never idles and has no queue. Each is reported
/// after a round trip of 20 ms.
fn steady(
    sc: &mut SantaCruz,
    numbers: std::ops::Range<u64>,
    mut seen: impl FnMut(u64, &SantaCruz),
) {
    for number in numbers {
        let sent = number * 1000;
        sc.on_ack(&report(number, [sent, sent + 10_000, sent + 20_000], SMSS), FULL);
        seen(number, sc);
    }
}

/// Section 3.1.2, "only at discrete intervals": after a change, the first window evaluated is the
/// one sent after it. Packets have a round trip of 20 ms, so windows end with the reports of
/// packets 20, 40, 60 and so on.
#[test]
fn hold_skips_windows_sent_before_a_change() {
    for (hold, changes) in
        [(Hold::None, vec![20, 40, 60, 80, 100]), (Hold::Window, vec![20, 60, 100])]
    {
        let mut sc = controller(reading(150, 25, Reading { hold, ..PLAIN }), 10);
        sc.slow_start = false;
        let (mut seen, mut before) = (Vec::new(), sc.cwnd());
        steady(&mut sc, 0..110, |number, sc| {
            if sc.cwnd() != before {
                assert_eq!(sc.cwnd(), before + SMSS);
                seen.push(number);
                before = sc.cwnd();
            }
        });
        assert_eq!(seen, changes, "{hold:?}");
    }
}

/// A reduction after a loss also counts as a change.
#[test]
fn loss_counts_as_a_change() {
    let mut sc = controller(reading(150, 25, Reading { hold: Hold::Window, ..PLAIN }), 10);
    sc.slow_start = false;
    steady(&mut sc, 0..30, |_, _| {});
    assert_eq!(sc.cwnd(), 11 * SMSS, "packet 20's report");
    sc.on_loss(&LossSample {
        smss: SMSS,
        flight: 20_000,
        segment: SMSS,
        duplicates: 0,
        loss_window: SMSS,
        now: at(50_000),
        sent_at: None,
        resent: false,
        timer_expired: false,
        already_reduced: false,
    });
    let halved = sc.cwnd();
    // The current window ends with the report of packet 40 at 60 ms. The next one ends with the
    // report of packet 60.
    steady(&mut sc, 31..60, |number, sc| assert_eq!(sc.cwnd(), halved, "{number}"));
    steady(&mut sc, 60..61, |_, sc| assert_eq!(sc.cwnd(), halved + SMSS));
}

/// Startup: n is compared at every report. Packets sent together arrive 1 ms apart, so the third is
/// two packets behind the first, more than half of three.
#[test]
fn slow_start_ends_on_n_at_each_report() {
    for (startup, ends) in [(Startup::Window, None), (Startup::Report, Some(4))] {
        let mut sc = controller(reading(300, 25, Reading { startup, ..PLAIN }), 2);
        sc.on_ack(&report(0, [0, 5000, 10_000], SMSS), FULL);
        sc.on_ack(&report(1, [1000, 6000, 11_000], SMSS), FULL);
        let mut ended = None;
        for number in 2..20 {
            // At packet 4 the link has been busy for 13 ms for three packets, and n is 12 ms
            // divided by 13/3 ms: 2.8.
            let late = 5000 * (number - 2) + 2000;
            sc.on_ack(&report(number, [11_000, 16_000 + late, 21_000 + late], SMSS), FULL);
            if !sc.slow_start {
                ended = ended.or(Some(number));
            }
        }
        assert_eq!(ended, ends, "{startup:?}");
    }
}

/// "Linearly during the next interval": one segment is added in proportion to the bytes that
/// arrive, even if acknowledgments are lost.
#[test]
fn ramp_adds_in_proportion_to_arrivals() {
    for every in [1, 4] {
        let mut sc = controller(
            reading(150, 25, Reading { hold: Hold::Window, change: Change::Ramp, ..PLAIN }),
            20,
        );
        sc.slow_start = false;
        // The reports of packets 0, 20, 40, … arrive, and one in `every` of the others.
        for number in (0..=80u64).filter(|number| number % every == 0) {
            let sent = number * 1000;
            let sample = report(number, [sent, sent + 10_000, sent + 20_000], SMSS);
            // Packets sent by then: 20 are in flight.
            sc.on_ack(&AckSample { nxt: sample.una + 19 * SMSS, ..sample }, FULL);
            let expected = match number {
                0..20 => 20_000,
                // 19 packets are in flight behind the one that ends the window.
                20..40 => 20_000 + 1000 * u32::try_from(number - 20).unwrap() / 19,
                40..60 => 21_000,
                60..80 => 21_000 + 1000 * u32::try_from(number - 60).unwrap() / 19,
                _ => 22_000,
            };
            assert_eq!(sc.cwnd(), expected, "{number}, one in {every}");
        }
    }
}

/// "Linearly during the next interval" also holds for the removal of a segment.
#[test]
fn ramp_removes_in_proportion_to_arrivals() {
    let mut sc = controller(reading(150, 25, Reading { change: Change::Ramp, ..PLAIN }), 10);
    sc.verdict = Verdict::Narrow;
    sc.slow_start = false;
    sc.due = true;
    let mut seen = Vec::new();
    for number in 0..4 {
        let sent = number * 1000;
        let sample = report(number, [sent, sent + 10_000, sent + 20_000], SMSS);
        sc.on_ack(&AckSample { nxt: sample.una + 2 * SMSS, ..sample }, FULL);
        seen.push(sc.cwnd());
    }
    assert_eq!(seen, [10_000, 9500, 9000, 9000]);
}

/// Section 3.1.1 and Fig. 1: round trips of 4 and 5, with the additional delay on the return path.
/// Then it is on the forward path, then on both.
#[test]
fn path_delays_are_separated_by_direction() {
    let mut sc = controller(Target::PAPER, 10);
    assert_eq!(sc.path(), None);
    let mut seen = Vec::new();
    for (number, times) in (0..).zip([[0, 2, 4], [1, 3, 6], [7, 10, 13], [14, 16, 18]]) {
        sc.observe(&report(number, times.map(|time| time * 1_000_000), SMSS));
        seen.push((sc.ways.0 / 1_000_000_000, sc.ways.1 / 1_000_000_000));
    }
    assert_eq!(seen, [(0, 0), (0, 1), (1, 1), (0, 0)]);
    // The third packet was sent after the acknowledgment of the second had begun a window, the
    // fourth after that of the third.
    let path = sc.path().unwrap();
    assert_eq!((path.forward_ns, path.return_ns), (1_000_000_000, 1_000_000_000));
}

/// Fig. 3(d): a packet that arrives before one sent earlier took another path. The order of the
/// reports does not matter. A report that arrives after the report of a later arrival was overtaken
/// on the return path.
#[test]
fn reordering_is_counted_by_direction() {
    let (first, second) = ([0, 10_000, 20_000], [1000, 11_000, 21_000]);
    let (late, early) = ([0, 12_000, 22_000], [1000, 11_000, 21_000]);
    for (reports, forward, back) in [
        ([first, second], 0, 0),
        ([second, first], 0, 1),
        ([early, late], 1, 0),
        ([late, early], 1, 1),
    ] {
        let mut sc = controller(Target::PAPER, 10);
        for (number, times) in (0..).zip(reports) {
            sc.observe(&report(number, times, SMSS));
        }
        let path = sc.path().unwrap();
        assert_eq!((path.forward_reordered, path.return_reordered), (forward, back), "{reports:?}");
        // The reordering leaves nothing in the sums. Either the late packet is 2 ms late against
        // the first, or only the report of the first counts.
        sc.observe(&report(2, [30_000, 40_000, 50_000], SMSS));
        let expected = if reports[0] == late { -2_000_000 } else { 0 };
        assert_eq!(sc.ways.0, expected);
    }
}

use proptest::prelude::*;
use units::Duration;
use wire::SeqNum;

use super::*;
use crate::congestion::WindowRules;

const SMSS: u32 = 1000;
const FULL: Growth = Growth::Standard { step: SMSS, per_rtt: SMSS };

/// Every window is judged, n is looked at when a window ends, and a segment comes or goes at once.
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
    SantaCruz::new(target, Reno::new(segments * SMSS, WindowRules::RFC, Classic))
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// A report of the packet `number`, counted from 0, that left and arrived and whose acknowledgment
/// came at these times in microseconds.
fn report(number: u64, [sent, arrived, now]: [u64; 3], acked: u32) -> AckSample {
    let seq = SeqNum::new(u32::try_from(number).unwrap() * SMSS);
    let forward = ForwardSample {
        now: at(now),
        seq,
        sent_at: at(sent),
        // The peer's clock is another, and comes round.
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
    /// (2) to (4): on a link that never idles, n is what the last packet of the window found waiting there, whatever
    /// acknowledgments were lost.
    #[test]
    fn the_estimate_is_the_queue_on_a_link_that_never_idles(
        service in 10..20_000u64,
        delay in 0..100_000u64,
        // How long before the link is ready for it each packet comes, in thousandths of what is possible; and whether its
        // acknowledgment arrives.
        packets in prop::collection::vec((0..=1000u64, prop::bool::weighted(0.7)), 2..200),
    ) {
        let mut sc = controller(Target::PAPER, 2);
        let mut sent = 0;
        let mut last = None;
        let mut windows = 0;
        for (number, (early, reported)) in (0u64..).zip(packets) {
            // The link is free for it at `number · service`, and never sooner.
            sent = (sent * early + number * service * (1000 - early)) / 1000;
            let arrived = (number + 1) * service + delay;
            if !reported && number > 0 {
                continue;
            }
            let began = sc.began;
            let before = last.replace((number * service - sent, number));
            sc.observe(&report(number, [sent, arrived, arrived + delay], SMSS));
            // The first report begins a window, and a window of one packet says nothing yet.
            if let Some((waits, of)) = before.filter(|&(_, of)| of > 0 && sc.began != began) {
                let true_queue = i128::from(waits) * 1_000_000 / i128::from(service);
                prop_assert!((sc.queue_millionths() - true_queue).abs() < 1000, "{of}: {} {true_queue}", sc.queue);
                windows += 1;
            }
        }
        prop_assert!(windows <= 200);
    }
}

/// The numbers of the example of `tcpsf.models.santa_cruz.queue_estimate`: two windows of three
/// packets each, after which 2 and 3 packets wait, by either translation.
#[test]
fn the_closed_model_says_the_same() {
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

/// Section 3.1.2: the window is held within `N_op ± δ`, and moves by a segment a window outside.
#[test]
fn a_window_is_adjusted_by_a_segment() {
    for (waiting, verdict) in [(12, 1i64), (13, 0), (17, 0), (18, -1)] {
        let mut sc = controller(target(150, 25), 10);
        sc.slow_start = false;
        // Packets of 1 ms that each wait a little longer, so that at the window's end there are
        // `waiting` tenths.
        let times = |number: u64| {
            let arrived = 1000 * (number + 1);
            [arrived - 1000 - number * waiting * 100 / 10, arrived, arrived + 9000]
        };
        for number in 0..=10 {
            sc.on_ack(&report(number, times(number), SMSS), FULL);
            assert_eq!(sc.cwnd(), 10 * SMSS, "not before the window is over");
        }
        // The first that left after the window began.
        let [_, arrived, now] = times(11);
        sc.on_ack(&report(11, [10_000, arrived, now], SMSS), FULL);
        assert_eq!(i64::from(sc.cwnd()), 10_000 + verdict * 1000, "{waiting}");
        sc.on_ack(&report(12, [10_000, arrived + 1000, now + 1000], SMSS), FULL);
        assert_eq!(i64::from(sc.cwnd()), 10_000 + verdict * 1000, "once a window");
    }
}

/// Startup: slow start doubles the window a round trip, until the packets that wait at the end of a
/// window are more than half of what is wanted.
#[test]
fn slow_start_ends_when_a_queue_has_grown() {
    let mut sc = controller(target(300, 25), 2);
    // Two packets, a round trip of 10 ms, and no queue.
    sc.on_ack(&report(0, [0, 5000, 10_000], SMSS), FULL);
    sc.on_ack(&report(1, [1000, 6000, 11_000], SMSS), FULL);
    assert_eq!((sc.cwnd(), sc.slow_start), (4 * SMSS, true));
    // The next leave at once, and arrive 1 ms apart: too little for a single relative delay.
    for number in 2..20 {
        let late = 1000 * (number - 2);
        sc.on_ack(&report(number, [11_000, 16_000 + late, 21_000 + late], SMSS), FULL);
        assert!(sc.slow_start);
    }
    assert_eq!(sc.cwnd(), 22 * SMSS);
    sc.on_ack(&report(20, [39_000, 44_000, 49_000], SMSS), FULL);
    assert_eq!((sc.slow_start, sc.ssthresh()), (false, 22 * SMSS));
}

/// Startup: a single relative delay beyond half of what is wanted is enough. The second of two
/// packets that left at once waits for the first: one packet, whatever the link.
#[test]
fn slow_start_ends_with_a_relative_delay() {
    for (n_op, on) in [(150, false), (199, false), (200, true), (300, true)] {
        let mut sc = controller(target(n_op, 25), 2);
        sc.on_ack(&report(0, [0, 5000, 10_000], SMSS), FULL);
        sc.on_ack(&report(1, [0, 10_333, 15_333], SMSS), FULL);
        assert_eq!(sc.slow_start, on, "{n_op}");
    }
}

/// Section 3.1.2: growth doesn't count acknowledgments. With one in four of them the window is as
/// wide, in slow start and after it.
#[test]
fn lost_acknowledgments_do_not_slow_growth() {
    let after = |every: u64, slow_start: bool| {
        let mut sc = controller(target(150, 25), 16);
        sc.slow_start = slow_start;
        // Eight round trips with 16 packets each, and no queue.
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

/// The paper's text is silent: a loss does what it does to Reno, and ends slow start; a timeout
/// begins it again.
#[test]
fn a_loss_is_renos() {
    let loss = LossSample {
        smss: SMSS,
        flight: 10_000,
        segment: SMSS,
        duplicates: 0,
        loss_window: SMSS,
        now: Instant::ZERO,
        sent_at: None,
        resent: false,
    };
    let mut sc = controller(Target::PAPER, 10);
    sc.on_loss(&loss);
    assert_eq!((sc.cwnd(), sc.ssthresh(), sc.slow_start), (5000, 5000, false));
    sc.on_timeout(&loss, false);
    assert_eq!((sc.cwnd(), sc.ssthresh(), sc.slow_start), (SMSS, 5000, true));
}

/// A packet a millisecond over a link that is never idle and has no queue, one report each, for 20
/// ms there and back.
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

/// Section 3.1.2, "only at discrete intervals": after a change, the first window to be judged is
/// the one that left behind it. Packets take 20 ms there and back, so windows end with the reports
/// of packets 20, 40, 60 and so on.
#[test]
fn a_window_is_judged_once_what_left_after_a_change_has_arrived() {
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

/// What a loss makes of the window is a change, too.
#[test]
fn a_loss_is_a_change() {
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
    });
    let halved = sc.cwnd();
    // The window that was under way ends with packet 40's report, at 60 ms, the one that began then
    // with 60's.
    steady(&mut sc, 31..60, |number, sc| assert_eq!(sc.cwnd(), halved, "{number}"));
    steady(&mut sc, 60..61, |_, sc| assert_eq!(sc.cwnd(), halved + SMSS));
}

/// Startup: n is looked at with every report. Packets that left together arrive 1 ms apart, so that
/// the third is behind the first by two: more than half of three.
#[test]
fn slow_start_ends_while_a_queue_grows() {
    for (startup, ends) in [(Startup::Window, None), (Startup::Report, Some(4))] {
        let mut sc = controller(reading(300, 25, Reading { startup, ..PLAIN }), 2);
        sc.on_ack(&report(0, [0, 5000, 10_000], SMSS), FULL);
        sc.on_ack(&report(1, [1000, 6000, 11_000], SMSS), FULL);
        let mut ended = None;
        for number in 2..20 {
            // At packet 4 the link has been busy for 13 ms for three packets, and n is 12 ms by so
            // much each: 2.8.
            let late = 5000 * (number - 2) + 2000;
            sc.on_ack(&report(number, [11_000, 16_000 + late, 21_000 + late], SMSS), FULL);
            if !sc.slow_start {
                ended = ended.or(Some(number));
            }
        }
        assert_eq!(ended, ends, "{startup:?}");
    }
}

/// "Linearly during the next interval": a segment in proportion to what arrives, whatever
/// acknowledgments are lost.
#[test]
fn a_segment_comes_with_what_arrives() {
    for every in [1, 4] {
        let mut sc = controller(
            reading(150, 25, Reading { hold: Hold::Window, change: Change::Ramp, ..PLAIN }),
            20,
        );
        sc.slow_start = false;
        // The reports of packets 0, 20, 40, … come, and one in so many of the others.
        for number in (0..=80u64).filter(|number| number % every == 0) {
            let sent = number * 1000;
            let sample = report(number, [sent, sent + 10_000, sent + 20_000], SMSS);
            // What has been sent by then: 20 packets are under way.
            sc.on_ack(&AckSample { nxt: sample.una + 19 * SMSS, ..sample }, FULL);
            let expected = match number {
                0..20 => 20_000,
                // 19 packets are behind the one that ends the window.
                20..40 => 20_000 + 1000 * u32::try_from(number - 20).unwrap() / 19,
                40..60 => 21_000,
                60..80 => 21_000 + 1000 * u32::try_from(number - 60).unwrap() / 19,
                _ => 22_000,
            };
            assert_eq!(sc.cwnd(), expected, "{number}, one in {every}");
        }
    }
}

/// And it goes so.
#[test]
fn a_segment_goes_with_what_arrives() {
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

/// Section 3.1.1 and Fig. 1: round trips of 4 and 5, and the one more is on the way back. Then
/// there, then both.
#[test]
fn a_longer_round_trip_is_told_apart_by_direction() {
    let mut sc = controller(Target::PAPER, 10);
    assert_eq!(sc.path(), None);
    let mut seen = Vec::new();
    for (number, times) in (0..).zip([[0, 2, 4], [1, 3, 6], [7, 10, 13], [14, 16, 18]]) {
        sc.observe(&report(number, times.map(|time| time * 1_000_000), SMSS));
        seen.push((sc.ways.0 / 1_000_000_000, sc.ways.1 / 1_000_000_000));
    }
    assert_eq!(seen, [(0, 0), (0, 1), (1, 1), (0, 0)]);
    // The third packet left after the second's acknowledgment had begun a window, the fourth after
    // the third's.
    let path = sc.path().unwrap();
    assert_eq!((path.forward_ns, path.return_ns), (1_000_000_000, 1_000_000_000));
}

/// Fig. 3(d): who arrives before what left earlier took another path. That is so whichever report
/// comes first; and a report that comes after that of a later arrival was overtaken on the way
/// back.
#[test]
fn reports_out_of_order_are_counted_by_direction() {
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
        // Nothing is left of it in the sums: the late packet is 2 ms late against the first, or the
        // first's report is all.
        sc.observe(&report(2, [30_000, 40_000, 50_000], SMSS));
        let expected = if reports[0] == late { -2_000_000 } else { 0 };
        assert_eq!(sc.ways.0, expected);
    }
}

use proptest::prelude::*;

use units::Duration;

use super::*;
use crate::congestion::{Packets, Reading, Target, VegasThresholds};
use crate::loss::EarlyRetransmit;
use crate::packets::SlowStartExit;
use crate::segment::{Alpha, Avoidance, Cut, Regime};
use crate::sender::{Congestion, Framing, InitialWindow, LossResponse, RackOptions};
use reading::READING_ARGUMENTS;

fn losses() -> BoxedStrategy<LossResponse> {
    prop_oneof![
        Just(LossResponse::Tahoe),
        Just(LossResponse::Reno),
        Just(LossResponse::NewReno),
        Just(LossResponse::Sack),
        Just(LossResponse::Sack1),
        Just(LossResponse::Fack),
        Just(LossResponse::AckWindow)
    ]
    .boxed()
}

fn controllers() -> BoxedStrategy<Congestion> {
    let target =
        (1..=10_000u16, 0..=10_000u16, any::<[bool; 5]>()).prop_map(|(n, delta, firsts)| {
            let of = Packets::from_hundredths;
            let mut reading = Reading::DEFAULT;
            for (argument, first) in READING_ARGUMENTS.iter().zip(firsts) {
                (argument.set)(&mut reading, first);
            }
            Target::new(of(n), of(delta.min(n)), reading).unwrap()
        });
    let thresholds = (1..=64u8, 1..=64u8, 1..=64u8)
        .prop_map(|(a, b, c)| VegasThresholds::new(a.min(b), a.max(b), c).unwrap());
    prop_oneof![
        Just(Congestion::Reno),
        thresholds.prop_map(Congestion::Vegas),
        target.prop_map(Congestion::SantaCruz)
    ]
    .boxed()
}

fn framings() -> BoxedStrategy<Framing> {
    let regime = (2..=64u8, 1..=64u8).prop_map(|(n, min)| Regime::new(n, min).unwrap());
    prop_oneof![
        Just(Framing::Full),
        (regime.clone(), any::<bool>()).prop_map(|(r, b)| {
            Framing::FixedSize(r, if b { Avoidance::Draft } else { Avoidance::Bytewise })
        }),
        (regime, 1_010_000..=4_000_000u32)
            .prop_map(|(r, a)| Framing::VariableSize(r, Alpha::from_millionths(a).unwrap())),
        (2..=64u8).prop_map(|n| Framing::Tail(Cut::Pieces(n))),
        Just(Framing::Tail(Cut::LastByte)),
    ]
    .boxed()
}

fn copies() -> BoxedStrategy<Option<Duration>> {
    let delay =
        prop_oneof![Just(0), 1..10_000_000_000u64, (1..10_000u64).prop_map(|ms| ms * 1_000_000)];
    prop::option::of(delay.prop_map(Duration::from_nanos)).boxed()
}

fn initial_windows() -> BoxedStrategy<InitialWindow> {
    prop_oneof![
        (1..=10u8).prop_map(InitialWindow::Segments),
        Just(InitialWindow::Rfc3390),
        Just(InitialWindow::Rfc6928)
    ]
    .boxed()
}

fn policies() -> BoxedStrategy<SenderPolicy> {
    let early = prop_oneof![
        Just(None),
        Just(Some(EarlyRetransmit::Bytes)),
        Just(Some(EarlyRetransmit::Segments))
    ];
    let more = (any::<bool>(), early, any::<bool>());
    let rto_min = prop::option::of((1..=60_000u64).prop_map(Duration::from_millis));
    let remedies = (framings(), copies(), rto_min);
    (controllers(), losses(), more, remedies, initial_windows(), 1..=10u8)
        .prop_map(
            |(
                congestion,
                loss,
                (limited_transmit, early, byte_counting),
                (framing, tail_copy, rto_min),
                initial_window,
                loss_window,
            )| {
                let santa_cruz =
                    matches!(congestion, Congestion::SantaCruz(_)) && loss != LossResponse::Tahoe;
                SenderPolicy {
                    // The name of Tahoe determines two answers, and so does that of TCP Santa Cruz.
                    congestion: if loss == LossResponse::Tahoe {
                        Congestion::Reno
                    } else {
                        congestion
                    },
                    loss: match congestion {
                        Congestion::SantaCruz(_) if loss != LossResponse::Tahoe => {
                            LossResponse::AckWindow
                        }
                        _ => loss,
                    },
                    limited_transmit,
                    early_retransmit: early
                        .filter(|_| loss != LossResponse::AckWindow && !santa_cruz),
                    byte_counting,
                    framing,
                    tail_copy: tail_copy.filter(|_| loss != LossResponse::AckWindow && !santa_cruz),
                    rto_min,
                    initial_window,
                    loss_window,
                }
            },
        )
        .boxed()
}

proptest! {
    #[test]
    fn names_round_trip(policy in policies()) {
        prop_assert_eq!(policy.to_string().parse(), Ok(policy));
    }
}

#[test]
fn senders_of_the_papers_have_names() {
    let fs: SenderPolicy = "reno+sack / fs(n=4) / iw=1".parse().unwrap();
    assert_eq!(fs.framing, Framing::FixedSize(Regime::PAPER, Avoidance::Draft));
    assert_eq!(fs.to_string(), "reno+sack / fs(n=4) / iw=1");
    let santa_cruz: SenderPolicy = "santa-cruz / fs(n=4) / iw=2".parse().unwrap();
    assert_eq!(
        (santa_cruz.congestion, santa_cruz.loss),
        (Congestion::SantaCruz(Target::PAPER), LossResponse::AckWindow)
    );
    assert_eq!(santa_cruz.to_string(), "santa-cruz(n=1.5) / fs(n=4) / iw=2");
    let five = "santa-cruz(n=5.00, delta=0.05) / full / iw=2".parse::<SenderPolicy>().unwrap();
    assert_eq!(five.to_string(), "santa-cruz(n=5, delta=0.05) / full / iw=2");
    let vs: SenderPolicy =
        "reno+newreno+lt / vs(n=4, min=4, alpha=1.32) / iw=rfc6928".parse().unwrap();
    assert_eq!(vs.to_string(), "reno+newreno+lt / vs(n=4) / iw=rfc6928");
    let all: SenderPolicy = "reno+abc+er-bytes+sack+lt / full / iw=2".parse().unwrap();
    assert_eq!(all.early_retransmit, Some(EarlyRetransmit::Bytes));
    assert_eq!(all.to_string(), "reno+sack+lt+er-bytes+abc / full / iw=2");
}

/// Every combination of a sender that counts packets has a name that reads back.
#[test]
fn senders_that_count_packets_have_names() {
    for congestion in [
        Congestion::Reno,
        Congestion::Cubic(SlowStartExit::None),
        Congestion::Cubic(SlowStartExit::HyStart),
        Congestion::Cubic(SlowStartExit::HyStartLateRounds),
        Congestion::Cubic(SlowStartExit::HyStartPlusPlus),
    ] {
        for bits in 0..32 {
            let [tlp, prr, frto, undo, pacing] = [1, 2, 4, 8, 16].map(|bit| bits & bit != 0);
            let policy = SenderPolicy {
                congestion,
                loss: LossResponse::Rack(RackOptions { tlp, prr, frto, undo, pacing }),
                ..SenderPolicy::LINUX
            };
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
    }
    let linux: SenderPolicy = "linux".parse().unwrap();
    assert_eq!(linux, SenderPolicy::LINUX);
    assert_eq!(linux.to_string(), "cubic+rack+tlp+prr / full / iw=10");
    assert_eq!(
        "linux / fs(n=4) / iw=2".parse::<SenderPolicy>().unwrap().to_string(),
        "cubic+rack+tlp+prr / fs(n=4) / iw=2"
    );
    assert_eq!(
        "linux+pacing".parse::<SenderPolicy>().unwrap().to_string(),
        "cubic+rack+tlp+prr+pacing / full / iw=10"
    );
}

/// Framing and its alternatives, in any combination. Without a framing segments are full-sized.
#[test]
fn remedies_have_names() {
    let linux = |remedies: &str| format!("cubic+rack+tlp+prr / {remedies} / iw=10");
    let table = [
        ("tail", "tail(n=4)"),
        ("tail(n=3)", "tail(n=3)"),
        ("tiny-tail", "tiny-tail"),
        ("dup-tail", "dup-tail"),
        ("dup-tail(delay=0s)", "dup-tail"),
        ("dup-tail(delay=0.0015 s)", "dup-tail(delay=1500us)"),
        ("full + dup-tail( delay = 5 ms )", "dup-tail(delay=5ms)"),
        ("full+rto-min(ms=20)", "rto-min(ms=20)"),
        ("rto-min(ms=20)+dup-tail", "dup-tail+rto-min(ms=20)"),
        ("fs(n=4)+dup-tail+rto-min(ms=5)", "fs(n=4)+dup-tail+rto-min(ms=5)"),
        ("full", "full"),
    ];
    for (given, printed) in table {
        let policy: SenderPolicy = format!("linux / {given}").parse().unwrap();
        assert_eq!(policy.to_string(), linux(printed), "{given}");
        assert_eq!(linux(printed).parse(), Ok(policy));
    }
    let all: SenderPolicy = "reno+sack / tiny-tail+dup-tail+rto-min(ms=20) / iw=2".parse().unwrap();
    assert_eq!(all.framing, Framing::Tail(Cut::LastByte));
    assert_eq!(
        (all.tail_copy, all.rto_min),
        (Some(Duration::ZERO), Some(Duration::from_millis(20)))
    );
}

/// Names that are wrong, and what the error says.
const WRONG: [(&str, &str); 43] = [
    ("reno", "expected three parts separated by slashes, got 1"),
    ("bbr / full / iw=1", "unknown congestion control `bbr`"),
    ("cubic / full / iw=1", "`cubic` needs `+rack`: `cubic+rack+tlp+prr`"),
    ("vegas+rack / full / iw=1", "`+rack` needs `cubic` or `reno`"),
    ("reno+tlp / full / iw=1", "`+tlp` needs `+rack` before it"),
    ("reno+rack+tlp+tlp / full / iw=1", "`+tlp` occurs twice"),
    ("linuxx", "expected three parts separated by slashes, got 1"),
    ("linux+bbr", "unknown suffix `+bbr`"),
    ("reno+rack+lt / full / iw=1", "`+rack` cannot be combined with `+lt`, `+er` or `+abc`"),
    ("cubic(hystart=x)+rack / full / iw=1", "hystart is `on`, `off`, `late` or `rfc9406`, not `x`"),
    ("reno+rack(frto=x) / full / iw=1", "frto is `on` or `off`, not `x`"),
    ("reno+sack+newreno / full / iw=1", "`+newreno` cannot be combined with the preceding words"),
    ("santa-cruz+sack / full / iw=2", "`+sack` cannot be combined with the preceding words"),
    (
        "santa-cruz(n=1.555) / full / iw=2",
        "`1.555` is not a number of packets with at most two decimals",
    ),
    (
        "santa-cruz(n=0.2) / full / iw=2",
        "n is above 0 and at most 100, and delta at most n, not n=0.2, delta=0.25",
    ),
    ("santa-cruz(hold=on) / full / iw=2", "hold is `window` or `none`, not `on`"),
    ("reno+sack+fack / full / iw=1", "`+fack` cannot be combined with the preceding words"),
    ("tahoe+fack / full / iw=1", "`+fack` cannot be combined with the preceding words"),
    ("tahoe+sack / full / iw=1", "`+sack` cannot be combined with the preceding words"),
    ("vegas(alpha=4) / full / iw=1", "alpha, 4, is more than beta, 3"),
    ("vegas(gamma=0) / full / iw=1", "`0` is not a whole number from 1 to 64"),
    ("reno+sack+rack / full / iw=1", "`+rack` cannot be combined with the preceding words"),
    ("reno+er+er-bytes / full / iw=1", "`+er-bytes` cannot be combined with the preceding words"),
    ("santa-cruz+er / full / iw=1", "`+er` cannot be combined with an ACK window"),
    ("fixed(n=4)+abc / full / iw=1", "`+abc` cannot be combined with a window that never grows"),
    ("reno / fs(n=1) / iw=1", "`1` is not a whole number from 2 to 64"),
    ("reno / fs(m=4) / iw=1", "unknown parameter `m`"),
    ("reno / fs(n=4,n=5) / iw=1", "duplicate parameter `n`"),
    ("reno / vs(alpha=9) / iw=1", "alpha is between 1.01 and 4 with at most six decimals, not `9`"),
    ("reno / full / iw=11", "`11` is not a whole number from 1 to 10"),
    ("linux / full / iw=65", "`65` is not a whole number from 1 to 64"),
    ("reno / full / lw=1", "the initial window is missing: `iw=1`"),
    ("reno / fs(n=4 / iw=1", "`fs(n=4` has no closing bracket"),
    ("reno / full", "expected three parts separated by slashes, got 2"),
    ("linux / tail(n=1)", "`1` is not a whole number from 2 to 64"),
    ("linux / tiny-tail(n=2)", "unknown parameter `n`"),
    ("linux / dup-tail(delay=5)", "`5` is not a delay from 0s to 10s such as `5ms`"),
    ("linux / dup-tail(delay=11s)", "`11s` is not a delay from 0s to 10s such as `5ms`"),
    ("linux / dup-tail+dup-tail", "`dup-tail` occurs twice"),
    ("linux / rto-min", "`rto-min` needs `rto-min(ms=20)`"),
    ("linux / rto-min(ms=0)", "`0` is not a whole number from 1 to 60000"),
    ("linux / dup-tail+full", "expected `dup-tail` or `rto-min(ms=20)`, not `full`"),
    ("reno+ackwindow / dup-tail / iw=2", "`dup-tail` cannot be combined with an ACK window"),
];

#[test]
fn errors_name_the_wrong_part() {
    for (name, problem) in WRONG {
        let error = name.parse::<SenderPolicy>().unwrap_err();
        assert_eq!(error.to_string(), format!("sender `{name}`: {problem}"));
    }
}

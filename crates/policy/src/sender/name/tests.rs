use proptest::prelude::*;

use super::*;
use crate::congestion::{Packets, Reading, Target, VegasThresholds};
use crate::loss::EarlyRetransmit;
use crate::packets::SlowStartExit;
use crate::segment::{Alpha, Avoidance, Regime};
use crate::sender::{Congestion, Framing, InitialWindow, LossResponse, RackOptions};
use reading::READING_ARGUMENTS;

fn losses() -> impl Strategy<Value = LossResponse> {
    prop_oneof![
        Just(LossResponse::Tahoe),
        Just(LossResponse::Reno),
        Just(LossResponse::NewReno),
        Just(LossResponse::Sack),
        Just(LossResponse::Sack1),
        Just(LossResponse::Fack),
        Just(LossResponse::AckWindow)
    ]
}

fn controllers() -> impl Strategy<Value = Congestion> {
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
}

fn framings() -> impl Strategy<Value = Framing> {
    let regime = (2..=64u8, 1..=64u8).prop_map(|(n, min)| Regime::new(n, min).unwrap());
    prop_oneof![
        Just(Framing::Full),
        (regime.clone(), any::<bool>()).prop_map(|(r, b)| {
            Framing::FixedSize(r, if b { Avoidance::Draft } else { Avoidance::Bytewise })
        }),
        (regime, 1_010_000..=4_000_000u32)
            .prop_map(|(r, a)| Framing::VariableSize(r, Alpha::from_millionths(a).unwrap())),
    ]
}

fn initial_windows() -> impl Strategy<Value = InitialWindow> {
    prop_oneof![
        (1..=10u8).prop_map(InitialWindow::Segments),
        Just(InitialWindow::Rfc3390),
        Just(InitialWindow::Rfc6928)
    ]
}

fn policies() -> impl Strategy<Value = SenderPolicy> {
    let early = prop_oneof![
        Just(None),
        Just(Some(EarlyRetransmit::Bytes)),
        Just(Some(EarlyRetransmit::Segments))
    ];
    let more = (any::<bool>(), early, any::<bool>());
    (controllers(), losses(), more, framings(), initial_windows(), 1..=10u8).prop_map(
        |(
            congestion,
            loss,
            (limited_transmit, early, byte_counting),
            framing,
            initial_window,
            loss_window,
        )| {
            let santa_cruz =
                matches!(congestion, Congestion::SantaCruz(_)) && loss != LossResponse::Tahoe;
            SenderPolicy {
                // The name of Tahoe determines two answers, and so does that of TCP Santa Cruz.
                congestion: if loss == LossResponse::Tahoe { Congestion::Reno } else { congestion },
                loss: match congestion {
                    Congestion::SantaCruz(_) if loss != LossResponse::Tahoe => {
                        LossResponse::AckWindow
                    }
                    _ => loss,
                },
                limited_transmit,
                early_retransmit: early.filter(|_| loss != LossResponse::AckWindow && !santa_cruz),
                byte_counting,
                framing,
                initial_window,
                loss_window,
            }
        },
    )
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

#[test]
fn errors_name_the_wrong_part() {
    let cases = [
        ("reno", "expected three parts separated by slashes, got 1"),
        ("bbr / full / iw=1", "unknown congestion control `bbr`"),
        ("cubic / full / iw=1", "`cubic` needs `+rack`: `cubic+rack+tlp+prr`"),
        ("vegas+rack / full / iw=1", "`+rack` needs `cubic` or `reno`"),
        ("reno+tlp / full / iw=1", "`+tlp` needs `+rack` before it"),
        ("reno+rack+tlp+tlp / full / iw=1", "`+tlp` occurs twice"),
        ("linuxx", "expected three parts separated by slashes, got 1"),
        ("linux+bbr", "unknown suffix `+bbr`"),
        ("reno+rack+lt / full / iw=1", "`+rack` cannot be combined with `+lt`, `+er` or `+abc`"),
        (
            "cubic(hystart=x)+rack / full / iw=1",
            "hystart is `on`, `off`, `late` or `rfc9406`, not `x`",
        ),
        ("reno+rack(frto=x) / full / iw=1", "frto is `on` or `off`, not `x`"),
        (
            "reno+sack+newreno / full / iw=1",
            "`+newreno` cannot be combined with the preceding words",
        ),
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
        (
            "reno+er+er-bytes / full / iw=1",
            "`+er-bytes` cannot be combined with the preceding words",
        ),
        ("santa-cruz+er / full / iw=1", "`+er` cannot be combined with an ACK window"),
        (
            "fixed(n=4)+abc / full / iw=1",
            "`+abc` cannot be combined with a window that never grows",
        ),
        ("reno / fs(n=1) / iw=1", "`1` is not a whole number from 2 to 64"),
        ("reno / fs(m=4) / iw=1", "unknown parameter `m`"),
        ("reno / fs(n=4,n=5) / iw=1", "duplicate parameter `n`"),
        (
            "reno / vs(alpha=9) / iw=1",
            "alpha is between 1.01 and 4 with at most six decimals, not `9`",
        ),
        ("reno / full / iw=11", "`11` is not a whole number from 1 to 10"),
        ("reno / full / lw=1", "the initial window is missing: `iw=1`"),
        ("reno / fs(n=4 / iw=1", "`fs(n=4` has no closing bracket"),
    ];
    for (name, problem) in cases {
        let error = name.parse::<SenderPolicy>().unwrap_err();
        assert_eq!(error.to_string(), format!("sender `{name}`: {problem}"));
    }
}

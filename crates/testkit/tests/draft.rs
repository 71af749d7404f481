//! Requirements of the draft for Smart Framing (`draft-mellia-tsvwg-tcp-smartframing-00`, section
//! 6), clause by clause, on random senders and networks. The invariants of `testkit::pair` check
//! the same rules for every other random pair.

use policy::segment::{AnySegmenter, Regime, Segmenter};
use policy::{Growth, SendView, SenderPolicy};
use proptest::prelude::*;
use testkit::generate::{cases, pair};
use testkit::pair::{Goal, Pair, PairConfig};

/// Returns a sender's segmenter at the beginning of a slow start from `cwnd0` full-sized segments.
fn started(framing: &str, smss: u32, cwnd0: u32) -> AnySegmenter {
    let policy: SenderPolicy = format!("reno+sack / {framing} / iw=1").parse().expect("a sender");
    let mut segmenter = policy.segmenter();
    segmenter.on_slow_start(cwnd0 * smss, &view(smss, cwnd0 * smss, 0));
    segmenter
}

fn view(smss: u32, cwnd: u32, flight_segments: u32) -> SendView {
    SendView { smss, cwnd, flight: flight_segments * smss / 4, flight_segments }
}

/// Reduced segment size `SMSS·cwnd0/4`.
fn reduced(smss: u32, cwnd0: u32) -> u32 {
    (cwnd0 * smss / 4).clamp(1, smss)
}

fn framed(mut config: PairConfig, framing: &str) -> PairConfig {
    for end in &mut config.ends {
        let name = end.tcp.sender.to_string();
        let parts: Vec<&str> = name.split(" / ").collect();
        end.tcp.sender =
            format!("{} / {framing} / {}", parts[0], parts[2]).parse().expect("a sender");
    }
    config
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// Fixed size: "when cwnd < 4·SMSS, the sender MUST use reduced-size segments" of
    /// `SMSS·cwnd0/4`; "otherwise, it MUST use full-size segments".
    #[test]
    fn fixed_size_is_reduced_below_the_threshold_and_full_above(
        smss in 4..9000u32,
        cwnd0 in 1..4u32,
        cwnd in 1..90_000u32,
    ) {
        let segmenter = started("fs(n=4)", smss, cwnd0);
        let expected = if cwnd < 4 * smss { reduced(smss, cwnd0) } else { smss };
        prop_assert_eq!(segmenter.mss_c(&view(smss, cwnd, 0)), expected);
    }

    /// Fixed size: "upon ACK reception during Slow Start", the window grows by the reduced size in
    /// the small-window regime and by SMSS otherwise; "during Congestion Avoidance" by
    /// `MSS_c²/cwnd`.
    #[test]
    fn fixed_size_grows_by_its_own_segment(smss in 4..9000u32, cwnd in 1..90_000u32) {
        let segmenter = started("fs(n=4)", smss, 1);
        let step = if cwnd < 4 * smss { reduced(smss, 1) } else { smss };
        prop_assert_eq!(segmenter.growth(&view(smss, cwnd, 0)), Growth::Standard { step, per_rtt: step });
    }

    /// Variable size: "at the beginning the segments size MUST be set equal to SMSS·cwnd0/4". Then,
    /// "while cwnd < 4·SMSS, the segment size MUST be increased by a factor k upon ACK receptions,
    /// until [it] is equal to or larger than SMSS".
    #[test]
    fn variable_size_begins_reduced_and_grows_by_k(smss in 40..9000u32, acks in 0..12u32) {
        let mut segmenter = started("vs(n=4)", smss, 1);
        let small = view(smss, smss, 3);
        let mut exact = f64::from(reduced(smss, 1));
        prop_assert_eq!(segmenter.mss_c(&small), reduced(smss, 1));
        for _ in 0..acks {
            segmenter.on_ack(&small);
            exact = (exact * 1.32).min(f64::from(smss));
            let size = f64::from(segmenter.mss_c(&small));
            prop_assert!((exact - size).abs() <= 1.0, "{size} instead of {exact}");
        }
        // Above the threshold it is full-sized and no longer grows.
        let wide = view(smss, 4 * smss, 3);
        segmenter.on_ack(&wide);
        prop_assert_eq!(segmenter.mss_c(&wide), smss);
    }

    /// Variable size: "while cwnd < 4·SMSS, the sender MUST NOT have more than 4 in-flight
    /// segments". Further, "we suggest that the Congestion Avoidance growth rule be applied only
    /// when cwnd ≥ 4·SMSS".
    #[test]
    fn variable_size_holds_four_segments_and_avoids_congestion_later(
        smss in 4..9000u32,
        cwnd in 1..90_000u32,
        flight_segments in 0..5u32,
    ) {
        let segmenter = started("vs(n=4)", smss, 1);
        let now = view(smss, cwnd, flight_segments);
        let small = cwnd < Regime::PAPER.cwnd_min(smss);
        prop_assert_eq!(segmenter.max_segments(&now), small.then_some(4));
        match segmenter.growth(&now) {
            Growth::Window(bytes) => {
                prop_assert!(small);
                let room = (4 - flight_segments) * segmenter.mss_c(&now);
                prop_assert_eq!(bytes, now.flight + room);
            }
            Growth::Standard { step, per_rtt } => prop_assert!(!small && step == smss && per_rtt == smss),
        }
    }

    /// "Resegmentation can occur when the 4·SMSS threshold is crossed downwards … whenever cwnd <
    /// 4·SMSS, the sender MUST use smaller segments (according to the rules outlined above)."
    #[test]
    fn window_that_becomes_small_is_resegmented(smss in 40..9000u32, quarters in 8..16u32) {
        for framing in ["fs(n=4)", "vs(n=4)"] {
            let mut segmenter = started(framing, smss, 1);
            segmenter.on_ack(&view(smss, 8 * smss, 8));
            let less = view(smss, quarters * smss / 4, 3);
            prop_assume!(less.cwnd < 4 * smss);
            segmenter.on_reduction(&less);
            let size = segmenter.mss_c(&less);
            prop_assert!(size < smss && 4 * size <= less.cwnd, "{framing}: {size} of {}", less.cwnd);
        }
    }
}

proptest! {
    #![proptest_config(cases(600))]

    /// All rules of section 6 for sent segments. The invariants reject a segment longer than
    /// `MSS_c`, a segment longer than the reduced size below the threshold, and a fifth segment in
    /// flight with variable size, also during recovery.
    #[test]
    fn rules_hold_for_sent_segments(config in pair(), framing in prop_oneof![Just("fs(n=4)"), Just("vs(n=4)")]) {
        let mut pair = Pair::new(&framed(config, framing));
        if let Err(failure) = pair.drive(Goal::Closed) {
            return Err(TestCaseError::fail(failure.to_string()));
        }
    }
}

use proptest::prelude::*;
use units::hash::{GOLDEN, mix};

use super::*;

fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn red_in_packets(min: u64, max: u64, max_p: f64, w_q: f64) -> Red {
    Red::new(Measure::Packets, min, max, p(max_p), p(w_q)).unwrap()
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// A state with an average of `average` packets or bytes.
fn state(red: Red, average: u64) -> RedState {
    RedState { average: average << RedState::FRACTION_BITS, ..RedState::new(red, None) }
}

/// A sequence of uniform draws: `SplitMix64`.
fn draws() -> impl FnMut() -> u64 {
    let mut state = 7u64;
    move || {
        state = state.wrapping_add(GOLDEN);
        mix(state)
    }
}

#[expect(clippy::cast_precision_loss, reason = "53 bits are enough to compare")]
fn float(n: u64) -> f64 {
    n as f64
}

fn impossible() -> u64 {
    panic!("no random decision is expected")
}

#[test]
fn thresholds_must_be_in_order() {
    let red = |min, max| Red::new(Measure::Bytes, min, max, p(0.1), p(0.002));
    assert!(red(0, 1).is_ok() && red(1, Red::MAX_THRESHOLD).is_ok());
    for (min, max) in [(5, 5), (6, 5), (0, Red::MAX_THRESHOLD + 1)] {
        assert_eq!(red(min, max), Err(ConfigError::RedThresholds { min, max }));
    }
    assert_eq!(red(0, 1).unwrap().with_mean_packet(0), Err(ConfigError::MeanPacket));
}

/// §IV: zero below `min_th`, one from `max_th` on, linear in between.
#[test]
fn the_probability_is_a_straight_line_between_the_thresholds() {
    let red = red_in_packets(5, 15, 0.1, 0.002);
    let of = |red, average| state(red, average).probability().map(|p| float(p) / 4_294_967_296.0);
    for (average, expected) in [(0, 0.0), (5, 0.0), (10, 0.05), (14, 0.09)] {
        assert!((of(red, average).unwrap() - expected).abs() < 1e-9, "{average}");
    }
    assert_eq!((of(red, 15), of(red, 1000)), (None, None));
    // Floyd 2000: rises from max_p to 1 at twice max_th.
    let gentle = red.with_gentle(true);
    for (average, expected) in [(10, 0.05), (15, 0.1), (21, 0.46), (29, 0.94)] {
        assert!((of(gentle, average).unwrap() - expected).abs() < 1e-9, "{average}");
    }
    assert_eq!(of(gentle, 30), None);
}

#[test]
fn certainties_need_no_draw() {
    let red = red_in_packets(5, 15, 0.1, 0.002);
    assert_eq!(state(red, 4).decide(1500, impossible), EarlyDecision::Pass);
    assert_eq!(state(red, 15).decide(1500, impossible), EarlyDecision::Forced);
    // Four packets in a row with a probability of one in four: a fifth cannot pass.
    let mut red = RedState { passed: 4, ..state(red_in_packets(5, 15, 0.5, 0.002), 10) };
    assert_eq!(red.decide(1500, impossible), EarlyDecision::Chosen);
    assert_eq!(red.passed, 0);
}

/// §VII, method 2: with a constant average the distance between two chosen packets is uniform from
/// 1 to `1/p_b`.
#[test]
fn choices_are_spread_evenly() {
    let mut red = state(red_in_packets(5, 15, 0.1, 0.002), 10);
    let mut draw = draws();
    let mut gaps = [0u32; 20];
    let (mut gap, chosen) = (0, 20_000);
    while gaps.iter().sum::<u32>() < chosen {
        gap += 1;
        if red.decide(1500, &mut draw) == EarlyDecision::Chosen {
            gaps[gap - 1] += 1;
            gap = 0;
        }
    }
    // χ² with 19 degrees of freedom exceeds 51 with probability 1e-4; the seed is fixed.
    let mean = f64::from(chosen) / 20.0;
    let chi: f64 = gaps.iter().map(|&n| (f64::from(n) - mean).powi(2) / mean).sum();
    assert!(chi < 51.0, "χ² = {chi}: {gaps:?}");
}

/// In bytes, a packet's share of the choices is its share of the bytes; in packets, its share of
/// the packets.
#[test]
fn size_matters_only_with_bytes() {
    for (measure, unit, expected) in
        [(Measure::Bytes, 1500, 1500.0 / 1875.0), (Measure::Packets, 1, 0.5)]
    {
        let red = Red::new(measure, 5 * unit, 15 * unit, p(0.1), p(0.002)).unwrap();
        let mut red = state(red, 7 * unit);
        let mut draw = draws();
        let mut chosen = [0u32; 2];
        for turn in 0..400_000 {
            let size = [1500, 375][turn % 2];
            chosen[turn % 2] += u32::from(red.decide(size, &mut draw) == EarlyDecision::Chosen);
        }
        let [large, small] = chosen.map(f64::from);
        let share = large / (large + small);
        // Even spacing varies less than independent choices.
        let error = (expected * (1.0 - expected) / (large + small)).sqrt();
        assert!(
            (share - expected).abs() < 4.0 * error,
            "{measure:?}: {share} for {expected} ± {error}"
        );
    }
}

#[test]
fn the_count_restarts_below_the_threshold_and_after_an_overflow() {
    let red = red_in_packets(5, 15, 0.1, 0.002);
    let mut low = RedState { passed: 9, ..state(red, 3) };
    assert_eq!((low.decide(1500, impossible), low.passed), (EarlyDecision::Pass, 0));
    let mut full = RedState { passed: 9, ..state(red, 10) };
    full.overflowed();
    assert_eq!(full.passed, 0);
}

#[test]
fn spare_short_accepts_at_a_short_queue() {
    for (spare, packets, expected) in [
        (true, 1, EarlyDecision::Pass),
        (true, 2, EarlyDecision::Forced),
        (false, 1, EarlyDecision::Forced),
    ] {
        let red = red_in_packets(5, 15, 0.1, 0.002).with_spare_short(spare);
        let mut red = state(red, 20);
        red.observe(at(0), Tally { packets, bytes: 1500 * packets }, None);
        assert_eq!(red.decide(1500, impossible), expected, "{spare}, {packets}");
    }
}

/// §IV: an idle period counts as arrivals at an empty queue, as many as the line could have sent.
#[test]
fn the_average_falls_while_the_line_is_idle() {
    let red = red_in_packets(5, 15, 0.1, 0.002).with_mean_packet(1250).unwrap();
    let mut idle = RedState::new(red, Rate::from_bits_per_sec(10_000_000));
    idle.average = 10 << RedState::FRACTION_BITS;
    // 1250 bytes take 1 ms.
    idle.observe(at(500_999_999), Tally::default(), Some(at(1_000_000)));
    let expected = 10.0 * 0.998f64.powi(499) * 16_777_216.0;
    assert!((float(idle.average) - expected).abs() < 2.0, "{} for {expected}", idle.average);
    idle.observe(Instant::NEVER, Tally::default(), Some(at(0)));
    assert_eq!(idle.average, 0);
}

proptest! {
    /// Compares with the average in floating point.
    #[test]
    fn the_average_equals_floating_point_up_to_rounding(
        lengths in prop::collection::vec(0..2000u64, 1..400), w_q in 0.0005..=1.0f64, bytes in any::<bool>()
    ) {
        let (measure, unit) = if bytes { (Measure::Bytes, 100) } else { (Measure::Packets, 1) };
        let mut red = RedState::new(Red::new(measure, 5, 15, p(0.1), p(w_q)).unwrap(), None);
        let mut exact = 0.0;
        for length in lengths {
            let queue = Tally { packets: length, bytes: length * 100 };
            red.observe(at(0), queue, None);
            exact += w_q * (float(length * unit) - exact);
            let average = float(red.average) / 16_777_216.0;
            prop_assert!((average - exact).abs() < 1e-3 + exact * 1e-9, "{average} for {exact}");
        }
    }

    /// With any parameters there is no panic and no overflow, and the distance between two choices
    /// is bounded.
    #[test]
    fn the_distance_between_two_chosen_is_bounded(
        sizes in prop::collection::vec(prop_oneof![0..3000u32, any::<u32>()], 1..300),
        average in 0..20_000u64, max_p in 0.0..=1.0f64, mean in 1..=u32::MAX, bytes in any::<bool>(), gentle in any::<bool>()
    ) {
        let measure = if bytes { Measure::Bytes } else { Measure::Packets };
        let red = Red::new(measure, 100, 10_000, p(max_p), p(0.5)).unwrap();
        let mut red = state(red.with_mean_packet(mean).unwrap().with_gentle(gentle), average);
        let probability = red.probability();
        let mut draw = draws();
        for size in sizes {
            let verdict = red.decide(size, &mut draw);
            match probability {
                None => prop_assert_eq!(verdict, EarlyDecision::Forced),
                Some(0) => prop_assert_eq!(verdict, EarlyDecision::Pass),
                Some(chance) => {
                    prop_assert_ne!(verdict, EarlyDecision::Forced);
                    let one = u128::from(red.red.mean_units()) << 32;
                    let last = u128::from(red.red.units(size));
                    prop_assert!(u128::from(chance) * (u128::from(red.passed) - last.min(red.passed.into())) < one);
                }
            }
        }
    }
}

//! The distributions of a million packets at the link, against closed forms.

use units::hash::{GOLDEN, mix};
use units::{Instant, Rate};

use super::*;
use crate::{Chance, CoDel, Discipline, Link, LinkConfig, Offered, Reorder};

const PACKETS: u32 = 1_000_000;
const DELAY: u64 = 50_000_000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// The delays of packets that are offered so far apart that each leaves alone, in milliseconds and
/// without the constant delay of 50 ms.
fn delays(jitter: Jitter) -> Vec<f64> {
    let delay = Duration::from_nanos(DELAY);
    let mut link = Link::new(LinkConfig { delay, jitter: Some(jitter), ..LinkConfig::default() });
    let mut now = Instant::ZERO;
    let one = |number: u32| {
        let draw = mix(u64::from(number + 1).wrapping_mul(GOLDEN));
        let packet = Offered { bytes: 100, ..Offered::default() };
        link.offer(now, packet, (), |chance| {
            assert_eq!(chance, Chance::Jitter);
            draw
        });
        let due = link.next_delivery().unwrap();
        assert_eq!(link.deliver(due), Some(()));
        let offered = std::mem::replace(&mut now, due);
        let taken = i64::try_from(due.since(offered).as_nanos()).unwrap();
        f64::from(i32::try_from(taken - i64::try_from(DELAY).unwrap()).unwrap()) / 1e6
    };
    (0..PACKETS).map(one).collect()
}

/// The Kolmogorov–Smirnov statistic against a distribution function. It exceeds 2.3 / √n with
/// probability 5e-5; the draws are fixed.
fn assert_distribution(mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) {
    values.sort_by(f64::total_cmp);
    let n = f64::from(PACKETS);
    let distance = (0..PACKETS).zip(&values).map(|(rank, &value)| {
        let (below, expected) = (f64::from(rank) / n, cdf(value));
        (expected - below).abs().max((expected - below - 1.0 / n).abs())
    });
    let most = distance.fold(0.0, f64::max);
    assert!(most < 2.3 / n.sqrt(), "D = {most}");
}

/// The normal distribution function by Simpson's rule.
fn normal_cdf(x: f64) -> f64 {
    let (steps, density) =
        (200, |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt());
    let width = x / f64::from(steps);
    let weight = |n| if n == 0 || n == steps { 1.0 } else { 2.0 + 2.0 * f64::from(n % 2) };
    0.5 + (0..=steps).map(|n| weight(n) * density(width * f64::from(n))).sum::<f64>() * width / 3.0
}

#[test]
fn uniform_delays_are_uniform() {
    assert_distribution(delays(Jitter::uniform(ms(5))), |x| ((x + 5.0) / 10.0).clamp(0.0, 1.0));
}

#[test]
fn normal_delays_are_normal() {
    assert_distribution(delays(Jitter::normal(ms(5))), |x| normal_cdf(x / 5.0));
}

#[test]
fn pareto_delays_have_the_tail_and_the_mean() {
    for shape in [2.5, 3.0, 10.0] {
        let found = delays(Jitter::pareto(ms(5), shape).unwrap());
        let mean = found.iter().sum::<f64>() / f64::from(PACKETS);
        // The variance of a Lomax variable is m² a / (a − 2).
        let sigma = 5.0 * (shape / (shape - 2.0) / f64::from(PACKETS)).sqrt();
        assert!((mean - 5.0).abs() < 5.0 * sigma, "{mean} for {shape}");
        assert_distribution(found, |x| 1.0 - (1.0 + x / (5.0 * (shape - 1.0))).powf(-shape));
    }
}

#[test]
fn samples_occur_with_equal_probability() {
    let jitter = Jitter::samples(vec![3_000_000, -2_000_000, 0, 3_000_000, 7]).unwrap();
    let found = delays(jitter);
    let count = |value: f64| found.iter().filter(|&&x| (x - value).abs() < 1e-9).count();
    let counts = [-2.0, 0.0, 7e-6, 3.0].map(|value| u32::try_from(count(value)).unwrap());
    let expected = [0.2, 0.2, 0.2, 0.4].map(|share| share * f64::from(PACKETS));
    let chi: f64 = counts.iter().zip(expected).map(|(&n, e)| (f64::from(n) - e).powi(2) / e).sum();
    // χ² with 3 degrees of freedom exceeds 22 with probability 1e-4.
    assert!(chi < 22.0, "χ² = {chi}: {counts:?}");
}

#[test]
fn a_larger_draw_never_gives_a_smaller_delay() {
    let laws = [
        Jitter::uniform(ms(5)),
        Jitter::normal(ms(5)),
        Jitter::pareto(ms(5), 3.0).unwrap(),
        Jitter::samples(vec![5, -5, 9]).unwrap(),
    ];
    for law in laws {
        let mut draws: Vec<u64> = (0..10_000u64).map(|n| mix(n.wrapping_mul(GOLDEN))).collect();
        draws.extend([0, 1, u64::MAX, 1 << 63, (1 << 63) - 1]);
        draws.sort_unstable();
        assert!(draws.iter().map(|&draw| law.delay(draw)).is_sorted(), "{law:?}");
    }
}

/// The deliveries of packets that are offered one nanosecond apart, as numbers with times.
fn deliveries(config: LinkConfig, draws: &[u64]) -> Vec<(usize, u64)> {
    let mut link = Link::new(config);
    let offer = |(number, &draw): (usize, &u64)| {
        let packet = Offered { bytes: 100, ..Offered::default() };
        link.offer(at(number as u64), packet, number, |chance| match chance {
            Chance::Reorder if number == 1 => 0,
            Chance::Reorder => u64::MAX,
            _ => draw,
        });
    };
    draws.iter().enumerate().for_each(offer);
    let mut found = Vec::new();
    while let Some(due) = link.next_delivery() {
        link.advance_to(due);
        assert_eq!(link.poll_verdict(), None);
        found.extend(link.deliver(due).map(|number| (number, due.as_nanos())));
    }
    found
}

const HALF: u64 = 1 << 63;

#[test]
fn only_jitter_with_reordering_lets_packets_overtake() {
    // By samples of −30, 0 and 40 ns.
    let draws = [u64::MAX, HALF, 0];
    let samples = Jitter::samples(vec![-30, 0, 40]).unwrap();
    let config = |jitter: Jitter, nanos| LinkConfig {
        delay: Duration::from_nanos(nanos),
        jitter: Some(jitter),
        ..LinkConfig::default()
    };
    let free = samples.clone().with_reordering(true);
    assert_eq!(deliveries(config(free.clone(), 100), &draws), [(2, 72), (1, 101), (0, 140)]);
    assert_eq!(deliveries(config(samples.clone(), 100), &draws), [(0, 140), (1, 140), (2, 140)]);
    // A sum below zero is zero.
    assert_eq!(deliveries(config(free, 20), &draws), [(2, 2), (1, 21), (0, 60)]);
    // A packet that `Reorder` delays is overtaken in any case, and does not delay others.
    let by = Duration::from_nanos(500);
    let probability = crate::Probability::new(0.5).unwrap();
    let both = LinkConfig { reorder: Some(Reorder { probability, by }), ..config(samples, 100) };
    assert_eq!(deliveries(both, &draws), [(0, 140), (2, 140), (1, 640)]);
}

#[test]
fn packets_behind_codel_have_the_delays_of_their_draws() {
    let codel = CoDel::new(ms(1), ms(10)).unwrap();
    let draws: Vec<u64> = (0..50).map(|n: u64| mix(n)).collect();
    let config = |discipline| LinkConfig {
        rate: Rate::from_bits_per_sec(8_000_000_000),
        delay: ms(1),
        jitter: Some(Jitter::normal(Duration::from_nanos(900_000)).with_reordering(true)),
        discipline,
        ..LinkConfig::default()
    };
    let [plain, controlled] = [Discipline::DropTail, Discipline::CoDel(codel)]
        .map(|discipline| deliveries(config(discipline), &draws));
    assert_eq!(plain, controlled);
    assert!(!plain.iter().map(|(number, _)| number).is_sorted());
}

#[test]
fn impossible_laws_are_refused() {
    for shape in [1.0, 0.0, -3.0, 1001.0, f64::INFINITY] {
        assert_eq!(Jitter::pareto(ms(5), shape), Err(ConfigError::ParetoShape(shape)));
    }
    assert!(Jitter::pareto(ms(5), f64::NAN).is_err());
    assert_eq!(Jitter::samples(vec![]), Err(ConfigError::NoSamples));
}

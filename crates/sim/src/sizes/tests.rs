use proptest::prelude::*;

use super::*;
use crate::streams::Seed;

/// The mean over the midpoints of `n` equal cells of probability: a sample mean without random
/// error.
fn stratified_mean(sampler: &SizeSampler, n: u64) -> f64 {
    (0..n).map(|i| float(sampler.sample((float(i) + 0.5) / float(n)).0)).sum::<f64>() / float(n)
}

/// The sampled mean exceeds `mean()` by the rounding (at most 1), with an error of `relative`.
fn assert_mean(sampler: &SizeSampler, relative: f64) {
    let (drawn, mean) = (stratified_mean(sampler, 20_000), sampler.mean());
    assert!(
        drawn > mean * (1.0 - relative) && drawn < mean * (1.0 + relative) + 1.0,
        "{sampler:?}: drawn {drawn}, mean {mean}"
    );
}

#[test]
fn classes_are_numbered_from_one_and_equally_frequent() {
    let sampler = SizeSampler::classes(&[119, 179, 251], None).unwrap();
    assert_eq!(sampler.sample(0.0), (119, Some(1)));
    assert_eq!(sampler.sample(0.34), (179, Some(2)));
    assert_eq!(sampler.sample(1.0 - f64::EPSILON / 2.0), (251, Some(3)));
    assert!((sampler.mean() - 183.0).abs() < 1e-12);
}

#[test]
fn weights_set_the_shares() {
    let sampler = SizeSampler::classes(&[10, 20, 30, 40], Some(&[0.0, 1.0, 3.0, 0.0])).unwrap();
    assert_eq!(sampler.sample(0.0), (20, Some(2)));
    assert_eq!(sampler.sample(0.25), (30, Some(3)));
    assert_eq!(sampler.sample(1.0), (30, Some(3)));
    assert!((sampler.mean() - 27.5).abs() < 1e-12);
}

#[test]
fn a_cdf_is_linear_between_points_and_an_atom_at_the_first() {
    let sampler = SizeSampler::cdf(&[(100, 0.5), (200, 0.75), (200, 0.9), (1000, 1.0)]).unwrap();
    for (uniform, size) in [(0.0, 100), (0.49, 100), (0.625, 150), (0.8, 200), (0.95, 600)] {
        assert_eq!(sampler.sample(uniform), (size, None), "{uniform}");
    }
    assert!((sampler.mean() - (50.0 + 37.5 + 30.0 + 60.0)).abs() < 1e-9);
}

#[test]
fn the_normal_quantile_inverts_the_normal_distribution() {
    // Abramowitz and Stegun, table 26.1 and 26.6.
    for (p, z) in [
        (0.5, 0.0),
        (0.841_344_746_068_543, 1.0),
        (0.975, 1.959_963_984_540_054),
        (1e-10, -6.361_340_902_404_056),
    ] {
        assert!(
            (normal_quantile(p) - z).abs() < 1e-12 * z.abs().max(1.0),
            "{p}: {}",
            normal_quantile(p)
        );
    }
    assert!(normal_quantile(0.0) < -8.0 && normal_quantile(0.0).is_finite());
}

#[test]
fn sizes_do_not_change_with_a_rebuild() {
    let mut stream = Seed(1).stream("web/sizes");
    let mut three = |sampler: SizeSampler| [(); 3].map(|()| sampler.sample(stream.uniform()).0);
    let drawn = [
        three(SizeSampler::exponential(1e9).unwrap()),
        three(SizeSampler::pareto(1e9, 1.2).unwrap()),
        three(SizeSampler::lognormal(1e9, 1.5).unwrap()),
        three(SizeSampler::cdf(&[(1, 0.0), (1_000_000_000, 1.0)]).unwrap()),
    ];
    assert_eq!(drawn, GOLDEN_SIZES);
}

// An independent implementation with another mathematical library gave the same values.
const GOLDEN_SIZES: [[u64; 3]; 4] = [
    [996_650_317, 348_610_362, 208_703_055],
    [442_263_058, 206_818_396, 176_309_984],
    [600_425_860, 1_935_944_012, 455_977_278],
    [124_506_576, 791_452_328, 118_660_978],
];

#[test]
fn invalid_distributions_are_refused() {
    let refused = [
        (SizeSampler::classes(&[], None), "classes: empty"),
        (SizeSampler::classes(&[5, 0], None), "classes[1]: 0 is not a size from 1 B to 1 PB"),
        (SizeSampler::classes(&[5], Some(&[1.0, 2.0])), "weights: 2 weights for 1 classes"),
        (SizeSampler::classes(&[5], Some(&[-1.0])), "weights[0]: -1 is not zero or more"),
        (SizeSampler::classes(&[5], Some(&[f64::NAN])), "weights[0]: NaN is not zero or more"),
        (SizeSampler::classes(&[5], Some(&[0.0])), "weights: must have a sum above zero"),
        (SizeSampler::fixed(0), "fixed: 0 is not a size from 1 B to 1 PB"),
        (SizeSampler::exponential(0.5), "exponential: 0.5 is not a size from 1 B to 1 PB"),
        (SizeSampler::pareto(1e4, 1.0), "pareto.shape: 1 is not above 1, so there is no mean"),
        (SizeSampler::lognormal(1e4, -1.0), "lognormal.sigma: -1 is not zero or more"),
        (
            SizeSampler::lognormal(1e4, 50.0),
            "lognormal.sigma: mean inf is not a size from 1 B to 1 PB",
        ),
        (SizeSampler::cdf(&[]), "cdf: must end at probability 1"),
        (SizeSampler::cdf(&[(1, 0.5)]), "cdf: must end at probability 1"),
        (SizeSampler::cdf(&[(1, 50.0)]), "cdf[0]: 50 is not a probability from 0 to 1"),
        (
            SizeSampler::cdf(&[(9, 0.5), (8, 1.0)]),
            "cdf[1]: goes back: sizes and probabilities must not decrease",
        ),
    ];
    for (result, message) in refused {
        let error = result.unwrap_err().to_string();
        if message.contains("mean inf") {
            assert!(error.starts_with("lognormal.sigma: mean "), "{error}");
        } else {
            assert_eq!(error, message);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn drawn_means_agree_with_the_mean_used_for_loads(
        mean in 10.0..1e6f64,
        shape in 2.5..10.0f64,
        sigma in 0.0..1.0f64,
        sizes in prop::collection::vec((1u64..100_000, 0.01..10.0f64), 1..20),
    ) {
        assert_mean(&SizeSampler::exponential(mean).unwrap(), 0.001);
        assert_mean(&SizeSampler::pareto(mean, shape).unwrap(), 0.005);
        assert_mean(&SizeSampler::lognormal(mean, sigma).unwrap(), 0.005);

        let (bytes, weights): (Vec<_>, Vec<_>) = sizes.iter().copied().unzip();
        let largest = *bytes.iter().max().unwrap();
        let classes = SizeSampler::classes(&bytes, Some(&weights)).unwrap();
        let cells = float(largest) * float(u64::try_from(bytes.len()).unwrap()) / 20_000.0;
        prop_assert!((stratified_mean(&classes, 20_000) - classes.mean()).abs() <= cells);

        let total: f64 = weights.iter().sum();
        let mut points = Vec::new();
        let (mut at, mut sum) = (0, 0.0);
        for (size, weight) in sizes {
            at += size;
            sum += weight;
            points.push((at, (sum / total).min(1.0)));
        }
        points.last_mut().unwrap().1 = 1.0;
        assert_mean(&SizeSampler::cdf(&points).unwrap(), 0.001);
    }

    #[test]
    fn sizes_grow_with_the_draw_and_are_at_least_one(a in 0.0..1.0f64, b in 0.0..1.0f64, mean in 1.0..1e5f64) {
        let (low, high) = (a.min(b), a.max(b));
        for sampler in [
            SizeSampler::exponential(mean).unwrap(),
            SizeSampler::pareto(mean, 1.2).unwrap(),
            SizeSampler::lognormal(mean, 2.0).unwrap(),
            SizeSampler::cdf(&[(1, 0.2), (50, 0.3), (50, 0.8), (70_000, 1.0)]).unwrap(),
            SizeSampler::classes(&[1, 2, 3], Some(&[0.2, 0.0, 5.0])).unwrap(),
        ] {
            let (low, high) = (sampler.sample(low).0, sampler.sample(high).0);
            prop_assert!(1 <= low && low <= high);
        }
    }
}

#[test]
fn a_random_sample_has_the_mean() {
    let sampler = SizeSampler::exponential(10_000.0).unwrap();
    let mut stream = Seed(5).stream("sizes");
    let n = 100_000u64;
    let mean = (0..n).map(|_| float(sampler.sample(stream.uniform()).0)).sum::<f64>() / float(n);
    assert!((mean - 10_000.5).abs() < 5.0 * 10_000.0 / float(n).sqrt(), "{mean}");
}

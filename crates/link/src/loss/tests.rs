//! Frequencies of the loss models over many packets, with a fixed generator, against five standard
//! deviations.

use units::hash::{GOLDEN, mix};

use super::*;

/// `SplitMix64` (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
/// 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }
}

const PACKETS: u32 = 1_000_000;

fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn packet(bytes: u32) -> Offered {
    Offered { bytes, data: true, ..Offered::default() }
}

fn no_chance() -> u64 {
    panic!("no random decision is expected")
}

/// The sizes of a million packets, cycling through `sizes`, and whether each is lost.
fn losses(model: LossModel, sizes: &[u32]) -> Vec<(u32, bool)> {
    let (mut loss, mut random) = (Loss::new(model), SplitMix(1));
    let sizes = sizes.iter().cycle().take(PACKETS as usize);
    sizes.map(|&bytes| (bytes, loss.loses(packet(bytes), || random.next()))).collect()
}

/// Compares the share of `hits` with a binomial distribution.
fn assert_share(hits: impl Iterator<Item = bool>, expected: f64) {
    let (mut total, mut count) = (0u32, 0u32);
    for hit in hits {
        total += 1;
        count += u32::from(hit);
    }
    assert!(total >= 1_000, "only {total} packets say little");
    let share = f64::from(count) / f64::from(total);
    let sigma = (expected * (1.0 - expected) / f64::from(total)).sqrt();
    assert!(
        (share - expected).abs() <= 5.0 * sigma,
        "{share} of {total} lost, not {expected} ± 5 × {sigma}"
    );
}

fn of_size(lost: &[(u32, bool)], size: u32) -> impl Iterator<Item = bool> + '_ {
    lost.iter().filter(move |(bytes, _)| *bytes == size).map(|(_, lost)| *lost)
}

#[test]
fn per_packet_loss_ignores_size() {
    for value in [0.0, 0.001, 0.05, 0.5, 0.99, 1.0] {
        let lost = losses(LossModel::PerPacket(p(value)), &[40, 375, 1500]);
        for size in [40, 375, 1500] {
            assert_share(of_size(&lost, size), value);
        }
    }
}

#[test]
fn per_byte_loss_hits_each_byte_alike() {
    for value in [0.0, 1e-6, 1e-4, 1e-3, 1.0] {
        let lost = losses(LossModel::PerByte(p(value)), &[40, 375, 1500, 9000]);
        for size in [40, 375, 1500, 9000] {
            let survives = (1.0 - value).powi(i32::try_from(size).unwrap());
            assert_share(of_size(&lost, size), 1.0 - survives);
        }
    }
}

#[test]
fn linear_loss_is_in_proportion_and_capped() {
    for value in [0.0, 0.01, 0.4, 1.0] {
        let lost =
            losses(LossModel::Linear(Linear::new(p(value), 1500).unwrap()), &[40, 375, 1500, 9000]);
        for size in [40, 375, 1500, 9000] {
            assert_share(of_size(&lost, size), (value * f64::from(size) / 1500.0).min(1.0));
        }
    }
}

#[test]
fn colliding_sizes_in_the_cache_have_their_own_results() {
    // More sizes than slots.
    let sizes: Vec<u32> = (0..20).map(|i| i * 75).collect();
    let lost = losses(LossModel::Linear(Linear::new(p(0.5), 1500).unwrap()), &sizes);
    for &size in &sizes {
        assert_share(of_size(&lost, size), 0.5 * f64::from(size) / 1500.0);
    }
}

#[test]
fn bursts_have_the_requested_mean_loss_and_run() {
    for (loss, run) in
        [(0.01, 1.0), (0.01, 3.0), (0.1, 10.0), (0.3, 2.0), (0.5, 1.0), (0.9, 9.0), (0.9, 50.0)]
    {
        let lost = losses(LossModel::Burst(Burst::new(p(loss), run).unwrap()), &[1500]);
        let lost: Vec<bool> = lost.into_iter().map(|(_, lost)| lost).collect();
        // The chain's two transitions are independent trials, so each is binomial; together they
        // determine both means.
        let after =
            |state: bool| lost.windows(2).filter(move |pair| pair[0] == state).map(|pair| pair[1]);
        assert_share(after(false), (loss / (run * (1.0 - loss))).min(1.0));
        assert_share(after(true), 1.0 - 1.0 / run);

        let count = f64::from(u32::try_from(lost.iter().filter(|lost| **lost).count()).unwrap());
        let starts =
            lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() + usize::from(lost[0]);
        let runs = f64::from(u32::try_from(starts).unwrap());
        // A geometric run has variance r (r − 1).
        let sigma = (run * (run - 1.0) / runs).sqrt();
        assert!(
            (count / runs - run).abs() <= 5.0 * sigma + 1.0 / runs,
            "mean run {} not {run}",
            count / runs
        );
        // Successive packets correlate by ρ = P(loss | loss) − P(loss | pass); that inflates the
        // variance of the mean by (1 + ρ) / (1 − ρ).
        let rho = 1.0 - 1.0 / run - loss / (run * (1.0 - loss));
        let sigma = (loss * (1.0 - loss) * (1.0 + rho) / (1.0 - rho) / f64::from(PACKETS)).sqrt();
        let share = count / f64::from(PACKETS);
        assert!(
            (share - loss).abs() <= 5.0 * sigma + 1e-6,
            "mean loss {share}, not {loss} ± 5 × {sigma}"
        );
    }
}

#[test]
fn a_burst_model_starts_in_equilibrium() {
    let model = LossModel::Burst(Burst::new(p(0.2), 5.0).unwrap());
    let mut random = SplitMix(2);
    let first = |_| Loss::new(model.clone()).loses(packet(1500), || random.next());
    assert_share((0..100_000).map(first), 0.2);
}

/// The chain by matrices: the joint probability of the losses of consecutive packets is a product
/// of vectors and matrices over the two states, so every pattern of losses has a closed form.
fn pattern_probability(model: [f64; 4], pattern: [bool; 3]) -> f64 {
    let [p, r, bad, good] = model;
    let stays = [[1.0 - p, p], [r, 1.0 - r]];
    let mut states = [r / (p + r), p / (p + r)];
    for lost in pattern {
        let seen = [good, bad].map(|loss| if lost { loss } else { 1.0 - loss });
        let after =
            |to: usize| (0..2).map(|from| states[from] * seen[from] * stays[from][to]).sum::<f64>();
        states = [after(0), after(1)];
    }
    states.iter().sum()
}

/// χ² over the patterns of three consecutive losses. Triples that overlap depend on each other, so
/// only every sixtieth is counted: the correlation of the states falls by 1 − p − r a packet.
#[test]
fn gilbert_elliott_has_the_patterns_of_the_chain() {
    for chances in
        [[0.1, 0.3, 0.7, 0.05], [0.2, 0.2, 1.0, 0.0], [0.5, 0.05, 0.3, 0.6], [0.9, 0.8, 0.5, 0.01]]
    {
        let [good_to_bad, bad_to_good, bad_loss, good_loss] = chances.map(p);
        let law = GilbertElliott { good_to_bad, bad_to_good, bad_loss, good_loss };
        let (mut random, apart) = (SplitMix(3), 60);
        let mut model = Loss::new(LossModel::GilbertElliott(law));
        let mut counts = [0u32; 8];
        for _ in 0..PACKETS {
            let lost = [(); 3].map(|()| model.loses(packet(1500), || random.next()));
            counts[lost.iter().fold(0, |index, &lost| 2 * index + usize::from(lost))] += 1;
            for _ in 3..apart {
                model.loses(packet(1500), || random.next());
            }
        }
        let cells = (0..8).map(|index: usize| {
            let pattern = [4, 2, 1].map(|bit| index & bit != 0);
            (f64::from(counts[index]), f64::from(PACKETS) * pattern_probability(chances, pattern))
        });
        let chi: f64 = cells
            .filter(|(_, expected)| *expected > 0.0)
            .map(|(count, expected)| (count - expected).powi(2) / expected)
            .sum();
        // χ² with 7 degrees of freedom exceeds 30 with probability 1e-4; the seed is fixed.
        assert!(chi < 30.0, "χ² = {chi} for {chances:?}: {counts:?}");
    }
}

#[test]
fn gilbert_elliott_starts_in_equilibrium_and_in_the_good_state_without_changes() {
    let [tenth, none] = [p(0.1), Probability::ZERO];
    let law = GilbertElliott {
        good_to_bad: tenth,
        bad_to_good: p(0.4),
        bad_loss: Probability::ONE,
        good_loss: none,
    };
    let mut random = SplitMix(2);
    let mut first =
        |law| Loss::new(LossModel::GilbertElliott(law)).loses(packet(1), || random.next());
    let firsts: Vec<bool> = (0..100_000).map(|_| first(law)).collect();
    assert_share(firsts.into_iter(), 0.2);
    let still = GilbertElliott { good_to_bad: none, bad_to_good: none, ..law };
    assert!((0..1000).all(|_| !first(still)));
}

#[test]
fn runs_too_short_for_the_loss_are_refused() {
    assert!(Burst::new(p(0.5), 1.0).is_ok());
    assert!(Burst::new(p(0.9), 9.0).is_ok());
    assert!(Burst::new(p(0.0), 1.0).is_ok());
    assert_eq!(
        Burst::new(p(0.75), 2.0).unwrap_err().to_string(),
        "a mean loss of 0.75 in runs of 2 packets is impossible: at least one packet arrives between two runs; \
         the mean run must be at least 3"
    );
    assert_eq!(Burst::new(p(1.0), 1e9), Err(ConfigError::EndlessBurst));
    for run in [0.0, 0.99, -3.0, f64::INFINITY] {
        assert_eq!(Burst::new(p(0.1), run), Err(ConfigError::Run(run)));
    }
    assert!(Burst::new(p(0.1), f64::NAN).is_err());
}

#[test]
fn linear_loss_at_size_zero_is_refused() {
    assert_eq!(Linear::new(p(0.1), 0), Err(ConfigError::LinearAtZero));
}

#[test]
fn a_mask_counts_data_packets_only() {
    let mut loss = Loss::new(LossModel::Mask(vec![true, false, true, true]));
    let control = Offered { bytes: 40, ..Offered::default() };
    assert!(!loss.loses(control, no_chance));
    assert!(loss.loses(packet(1500), no_chance));
    assert!(!loss.loses(control, no_chance));
    assert!(!loss.loses(packet(1500), no_chance));
    loss.skip(control);
    loss.skip(packet(1500));
    assert!(loss.loses(packet(1500), no_chance));
    assert!((0..100).all(|_| !loss.loses(packet(1500), no_chance)));
}

#[test]
fn a_mask_of_packets_counts_acknowledgments() {
    let mut loss = Loss::new(LossModel::PacketMask(vec![true, false, true, true]));
    let control = Offered { bytes: 40, ..Offered::default() };
    assert!(loss.loses(control, no_chance));
    assert!(!loss.loses(packet(1500), no_chance));
    loss.skip(control);
    assert!(loss.loses(control, no_chance));
    assert!((0..100).all(|_| !loss.loses(control, no_chance)));
}

#[test]
fn a_trace_begins_again_at_its_end() {
    for data_only in [false, true] {
        let trace = LossTrace::new(vec![true, false, true], data_only);
        let mut model = Loss::new(LossModel::Trace(trace));
        let control = Offered { bytes: 40, ..Offered::default() };
        let mut drops = |packet: Offered| model.loses(packet, no_chance);
        if data_only {
            assert!(!drops(control));
        }
        let lost: Vec<bool> = (0..7).map(|_| drops(packet(1500))).collect();
        assert_eq!(lost, [true, false, true, true, false, true, true]);
        assert!(!drops(control));
        // An acknowledgment has used up an entry only of a trace of all packets.
        assert_eq!(drops(packet(1500)), !data_only);
        model.skip(packet(1500));
        assert_eq!(model.loses(packet(1500), no_chance), data_only);
    }
    let empty = LossModel::Trace(LossTrace::new(Vec::new(), false));
    assert!(!Loss::new(empty).loses(packet(1500), no_chance));
}

#[test]
fn random_models_use_one_draw_per_packet() {
    let burst = Burst::new(p(0.5), 1.0).unwrap();
    let models = [
        LossModel::PerPacket(p(0.0)),
        LossModel::PerPacket(p(1.0)),
        LossModel::PerByte(p(1.0)),
        LossModel::Linear(Linear::new(p(1.0), 1).unwrap()),
        LossModel::Burst(burst),
        LossModel::GilbertElliott(GilbertElliott {
            good_to_bad: p(1.0),
            bad_to_good: p(1.0),
            bad_loss: p(1.0),
            good_loss: p(0.0),
        }),
    ];
    for model in models {
        let (mut loss, mut draws) = (Loss::new(model), 0);
        for _ in 0..10 {
            loss.loses(packet(1500), || {
                draws += 1;
                1 << 63
            });
        }
        assert_eq!(draws, 10);
    }
    assert!(!Loss::new(LossModel::None).loses(packet(1500), no_chance));
}

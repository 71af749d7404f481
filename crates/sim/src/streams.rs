//! Named random streams, so that the draws of one component never shift those of another.
//!
//! Three kinds of draw are keyed by the run's [`Seed`] and a name such as `web/arrivals`. A
//! [`Stream`] yields values in sequence. [`LinkDraws`] returns the value of one packet, independent
//! of earlier draws. [`flow_identity`] identifies a flow for the latter. Two runs with one seed
//! that differ in their senders have the same arrivals and sizes, and the same draw for each
//! packet: common random numbers.
//!
//! A name is hashed to 64 bits by FNV-1a. Two names of a scenario with the same hash would share a
//! stream, so the plan refuses them.

use rand_pcg::Pcg64Dxsm;
use rand_pcg::rand_core::Rng;

use crate::convert::float;
use units::hash::{GOLDEN, fnv, mix, unmix};

/// The random seed of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream called `name`. Each call returns the same stream.
    pub fn stream(self, name: &str) -> Stream {
        // SplitMix64 from the mixed key fills state and stream number. Streams of one generator
        // that differ in few bits are correlated at first; those that differ in all bits are not.
        let key = self.key(name);
        let word = |n: u64| u128::from(mix(key.wrapping_add(GOLDEN.wrapping_mul(n))));
        Stream { generator: Pcg64Dxsm::new(word(1) << 64 | word(2), word(3) << 64 | word(4)) }
    }

    /// The per-packet draws called `name`.
    pub fn link_draws(self, name: &str) -> LinkDraws {
        LinkDraws { key: self.key(name) }
    }

    fn key(self, name: &str) -> u64 {
        mix(mix(self.0.wrapping_add(GOLDEN)) ^ fnv(name))
    }
}

/// A sequence of random values: PCG64-DXSM, which `NumPy` recommends for many streams.
#[derive(Debug, Clone)]
pub struct Stream {
    generator: Pcg64Dxsm,
}

impl Stream {
    /// A uniform 64-bit value.
    pub fn u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// A uniform value in [0, 1), one of 2^53 equally spaced ones. Uses one draw.
    pub fn uniform(&mut self) -> f64 {
        // 2^-53, exactly.
        float(self.u64() >> 11) * (f64::EPSILON / 2.0)
    }

    /// A uniform value below `n`, zero when `n` is zero. Uses one draw.
    ///
    /// The high half of a product, without rejection. The relative error of a value's probability
    /// is at most `n`/2^64, and the number of draws does not depend on their values.
    pub fn below(&mut self, n: u64) -> u64 {
        let product = u128::from(self.u64()) * u128::from(n);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// An exponentially distributed value with the given mean, by inversion. Uses one draw.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -libm::log(1.0 - self.uniform()) * mean
    }
}

/// Draws that depend only on the packet: a counter-based generator.
///
/// A packet is identified by its flow's [`flow_identity`] and its serial number in that flow.
/// Adding a flow does not change the losses of other flows. Neither does a change of the order in
/// which packets reach the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkDraws {
    key: u64,
}

impl LinkDraws {
    /// A uniform 64-bit value for the packet with this `serial` number of `flow`.
    ///
    /// For one flow this is `SplitMix64` from a mixed seed.
    pub const fn draw(self, flow: u64, serial: u64) -> u64 {
        let seed = mix(self.key ^ mix(flow.wrapping_add(GOLDEN)));
        mix(seed.wrapping_add(serial.wrapping_add(1).wrapping_mul(GOLDEN)))
    }
}

impl LinkDraws {
    /// The serial number of the packet for which [`draw`](Self::draw) returns `value`: its inverse.
    pub(crate) const fn serial(self, flow: u64, value: u64) -> u64 {
        // GOLDEN times this number is 1 modulo 2^64.
        const INVERSE: u64 = inverse(GOLDEN);
        let seed = mix(self.key ^ mix(flow.wrapping_add(GOLDEN)));
        unmix(value).wrapping_sub(seed).wrapping_mul(INVERSE).wrapping_sub(1)
    }
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration.
const fn inverse(odd: u64) -> u64 {
    // `odd` is its own inverse modulo 8; each step doubles the number of correct bits.
    let mut found = odd;
    let mut step = 0;
    while step < 5 {
        found = found.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(found)));
        step += 1;
    }
    found
}

/// The identity of a flow in [`LinkDraws::draw`], from its workload's name and its index there.
///
/// Flows of a run are also numbered in order of starting, but those numbers change when a workload
/// is added.
pub fn flow_identity(workload: &str, index: u64) -> u64 {
    mix(fnv(workload) ^ mix(index.wrapping_add(GOLDEN)))
}

/// The index of a flow in its workload: the inverse of [`flow_identity`]. `workload` is the hash of
/// the workload's name by [`fnv`].
pub(crate) const fn flow_index(workload: u64, identity: u64) -> u64 {
    unmix(unmix(identity) ^ workload).wrapping_sub(GOLDEN)
}

/// The first two of `names` that would share a stream.
pub(crate) fn shared_stream<'a>(
    names: impl IntoIterator<Item = &'a str>,
) -> Option<(&'a str, &'a str)> {
    let mut hashes: Vec<(u64, &str)> = names.into_iter().map(|name| (fnv(name), name)).collect();
    hashes.sort_unstable();
    hashes.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| (pair[0].1, pair[1].1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_identity_gives_the_index_of_the_flow(name in "[a-z]{1,8}", index: u64) {
            prop_assert_eq!(flow_index(fnv(&name), flow_identity(&name, index)), index);
        }
    }

    proptest! {
        #[test]
        fn a_draw_gives_the_number_of_the_packet(seed: u64, flow: u64, serial: u64) {
            let draws = Seed(seed).link_draws("bottleneck/loss");
            prop_assert_eq!(draws.serial(flow, draws.draw(flow, serial)), serial);
        }
    }

    #[test]
    fn values_do_not_change_with_a_rebuild() {
        let mut stream = Seed(1).stream("web/arrivals");
        let first: Vec<u64> = (0..4).map(|_| stream.u64()).collect();
        assert_eq!(first, GOLDEN_STREAM);
        let draws = Seed(1).link_draws("bottleneck/loss");
        let flow = flow_identity("web", 7);
        let first: Vec<u64> = (0..4).map(|serial| draws.draw(flow, serial)).collect();
        assert_eq!(first, GOLDEN_DRAWS);
        assert_eq!(Seed(42).stream("x").uniform().to_bits(), GOLDEN_UNIFORM);
        assert_eq!(Seed(42).stream("x").exponential(3.0).to_bits(), GOLDEN_EXPONENTIAL);
    }

    // An independent implementation of the derivation and the generator gave the same values.
    const GOLDEN_STREAM: [u64; 4] = [
        0xc2b3_e2b1_22b7_b242,
        0x4a1b_05f7_d719_8f8b,
        0x4a0d_e72b_2fb2_77dc,
        0xbc79_c1a7_3a6e_2674,
    ];
    const GOLDEN_DRAWS: [u64; 4] = [
        0xf199_849f_b67d_3fda,
        0xcfee_635b_9166_d5fe,
        0x6233_a472_1f34_edbf,
        0x066b_d4dd_8b66_dace,
    ];
    const GOLDEN_UNIFORM: u64 = 0x3f96_46cc_ec1a_4fe0;
    const GOLDEN_EXPONENTIAL: u64 = 0x3fb0_e44f_2d23_1e4e;

    #[test]
    fn other_names_and_seeds_give_other_streams() {
        let first = |seed: u64, name: &str| Seed(seed).stream(name).u64();
        let all = [first(1, "a/loss"), first(1, "b/loss"), first(2, "a/loss"), first(2, "b/loss")];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a != b));
        }
        assert_eq!(first(1, "a/loss"), first(1, "a/loss"));
    }

    #[test]
    fn uniform_values_fill_their_cells_evenly() {
        // χ² with 255 degrees of freedom exceeds 347 with probability 1e-4; the seeds are fixed.
        for seed in 0..4 {
            let mut stream = Seed(seed).stream("uniformity");
            let draws = Seed(seed).link_draws("uniformity");
            let (mut by_stream, mut by_draw, mut by_below) =
                ([0u64; 256], [0u64; 256], [0u64; 256]);
            for i in 0..65_536u64 {
                by_stream
                    [usize::try_from(crate::convert::whole(stream.uniform() * 256.0)).unwrap()] +=
                    1;
                by_below[usize::try_from(stream.below(256)).unwrap()] += 1;
                by_draw[usize::try_from(draws.draw(i >> 4, i & 15) >> 56).unwrap()] += 1;
            }
            for cells in [by_stream, by_draw, by_below] {
                let chi: f64 =
                    cells.iter().map(|&n| (float(n) - 256.0) * (float(n) - 256.0) / 256.0).sum();
                assert!(chi < 347.0, "χ² = {chi}");
            }
        }
    }

    #[test]
    fn neighbouring_draws_are_uncorrelated() {
        // The standard deviation of each sum is √(n/144); the limit is five of them, with fixed
        // seeds.
        let draws = Seed(3).link_draws("l/loss");
        let centred = |flow, serial| float(draws.draw(flow, serial) >> 11) / float(1 << 53) - 0.5;
        let n = 40_000u64;
        for (flows, serials) in [(1, 0), (0, 1), (1, 1)] {
            let sum: f64 = (0..n)
                .map(|i| centred(i / 8, i % 8) * centred(i / 8 + flows, i % 8 + serials))
                .sum();
            assert!(sum.abs() < 5.0 * (float(n) / 144.0).sqrt(), "{flows} {serials}: {sum}");
        }
    }

    #[test]
    fn exponential_values_have_their_mean() {
        let mut stream = Seed(9).stream("exponential");
        let mean = (0..100_000).map(|_| stream.exponential(2.0)).sum::<f64>() / 100_000.0;
        assert!((mean - 2.0).abs() < 5.0 * 2.0 / 100_000f64.sqrt(), "{mean}");
    }

    #[test]
    fn names_that_share_a_stream_are_found() {
        assert_eq!(shared_stream(["a", "b", "c"]), None);
        assert_eq!(shared_stream(["a", "b", "a"]), Some(("a", "a")));
    }

    proptest! {
        #[test]
        fn below_stays_below(seed: u64, n in 1u64..) {
            prop_assert!(Seed(seed).stream("n").below(n) < n);
        }

        #[test]
        fn a_packets_draw_ignores_other_flows(seed: u64, other in 0u64..1000, packets in 1u64..50) {
            let draws = Seed(seed).link_draws("l/loss");
            let alone: Vec<u64> = (0..packets).map(|p| draws.draw(flow_identity("w", 1), p)).collect();
            let mut among = Vec::new();
            for packet in 0..packets {
                let _ = draws.draw(flow_identity("added", other), packet);
                among.push(draws.draw(flow_identity("w", 1), packet));
            }
            prop_assert_eq!(alone, among);
        }
    }
}

//! Two small hashes with fixed values, so that random streams and digests are the same in every
//! build.
//!
//! The values of `std`'s hasher may change from one release to the next.

/// FNV-1a with 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv §2), for names and digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self::new()
    }
}

impl Fnv {
    /// The hash of the empty string.
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes to the hashed input.
    pub fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// The hash of all bytes added so far.
    pub const fn finish(self) -> u64 {
        self.0
    }
}

/// FNV-1a of a text.
pub fn fnv(text: &str) -> u64 {
    let mut hash = Fnv::new();
    hash.feed(text.as_bytes());
    hash.finish()
}

/// The increment of `SplitMix64`: 2^64 divided by the golden ratio, made odd (Steele et al. 2014,
/// §5).
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of `SplitMix64` (Steele, Lea, Flood 2014; variant 13 of Stafford's
/// finalisers): a bijection in which each input bit flips half of the output bits on average.
#[inline]
pub const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The inverse of [`mix`].
pub const fn unmix(value: u64) -> u64 {
    // Each step of `mix` is a bijection: multiplication by an odd number, and a shifted XOR.
    let value = value ^ (value >> 31) ^ (value >> 62);
    let value = value.wrapping_mul(0x3196_42b2_d24d_8ec3);
    let value = value ^ (value >> 27) ^ (value >> 54);
    let value = value.wrapping_mul(0x96de_1b17_3f11_9089);
    value ^ (value >> 30) ^ (value >> 60)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn unmixing_undoes_mixing(value: u64) {
            prop_assert_eq!(unmix(mix(value)), value);
        }
    }

    #[test]
    fn published_values_hold() {
        // draft-eastlake-fnv, appendix C: the empty string, "a" and "foobar".
        assert_eq!(fnv(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv("foobar"), 0x8594_4171_f739_67e8);
        // SplitMix64 from seed 0, as the Java and C references print it.
        assert_eq!(mix(GOLDEN), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(GOLDEN.wrapping_mul(2)), 0x6e78_9e6a_a1b9_65f4);
    }
}

//! Unpredictable values, all from `SipHash` under one key: initial sequence numbers (RFC 6528), SYN
//! cookie hashes, hash table positions, timestamp offsets and limits of shared replies.

use std::hash::{BuildHasher, Hash, Hasher};

use siphasher::sip::{SipHasher13, SipHasher24};
use units::Instant;
use wire::SeqNum;

use crate::tuple::Tuple;

/// The key of a stack, new at each start. Knowledge of it allows sequence numbers to be guessed.
#[derive(Clone, Copy)]
pub struct Secret {
    low: u64,
    high: u64,
}

/// Domain separation between the hashes, so that none reveals another.
#[derive(Hash)]
enum Purpose {
    InitialSequenceNumber,
    Cookie,
    Share,
    Timestamps,
}

impl Secret {
    /// Creates a key from 128 random bits.
    pub fn new(random: [u8; 16]) -> Self {
        let [low, high] = [&random[..8], &random[8..]]
            .map(|half| half.iter().fold(0, |number: u64, &byte| number << 8 | u64::from(byte)));
        Self { low, high }
    }

    /// RFC 6528 §3: a clock with a tick of 4 µs, plus an offset that depends on addresses and
    /// ports.
    pub(crate) fn initial_sequence_number(&self, tuple: &Tuple, now: Instant) -> SeqNum {
        let place = low_half(self.hash(&(Purpose::InitialSequenceNumber, tuple)));
        SeqNum::new(place.wrapping_add(low_half(now.as_nanos() / 4_000)))
    }

    /// The 24-bit keyed hash of a SYN cookie.
    pub(crate) fn seal(&self, tuple: &Tuple, irs: SeqNum, minute: u64, mss: u32) -> u32 {
        low_half(self.hash(&(Purpose::Cookie, tuple, irs, minute, mss))) & 0x00ff_ffff
    }

    /// The offset of the timestamps between these ends (RFC 7323 §7.1). All connections between the
    /// same addresses and ports share it, so that a new one does not appear older than the last
    /// (RFC 6191).
    pub(crate) fn timestamp_offset(&self, tuple: &Tuple) -> u32 {
        low_half(self.hash(&(Purpose::Timestamps, tuple)))
    }

    /// An unpredictable number for the period that starts at `now`.
    pub(crate) fn share(&self, now: Instant) -> u32 {
        low_half(self.hash(&(Purpose::Share, now.as_nanos())))
    }

    fn hash(&self, what: &impl Hash) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(self.low, self.high);
        what.hash(&mut hasher);
        hasher.finish()
    }
}

/// Hashes the table of connections, so that an attacker cannot cause collisions.
impl BuildHasher for Secret {
    type Hasher = SipHasher13;
    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.high, self.low)
    }
}

/// Does not reveal the key.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

fn low_half(number: u64) -> u32 {
    let [.., a, b, c, d] = number.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuple::tests::tuple;

    /// RFC 6528 §3
    #[test]
    fn initial_sequence_numbers_follow_the_clock_per_tuple() {
        let secret = Secret::new([7; 16]);
        let at = |port, micros: u64| {
            secret.initial_sequence_number(&tuple(port), Instant::from_nanos(micros * 1_000))
        };
        assert_eq!(at(1, 4_000_000), at(1, 0) + 1_000_000);
        assert_ne!(at(1, 0), at(2, 0));
        let other = Secret::new([8; 16]);
        assert_ne!(at(1, 0), other.initial_sequence_number(&tuple(1), Instant::ZERO));
    }
}

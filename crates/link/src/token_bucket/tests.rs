use proptest::prelude::*;

use super::*;
use crate::{Buffer, DropReason, Link, LinkConfig, Offered, Outcome};

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn bits(rate: u64) -> Rate {
    Rate::from_bits_per_sec(rate).unwrap()
}

fn packet(bytes: u32) -> Offered {
    Offered { bytes, ..Offered::default() }
}

/// Gaps in nanoseconds and sizes in bytes. At rates of some Mb/s a bucket fills and empties.
fn any_packets() -> BoxedStrategy<Vec<(u64, u32)>> {
    let gap = prop_oneof![Just(0), 0..3_000_000u64];
    prop::collection::vec((gap, 1..1501u32), 1..80).boxed()
}

proptest! {
    /// RFC 2697 §3 in exact rational numbers: tokens in units of 1/(8·10⁹) bytes.
    #[test]
    fn a_policer_passes_what_the_bucket_holds(
        packets in any_packets(), rate in 1_000_000..50_000_000u64, burst in 1500..20_000u32
    ) {
        let police = Some(TokenBucket::new(bits(rate), burst).unwrap());
        let mut link = Link::new(LinkConfig { police, ..LinkConfig::default() });
        let (mut now, mut tokens, mut last) = (0, u128::from(burst) * 8_000_000_000, 0);
        let (mut passed, mut first) = (0u128, None);
        for (number, &(gap, bytes)) in packets.iter().enumerate() {
            now += gap;
            let full = u128::from(burst) * 8_000_000_000;
            tokens = full.min(tokens + u128::from(now - last) * u128::from(rate));
            last = now;
            let needed = u128::from(bytes) * 8_000_000_000;
            let fits = needed <= tokens;
            let outcome = link.offer(at(now), packet(bytes), number, |_| 0);
            let expected =
                if fits { Outcome::Accepted } else { Outcome::Dropped(DropReason::Early) };
            prop_assert_eq!(outcome, expected);
            if fits {
                tokens -= needed;
                passed += needed;
                let first = *first.get_or_insert(now);
                // No interval passes more than the burst and the rate.
                prop_assert!(passed <= full + u128::from(now - first) * u128::from(rate) + full);
            }
            prop_assert!(link.books().balance());
        }
    }

    /// The departures of a shaper are the earliest ones of the same order that conform. Delays
    /// remove the excess, so a policer with the same bucket behind it drops nothing.
    #[test]
    fn a_shaper_releases_each_packet_when_its_tokens_are_there(
        packets in any_packets(), rate in 1_000_000..50_000_000u64, burst in 1500..20_000u32,
        line in prop::option::of(60_000_000..1_000_000_000u64),
    ) {
        let bucket = TokenBucket::new(bits(rate), burst).unwrap();
        let mut state = BucketState::new(bucket);
        let mut link = Link::new(LinkConfig {
            shape: Some(bucket),
            rate: line.map(bits),
            ..LinkConfig::default()
        });
        let mut now = 0;
        for (number, &(gap, bytes)) in packets.iter().enumerate() {
            now += gap;
            prop_assert_eq!(link.offer(at(now), packet(bytes), number, |_| 0), Outcome::Accepted);
        }
        let (mut policer, mut next, mut earlier) = (BucketState::new(bucket), 0, 0);
        let mut arrival = 0;
        let mut free = 0;
        while let Some(due) = link.next_delivery() {
            prop_assert_eq!(link.deliver(due), Some(next));
            let (gap, bytes) = packets[next];
            arrival += gap;
            // The tokens are there when the packet begins to leave.
            let release = state.release(at(arrival.max(free)), bytes);
            prop_assert!(policer.conforms(release, bytes), "packet {}", next);
            let sent = line.map_or(0, |line| u64::from(bytes) * 8_000_000_000 / line);
            prop_assert!(due.as_nanos().abs_diff(release.as_nanos() + sent) <= 2);
            prop_assert!(due.as_nanos() >= earlier);
            earlier = due.as_nanos();
            free = if line.is_some() { earlier - u64::from(sent > 0) } else { release.as_nanos() };
            next += 1;
        }
        prop_assert_eq!(next, packets.len());
        prop_assert!(link.books().balance());
    }
}

/// A million packets at twice the rate: half of them pass, to within the burst.
#[test]
fn a_policer_passes_its_rate_and_a_shaper_delays_to_it() {
    let bucket = TokenBucket::new(bits(6_000_000), 15_000).unwrap();
    let buffer = Buffer::packets(100).unwrap();
    for (police, shape) in [(Some(bucket), None), (None, Some(bucket))] {
        let mut link = Link::new(LinkConfig { police, shape, buffer, ..LinkConfig::default() });
        let count = 1_000_000u64;
        let mut last = at(0);
        for number in 0..count {
            while let Some(due) =
                link.next_delivery().filter(|due| due.as_nanos() <= number * 1_000_000)
            {
                last = due;
                link.deliver(due);
            }
            link.offer(at(number * 1_000_000), packet(1500), number, |_| 0);
        }
        while let Some(due) = link.next_delivery() {
            last = due;
            link.deliver(due);
        }
        let books = link.books();
        let dropped = if police.is_some() { books.dropped_early } else { books.dropped_buffer };
        assert_eq!(dropped.packets + books.delivered.packets, count);
        // 1500 bytes at 6 Mb/s take 2 ms; ten packets are the burst.
        let expected = last.as_nanos() / 2_000_000 + 10;
        assert!(books.delivered.packets.abs_diff(expected) <= 1, "{books:?}, not {expected}");
    }
}

#[test]
fn a_packet_longer_than_the_burst_is_dropped_or_waits_for_a_full_bucket() {
    let bucket = TokenBucket::new(bits(8_000), 100).unwrap();
    let mut policer = BucketState::new(bucket);
    assert!(!policer.conforms(at(1_000_000_000_000), 101));
    // A byte a millisecond.
    let mut shaper = BucketState::new(bucket);
    assert_eq!(shaper.release(at(0), 150), at(0));
    assert_eq!(shaper.release(at(0), 100), at(150_000_000));
    assert_eq!(shaper.release(at(0), 10), at(160_000_000));
}

#[test]
fn an_empty_bucket_is_refused() {
    assert_eq!(TokenBucket::new(bits(1), 0), Err(ConfigError::EmptyBucket));
}

//! The test for a policer, on models of a policer, of a queue and of random losses.

use units::hash::mix;

use super::*;

const PACKET: u64 = 1500;
const RATE: u64 = 250_000;
const STEADY: RoundTrips = RoundTrips { mean: 0.04, deviation: 0.002 };

/// Losses of packets that are sent in bursts, and pass as `passes` decides by time and number.
fn sent(
    mut passing: impl FnMut(u64, u64) -> bool,
    rtt: Option<Duration>,
) -> (Option<Progress>, Vec<Observation>) {
    let (mut bytes, mut observations, mut first, mut passed) = (0, Vec::new(), None, None);
    for number in 0..6_000_u64 {
        // Bursts of 8 packets at twice the rate on average, with irregular times.
        let micros = number / 8 * 8 * PACKET * 1_000_000 / (2 * RATE) + mix(number / 8) % 20_000;
        let at = Progress { at: Instant::from_nanos(micros * 1000), bytes };
        if passing(micros, number) {
            first.get_or_insert(at);
            passed = Some(at);
            bytes += PACKET;
        } else {
            observations.push(Observation { lost: at, passed: passed.take(), round_trip: rtt });
        }
    }
    (first, observations)
}

/// A token bucket of 30 kB.
fn bucket() -> impl FnMut(u64, u64) -> bool {
    let (mut tokens, mut before) = (30_000_i64, 0);
    move |micros, _| {
        let gained = micros.saturating_sub(before) * RATE / 1_000_000;
        before = before.max(micros);
        tokens = (tokens + i64::try_from(gained).unwrap()).min(30_000);
        let passes = tokens >= 1500;
        tokens -= if passes { 1500 } else { 0 };
        passes
    }
}

#[test]
fn the_losses_of_a_token_bucket_are_found() {
    let (first, observations) = sent(bucket(), Some(Duration::from_millis(40)));
    let (result, rate) = policing(first, &observations, STEADY);
    assert_eq!(result, Policing::Found);
    let rate = rate.unwrap();
    assert!((rate / 250_000.0 - 1.0).abs() < 0.02, "{rate} bytes/s");
}

#[test]
fn a_full_queue_is_no_policer() {
    let (first, observations) = sent(bucket(), Some(Duration::from_millis(80)));
    let round_trips = RoundTrips { mean: 0.06, deviation: 0.012 };
    assert_eq!(policing(first, &observations, round_trips).0, Policing::FullQueue);
}

#[test]
fn random_losses_are_no_policer() {
    for percent in [1, 5, 20] {
        let (first, observations) = sent(|_, number| mix(number + 77) % 100 >= percent, None);
        let (result, _) = policing(first, &observations, STEADY);
        assert!(!matches!(result, Policing::Found | Policing::Untested), "{percent} %: {result:?}");
    }
}

#[test]
fn few_losses_are_not_tested() {
    let (first, observations) = sent(bucket(), None);
    assert_eq!(policing(first, &observations[..14], STEADY), (Policing::Untested, None));
    assert_eq!(policing(None, &[], STEADY), (Policing::Untested, None));
}

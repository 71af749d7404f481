//! Test of whether the losses of a connection are those of a policer: a token bucket that drops
//! packets without tokens and has no queue.
//!
//! The method is that of Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM
//! 2016, section 3.1. The rate of the policer is that of the bytes that pass between the first and
//! the last loss. At this rate the bucket must be empty at each loss, and not overdrawn by the
//! packets that pass. Round-trip times that rise before losses indicate a full queue instead. The
//! limits are those of the paper's published program.
//!
//! Unlike there, losses must find fewer tokens than other packets beyond chance, because random
//! losses of a sender with a constant rate fulfil the other conditions. And a bucket that is full
//! at times passes less than its rate allows, so a long connection is tested in parts of 15 to 29
//! losses, of which half must agree.

use units::{Duration, Instant};

/// Minimum number of runs of losses for a test.
const LEAST_OBSERVATIONS: usize = 15;

/// Maximum number of losses that are kept; later ones are not tested.
pub(super) const MAX_OBSERVATIONS: usize = 1 << 12;

/// Tokens at a loss, in round-trip times at the rate of the policer, that count as none.
const EMPTY_AT_LOSS: f64 = 2.0;
/// Share of losses that may find more tokens, or fewer.
const MAX_LOSSES_OUTSIDE: f64 = 0.1;
/// Missing tokens at a packet that passes that count as none, in the same unit.
const OVERDRAWN_AT_PASS: f64 = 0.75;
/// Share of packets that may pass with fewer tokens.
const MAX_PASSED_OUTSIDE: f64 = 0.03;

/// Quantile of the normal distribution for the rank test: one in 2000 random losses exceeds it.
const RANK_QUANTILE: f64 = 3.29;

/// Time of a transmission, and bytes of the packets before it that passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(super) at: Instant,
    pub(super) bytes: u64,
}

/// The first loss of a run, with a packet that passed since the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Observation {
    pub(super) lost: Progress,
    pub(super) passed: Option<Progress>,
    pub(super) round_trip: Option<Duration>,
}

/// Result of the test for a policer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policing {
    /// Fewer than 15 runs of losses, or the capture is not at the sender.
    #[default]
    Untested,
    /// The losses agree with a token bucket.
    Found,
    /// Losses find as many tokens as packets that pass.
    MoreTokensAtLoss,
    /// The bucket is not empty at losses.
    TokensAtLoss,
    /// Packets pass that find no tokens.
    NoTokensAtPass,
    /// Round-trip times are longer at losses: a queue was full.
    FullQueue,
}

impl Policing {
    /// All results, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::Untested,
        Self::Found,
        Self::MoreTokensAtLoss,
        Self::TokensAtLoss,
        Self::NoTokensAtPass,
        Self::FullQueue,
    ];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Untested => "untested",
            Self::Found => "found",
            Self::MoreTokensAtLoss => "more_tokens_at_loss",
            Self::TokensAtLoss => "tokens_at_loss",
            Self::NoTokensAtPass => "no_tokens_at_pass",
            Self::FullQueue => "full_queue",
        }
    }
}

/// Round-trip times of a connection in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RoundTrips {
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

/// Tokens of one part of a connection, at the rate between its first loss and its last.
struct Part {
    rate: f64,
    at_loss: Vec<f64>,
    at_pass: Vec<f64>,
    /// Tokens at the beginning of the connection, if this is the first part.
    at_start: Option<f64>,
}

impl Part {
    /// Tokens of a part; `None` if its losses are at one time, or nothing passed between them.
    fn of(first: Option<Progress>, observations: &[Observation]) -> Option<Self> {
        let (start, end) = (observations.first()?.lost, observations.last()?.lost);
        let span = seconds(start.at, end.at);
        if span <= 0.0 || end.bytes <= start.bytes {
            return None;
        }
        let rate = bytes(start.bytes, end.bytes) / span;
        let tokens = |at: &Progress| rate * seconds(start.at, at.at) - bytes(start.bytes, at.bytes);
        let passed = observations[1..].iter().filter_map(|each| each.passed);
        Some(Self {
            rate,
            at_loss: observations.iter().map(|each| tokens(&each.lost)).collect(),
            at_pass: passed.map(|each| tokens(&each)).collect(),
            at_start: first.map(|first| tokens(&first)),
        })
    }

    /// Condition of a token bucket that this part does not fulfil.
    fn failure(&self, rtt: f64) -> Option<Policing> {
        let unit = self.rate * rtt;
        let is_overdrawn = |tokens: f64| tokens < -OVERDRAWN_AT_PASS * unit;
        if share(&self.at_loss, |tokens| tokens.abs() > EMPTY_AT_LOSS * unit) > MAX_LOSSES_OUTSIDE {
            return Some(Policing::TokensAtLoss);
        }
        // The bucket that the connection found was not overdrawn either.
        let is_impossible = share(&self.at_pass, is_overdrawn) > MAX_PASSED_OUTSIDE
            || self.at_start.is_some_and(is_overdrawn);
        is_impossible.then_some(Policing::NoTokensAtPass)
    }
}

/// Tests the losses of a connection. Returns the result, and the rate of the token bucket in bytes
/// per second if there was a test.
pub(crate) fn policing(
    first: Option<Progress>,
    observations: &[Observation],
    round_trips: RoundTrips,
) -> (Policing, Option<f64>) {
    let parts = (observations.len() / LEAST_OBSERVATIONS).max(1);
    let size = observations.len().div_ceil(parts).max(1);
    let chunks = observations.chunks(size).enumerate();
    let parts: Vec<Part> = chunks
        .filter(|(_, chunk)| chunk.len() >= LEAST_OBSERVATIONS)
        .filter_map(|(index, chunk)| Part::of(first.filter(|_| index == 0), chunk))
        .collect();
    if parts.is_empty() {
        return (Policing::Untested, None);
    }
    let rates: Vec<f64> = parts.iter().map(|part| part.rate).collect();
    let failures = parts.iter().map(|part| part.failure(round_trips.mean));
    let failed = |why: Policing| failures.clone().filter(|found| *found == Some(why)).count();
    let (at_loss, at_pass) = (failed(Policing::TokensAtLoss), failed(Policing::NoTokensAtPass));
    let result = if !is_below(&parts) {
        Policing::MoreTokensAtLoss
    } else if 2 * (at_loss + at_pass) > parts.len() {
        if at_loss >= at_pass { Policing::TokensAtLoss } else { Policing::NoTokensAtPass }
    } else if is_queue_full(observations, round_trips) {
        Policing::FullQueue
    } else {
        Policing::Found
    };
    (result, Some(median(&rates)))
}

/// Share of values that fulfil a condition.
fn share(values: &[f64], is_outside: impl Fn(f64) -> bool) -> f64 {
    let outside = values.iter().filter(|value| is_outside(**value)).count();
    ratio(outside, values.len().max(1))
}

/// Whether round-trip times at losses are above the others. A queue drops packets when it is full,
/// at the top of the range, which exceeds the mean by more than the standard deviation.
fn is_queue_full(observations: &[Observation], round_trips: RoundTrips) -> bool {
    let known = observations.iter().filter_map(|each| each.round_trip);
    let known: Vec<f64> = known.map(seconds_of).collect();
    !known.is_empty() && median(&known) > round_trips.mean + round_trips.deviation
}

/// Whether losses find fewer tokens than packets that pass, beyond chance: the rank test of Mann
/// and Whitney with the normal approximation, over all parts (van Elteren 1960). Equal values count
/// as half.
fn is_below(parts: &[Part]) -> bool {
    let (mut excess, mut variance) = (0.0, 0.0);
    for part in parts {
        let mut sorted = part.at_pass.clone();
        sorted.sort_by(f64::total_cmp);
        let above = |value: &f64| {
            let less = sorted.partition_point(|other| other < value);
            let equal = sorted.partition_point(|other| other <= value) - less;
            ratio(sorted.len() - less, 1) - ratio(equal, 2)
        };
        let pairs: f64 = part.at_loss.iter().map(above).sum();
        let (lost, passed) = (ratio(part.at_loss.len(), 1), ratio(sorted.len(), 1));
        // Weighted by the inverse of the number of values.
        let weight = 1.0 / (lost + passed + 1.0);
        excess += weight * (pairs - lost * passed / 2.0);
        variance += weight * lost * passed / 12.0;
    }
    excess > RANK_QUANTILE * variance.sqrt()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[expect(clippy::cast_precision_loss, reason = "numbers of packets")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// Bytes from one count to another, which may be smaller.
#[expect(clippy::cast_precision_loss, reason = "bytes of a capture below 2⁵³")]
fn bytes(from: u64, to: u64) -> f64 {
    to as f64 - from as f64
}

/// Seconds from one time to another, which may be earlier.
fn seconds(from: Instant, to: Instant) -> f64 {
    if to >= from { seconds_of(to.since(from)) } else { -seconds_of(from.since(to)) }
}

#[expect(clippy::cast_precision_loss, reason = "spans below 2⁵³ ns, 104 days")]
fn seconds_of(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}

#[cfg(test)]
mod tests;

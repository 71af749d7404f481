//! Test of whether the losses of a connection are those of a policer: a token bucket that drops
//! packets without tokens and has no queue.
//!
//! The method is that of Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM
//! 2016, section 3.1. The rate of the policer is that of the bytes that pass between the first and
//! the last loss. At this rate the bucket must be empty at each loss, and not overdrawn by the
//! packets that pass. Round-trip times that rise before losses indicate a full queue instead. The
//! limits are those of the paper's published program. Unlike there, losses must find fewer tokens
//! than other packets beyond chance (rank test of Mann and Whitney 1947), because random losses of
//! a sender with a constant rate fulfil the other conditions.

use units::{Duration, Instant};

/// Minimum number of losses, and of packets between them, for a test.
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

/// A loss, with a packet that passed since the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Observation {
    pub(super) lost: Progress,
    pub(super) passed: Option<Progress>,
    pub(super) round_trip: Option<Duration>,
}

/// Result of the test for a policer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policing {
    /// Fewer than 15 losses, or the capture is not at the sender.
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

/// Tests the losses of a connection. Returns the result, and the rate of the token bucket in bytes
/// per second if there was a test.
pub(crate) fn policing(
    first: Option<Progress>,
    observations: &[Observation],
    round_trips: RoundTrips,
) -> (Policing, Option<f64>) {
    let (Some(start), Some(end)) = (observations.first(), observations.last()) else {
        return (Policing::Untested, None);
    };
    let (start, end) = (start.lost, end.lost);
    let passed: Vec<Progress> = observations[1..].iter().filter_map(|each| each.passed).collect();
    let span = seconds(start.at, end.at);
    if observations.len().min(passed.len()) < LEAST_OBSERVATIONS || span <= 0.0 {
        return (Policing::Untested, None);
    }
    let rate = bytes(start.bytes, end.bytes) / span;
    let tokens = |at: &Progress| rate * seconds(start.at, at.at) - bytes(start.bytes, at.bytes);
    let at_loss: Vec<f64> = observations.iter().map(|each| tokens(&each.lost)).collect();
    let at_pass: Vec<f64> = passed.iter().map(tokens).collect();
    let unit = rate * round_trips.mean;
    let outside = |tokens: &[f64], is_outside: &dyn Fn(f64) -> bool| {
        let found = tokens.iter().filter(|tokens| is_outside(**tokens)).count();
        ratio(found, tokens.len())
    };
    let result = if !is_below(&at_loss, &at_pass) {
        Policing::MoreTokensAtLoss
    } else if outside(&at_loss, &|tokens| tokens.abs() > EMPTY_AT_LOSS * unit) > MAX_LOSSES_OUTSIDE
    {
        Policing::TokensAtLoss
    } else if outside(&at_pass, &|tokens| tokens < -OVERDRAWN_AT_PASS * unit) > MAX_PASSED_OUTSIDE
        // The bucket that the connection found was not overdrawn either.
        || first.is_some_and(|first| tokens(&first) < -OVERDRAWN_AT_PASS * unit)
    {
        Policing::NoTokensAtPass
    } else if is_queue_full(observations, round_trips) {
        Policing::FullQueue
    } else {
        Policing::Found
    };
    (result, Some(rate))
}

/// Whether round-trip times at losses are above the others. A queue drops packets when it is full,
/// at the top of the range, which exceeds the mean by more than the standard deviation.
fn is_queue_full(observations: &[Observation], round_trips: RoundTrips) -> bool {
    let known = observations.iter().filter_map(|each| each.round_trip);
    let known: Vec<f64> = known.map(seconds_of).collect();
    !known.is_empty() && median(&known) > round_trips.mean + round_trips.deviation
}

/// Whether values are below others beyond chance: the rank test of Mann and Whitney, with the normal
/// approximation. Equal values count as half.
fn is_below(values: &[f64], others: &[f64]) -> bool {
    let mut sorted = others.to_vec();
    sorted.sort_by(f64::total_cmp);
    let above = |value: &f64| {
        let less = sorted.partition_point(|other| other < value);
        let equal = sorted.partition_point(|other| other <= value) - less;
        ratio(sorted.len() - less, 1) - ratio(equal, 2)
    };
    let pairs: f64 = values.iter().map(above).sum();
    let (own, other) = (ratio(values.len(), 1), ratio(others.len(), 1));
    let deviation = (own * other * (own + other + 1.0) / 12.0).sqrt();
    pairs - own * other / 2.0 > RANK_QUANTILE * deviation
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

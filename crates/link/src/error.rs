//! Errors in the configuration of a link.

use thiserror::Error;
use units::{Duration, Instant};

/// An invalid parameter of a link.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ConfigError {
    /// A probability outside the range from 0 to 1.
    #[error("{0} is not a probability: it must lie between 0 and 1")]
    Probability(f64),
    /// A buffer of size zero.
    #[error("a buffer of size 0 accepts nothing: its size must be above zero")]
    EmptyBuffer,
    /// A chunk size of zero.
    #[error("a chunk of 0 bytes holds nothing: its size must be above zero")]
    EmptyChunk,
    /// A chunk that is larger than the buffer.
    #[error("a chunk of {chunk} bytes does not fit in a buffer of {bytes} bytes")]
    ChunkTooLarge {
        /// The size of a chunk, in bytes.
        chunk: u32,
        /// The size of the buffer, in bytes.
        bytes: u64,
    },
    /// RED thresholds that are not in order, or too large.
    #[error(
        "RED between averages of {min} and {max} is impossible: the first must be below the second, which is at most 2^38"
    )]
    RedThresholds {
        /// The lower threshold of the average queue.
        min: u64,
        /// The upper threshold of the average queue.
        max: u64,
    },
    /// A lower threshold above the upper one.
    #[error(
        "balanced discard between {lower} and {upper} of the buffer is impossible: the first must not be above the second"
    )]
    BalancedThresholds {
        /// The threshold of flows without a recent loss, as a share of the buffer.
        lower: f64,
        /// The threshold of flows in recovery, as a share of the buffer.
        upper: f64,
    },
    /// A CoDel target that is zero or not below the interval.
    #[error(
        "CoDel with a target of {target} and an interval of {interval} is impossible: the first must be above zero and below the second"
    )]
    CoDelTimes {
        /// The target of the waiting time.
        target: Duration,
        /// The interval.
        interval: Duration,
    },
    /// A number of queues of FQ-CoDel that is zero or too large.
    #[error("FQ-CoDel with {0} queues is impossible: there must be 1 to 65536")]
    FqFlows(u32),
    /// A quantum of FQ-CoDel of zero bytes.
    #[error("FQ-CoDel with a quantum of 0 bytes is impossible: it must be above zero")]
    FqQuantum,
    /// Changes that are not in order of time.
    #[error(
        "a change at {at} after one at {before} is impossible: each must be later than the one before it"
    )]
    Changes {
        /// The time of the earlier entry.
        before: Instant,
        /// The time of the later entry, which is not after the earlier one.
        at: Instant,
    },
    /// A change of a part that is fixed while packets are in the link.
    #[error("{part} cannot change while the link carries packets")]
    Fixed {
        /// The part.
        part: &'static str,
    },
    /// A shape of a Pareto distribution without a mean, or too large.
    #[error(
        "a Pareto distribution of shape {0} is impossible: it must be above 1 and at most 1000"
    )]
    ParetoShape(f64),
    /// An empirical distribution without values.
    #[error("a distribution of measured delays needs at least one delay")]
    NoSamples,
    /// A token bucket of size zero.
    #[error("a token bucket of 0 bytes passes nothing: its burst must be above zero")]
    EmptyBucket,
    /// A mean packet size of zero.
    #[error("a mean packet of 0 bytes is impossible: its size must be above zero")]
    MeanPacket,
    /// A linear loss specified at size 0.
    #[error("loss proportional to size must be given at a size above 0 bytes")]
    LinearAtZero,
    /// A mean run length of losses below one packet, or not finite.
    #[error("a mean run of {0} lost packets is impossible: it must be a number of at least 1")]
    Run(f64),
    /// A burst model that loses every packet, so that its runs cannot end.
    #[error(
        "a burst model cannot lose every packet: its runs end (for that, lose each packet with probability 1)"
    )]
    EndlessBurst,
    /// A mean loss that is too high for the mean run length.
    #[error(
        "a mean loss of {loss} in runs of {run} packets is impossible: at least one packet arrives between two \
         runs; the mean run must be at least {shortest}"
    )]
    Burst {
        /// The requested mean loss.
        loss: f64,
        /// The requested mean run length, in packets.
        run: f64,
        /// The shortest mean run length with that mean loss.
        shortest: f64,
    },
}

//! What can be wrong with a link's parts.

use thiserror::Error;
use units::{Duration, Instant};

/// A part that cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ConfigError {
    /// Not in the range from 0 to 1.
    #[error("{0} is not a probability: it must lie between 0 and 1")]
    Probability(f64),
    /// A buffer of nothing.
    #[error("a buffer of size 0 accepts nothing: its size must be above zero")]
    EmptyBuffer,
    /// Chunks of nothing.
    #[error("a chunk of 0 bytes holds nothing: its size must be above zero")]
    EmptyChunk,
    /// Not one chunk fits.
    #[error("a chunk of {chunk} bytes does not fit in a buffer of {bytes} bytes")]
    ChunkTooLarge {
        /// The size of a chunk.
        chunk: u32,
        /// The size of the buffer.
        bytes: u64,
    },
    /// RED without a range to work in.
    #[error(
        "RED between averages of {min} and {max} is impossible: the first must be below the second, which is at most 2^38"
    )]
    RedThresholds {
        /// The average at which it begins.
        min: u64,
        /// The average at which every packet is dropped.
        max: u64,
    },
    /// A lower threshold above the upper one.
    #[error(
        "balanced discard between {lower} and {upper} of the buffer is impossible: the first must not be above the second"
    )]
    BalancedThresholds {
        /// The threshold for everybody.
        lower: f64,
        /// The one for those that recover.
        upper: f64,
    },
    /// CoDel without time to look.
    #[error(
        "CoDel with a target of {target} and an interval of {interval} is impossible: the first must be above zero and below the second"
    )]
    CoDelTimes {
        /// How long packets may wait.
        target: Duration,
        /// For how long they may wait longer.
        interval: Duration,
    },
    /// A path that changes back in time.
    #[error(
        "a change of delay at {at} after one at {before} is impossible: each must be later than the one before it"
    )]
    DelayChanges {
        /// The change before.
        before: Instant,
        /// The one that is not later.
        at: Instant,
    },
    /// Packets of nothing.
    #[error("a mean packet of 0 bytes is impossible: its size must be above zero")]
    MeanPacket,
    /// A linear loss given at size 0.
    #[error("loss proportional to size must be given at a size above 0 bytes")]
    LinearAtZero,
    /// A run of losses shorter than a packet, or no number.
    #[error("a mean run of {0} lost packets is impossible: it must be a number of at least 1")]
    Run(f64),
    /// Every packet lost, in runs that end.
    #[error(
        "a burst model cannot lose every packet: its runs end (for that, lose each packet with probability 1)"
    )]
    EndlessBurst,
    /// More loss than runs of that length can make.
    #[error(
        "a mean loss of {loss} in runs of {run} packets is impossible: at least one packet arrives between two \
         runs; the mean run must be at least {shortest}"
    )]
    Burst {
        /// The mean loss asked for.
        loss: f64,
        /// The mean run asked for.
        run: f64,
        /// The shortest mean run with that mean loss.
        shortest: f64,
    },
}

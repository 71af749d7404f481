//! What a link is made of, and what makes a part of it impossible.

use thiserror::Error;
use units::{Duration, Rate};

use crate::buffer::Buffer;
use crate::loss::LossModel;

/// The parts of a link. The default is a wire: infinitely fast, no delay, no loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkConfig {
    /// How fast the line sends; `None` is infinitely fast.
    pub rate: Option<Rate>,
    /// How long the last bit travels after it has left.
    pub delay: Duration,
    /// What the link can store.
    pub buffer: Buffer,
    /// Whether the packet in transmission takes up room in the buffer.
    ///
    /// With `true`, `Buffer::Packets` of 100 means at most 100 packets in the link, waiting or in transmission.
    /// That is also what a drop-tail queue of ns-2 counted in packets with `limit_` 100 comes to, by another rule:
    /// it leaves out the packet in transmission but drops what would *reach* the limit, so 99 wait.
    ///
    /// With `false` the buffer holds waiting packets only, and an idle link accepts a packet of any size.
    pub counts_in_service: bool,
    /// Which packets are lost other than for want of room.
    pub loss: LossModel,
    /// Where they are lost.
    pub loss_place: LossPlace,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            rate: None,
            delay: Duration::ZERO,
            buffer: Buffer::Unlimited,
            counts_in_service: true,
            loss: LossModel::None,
            loss_place: LossPlace::Line,
        }
    }
}

/// Where the loss model takes its packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LossPlace {
    /// On the line, as a bit error would: the packet takes up buffer and line like any other, then vanishes.
    /// A packet refused by the buffer is not put to the model.
    #[default]
    Line,
    /// Before the buffer, as an emulator's drop stage would: the packet takes up nothing.
    Entry,
}

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

//! Loss models: losses that are independent of the buffer.
//!
//! Each random model uses one uniform number per packet, whatever the probability. The k-th number
//! decides on the k-th packet offered to the model even if the outcome is certain. Two runs with
//! the same numbers and different probabilities therefore lose comparable packets.

mod burst;
mod gilbert;
mod size;

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::custom::{CustomLoss, Factory};
use crate::error::ConfigError;
use crate::packet::Offered;
use crate::probability::Probability;

pub use burst::Burst;
use burst::BurstState;
pub use gilbert::GilbertElliott;
use gilbert::GilbertElliottState;
use size::{BySize, SizeLaw};

/// A rule by which packets are lost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LossModel {
    /// No packet is lost.
    #[default]
    None,
    /// Each packet is lost with the same probability, whatever its size.
    PerPacket(Probability),
    /// Each byte is lost with this probability, and one lost byte loses the packet: 1 − (1 − p)ⁿ
    /// for n bytes.
    PerByte(Probability),
    /// The probability is proportional to the packet's size.
    Linear(Linear),
    /// Packets are lost in runs.
    Burst(Burst),
    /// Two states with a loss probability each.
    GilbertElliott(GilbertElliott),
    /// An explicit pattern for data packets. The n-th data packet offered is lost if the n-th entry
    /// is true; packets after the last entry are not lost. A packet that the buffer refuses uses up
    /// its entry.
    Mask(Vec<bool>),
    /// An explicit pattern for all packets, with data or without: a mask of acknowledgments.
    PacketMask(Vec<bool>),
    /// A pattern that begins again at its end.
    Trace(LossTrace),
    /// A model that the driver implements. It decides on the packets that reach it, as the random
    /// models do.
    Custom(Factory<dyn CustomLoss>),
}

/// A recorded pattern of losses, which begins again at its end. A packet that the buffer refuses
/// uses up its entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossTrace {
    drops: Arc<[bool]>,
    data_only: bool,
}

impl LossTrace {
    /// The n-th packet is lost if the n-th entry is true. With `data_only`, only packets
    /// with data have entries. A trace without entries loses nothing.
    pub fn new(drops: Vec<bool>, data_only: bool) -> Self {
        Self { drops: drops.into(), data_only }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.drops.len()
    }

    /// Returns true if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.drops.is_empty()
    }
}

/// Loss in proportion to size: p · size / at, at most 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linear {
    probability: Probability,
    at: NonZeroU32,
}

impl Linear {
    /// A loss of `probability` for a packet of `at` bytes.
    ///
    /// # Errors
    /// If `at` is zero.
    pub const fn new(probability: Probability, at: u32) -> Result<Self, ConfigError> {
        match NonZeroU32::new(at) {
            Some(at) => Ok(Self { probability, at }),
            None => Err(ConfigError::LinearAtZero),
        }
    }
}

/// The state of a loss model.
#[derive(Debug)]
pub(crate) enum Loss {
    None,
    PerPacket(Probability),
    BySize(BySize),
    Burst(BurstState),
    GilbertElliott(GilbertElliottState),
    Mask { drops: Vec<bool>, next: usize, data_only: bool },
    Trace { trace: LossTrace, next: usize },
}

impl Loss {
    pub(crate) fn new(model: LossModel) -> Self {
        match model {
            LossModel::Trace(trace) => Self::Trace { trace, next: 0 },
            // A custom model is an optional feature of the link, with a state of its own.
            LossModel::None | LossModel::Custom(_) => Self::None,
            LossModel::PerPacket(probability) => Self::PerPacket(probability),
            LossModel::PerByte(probability) => {
                Self::BySize(BySize::new(SizeLaw::PerByte(probability)))
            }
            LossModel::Linear(linear) => Self::BySize(BySize::new(SizeLaw::Linear(linear))),
            LossModel::Burst(burst) => Self::Burst(BurstState::new(burst)),
            LossModel::GilbertElliott(model) => {
                Self::GilbertElliott(GilbertElliottState::new(model))
            }
            LossModel::Mask(drops) => Self::Mask { drops, next: 0, data_only: true },
            LossModel::PacketMask(drops) => Self::Mask { drops, next: 0, data_only: false },
        }
    }

    /// Changes the model. An unchanged model keeps its state, and a burst that has begun continues
    /// under the new parameters. Any other model begins anew.
    pub(crate) fn change(&mut self, from: &LossModel, to: &LossModel) {
        if from == to {
            return;
        }
        match (&mut *self, to) {
            (Self::Burst(state), LossModel::Burst(burst)) => state.change(*burst),
            (_, model) => *self = Self::new(model.clone()),
        }
    }

    /// Returns true if the packet is lost.
    #[inline]
    pub(crate) fn loses(&mut self, packet: Offered, draw: impl FnOnce() -> u64) -> bool {
        !matches!(self, Self::None) && self.draw_loss(packet, draw)
    }

    #[inline(never)]
    fn draw_loss(&mut self, packet: Offered, draw: impl FnOnce() -> u64) -> bool {
        match self {
            Self::None => false,
            Self::PerPacket(probability) => probability.hits(draw()),
            Self::BySize(by_size) => by_size.probability(packet.bytes).hits(draw()),
            Self::Burst(state) => state.advance(draw()),
            Self::GilbertElliott(state) => state.advance(draw()),
            Self::Trace { trace, .. } if trace.data_only && !packet.data => false,
            Self::Trace { trace, next } => {
                let lost = trace.drops.get(*next).copied().unwrap_or(false);
                *next = if *next + 1 < trace.drops.len() { *next + 1 } else { 0 };
                lost
            }
            Self::Mask { drops, next, data_only } => {
                if *data_only && !packet.data {
                    return false;
                }
                let lost = drops.get(*next).copied().unwrap_or(false);
                *next += 1;
                lost
            }
        }
    }

    /// Skips a packet that the buffer refused: a mask uses up an entry for it.
    pub(crate) fn skip(&mut self, packet: Offered) {
        if let Self::Trace { .. } = self {
            self.draw_loss(packet, || 0);
        } else if let Self::Mask { next, data_only, .. } = self {
            *next += usize::from(packet.data || !*data_only);
        }
    }
}

#[cfg(test)]
mod tests;

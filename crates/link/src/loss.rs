//! Which packets are lost, other than for want of room.
//!
//! Each model that leaves it to chance needs one uniform number a packet, whatever the probability:
//! the k-th number decides on the k-th packet put to the model even where the outcome is certain,
//! so that two runs with the same numbers and different probabilities lose comparable packets.

mod burst;
mod size;

use std::num::NonZeroU32;

use crate::error::ConfigError;
use crate::link::Offered;
use crate::probability::Probability;

pub use burst::Burst;
use burst::BurstState;
use size::{BySize, SizeLaw};

/// A rule by which packets are lost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LossModel {
    /// None are.
    #[default]
    None,
    /// Each packet with the same probability, whatever its size.
    PerPacket(Probability),
    /// Each byte is hit with this probability, and one hit loses the packet: 1 − (1 − p)ⁿ for n
    /// bytes.
    PerByte(Probability),
    /// In proportion to the size of the packet.
    Linear(Linear),
    /// In runs.
    Burst(Burst),
    /// Packet by packet, for packets that carry data: the n-th such packet offered is lost if the
    /// n-th entry says so, and none after the last entry. An entry is used up even when the
    /// buffer has no room for its packet.
    Mask(Vec<bool>),
}

/// Loss in proportion to size: p · size / at, at most 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linear {
    probability: Probability,
    at: NonZeroU32,
}

impl Linear {
    /// `probability` for a packet of `at` bytes.
    ///
    /// # Errors
    /// When `at` is zero.
    pub const fn new(probability: Probability, at: u32) -> Result<Self, ConfigError> {
        match NonZeroU32::new(at) {
            Some(at) => Ok(Self { probability, at }),
            None => Err(ConfigError::LinearAtZero),
        }
    }
}

/// A loss model at work.
#[derive(Debug)]
pub(crate) enum Loss {
    None,
    PerPacket(Probability),
    BySize(BySize),
    Burst(BurstState),
    Mask { drops: Vec<bool>, next: usize },
}

impl Loss {
    pub(crate) fn new(model: LossModel) -> Self {
        match model {
            LossModel::None => Self::None,
            LossModel::PerPacket(probability) => Self::PerPacket(probability),
            LossModel::PerByte(probability) => {
                Self::BySize(BySize::new(SizeLaw::PerByte(probability)))
            }
            LossModel::Linear(linear) => Self::BySize(BySize::new(SizeLaw::Linear(linear))),
            LossModel::Burst(burst) => Self::Burst(BurstState::new(burst)),
            LossModel::Mask(drops) => Self::Mask { drops, next: 0 },
        }
    }

    /// Decides on a packet.
    #[inline]
    pub(crate) fn takes(&mut self, packet: Offered, draw: impl FnOnce() -> u64) -> bool {
        !matches!(self, Self::None) && self.decides(packet, draw)
    }

    #[inline(never)]
    fn decides(&mut self, packet: Offered, draw: impl FnOnce() -> u64) -> bool {
        match self {
            Self::None => false,
            Self::PerPacket(probability) => probability.hits(draw()),
            Self::BySize(by_size) => by_size.probability(packet.bytes).hits(draw()),
            Self::Burst(state) => state.advance(draw()),
            Self::Mask { drops, next } => {
                if !packet.data {
                    return false;
                }
                let lost = drops.get(*next).copied().unwrap_or(false);
                *next += 1;
                lost
            }
        }
    }

    /// Takes note of a packet that is not put to the model because the buffer refused it.
    pub(crate) fn pass_over(&mut self, packet: Offered) {
        if let Self::Mask { next, .. } = self {
            *next += usize::from(packet.data);
        }
    }
}

#[cfg(test)]
mod tests;

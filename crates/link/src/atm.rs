//! Packets as cells: AAL5 on an access line, and a switch's output port that stores, forwards and
//! discards cells.
//!
//! A packet becomes a frame (a trailer of 8 bytes, filled up to whole cells of 48 bytes, with the
//! AUU bit set in the last: ITU-T I.363.5), and 53 bytes a cell on the line. A frame arrives if all
//! its cells do. One that lost its last cell runs into the next of its circuit, and length and
//! checksum betray both.
//!
//! What a port does when it runs full is a [`Discard`]: Cohen and Hamo, *Balanced packet discard
//! for improving TCP performance in ATM networks*, Computer Communications 24 (2001), §3 and §4.

mod books;
mod port;

use std::num::NonZeroU32;

use units::{Duration, Rate};

use crate::balanced::{Balanced, Thresholds};
use crate::error::ConfigError;
use crate::probability::Probability;

pub use books::CellBooks;
pub(crate) use port::Port;

/// A cell on the line.
pub const CELL_BYTES: u32 = 53;
/// What it carries.
pub const CELL_PAYLOAD: u32 = 48;
/// What AAL5 adds to a packet.
pub const TRAILER_BYTES: u32 = 8;

/// How many cells a packet of `bytes` takes: 13 for 576, and one for an acknowledgment of 40.
pub const fn cells(bytes: u32) -> u32 {
    match bytes.checked_add(TRAILER_BYTES) {
        Some(frame) => frame.div_ceil(CELL_PAYLOAD),
        None => u32::MAX.div_ceil(CELL_PAYLOAD),
    }
}

/// In what a line sends a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Framing {
    /// As it is.
    #[default]
    Packet,
    /// In cells, one behind the other.
    Aal5,
}

impl Framing {
    /// What a packet of `bytes` is on the line.
    pub(crate) const fn line_bytes(self, bytes: u32) -> u32 {
        match self {
            Self::Packet => bytes,
            Self::Aal5 => cells(bytes).saturating_mul(CELL_BYTES),
        }
    }

    /// From the arrival of the first cell of a packet to that of its last, behind a line of this
    /// rate. A packet that is no cells on that line becomes one with every 48 bytes that
    /// arrive.
    pub(crate) fn lag(self, rate: Rate, bytes: u32) -> Duration {
        const NANOS: u64 = 8_000_000_000;
        let cells = u64::from(cells(bytes));
        let rate = rate.bits_per_sec();
        // All of the line's bytes but those of one cell, times the number of cells.
        let others = u64::from(self.line_bytes(bytes)) * (cells - 1);
        let nanos = if let Some(scaled) = others.checked_mul(NANOS) {
            scaled / cells / rate
        } else {
            let scaled = u128::from(others) * u128::from(NANOS);
            u64::try_from(scaled / u128::from(cells) / u128::from(rate)).unwrap_or(u64::MAX)
        };
        Duration::from_nanos(nanos)
    }
}

/// What a port does with packets that it cannot store whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard {
    /// Each cell for itself: dropped where there is no room.
    Plain,
    /// Partial packet discard: what follows a dropped cell is dropped too, except the last cell of
    /// the packet.
    Ppd,
    /// Early packet discard: with it, no packet begins where more of the buffer is taken than this.
    Epd(Probability),
    /// Balanced packet discard: with it, a circuit that has just lost a packet has a higher
    /// threshold.
    Bpd(Balanced),
}

impl Discard {
    /// Which packets may begin; `None` where cells are on their own.
    fn thresholds(self, capacity: u32) -> Option<Thresholds> {
        let rule = match self {
            Self::Plain => return None,
            // A packet may begin wherever there is room.
            Self::Ppd => Balanced::even(Probability::ONE),
            Self::Epd(threshold) => Balanced::even(threshold),
            Self::Bpd(balanced) => balanced,
        };
        Some(rule.of(u64::from(capacity)))
    }
}

/// What makes a virtual circuit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Circuit {
    /// Each flow, in each direction.
    #[default]
    Flow,
    /// All that come from one source to one destination.
    Path,
}

/// An output port: a buffer of cells in front of the line, shared by all circuits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortConfig {
    cells: NonZeroU32,
    discard: Discard,
    circuit: Circuit,
}

impl PortConfig {
    /// A buffer of so many cells, the one being sent included.
    ///
    /// # Errors
    /// When that is zero.
    pub const fn new(cells: u32, discard: Discard, circuit: Circuit) -> Result<Self, ConfigError> {
        match NonZeroU32::new(cells) {
            Some(cells) => Ok(Self { cells, discard, circuit }),
            None => Err(ConfigError::EmptyBuffer),
        }
    }
}

#[cfg(test)]
mod tests;

//! Packets as cells: AAL5 on an access line, and a switch's output port that stores, forwards and
//! discards cells.
//!
//! A packet becomes an AAL5 frame: an 8-byte trailer is added, the frame is padded to whole cells
//! of 48 bytes, and the AUU bit is set in the last cell (ITU-T I.363.5). Each cell is 53 bytes on
//! the line. A frame arrives if all its cells do. A frame that lost its last cell merges with the
//! next frame of its circuit, and length and checksum reject both.
//!
//! The rule by which a full port discards cells is a [`Discard`]: Cohen and Hamo, *Balanced packet
//! discard for improving TCP performance in ATM networks*, Computer Communications 24 (2001), §3
//! and §4.

mod port;

use std::num::NonZeroU32;

use units::{Duration, Rate};

use crate::balanced::{Balanced, Thresholds};
use crate::error::ConfigError;
use crate::probability::Probability;

pub use crate::books::CellBooks;
pub(crate) use port::Port;

/// The size of a cell on the line, in bytes.
pub const CELL_BYTES: u32 = 53;
/// The payload of a cell, in bytes.
pub const CELL_PAYLOAD: u32 = 48;
/// The size of the AAL5 trailer of a frame, in bytes.
pub const TRAILER_BYTES: u32 = 8;

/// The number of cells of a packet of `bytes`: 13 for 576 bytes, one for an acknowledgment of 40.
pub const fn cells(bytes: u32) -> u32 {
    match bytes.checked_add(TRAILER_BYTES) {
        Some(frame) => frame.div_ceil(CELL_PAYLOAD),
        None => u32::MAX.div_ceil(CELL_PAYLOAD),
    }
}

/// The framing of packets on a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Framing {
    /// Packets are sent unchanged.
    #[default]
    Packet,
    /// Packets are sent as the cells of an AAL5 frame, back to back.
    Aal5,
}

impl Framing {
    /// The size on the line of a packet of `bytes`, in bytes.
    pub(crate) const fn line_bytes(self, bytes: u32) -> u32 {
        match self {
            Self::Packet => bytes,
            Self::Aal5 => cells(bytes).saturating_mul(CELL_BYTES),
        }
    }

    /// The time between the arrivals of a packet's first and last cell, behind a line of this rate.
    /// On a line without cells, every 48 bytes of a packet become a cell on arrival.
    pub(crate) fn lag(self, rate: Rate, bytes: u32) -> Duration {
        const NANOS: u64 = 8_000_000_000;
        let cells = u64::from(cells(bytes));
        let rate = rate.bits_per_sec();
        // All of the packet's bytes on the line except one cell's share, times the number of cells.
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

/// The rule by which a port discards packets that it cannot store whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard {
    /// Each cell independently: dropped if there is no room.
    Plain,
    /// Partial packet discard: after a dropped cell, the rest of the packet is dropped too, except
    /// its last cell.
    Ppd,
    /// Early packet discard, with partial packet discard: no new packet is admitted while more than
    /// this share of the buffer is occupied.
    Epd(Probability),
    /// Balanced packet discard, with partial packet discard: a circuit that has just lost a packet
    /// has a higher threshold.
    Bpd(Balanced),
}

impl Discard {
    /// The thresholds for new packets; `None` for [`Discard::Plain`], which decides cell by cell.
    fn thresholds(self, capacity: u32) -> Option<Thresholds> {
        let rule = match self {
            Self::Plain => return None,
            // A packet may begin whenever there is room.
            Self::Ppd => Balanced::even(Probability::ONE),
            Self::Epd(threshold) => Balanced::even(threshold),
            Self::Bpd(balanced) => balanced,
        };
        Some(rule.of(u64::from(capacity)))
    }
}

/// The definition of a virtual circuit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Circuit {
    /// Each direction of each flow is a circuit.
    #[default]
    Flow,
    /// All packets from one source to one destination share a circuit.
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
    /// A buffer of `cells` cells, including the one in transmission.
    ///
    /// # Errors
    /// If `cells` is zero.
    pub const fn new(cells: u32, discard: Discard, circuit: Circuit) -> Result<Self, ConfigError> {
        match NonZeroU32::new(cells) {
            Some(cells) => Ok(Self { cells, discard, circuit }),
            None => Err(ConfigError::EmptyBuffer),
        }
    }
}

#[cfg(test)]
mod tests;

//! Information in an acknowledgment besides its number.

use crate::sack::SackBlocks;
use crate::santa_cruz::SantaCruz;

/// Information in an acknowledgment besides its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// No information.
    None,
    /// SACK blocks, at least one (RFC 2018 §3).
    Sack(SackBlocks),
    /// Option of TCP Santa Cruz, which data segments have too.
    SantaCruz(SantaCruz),
}

//! Attacks of hostile peers.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::Result;

/// An attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attack {
    /// SYNs from addresses that never answer.
    SynFlood,
    /// Resets for the genuine client's connection, with random sequence numbers.
    Resets,
    /// Data for the genuine client's connection, with random sequence numbers.
    Injection,
    /// Truncated and modified segments, on open connections and elsewhere.
    Garbage,
    /// SACK blocks for data that was never sent or is already acknowledged, and SACK reneging.
    SackLies,
    /// Acknowledgments of data that has not arrived or has not been sent.
    OptimisticAcks,
    /// Requests for a large file with a zero window.
    ZeroWindows,
    /// Windows whose right edge moves to the left.
    ShrinkingWindows,
    /// Single bytes with gaps between them.
    Scattered,
    /// Requests in overlapping segments with different content: the server must keep the first.
    Overlaps,
    /// Correct transfers across the wrap of the sequence space in both directions; every byte is
    /// compared.
    Wraps,
    /// ICMP reports of ever smaller path MTUs: for the genuine client's connection with random
    /// sequence numbers, and for data in flight to the hostile peers.
    TooBig,
    /// ICMP unreachable reports, hard and soft, aimed likewise.
    Unreachable,
    /// Fragments: first fragments that resemble segments of the genuine client, later ones,
    /// overlapping ones.
    Fragments,
}

impl Attack {
    /// All attacks.
    pub const ALL: [Self; 14] = [
        Self::SynFlood,
        Self::Resets,
        Self::Injection,
        Self::Garbage,
        Self::SackLies,
        Self::OptimisticAcks,
        Self::ZeroWindows,
        Self::ShrinkingWindows,
        Self::Scattered,
        Self::Overlaps,
        Self::Wraps,
        Self::TooBig,
        Self::Unreachable,
        Self::Fragments,
    ];
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SynFlood => "syn-flood",
            Self::Resets => "resets",
            Self::Injection => "injection",
            Self::Garbage => "garbage",
            Self::SackLies => "sack-lies",
            Self::OptimisticAcks => "optimistic-acks",
            Self::ZeroWindows => "zero-windows",
            Self::ShrinkingWindows => "shrinking-windows",
            Self::Scattered => "scattered",
            Self::Overlaps => "overlaps",
            Self::Wraps => "wraps",
            Self::TooBig => "too-big",
            Self::Unreachable => "unreachable",
            Self::Fragments => "fragments",
        })
    }
}

impl FromStr for Attack {
    type Err = Box<dyn std::error::Error + Send + Sync>;
    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|attack| attack.to_string() == text);
        found.ok_or_else(|| format!("`{text}` is not an attack").into())
    }
}

//! What hostile peers do.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::Result;

/// What the others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attack {
    /// SYNs from addresses that never answer.
    SynFlood,
    /// Resets for the good client's connection, at any sequence number.
    Resets,
    /// Data for the good client's connection, at any sequence number.
    Injection,
    /// Segments cut short and with bytes changed, on open connections and others.
    Garbage,
    /// SACK blocks for what was never sent, for what was acknowledged, and taken back.
    SackLies,
    /// Acknowledgments of what has not arrived, and of what has not been sent.
    OptimisticAcks,
    /// A big file is asked for, and no window given for it.
    ZeroWindows,
    /// Windows whose right edge moves to the left.
    ShrinkingWindows,
    /// Single bytes with gaps between them.
    Scattered,
    /// Requests in segments that overlap and differ: the server must go by the first.
    Overlaps,
    /// Good transfers across the end of the sequence space, both ways; every byte compared.
    Wraps,
    /// Routers' reports of ever narrower paths: about what the good client is sent, at any sequence
    /// number, and about what is in flight to the others themselves.
    TooBig,
    /// Reports that a peer cannot be reached, hard and soft, in the same manner.
    Unreachable,
    /// Parts of packets: first ones that look like segments of the good client's, later ones, ones
    /// that overlap.
    Fragments,
}

impl Attack {
    /// All of them.
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
        found.ok_or_else(|| format!("`{text}` is no attack").into())
    }
}

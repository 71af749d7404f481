//! Kind of a sender, inferred from the options and the window of its SYN.
//!
//! Linux writes the options in an order of its own, and its initial window tells the versions
//! apart: four segments up to 2.6.38, ten to twenty until 4.19, then about 64 kB.

use crate::packet::SynOptions;

/// Whether a sender has a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Has {
    /// It does not.
    No,
    /// Unknown.
    #[default]
    Maybe,
    /// It does.
    Yes,
}

/// Kind of a sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SenderKind {
    /// Unknown, for example without a SYN.
    #[default]
    Unknown,
    /// Linux until 2.6.38: FACK, no tail loss probe, no RACK.
    LinuxOld,
    /// Linux from 2.6.39 to 4.19: possibly tail loss probes and RACK.
    LinuxMiddle,
    /// Linux from 4.20 on: tail loss probes and RACK.
    Linux,
    /// Another system.
    Other,
}

impl SenderKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 5] =
        [Self::Unknown, Self::LinuxOld, Self::LinuxMiddle, Self::Linux, Self::Other];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::LinuxOld => "linux-old",
            Self::LinuxMiddle => "linux-middle",
            Self::Linux => "linux",
            Self::Other => "other",
        }
    }

    /// Infers the kind from a SYN or SYN-ACK with this window field.
    pub fn of_syn(options: &SynOptions, window: u16) -> Self {
        // Kinds of options: MSS 2, window scale 3, SACK permitted 4, timestamps 8. Linux omits
        // those that are not negotiated and keeps the order of the others.
        let is_linux = matches!(options.order, 0x3842 | 0x342 | 0x842 | 0x42 | 0x382 | 0x32 | 0x2)
            || options.order & 0xffff == 0x3842;
        match (is_linux, options.order, window) {
            // Few options fit several systems, but few of these have a window of four segments.
            (true, 0x2 | 0x32 | 0x42, window) => match options.mss {
                Some(mss) if u32::from(window) == 4 * u32::from(mss) => Self::LinuxOld,
                _ => Self::Unknown,
            },
            (true, _, ..=10_000) => Self::LinuxOld,
            (true, _, 10_001..=40_000) => Self::LinuxMiddle,
            (true, ..) => Self::Linux,
            (false, 0, _) => Self::Unknown,
            _ => Self::Other,
        }
    }

    /// Linux's F-RTO with SACK (RFC 5682 §3.1), since 3.10.
    pub(crate) const fn is_linux_with_frto(self) -> bool {
        matches!(self, Self::Linux | Self::LinuxMiddle)
    }

    /// Tail loss probes.
    pub const fn tail_loss_probes(self) -> Has {
        match self {
            Self::LinuxOld => Has::No,
            Self::Linux => Has::Yes,
            Self::Unknown | Self::LinuxMiddle | Self::Other => Has::Maybe,
        }
    }

    /// RACK.
    pub const fn rack(self) -> Has {
        self.tail_loss_probes()
    }
}

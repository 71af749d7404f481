//! Kind of a sender, inferred from the options and the window of its SYN.
//!
//! Linux writes the options in an order of its own, and its initial window tells the versions
//! apart: four segments up to 2.6.38, ten to twenty until 4.19, then about 64 kB.

use units::Duration;

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
    /// Rules of the RFCs without RACK and tail loss probes, as the caller states.
    Rfc,
}

impl SenderKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Unknown, Self::LinuxOld, Self::LinuxMiddle, Self::Linux, Self::Other, Self::Rfc];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::LinuxOld => "linux-old",
            Self::LinuxMiddle => "linux-middle",
            Self::Linux => "linux",
            Self::Other => "other",
            Self::Rfc => "rfc",
        }
    }

    /// Infers the kind from a SYN or SYN-ACK with this window field.
    pub fn of_syn(options: &SynOptions, window: u16) -> Self {
        // Kinds of options: MSS 2, window scale 3, SACK permitted 4, timestamps 8. Linux omits
        // those that are not negotiated and keeps the order of the others.
        let is_linux = matches!(options.order, 0x3842 | 0x342 | 0x842 | 0x42 | 0x382 | 0x32 | 0x2)
            || options.order & 0xffff == 0x3842;
        // Timestamps of a SYN-ACK reduce the segment size by 12 bytes.
        let window = u32::from(window);
        let segments = options.mss.and_then(|mss| {
            let sizes = [u32::from(mss), u32::from(mss).saturating_sub(12)];
            let size = sizes.into_iter().find(|size| *size > 0 && window % size == 0)?;
            Some(window / size)
        });
        match (is_linux, options.order, segments) {
            // Few options fit several systems, but few of these have a window of four segments.
            (true, 0x2 | 0x32 | 0x42, segments) if segments != Some(4) => Self::Unknown,
            (true, _, Some(2..=4)) => Self::LinuxOld,
            (true, _, Some(10..=20)) => Self::LinuxMiddle,
            (true, ..) if window > 40_000 => Self::Linux,
            // A small buffer limits the window of every version.
            (true, ..) | (false, 0, _) => Self::Unknown,
            _ => Self::Other,
        }
    }

    /// Linux's F-RTO with SACK (RFC 5682 §3.1), since 3.10.
    pub(crate) const fn is_linux_with_frto(self) -> bool {
        matches!(self, Self::Linux | Self::LinuxMiddle)
    }

    /// Whether the sender returns to its state before a recovery that was not necessary (RFC 4015,
    /// RFC 3708).
    pub(crate) const fn is_linux(self) -> bool {
        matches!(self, Self::Linux | Self::LinuxMiddle | Self::LinuxOld)
    }

    /// Period of the clock of its timestamps, where it is short: 1 ms from Linux 4.13 on, a tick of
    /// the kernel before. Doubled, because a capture's times vary.
    pub(crate) const fn ticks(self) -> Option<Duration> {
        match self {
            Self::Linux => Some(Duration::from_millis(2)),
            Self::LinuxMiddle | Self::LinuxOld => Some(Duration::from_millis(20)),
            Self::Unknown | Self::Other | Self::Rfc => None,
        }
    }

    /// Tail loss probes.
    pub const fn tail_loss_probes(self) -> Has {
        match self {
            Self::LinuxOld | Self::Rfc => Has::No,
            Self::Linux => Has::Yes,
            Self::Unknown | Self::LinuxMiddle | Self::Other => Has::Maybe,
        }
    }

    /// RACK.
    pub const fn rack(self) -> Has {
        self.tail_loss_probes()
    }
}

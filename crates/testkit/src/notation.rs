//! Segments as text: the notation of scripts, traces and error messages.
//!
//! ```text
//! P. 1:366(365) ack 1 win 65535 sack 731:1096
//! .W 366:731(365) ack 1 win 65535 ect0
//! ```
//!
//! TCP Santa Cruz adds these fields. `copy 2` is the second transmission of the data. `by
//! 366.1@5000` says that the first transmission of 366 caused the acknowledgment and arrived at
//! 5000 µs. `bits 50/0011` is the ACK window, with 50 bytes per bit. `scOK` on a SYN offers the
//! option.
//!
//! Sequence numbers are relative to the initial ones: a SYN is 0 and the first byte is 1. Windows
//! are in bytes. The ECN field of the IP header comes last, unless it is Not-ECT.

use std::fmt;

use wire::{AckWindow, Arrival, Control, Ecn, Flags, Segment, SeqNum, WindowScale};

/// Origins of the relative numbers of a direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Origins {
    /// Initial sequence number of the sender of the segment.
    pub seq: SeqNum,
    /// Initial sequence number of its receiver. Acknowledgments and SACK blocks are relative to it.
    pub ack: SeqNum,
    /// Scale of the sender's windows.
    pub scale: WindowScale,
}

impl Origins {
    /// Distance from the sender's initial sequence number.
    pub const fn relative_seq(&self, seq: SeqNum) -> u32 {
        seq.value().wrapping_sub(self.seq.value())
    }

    /// Distance from the receiver's initial sequence number.
    pub const fn relative_ack(&self, ack: SeqNum) -> u32 {
        ack.value().wrapping_sub(self.ack.value())
    }

    /// Window that a segment advertises, in bytes. RFC 7323 §2.2: the window of a SYN is not
    /// scaled.
    pub fn window(&self, segment: &Segment) -> u32 {
        let scale = if segment.control == Control::Syn { WindowScale::NONE } else { self.scale };
        segment.window.bytes(scale)
    }

    /// Returns a segment that prints in the notation.
    pub const fn show<'a>(&'a self, segment: &'a Segment) -> Shown<'a> {
        Shown { segment, origins: self }
    }
}

/// A segment that prints in the notation.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    segment: &'a Segment,
    origins: &'a Origins,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { segment, origins } = self;
        let start = origins.relative_seq(segment.seq);
        let end = start.wrapping_add(segment.payload_len);
        write!(f, "{} {start}:{end}({})", flags(segment), segment.payload_len)?;
        if let Some(ack) = segment.ack {
            write!(f, " ack {}", origins.relative_ack(ack))?;
        }
        if segment.control != Control::Rst {
            write!(f, " win {}", origins.window(segment))?;
        }
        for (index, block) in segment.options.sack_blocks().iter().enumerate() {
            let separator = if index == 0 { " sack " } else { "," };
            let (start, end) =
                (origins.relative_ack(block.start()), origins.relative_ack(block.end()));
            write!(f, "{separator}{start}:{end}")?;
        }
        let options = &segment.options;
        if let Some(mss) = options.mss {
            write!(f, " mss {}", mss.get())?;
        }
        if let Some(scale) = options.window_scale {
            write!(f, " ws {}", scale.shift())?;
        }
        if options.sack_permitted {
            f.write_str(" sackOK")?;
        }
        if options.santa_cruz_permitted {
            f.write_str(" scOK")?;
        }
        if let Some(option) = options.santa_cruz() {
            if let Some(copy) = option.data_copy() {
                write!(f, " copy {}", copy.get())?;
            }
            if let Some(Arrival { seq, copy, at }) = option.arrival() {
                write!(f, " by {}.{}@{at}", origins.relative_ack(seq), copy.get())?;
            }
            if !option.window().is_empty() {
                write!(f, " bits {}", bits(&option.window()))?;
            }
        }
        if let Some(stamp) = options.timestamps {
            write!(f, " ts {}:{}", stamp.val, stamp.ecr)?;
        }
        match segment.flags.ecn() {
            Ecn::NotEct => Ok(()),
            field => write!(f, " {}", ecn_name(field)),
        }
    }
}

/// Formats an ACK window: bytes per bit, and the bits.
pub fn bits(window: &AckWindow) -> String {
    let bytes = window.as_bytes().iter();
    let bits: String = bytes
        .flat_map(|byte| (0..8).map(move |bit| if byte << bit & 0x80 == 0 { '0' } else { '1' }))
        .collect();
    format!("{}/{}", window.bytes_per_bit(), bits.trim_end_matches('0'))
}

/// Name of the ECN field: `not-ect`, `ect0`, `ect1` or `ce`.
pub const fn ecn_name(field: Ecn) -> &'static str {
    match field {
        Ecn::NotEct => "not-ect",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::Ce => "ce",
    }
}

/// Formats the control bits: `S`, `F`, `R` and `P`, a dot for an acknowledgment, `E` for ECE and
/// `W` for CWR.
pub fn flags(segment: &Segment) -> String {
    let mut flags = String::new();
    flags.push_str(match segment.control {
        Control::None => "",
        Control::Syn => "S",
        Control::Fin => "F",
        Control::Rst => "R",
    });
    if segment.flags.has(Flags::PSH) {
        flags.push('P');
    }
    if segment.ack.is_some() {
        flags.push('.');
    }
    if segment.flags.has(Flags::ECE) {
        flags.push('E');
    }
    if segment.flags.has(Flags::CWR) {
        flags.push('W');
    }
    if flags.is_empty() {
        flags.push('-');
    }
    flags
}

#[cfg(test)]
mod tests {
    use wire::{Mss, Options, SeqRange, Timestamps, UnscaledWindow};

    use super::*;

    const ORIGINS: Origins = Origins {
        seq: SeqNum::new(u32::MAX),
        ack: SeqNum::new(1000),
        scale: WindowScale::clamped(2),
    };

    #[test]
    fn a_data_segment_with_everything() {
        let mut segment = Segment {
            seq: SeqNum::new(0),
            ack: Some(SeqNum::new(1001)),
            control: Control::Fin,
            flags: Flags::PSH.with(Flags::CWR, true).with_ecn(Ecn::Ect0),
            window: UnscaledWindow::new(500),
            payload_len: 365,
            options: Options {
                timestamps: Some(Timestamps { val: 7, ecr: 3 }),
                ..Options::default()
            },
        };
        segment.options.reports = [(1731, 2096), (2461, 2826)]
            .into_iter()
            .filter_map(|(start, end)| SeqRange::new(SeqNum::new(start), SeqNum::new(end)))
            .collect();
        assert_eq!(
            ORIGINS.show(&segment).to_string(),
            "FP.W 1:366(365) ack 1 win 2000 sack 731:1096,1461:1826 ts 7:3 ect0"
        );
    }

    #[test]
    fn the_window_of_a_syn_is_not_scaled() {
        let segment = Segment {
            seq: SeqNum::new(u32::MAX),
            ack: None,
            control: Control::Syn,
            flags: Flags::ECE.with(Flags::CWR, true),
            window: UnscaledWindow::new(500),
            payload_len: 0,
            options: Options {
                mss: Mss::new(1460),
                window_scale: Some(WindowScale::clamped(2)),
                sack_permitted: true,
                ..Options::default()
            },
        };
        assert_eq!(ORIGINS.show(&segment).to_string(), "SEW 0:0(0) win 500 mss 1460 ws 2 sackOK");
    }
}

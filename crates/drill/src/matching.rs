//! Comparison of what leaves with what a script expects.
//!
//! A script may expect one packet of several segments. Segments are then joined under the rules of
//! [`join`]. Numbers are relative to the SYNs, and the timestamps of a script stand for live ones.

use std::collections::BTreeMap;

use units::Instant;
use wire::{Control, Ecn, Flags, Segment, SeqNum};

use crate::script::{EcnField, TcpOption, TcpPacket};

mod notation;

pub(crate) use notation::{notation, options_of};

/// A segment that left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) at: Instant,
    pub(crate) segment: Segment,
}

/// Initial sequence numbers of both ends, in the script and live.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// Live initial sequence number of this end.
    pub(crate) ours: SeqNum,
    /// Initial sequence number of this end in the script, learnt from the first SYN.
    pub(crate) script: Option<u32>,
    /// Initial sequence number of the peer.
    pub(crate) theirs: SeqNum,
}

impl Numbers {
    /// Converts a number of this end from the script. On a SYN it is as written, otherwise relative
    /// to the SYN.
    pub(crate) fn our_live(&self, written: u32, on_syn: bool) -> SeqNum {
        let origin = if on_syn { self.script.unwrap_or(0) } else { 0 };
        self.ours + written.wrapping_sub(origin)
    }

    /// Converts a number of the peer from the script.
    pub(crate) fn their_live(&self, written: u32, on_syn: bool) -> SeqNum {
        if on_syn { SeqNum::new(written) } else { self.theirs + written }
    }

    /// Converts a number of this end to the script.
    pub(crate) fn our_written(&self, live: SeqNum, on_syn: bool) -> u32 {
        let origin = if on_syn { self.script.unwrap_or(0) } else { 0 };
        (live - self.ours.value()).value().wrapping_add(origin)
    }

    /// Converts a number of the peer to the script.
    pub(crate) fn their_written(&self, live: SeqNum, on_syn: bool) -> u32 {
        if on_syn { live.value() } else { (live - self.theirs.value()).value() }
    }
}

/// Timestamps of this end: live values of those in the script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stamps {
    live: BTreeMap<u32, u32>,
    /// First pair: script and live.
    anchor: Option<(u32, u32)>,
}

impl Stamps {
    /// Records that a packet left whose value the script gives.
    pub(crate) fn learn(&mut self, written: u32, live: u32) {
        self.live.insert(written, live);
        self.anchor.get_or_insert((written, live));
    }

    /// Live value of an echo in the script. With `scaled`, echoes of values that never left are
    /// counted from the first one.
    pub(crate) fn echo(&self, written: u32, scaled: bool) -> Option<u32> {
        if let Some(live) = self.live.get(&written) {
            return Some(*live);
        }
        let (first, live) = self.anchor?;
        scaled.then(|| live.wrapping_add(written.wrapping_sub(first)))
    }

    /// Value that the script would have for a live one, counted from the first pair in `tick`s of
    /// microseconds. Live values count milliseconds.
    pub(crate) fn expected(&self, live: u32, tick: u64) -> Option<u32> {
        let (first, anchor) = self.anchor?;
        let micros = u64::from(live.wrapping_sub(anchor)) * 1000;
        Some(first.wrapping_add(u32::try_from(micros / tick.max(1)).ok()?))
    }
}

/// Returns the reason for which `next` cannot be joined to the segments before it.
///
/// It must follow in sequence and agree in everything but FIN, PSH and CWR. All segments but the
/// last have the same length.
pub(crate) fn join(segments: &[Live], next: &Segment) -> Result<(), String> {
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return Ok(()) };
    let (first, last) = (&first.segment, &last.segment);
    if last.seq_end() != next.seq {
        return Err("a segment that does not follow in sequence".to_owned());
    }
    if last.payload_len != first.payload_len {
        return Err(format!(
            "another segment after one of {1} bytes instead of {0}",
            first.payload_len, last.payload_len
        ));
    }
    if next.payload_len > first.payload_len {
        return Err(format!(
            "a segment of {} bytes after one of {}",
            next.payload_len, first.payload_len
        ));
    }
    let ece = |segment: &Segment| segment.flags.has(Flags::ECE);
    let same = last.ack == next.ack
        && last.window == next.window
        && last.options.wire_len() == next.options.wire_len()
        && !matches!(next.control, Control::Syn | Control::Rst)
        && ece(last) == ece(next);
    if same { Ok(()) } else { Err("a segment with other fields".to_owned()) }
}

/// The packet of several segments: sequence number and CWR of the first, the rest of the last.
pub(crate) fn joined(segments: &[Live]) -> Option<Live> {
    let (first, last) = segments.first().zip(segments.last())?;
    let payload_len = segments.iter().map(|live| live.segment.payload_len).sum();
    let mut flags = Flags::NONE.with_ecn(last.segment.flags.ecn());
    for (bit, from) in [(Flags::PSH, last), (Flags::ECE, last), (Flags::CWR, first)] {
        flags = flags.with(bit, from.segment.flags.has(bit));
    }
    let segment = Segment { seq: first.segment.seq, payload_len, flags, ..last.segment };
    Some(Live { at: last.at, segment })
}

/// How packets are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Whether PSH of packets with several segments is compared.
    pub(crate) strict_psh: bool,
    /// Number of segments that were joined.
    pub(crate) segments: usize,
    /// Payload of a full-sized segment in bytes.
    pub(crate) smss: u32,
}

/// A difference between the expected and the live packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Differences {
    /// Differences that are failures.
    pub(crate) failures: Vec<String>,
    /// Differences that are reported apart.
    pub(crate) notes: Vec<String>,
}

/// Compares a packet that left with the expected one.
pub(crate) fn differences(
    expected: &TcpPacket,
    live: &Segment,
    numbers: &Numbers,
    rules: Rules,
) -> Differences {
    let mut found = Differences { failures: Vec::new(), notes: Vec::new() };
    let on_syn = live.control == Control::Syn;
    let mut compare = |name: &str, wanted: u32, seen: u32| {
        if wanted != seen {
            found.failures.push(format!("{name} {seen} instead of {wanted}"));
        }
    };
    compare("sequence number", expected.seq.first, numbers.our_written(live.seq, on_syn));
    compare("payload length", expected.seq.len, live.payload_len);
    let ack = live.ack.map_or(0, |ack| numbers.their_written(ack, on_syn));
    let wanted = expected.ack.unwrap_or(if expected.has('.') && !on_syn { ack } else { 0 });
    compare("acknowledgment number", wanted, ack);
    if let Some(window) = expected.window {
        compare("window", window.into(), live.window.value().into());
    }
    flags(expected, live, rules, &mut found);
    match expected.ecn {
        Some(EcnField::Is(field)) if field != live.flags.ecn() => {
            found.failures.push(format!("ECN field {:?} instead of {field:?}", live.flags.ecn()));
        }
        Some(EcnField::Capable) if !matches!(live.flags.ecn(), Ecn::Ect0 | Ecn::Ect1) => {
            found.failures.push(format!("ECN field {:?} instead of ECT", live.flags.ecn()));
        }
        _ => {}
    }
    if let Some(wanted) = &expected.options {
        options(wanted, &options_of(live, numbers), &mut found);
    }
    found
}

fn flags(expected: &TcpPacket, live: &Segment, rules: Rules, found: &mut Differences) {
    for (letter, set) in [
        ('S', live.control == Control::Syn),
        ('F', live.control == Control::Fin),
        ('R', live.control == Control::Rst),
        ('.', live.ack.is_some()),
        ('P', live.flags.has(Flags::PSH)),
        ('E', live.flags.has(Flags::ECE)),
        ('W', live.flags.has(Flags::CWR)),
    ] {
        let wanted = expected.has(letter);
        if wanted == set {
            continue;
        }
        let text = format!("flag {letter} is {}set", if set { "" } else { "not " });
        // Packets of several segments have PSH where a kernel's device divides them. So has a
        // full-sized segment that was the last of such a packet.
        let divided = rules.segments > 1 || wanted && live.payload_len == rules.smss;
        if letter == 'P' && !rules.strict_psh && divided {
            found.notes.push(text);
        } else {
            found.failures.push(text);
        }
    }
}

/// Compares options as sets, without padding.
fn options(wanted: &[TcpOption], seen: &[TcpOption], found: &mut Differences) {
    let padding = |option: &&TcpOption| !matches!(option, TcpOption::Nop | TcpOption::End);
    for option in wanted.iter().filter(padding) {
        match seen.iter().find(|other| same_kind(option, other)) {
            None => found.failures.push(format!("the option `{option}` is missing")),
            // The value of this end's clock is free, its echo is not.
            Some(TcpOption::Timestamps(_, echo)) => {
                if let TcpOption::Timestamps(_, wanted) = option
                    && wanted != echo
                {
                    found.failures.push(format!("timestamp echo {echo} instead of {wanted}"));
                }
            }
            Some(other) if other != option => {
                found.failures.push(format!("the option `{other}` instead of `{option}`"));
            }
            Some(_) => {}
        }
    }
    for option in seen {
        if !wanted.iter().any(|other| same_kind(option, other)) {
            found.failures.push(format!("the option `{option}` is not expected"));
        }
    }
}

fn same_kind(one: &TcpOption, other: &TcpOption) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

#[cfg(test)]
mod tests;

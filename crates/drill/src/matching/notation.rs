//! Live segments in the notation of scripts.

use wire::{Control, Ecn, Flags, Segment};

use super::Numbers;
use crate::script::TcpOption;

/// Formats a segment that left.
pub(crate) fn notation(segment: &Segment, numbers: &Numbers) -> String {
    let on_syn = segment.control == Control::Syn;
    let first = numbers.our_written(segment.seq, on_syn);
    let last = first.wrapping_add(segment.payload_len);
    let ecn = match segment.flags.ecn() {
        Ecn::NotEct => "",
        Ecn::Ect0 => "[ect0] ",
        Ecn::Ect1 => "[ect1] ",
        Ecn::Ce => "[ce] ",
    };
    let mut text = format!("> {ecn}{} {first}:{last}({})", letters(segment), segment.payload_len);
    if let Some(ack) = segment.ack {
        text = format!("{text} ack {}", numbers.their_written(ack, on_syn));
    }
    text = format!("{text} win {}", segment.window.value());
    let options: Vec<String> =
        options_of(segment, numbers).iter().map(TcpOption::to_string).collect();
    if options.is_empty() { text } else { format!("{text} <{}>", options.join(",")) }
}

fn letters(segment: &Segment) -> String {
    let mut letters = String::new();
    for (letter, set) in [
        ('S', segment.control == Control::Syn),
        ('F', segment.control == Control::Fin),
        ('R', segment.control == Control::Rst),
        ('P', segment.flags.has(Flags::PSH)),
        ('.', segment.ack.is_some()),
        ('E', segment.flags.has(Flags::ECE)),
        ('W', segment.flags.has(Flags::CWR)),
    ] {
        if set {
            letters.push(letter);
        }
    }
    if letters.is_empty() { "-".to_owned() } else { letters }
}

/// Options of a live segment in the notation of scripts, without padding. SACK blocks are relative
/// to the peer's SYN.
pub(crate) fn options_of(segment: &Segment, numbers: &Numbers) -> Vec<TcpOption> {
    let options = &segment.options;
    let mut all = Vec::new();
    all.extend(options.mss.map(|mss| TcpOption::Mss(mss.get())));
    all.extend(options.sack_permitted.then_some(TcpOption::SackPermitted));
    all.extend(options.timestamps.map(|stamp| TcpOption::Timestamps(stamp.val, stamp.ecr)));
    all.extend(options.window_scale.map(|scale| TcpOption::WindowScale(scale.shift())));
    let blocks: Vec<(u32, u32)> = options
        .sack_blocks()
        .iter()
        .map(|block| {
            let written = |seq| numbers.their_written(seq, false);
            (written(block.start()), written(block.end()))
        })
        .collect();
    if !blocks.is_empty() {
        all.push(TcpOption::Sack(blocks));
    }
    all
}

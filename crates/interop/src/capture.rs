//! Reads the TCP segments of captures written by [`host::Driver`]: the enhanced packet blocks of a
//! pcapng file, in order.

use std::fs;
use std::path::Path;

use wire::tcp::{Flags, KnownOption};

use crate::Result;

/// A captured segment with its absolute sequence numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Captured {
    /// Time since the first segment, in nanoseconds.
    pub(crate) at: u64,
    pub(crate) outbound: bool,
    /// `S`, `F` or `R` for the control bit that is set; otherwise a dot.
    pub(crate) control: char,
    pub(crate) seq: u32,
    pub(crate) ack: Option<u32>,
    pub(crate) payload: u32,
    /// The segment has a TCP Santa Cruz option with fields.
    pub(crate) santa_cruz: bool,
}

/// Reads a file that a [`host::Driver`] wrote on a machine with the same byte order.
pub(crate) fn read(path: &Path) -> Result<Vec<Captured>> {
    let bytes = fs::read(path)?;
    let word =
        |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    let size = |at: usize| word(at).and_then(|word| usize::try_from(word).ok());
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        let (kind, len) = (
            word(at).ok_or("a block without a type")?,
            size(at + 4).ok_or("a block without a length")?,
        );
        // Block type 6, an enhanced packet block: interface, two halves of the time, captured
        // length, original length, data, options.
        if kind == 6 {
            let (high, low) = (word(at + 12).unwrap_or(0), word(at + 16).unwrap_or(0));
            let (kept, whole) = (size(at + 20).unwrap_or(0), size(at + 24).unwrap_or(0));
            let packet =
                bytes.get(at + 28..at + 28 + kept).ok_or("a packet that ends too early")?;
            let options =
                bytes.get(at + 28 + kept.next_multiple_of(4)..at + len - 4).unwrap_or_default();
            let time = u64::from(high) << 32 | u64::from(low);
            found.extend(segment(packet, whole, time, is_outbound(options)));
        }
        at += len.max(12);
    }
    let first = found.first().map_or(0, |first: &Captured| first.at);
    for one in &mut found {
        one.at -= first;
    }
    Ok(found)
}

/// Reads the direction from the option `epb_flags`.
fn is_outbound(mut options: &[u8]) -> bool {
    while let [kind_low, kind_high, len_low, len_high, rest @ ..] = options {
        let kind = u16::from_le_bytes([*kind_low, *kind_high]);
        let len = usize::from(u16::from_le_bytes([*len_low, *len_high]));
        if kind == 2 {
            return rest.first().is_some_and(|flags| flags & 3 == 2);
        }
        options = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    false
}

fn segment(packet: &[u8], whole: usize, at: u64, outbound: bool) -> Option<Captured> {
    let ip = wire::ip::View::cut_short(packet).ok().filter(|ip| ip.protocol() == wire::ip::TCP)?;
    let tcp = wire::tcp::View::new(ip.payload()).ok()?;
    let has = |flag| tcp.flags().has(flag);
    let letters = [(Flags::SYN, 'S'), (Flags::FIN, 'F'), (Flags::RST, 'R')];
    let control =
        letters.into_iter().find(|(flag, _)| has(*flag)).map_or('.', |(_, letter)| letter);
    // The captured payload may be truncated.
    let payload = u32::try_from(whole - packet.len() + tcp.payload().len()).ok()?;
    let ack = has(Flags::ACK).then(|| tcp.ack().value());
    let known =
        tcp.options().map_while(std::result::Result::ok).filter_map(|option| option.known());
    let santa_cruz = known.into_iter().any(|option| matches!(option, KnownOption::SantaCruz(_)));
    Some(Captured { at, outbound, control, seq: tcp.seq().value(), ack, payload, santa_cruz })
}

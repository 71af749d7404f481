//! Options of a TCP header.

use thiserror::Error;

use crate::sack::{SackBlocks, SeqRange};
use crate::segment::{Options, Timestamps};
use crate::seq::SeqNum;
use crate::window::{Mss, WindowScale};

// RFC 9293 §3.1.
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
// RFC 7323 §2.2, §3.2.
const WINDOW_SCALE: u8 = 3;
const TIMESTAMPS: u8 = 8;
// RFC 2018 §2, §3.
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;

/// An option as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawOption<'a> {
    /// What it is (IANA).
    pub kind: u8,
    /// What follows kind and length.
    pub data: &'a [u8],
}

/// Where options stop making sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot read a TCP option of kind {kind}: its length is wrong")]
pub struct OptionError {
    /// The kind of the option whose length is missing, below 2 or beyond the header.
    pub kind: u8,
}

/// The options of a header, without padding. Ends behind the first error, for nobody knows where the next one begins.
#[derive(Debug, Clone)]
pub struct RawOptions<'a> {
    rest: &'a [u8],
}

impl<'a> RawOptions<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for RawOptions<'a> {
    type Item = Result<RawOption<'a>, OptionError>;

    fn next(&mut self) -> Option<Self::Item> {
        while let [NO_OPERATION, rest @ ..] = self.rest {
            self.rest = rest;
        }
        let (&kind, _) = self.rest.split_first()?;
        let bytes = std::mem::take(&mut self.rest);
        if kind == END {
            return None;
        }
        // The length counts kind and length.
        let split = bytes.get(1).and_then(|&len| bytes.split_at_checked(usize::from(len)));
        let Some(([_, _, data @ ..], rest)) = split else { return Some(Err(OptionError { kind })) };
        self.rest = rest;
        Some(Ok(RawOption { kind, data }))
    }
}

/// Appends the options, each padded to whole words.
pub(super) fn write(options: &Options, out: &mut Vec<u8>) {
    if let Some(mss) = options.mss {
        out.extend_from_slice(&[MSS, 4]);
        out.extend_from_slice(&mss.get().to_be_bytes());
    }
    if let Some(scale) = options.window_scale {
        out.extend_from_slice(&[NO_OPERATION, WINDOW_SCALE, 3, scale.shift()]);
    }
    if options.sack_permitted {
        out.extend_from_slice(&[NO_OPERATION, NO_OPERATION, SACK_PERMITTED, 2]);
    }
    if let Some(timestamps) = options.timestamps {
        out.extend_from_slice(&[NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10]);
        out.extend_from_slice(&timestamps.val.to_be_bytes());
        out.extend_from_slice(&timestamps.ecr.to_be_bytes());
    }
    if !options.sack.is_empty() {
        let len = u8::try_from(2 + 8 * options.sack.len()).unwrap_or(u8::MAX);
        out.extend_from_slice(&[NO_OPERATION, NO_OPERATION, SACK, len]);
        for block in options.sack.iter() {
            out.extend_from_slice(&block.start().value().to_be_bytes());
            out.extend_from_slice(&block.end().value().to_be_bytes());
        }
    }
}

/// What the stack makes of the options. Of an option that comes twice, the last counts.
pub(super) fn believed(options: RawOptions<'_>, syn: bool) -> Options {
    let mut found = Options::default();
    for option in options.map_while(Result::ok) {
        match (option.kind, option.data) {
            (MSS, &[high, low]) if syn => found.mss = Mss::new(u16::from_be_bytes([high, low])),
            (WINDOW_SCALE, &[shift]) if syn => found.window_scale = Some(WindowScale::clamped(shift)),
            (SACK_PERMITTED, []) if syn => found.sack_permitted = true,
            (TIMESTAMPS, data) => {
                if let ([val, ecr], []) = data.as_chunks::<4>() {
                    let (val, ecr) = (u32::from_be_bytes(*val), u32::from_be_bytes(*ecr));
                    found.timestamps = Some(Timestamps { val, ecr });
                }
            }
            (SACK, data) => {
                if let (edges, []) = data.as_chunks::<8>() {
                    found.sack = edges.iter().filter_map(block).collect();
                }
            }
            _ => {}
        }
    }
    // What fitted when it came, unpadded, need not fit as we write it: a SYN with SACK blocks.
    if found.wire_len() > 40 {
        found.sack = SackBlocks::EMPTY;
    }
    found
}

/// Two edges; `None` for a range that holds nothing.
fn block(edges: &[u8; 8]) -> Option<SeqRange> {
    let (start, end) = (edges.first_chunk()?, edges.last_chunk()?);
    SeqRange::new(SeqNum::new(u32::from_be_bytes(*start)), SeqNum::new(u32::from_be_bytes(*end)))
}

//! Options of a TCP header.

use thiserror::Error;

use crate::header::Header;
use crate::sack::SeqRange;
use crate::santa_cruz::SantaCruz;
use crate::segment::{Options, Report, Reports, Timestamps};
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
// RFC 2385 §3.0.
const MD5: u8 = 19;
// RFC 5482 §3.
const USER_TIMEOUT: u8 = 28;
// RFC 5925 §2.2.
const AUTHENTICATION: u8 = 29;
// RFC 8684 §3.
const MULTIPATH: u8 = 30;
// RFC 7413 §4.1.1.
const FAST_OPEN: u8 = 34;
// RFC 9768 §3.2.3: AccECN0 and AccECN1.
const ACCURATE_ECN: [u8; 2] = [172, 174];
// RFC 4727 §7.
const EXPERIMENTAL: [u8; 2] = [253, 254];
// RFC 6994 §3: which experiment it is. "SC", of our choosing, and not registered with IANA.
const SANTA_CRUZ: u16 = 0x5343;

/// An option as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawOption<'a> {
    /// What it is (IANA).
    pub kind: u8,
    /// What follows kind and length.
    pub data: &'a [u8],
}

/// An option of a kind that we know, whose length is one that the kind may have. Its values are as
/// they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownOption<'a> {
    /// Maximum segment size in bytes (RFC 9293 §3.2).
    Mss(u16),
    /// The shift of a window scale (RFC 7323 §2.2).
    WindowScale(u8),
    /// SACK permitted (RFC 2018 §2).
    SackPermitted,
    /// SACK blocks, each its left and right edge (RFC 2018 §3). A range may be empty, or backwards.
    Sack(&'a [[u8; 8]]),
    /// Timestamps (RFC 7323 §3.2).
    Timestamps(Timestamps),
    /// The digest of an MD5 signature (RFC 2385).
    Md5(&'a [u8; 16]),
    /// How long its sender keeps data that nobody acknowledges, in seconds (RFC 5482).
    UserTimeout {
        /// In seconds; the header counts minutes when that has too many.
        seconds: u32,
    },
    /// TCP-AO (RFC 5925).
    Authentication {
        /// Which key authenticates this segment.
        key_id: u8,
        /// Which key its sender can receive next.
        next_key_id: u8,
        /// The message authentication code.
        code: &'a [u8],
    },
    /// Multipath TCP (RFC 8684), of a subtype.
    Multipath {
        /// Which of its messages.
        subtype: u8,
        /// All that follows kind and length, the subtype too.
        data: &'a [u8],
    },
    /// A Fast Open cookie; an empty one asks for one (RFC 7413).
    FastOpen {
        /// Four to sixteen bytes, or none.
        cookie: &'a [u8],
    },
    /// Counters of accurate ECN (RFC 9768).
    AccurateEcn(&'a [u8]),
    /// That its sender speaks TCP Santa Cruz: the option of a SYN.
    SantaCruzPermitted,
    /// The option of TCP Santa Cruz.
    SantaCruz(SantaCruz),
    /// An experiment that shares a kind with others (RFC 6994), and none of ours; or one of ours
    /// that makes no sense.
    Experimental {
        /// Which one: of a longer identifier, the first two bytes.
        exid: u16,
        /// What follows them.
        data: &'a [u8],
    },
}

impl<'a> RawOption<'a> {
    /// What is called so in the RFC of its kind; `None` for a kind that we don't know.
    pub fn name(&self) -> Option<&'static str> {
        Some(match self.kind {
            MSS => "MSS",
            WINDOW_SCALE => "window scale",
            SACK_PERMITTED => "SACK permitted",
            SACK => "SACK",
            TIMESTAMPS => "timestamps",
            MD5 => "MD5 signature",
            USER_TIMEOUT => "user timeout",
            AUTHENTICATION => "TCP-AO",
            MULTIPATH => "MPTCP",
            FAST_OPEN => "Fast Open",
            kind if ACCURATE_ECN.contains(&kind) => "AccECN",
            kind if EXPERIMENTAL.contains(&kind) => "experimental",
            _ => return None,
        })
    }

    /// The option, taken apart; `None` for a kind that we don't know, or a length that the kind
    /// cannot have.
    pub fn known(&self) -> Option<KnownOption<'a>> {
        let data = self.data;
        Some(match (self.kind, data) {
            (MSS, &[high, low]) => KnownOption::Mss(u16::from_be_bytes([high, low])),
            (WINDOW_SCALE, &[shift]) => KnownOption::WindowScale(shift),
            (SACK_PERMITTED, []) => KnownOption::SackPermitted,
            (SACK, _) => match data.as_chunks() {
                (edges @ [_, ..], []) => KnownOption::Sack(edges),
                _ => return None,
            },
            (TIMESTAMPS, _) => match data.as_chunks() {
                (&[val, ecr], []) => {
                    let (val, ecr) = (u32::from_be_bytes(val), u32::from_be_bytes(ecr));
                    KnownOption::Timestamps(Timestamps { val, ecr })
                }
                _ => return None,
            },
            (MD5, _) => KnownOption::Md5(data.try_into().ok()?),
            (USER_TIMEOUT, &[high, low]) => {
                // RFC 5482 §3: the highest bit says that the others count minutes.
                let count = u32::from(u16::from_be_bytes([high & 0x7f, low]));
                KnownOption::UserTimeout {
                    seconds: if high & 0x80 == 0 { count } else { 60 * count },
                }
            }
            (AUTHENTICATION, &[key_id, next_key_id, ref code @ ..]) => {
                KnownOption::Authentication { key_id, next_key_id, code }
            }
            (MULTIPATH, &[first, ..]) => KnownOption::Multipath { subtype: first >> 4, data },
            // RFC 7413 §4.1.1: an even number of bytes from 4 to 16, or none.
            (FAST_OPEN, cookie) if matches!(cookie.len(), 0 | 4 | 6 | 8 | 10 | 12 | 14 | 16) => {
                KnownOption::FastOpen { cookie }
            }
            // RFC 9768 §3.2.3: up to three counters of three bytes.
            (kind, _) if ACCURATE_ECN.contains(&kind) && matches!(data.len(), 0 | 3 | 6 | 9) => {
                KnownOption::AccurateEcn(data)
            }
            (kind, &[high, low, ref data @ ..]) if EXPERIMENTAL.contains(&kind) => {
                let exid = u16::from_be_bytes([high, low]);
                match (SantaCruz::of_fields(data), data) {
                    (Some(option), _) if exid == SANTA_CRUZ => KnownOption::SantaCruz(option),
                    (_, []) if exid == SANTA_CRUZ => KnownOption::SantaCruzPermitted,
                    _ => KnownOption::Experimental { exid, data },
                }
            }
            _ => return None,
        })
    }
}

/// Where options stop making sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot read a TCP option of kind {kind}: its length is wrong")]
pub struct OptionError {
    /// The kind of the option whose length is missing, below 2 or beyond the header.
    pub kind: u8,
}

/// The options of a header, without padding. Ends behind the first error, for nobody knows where
/// the next one begins.
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
pub(super) fn write(options: &Options, out: &mut Header) {
    if let Some(mss) = options.mss {
        out.push(&[MSS, 4]);
        out.push(&mss.get().to_be_bytes());
    }
    if let Some(scale) = options.window_scale {
        out.push(&[NO_OPERATION, WINDOW_SCALE, 3, scale.shift()]);
    }
    if options.sack_permitted {
        out.push(&[NO_OPERATION, NO_OPERATION, SACK_PERMITTED, 2]);
    }
    if options.santa_cruz_permitted {
        out.push(&[EXPERIMENTAL[0], 4]);
        out.push(&SANTA_CRUZ.to_be_bytes());
    }
    if let Some(timestamps) = options.timestamps {
        out.push(&[NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10]);
        out.push(&timestamps.val.to_be_bytes());
        out.push(&timestamps.ecr.to_be_bytes());
    }
    match options.reports.read() {
        Report::None => {}
        Report::Sack(blocks) => {
            let len = u8::try_from(2 + 8 * blocks.len()).unwrap_or(u8::MAX);
            out.push(&[NO_OPERATION, NO_OPERATION, SACK, len]);
            for block in blocks.iter() {
                out.push(&block.start().value().to_be_bytes());
                out.push(&block.end().value().to_be_bytes());
            }
        }
        Report::SantaCruz(option) => {
            let fields = option.fields_len() as usize;
            let len = 4 + fields;
            out.push(&[NO_OPERATION; 3][..len.next_multiple_of(4) - len]);
            out.push(&[EXPERIMENTAL[0], u8::try_from(len).unwrap_or(u8::MAX)]);
            out.push(&SANTA_CRUZ.to_be_bytes());
            out.push(&option.fields()[..fields]);
        }
    }
}

/// What the stack makes of the options. Of an option that comes twice, the last counts; what it has
/// no use for is left.
pub(super) fn believed(bytes: &[u8], syn: bool) -> Options {
    let mut found = Options::default();
    // RFC 7323, appendix A: as nearly every segment has them.
    if let &[NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10, a, b, c, d, e, f, g, h] = bytes {
        let (val, ecr) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
        found.timestamps = Some(Timestamps { val, ecr });
        return found;
    }
    for option in RawOptions::new(bytes).map_while(Result::ok).filter_map(|option| option.known()) {
        match option {
            KnownOption::Mss(mss) if syn => found.mss = Mss::new(mss),
            KnownOption::WindowScale(shift) if syn => {
                found.window_scale = Some(WindowScale::clamped(shift));
            }
            KnownOption::SackPermitted if syn => found.sack_permitted = true,
            KnownOption::SantaCruzPermitted if syn => found.santa_cruz_permitted = true,
            KnownOption::Timestamps(timestamps) => found.timestamps = Some(timestamps),
            KnownOption::Sack(edges) => found.reports = edges.iter().filter_map(block).collect(),
            KnownOption::SantaCruz(option) => found.reports = option.into(),
            _ => {}
        }
    }
    // What fitted when it came, unpadded, need not fit as we write it: a SYN with SACK blocks.
    if found.wire_len() > 40 {
        found.reports = Reports::NONE;
    }
    found
}

/// Two edges; `None` for a range that holds nothing.
fn block(edges: &[u8; 8]) -> Option<SeqRange> {
    let (start, end) = (edges.first_chunk()?, edges.last_chunk()?);
    SeqRange::new(SeqNum::new(u32::from_be_bytes(*start)), SeqNum::new(u32::from_be_bytes(*end)))
}

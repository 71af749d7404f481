//! Options of a TCP header.

use thiserror::Error;

use crate::header::Header;
use crate::report::Report;
use crate::sack::SeqRange;
use crate::santa_cruz::SantaCruz;
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
// RFC 6994 §3: identifier of the experiment, "SC". It is not registered with IANA.
const SANTA_CRUZ: u16 = 0x5343;

/// A received option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawOption<'a> {
    /// Kind (IANA).
    pub kind: u8,
    /// Bytes after kind and length.
    pub data: &'a [u8],
}

/// An option of a known kind and valid length. Its values are not validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownOption<'a> {
    /// Maximum segment size in bytes (RFC 9293 §3.2).
    Mss(u16),
    /// Shift of a window scale (RFC 7323 §2.2).
    WindowScale(u8),
    /// SACK permitted (RFC 2018 §2).
    SackPermitted,
    /// SACK blocks with left and right edge (RFC 2018 §3). A range may be empty or reversed.
    Sack(&'a [[u8; 8]]),
    /// Timestamps (RFC 7323 §3.2).
    Timestamps(Timestamps),
    /// Digest of an MD5 signature (RFC 2385).
    Md5(&'a [u8; 16]),
    /// User timeout: time for which its sender keeps unacknowledged data (RFC 5482).
    UserTimeout {
        /// Timeout in seconds. The header counts minutes if it is long.
        seconds: u32,
    },
    /// TCP-AO (RFC 5925).
    Authentication {
        /// Identifier of the key that authenticates this segment.
        key_id: u8,
        /// Identifier of the key that its sender can receive next.
        next_key_id: u8,
        /// Message authentication code.
        code: &'a [u8],
    },
    /// Multipath TCP (RFC 8684).
    Multipath {
        /// Subtype of the message.
        subtype: u8,
        /// All bytes after kind and length, with the subtype.
        data: &'a [u8],
    },
    /// Fast Open cookie; an empty one requests a cookie (RFC 7413).
    FastOpen {
        /// Four to sixteen bytes, or none.
        cookie: &'a [u8],
    },
    /// Counters of accurate ECN (RFC 9768).
    AccurateEcn(&'a [u8]),
    /// Offer of TCP Santa Cruz: the option of a SYN.
    SantaCruzPermitted,
    /// Option of TCP Santa Cruz.
    SantaCruz(SantaCruz),
    /// Another experiment that shares the kind (RFC 6994), or an invalid option of TCP Santa Cruz.
    Experimental {
        /// Identifier of the experiment; of a longer identifier, the first two bytes.
        exid: u16,
        /// Bytes after the identifier.
        data: &'a [u8],
    },
}

impl<'a> RawOption<'a> {
    /// Name in the RFC of the option; `None` for an unknown kind.
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

    /// Parses the option. Returns `None` for an unknown kind or an invalid length.
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

/// Error for an option of invalid length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot read a TCP option of kind {kind}: its length is wrong")]
pub struct OptionError {
    /// Kind of the option whose length is missing, below 2 or beyond the header.
    pub kind: u8,
}

/// Iterator over the options of a header, without padding. It ends after the first error, because
/// the position of the next option is unknown.
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
        // The length includes kind and length.
        let split = bytes.get(1).and_then(|&len| bytes.split_at_checked(usize::from(len)));
        let Some(([_, _, data @ ..], rest)) = split else { return Some(Err(OptionError { kind })) };
        self.rest = rest;
        Some(Ok(RawOption { kind, data }))
    }
}

/// Appends the options, padded to whole words: each of them, unless the order is that of Linux.
pub(super) fn write(options: &Options, out: &mut Header) {
    if let Some(mss) = options.mss {
        out.push(&[MSS, 4]);
        out.push(&mss.get().to_be_bytes());
    }
    if let Some(scale) = options.window_scale.filter(|_| !options.is_compact) {
        write_scale(scale, out);
    }
    if options.joins_timestamps() {
        out.push(&[SACK_PERMITTED, 2]);
    } else if options.sack_permitted {
        out.push(&[NO_OPERATION, NO_OPERATION, SACK_PERMITTED, 2]);
    }
    if options.santa_cruz_permitted {
        out.push(&[EXPERIMENTAL[0], 4]);
        out.push(&SANTA_CRUZ.to_be_bytes());
    }
    if let Some(timestamps) = options.timestamps {
        if !options.joins_timestamps() {
            out.push(&[NO_OPERATION, NO_OPERATION]);
        }
        out.push(&[TIMESTAMPS, 10]);
        out.push(&timestamps.val.to_be_bytes());
        out.push(&timestamps.ecr.to_be_bytes());
    }
    if let Some(scale) = options.window_scale.filter(|_| options.is_compact) {
        write_scale(scale, out);
    }
    match options.report() {
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

fn write_scale(scale: WindowScale, out: &mut Header) {
    out.push(&[NO_OPERATION, WINDOW_SCALE, 3, scale.shift()]);
}

/// Returns the validated options. The last of repeated options is used; unknown ones are ignored.
pub(super) fn validated(bytes: &[u8], syn: bool) -> Options {
    let mut found = Options::default();
    // RFC 7323, appendix A: the layout of nearly every segment.
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
    // Received options without padding may not fit with padding: a SYN with SACK blocks.
    if found.wire_len() > 40 {
        found.reports = Report::None.into();
    }
    found
}

/// Parses two edges. Returns `None` for an empty range.
fn block(edges: &[u8; 8]) -> Option<SeqRange> {
    let (start, end) = (edges.first_chunk()?, edges.last_chunk()?);
    SeqRange::new(SeqNum::new(u32::from_be_bytes(*start)), SeqNum::new(u32::from_be_bytes(*end)))
}

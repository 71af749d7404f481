//! Memory layout: the form in which a segment holds a [`Report`].

use std::fmt;

use crate::report::Report;
use crate::sack::{SackBlocks, SeqRange};
use crate::santa_cruz::SantaCruz;

/// Encoded form of a [`Report`].
///
/// It has four integers instead of an array of edges, so that it is passed in registers. An array
/// would be copied in overlapping halves, and each such copy waits for the one before.
/// `benches/NOTES.md` ("Stalls") has the measurements.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(Rust, packed(4))] // as everything else in a segment: it stays as small
pub struct PackedReport {
    /// Number of SACK blocks, or [`Self::SANTA_CRUZ`].
    count: u32,
    /// Two edges per word, or the fields of the option.
    first: u64,
    second: u64,
    third: u64,
    fourth: u64,
}

impl PackedReport {
    /// No information.
    pub const NONE: Self = Self { count: 0, first: 0, second: 0, third: 0, fourth: 0 };

    /// Value of `count` for words of TCP Santa Cruz.
    const SANTA_CRUZ: u32 = u32::MAX;

    /// Returns whether there is no information.
    #[inline]
    pub const fn is_none(&self) -> bool {
        self.count == 0
    }

    /// Decodes the report.
    pub fn unpack(&self) -> Report {
        match self.santa_cruz() {
            Some(option) => Report::SantaCruz(option),
            None if self.is_none() => Report::None,
            None => Report::Sack(self.sack_blocks()),
        }
    }

    /// SACK blocks; empty if there are none.
    pub fn sack_blocks(&self) -> SackBlocks {
        match u8::try_from(self.count) {
            Ok(count) => SackBlocks::of_words(count, self.words()),
            Err(_) => SackBlocks::EMPTY,
        }
    }

    /// Option of TCP Santa Cruz, if there is one.
    pub fn santa_cruz(&self) -> Option<SantaCruz> {
        (self.count == Self::SANTA_CRUZ).then(|| SantaCruz::of_words(self.words()))
    }

    /// Length of the option in the header in bytes, with padding.
    pub(crate) const fn wire_len(&self) -> u32 {
        match self.count {
            0 => 0,
            // Kind, length and ExID, then the fields.
            Self::SANTA_CRUZ => (4 + SantaCruz::fields_len_of(self.first)).next_multiple_of(4),
            count => 4 + 8 * count,
        }
    }

    const fn words(&self) -> [u64; 4] {
        [self.first, self.second, self.third, self.fourth]
    }

    #[inline]
    const fn of(count: u32, [first, second, third, fourth]: [u64; 4]) -> Self {
        Self { count, first, second, third, fourth }
    }
}

impl From<SackBlocks> for PackedReport {
    #[inline]
    fn from(blocks: SackBlocks) -> Self {
        let (count, words) = blocks.to_words();
        Self::of(u32::from(count), words)
    }
}

impl From<SantaCruz> for PackedReport {
    fn from(option: SantaCruz) -> Self {
        Self::of(Self::SANTA_CRUZ, option.to_words())
    }
}

impl From<Report> for PackedReport {
    fn from(report: Report) -> Self {
        match report {
            Report::None => Self::NONE,
            Report::Sack(blocks) => blocks.into(),
            Report::SantaCruz(option) => option.into(),
        }
    }
}

impl FromIterator<SeqRange> for PackedReport {
    fn from_iter<I: IntoIterator<Item = SeqRange>>(blocks: I) -> Self {
        blocks.into_iter().collect::<SackBlocks>().into()
    }
}

impl fmt::Debug for PackedReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.unpack().fmt(f)
    }
}

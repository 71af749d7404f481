//! Option of TCP Santa Cruz: it identifies the transmission of a segment, and reports the
//! transmissions that arrived at the other end.
//!
//! C. Parsa, J. J. Garcia-Luna-Aceves, *Improving TCP Congestion Control over Internets with
//! Heterogeneous Transmission Media*, ICNP 1999, sections 3.2 and 3.3, Table 1. The table leaves
//! details open. This implementation uses an experimental option (RFC 6994), numbers from 1,
//! microseconds, units of 50 bytes, and the highest bit of a byte first.

use crate::sack::SeqRange;
use crate::seq::SeqNum;

/// Number of a transmission of a segment: the first is 1. Four bits hold at most 15, so
/// transmissions from the fifteenth on are indistinguishable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyNumber(u8);

impl CopyNumber {
    /// Number of the first transmission.
    pub const FIRST: Self = Self(1);
    /// Number of the fifteenth transmission, and of all later ones.
    pub const LAST: Self = Self(15);

    /// Creates a number. Returns `None` unless it is between 1 and 15.
    pub const fn new(value: u8) -> Option<Self> {
        if value == 0 || value > Self::LAST.0 { None } else { Some(Self(value)) }
    }

    /// Value in the option.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Number of the next transmission.
    #[must_use]
    pub const fn next(self) -> Self {
        if self.0 < Self::LAST.0 { Self(self.0 + 1) } else { Self::LAST }
    }

    /// Returns whether the number identifies a single transmission.
    pub const fn is_unique(self) -> bool {
        self.0 < Self::LAST.0
    }
}

/// Segment that caused an acknowledgment, and its arrival time: section 3.2.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arrival {
    /// Sequence number.
    pub seq: SeqNum,
    /// Number of the transmission.
    pub copy: CopyNumber,
    /// Arrival time in microseconds of the receiver's clock. The counter wraps.
    pub at: u32,
}

/// Bitmap of data that arrived after a hole: section 3.2.2. A bit stands for a fixed number of
/// bytes, and is set if all of them have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AckWindow {
    granularity: u8,
    len: u8,
    bits: [u8; Self::MAX_LEN],
}

impl AckWindow {
    /// Maximum length of the window in bytes.
    pub const MAX_LEN: usize = 18;
    /// Unit of the bytes per bit.
    pub const UNIT: u32 = 50;
    /// Empty window: there are no holes, or they are unknown.
    pub const EMPTY: Self = Self { granularity: 0, len: 0, bits: [0; Self::MAX_LEN] };

    /// Creates a window from its fields. Returns `None` if its bits stand for zero bytes, or if
    /// there are too many.
    pub fn new(granularity: u8, window: &[u8]) -> Option<Self> {
        let len = u8::try_from(window.len()).ok().filter(|&len| len > 0 && granularity > 0)?;
        let mut bits = [0; Self::MAX_LEN];
        bits.get_mut(..window.len())?.copy_from_slice(window);
        Some(Self { granularity, len, bits })
    }

    /// Creates the window that reports `ranges` above the acknowledgment `ack`. It has the finest
    /// granularity with which up to `room` bytes reach the last range, at most the coarsest
    /// granularity.
    pub fn covering(
        ack: SeqNum,
        ranges: impl Iterator<Item = SeqRange> + Clone,
        room: usize,
    ) -> Self {
        let room = room.min(Self::MAX_LEN);
        let max = u32::try_from(8 * room).unwrap_or(0);
        let reach = ranges.clone().map(|range| range.end().distance_from(ack)).max().unwrap_or(0);
        if max == 0 || reach == 0 {
            return Self::EMPTY;
        }
        let granularity = u8::try_from(reach.div_ceil(max * Self::UNIT)).unwrap_or(u8::MAX);
        let step = u32::from(granularity) * Self::UNIT;
        let mut window = Self { granularity, ..Self::EMPTY };
        for range in ranges {
            let first = range.start().distance_from(ack).div_ceil(step);
            let past = (range.end().distance_from(ack) / step).min(max);
            for bit in first..past {
                // `max` is at most 144.
                let byte = u8::try_from(bit / 8).unwrap_or(0);
                window.bits[usize::from(byte)] |= 0x80 >> (bit % 8);
                window.len = window.len.max(byte + 1);
            }
        }
        if window.len == 0 { Self::EMPTY } else { window }
    }

    /// Number of bytes per bit.
    pub const fn bytes_per_bit(&self) -> u32 {
        self.granularity as u32 * Self::UNIT
    }

    /// Granularity field: bytes per bit in units.
    pub const fn granularity(&self) -> u8 {
        self.granularity
    }

    /// Bytes of the window.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bits[..usize::from(self.len)]
    }

    /// Returns whether the window is empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Iterates over the reported ranges above the acknowledgment `ack`: the runs of set bits, in
    /// order.
    pub fn ranges(&self, ack: SeqNum) -> impl Iterator<Item = SeqRange> + '_ {
        let step = self.bytes_per_bit();
        let is_set = |bit: u32| self.bits[(bit / 8) as usize] & 0x80 >> (bit % 8) != 0;
        let max = 8 * u32::from(self.len);
        let mut bit = 0;
        std::iter::from_fn(move || {
            while bit < max && !is_set(bit) {
                bit += 1;
            }
            let first = bit;
            while bit < max && is_set(bit) {
                bit += 1;
            }
            SeqRange::new(ack + first * step, ack + bit * step)
        })
    }
}

/// Option on any segment except a SYN. On a SYN it has no fields and offers the option.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SantaCruz {
    /// Zero if the segment has no data.
    data_copy: u8,
    /// Zero if nothing has arrived; the following fields are then undefined.
    ack_copy: u8,
    ack_seq: SeqNum,
    at: u32,
    granularity: u8,
    len: u8,
    bits: [u8; AckWindow::MAX_LEN],
}

impl SantaCruz {
    /// Length of the option on a data segment in bytes, padded to whole words, with or without an
    /// acknowledgment.
    pub const DATA_LEN: u32 = 16;

    /// Creates the option of a segment. `data_copy` is the transmission number of its data, if it
    /// has any.
    pub const fn new(data_copy: Option<CopyNumber>) -> Self {
        let data_copy = match data_copy {
            Some(copy) => copy.get(),
            None => 0,
        };
        let bits = [0; AckWindow::MAX_LEN];
        Self {
            data_copy,
            ack_copy: 0,
            ack_seq: SeqNum::new(0),
            at: 0,
            granularity: 0,
            len: 0,
            bits,
        }
    }

    /// Adds the arrival that caused the acknowledgment, and the data that arrived above it.
    #[must_use]
    pub const fn answering(self, arrival: Arrival, window: AckWindow) -> Self {
        let Arrival { seq, copy, at } = arrival;
        let AckWindow { granularity, len, bits } = window;
        Self { ack_copy: copy.get(), ack_seq: seq, at, granularity, len, bits, ..self }
    }

    /// Transmission number of the segment's data; `None` without data.
    pub const fn data_copy(&self) -> Option<CopyNumber> {
        CopyNumber::new(self.data_copy)
    }

    /// Arrival that caused the acknowledgment.
    pub fn arrival(&self) -> Option<Arrival> {
        let copy = CopyNumber::new(self.ack_copy)?;
        Some(Arrival { seq: self.ack_seq, copy, at: self.at })
    }

    /// Data that arrived above the acknowledgment.
    pub const fn window(&self) -> AckWindow {
        AckWindow { granularity: self.granularity, len: self.len, bits: self.bits }
    }

    /// Encodes the option in words for [`PackedReport`](crate::layout::PackedReport), the short
    /// fields first.
    pub(crate) fn to_words(self) -> [u64; 4] {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&[self.data_copy, self.ack_copy, self.granularity, self.len]);
        bytes[4..8].copy_from_slice(&self.ack_seq.value().to_be_bytes());
        bytes[8..12].copy_from_slice(&self.at.to_be_bytes());
        bytes[12..12 + AckWindow::MAX_LEN].copy_from_slice(&self.bits);
        let mut words = [0; 4];
        for (word, eight) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_be_bytes(*eight);
        }
        words
    }

    /// Decodes such words.
    pub(crate) fn of_words(words: [u64; 4]) -> Self {
        let [data_copy, ack_copy, granularity, len, seq @ ..] = words[0].to_be_bytes();
        let [at @ .., b0, b1, b2, b3] = words[1].to_be_bytes();
        let mut bits = [0; AckWindow::MAX_LEN];
        let rest = words[2..].iter().flat_map(|word| word.to_be_bytes());
        for (bit, byte) in bits.iter_mut().zip([b0, b1, b2, b3].into_iter().chain(rest)) {
            *bit = byte;
        }
        let (ack_seq, at) = (SeqNum::new(u32::from_be_bytes(seq)), u32::from_be_bytes(at));
        Self { data_copy, ack_copy, ack_seq, at, granularity, len, bits }
    }

    /// Length of the fields in bytes.
    pub(crate) const fn fields_len(&self) -> u32 {
        Self::len_of(self.ack_copy, self.len)
    }

    /// Length of the fields in bytes, from the first word.
    pub(crate) const fn fields_len_of(word: u64) -> u32 {
        let [_, ack_copy, _, len, ..] = word.to_be_bytes();
        Self::len_of(ack_copy, len)
    }

    const fn len_of(ack_copy: u8, len: u8) -> u32 {
        match (ack_copy, len) {
            (0, _) => 1,
            (_, 0) => 9,
            (_, len) => 10 + len as u32,
        }
    }

    /// Returns the fields, of which the first [`fields_len`](Self::fields_len) bytes are valid.
    pub(crate) fn fields(&self) -> [u8; Self::MAX_FIELDS] {
        let mut fields = [0; Self::MAX_FIELDS];
        fields[0] = self.data_copy << 4 | self.ack_copy;
        fields[1..5].copy_from_slice(&self.ack_seq.value().to_be_bytes());
        fields[5..9].copy_from_slice(&self.at.to_be_bytes());
        fields[9] = self.granularity;
        fields[10..].copy_from_slice(&self.bits);
        fields
    }

    /// Parses the fields. Returns `None` if they are invalid.
    pub(crate) fn of_fields(fields: &[u8]) -> Option<Self> {
        let (&copies, rest) = fields.split_first()?;
        let this = Self::new(CopyNumber::new(copies >> 4));
        let Some((seq, rest)) = rest.split_first_chunk() else {
            return (rest.is_empty() && copies % 16 == 0).then_some(this);
        };
        let (at, rest) = rest.split_first_chunk()?;
        let window = match rest {
            [] => AckWindow::EMPTY,
            &[granularity, ref bits @ ..] => AckWindow::new(granularity, bits)?,
        };
        let copy = CopyNumber::new(copies % 16)?;
        let arrival = Arrival {
            seq: SeqNum::new(u32::from_be_bytes(*seq)),
            copy,
            at: u32::from_be_bytes(*at),
        };
        Some(this.answering(arrival, window))
    }

    const MAX_FIELDS: usize = 10 + AckWindow::MAX_LEN;
}

impl std::fmt::Debug for SantaCruz {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let window = self.window();
        f.debug_struct("SantaCruz")
            .field("data_copy", &self.data_copy)
            .field("arrival", &self.arrival())
            .field("bytes_per_bit", &window.bytes_per_bit())
            .field("window", &window.as_bytes())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(start: u32, end: u32) -> SeqRange {
        SeqRange::new(SeqNum::new(start), SeqNum::new(end)).unwrap()
    }

    fn spans(window: &AckWindow, ack: u32) -> Vec<(u32, u32)> {
        window.ranges(SeqNum::new(ack)).map(|r| (r.start().value(), r.end().value())).collect()
    }

    /// Section 3.2.2 with Figure 6: 1449 is acknowledged. Above it, the packet that ends with 1849
    /// has arrived, and begins between 1550 and 1599.
    #[test]
    fn figure_6() {
        let window = AckWindow::covering(SeqNum::new(1450), [range(1580, 1850)].into_iter(), 18);
        assert_eq!((window.bytes_per_bit(), window.as_bytes()), (50, &[0b0001_1111][..]));
        assert_eq!(spans(&window, 1450), [(1600, 1850)]);
    }

    /// Section 3.2.2: 18 bytes cover 64 kB with about 450 bytes per bit.
    #[test]
    fn granularity_is_the_finest_that_fits() {
        let bit_of = |reach| {
            AckWindow::covering(SeqNum::new(0), [range(0, reach)].into_iter(), 18).bytes_per_bit()
        };
        assert_eq!(
            [100, 7200, 7201, 64_800, 64_801, 1 << 30].map(bit_of),
            [50, 50, 100, 450, 500, 12_750]
        );
        let short = AckWindow::covering(SeqNum::new(0), [range(0, 7200)].into_iter(), 14);
        assert_eq!((short.bytes_per_bit(), short.as_bytes().len()), (100, 9));
        assert_eq!(
            AckWindow::covering(SeqNum::new(0), [range(9, 99)].into_iter(), 0),
            AckWindow::EMPTY
        );
        assert_eq!(
            AckWindow::covering(SeqNum::new(0), [range(9, 99)].into_iter(), 18),
            AckWindow::EMPTY
        );
    }

    #[test]
    fn copy_numbers_saturate_at_15() {
        let mut copy = CopyNumber::FIRST;
        for expected in 2..=15 {
            assert!(copy.is_unique());
            copy = copy.next();
            assert_eq!(copy.get(), expected);
        }
        assert_eq!((copy.next(), copy.is_unique()), (CopyNumber::LAST, false));
        assert_eq!((CopyNumber::new(0), CopyNumber::new(16)), (None, None));
    }

    proptest! {
        /// Reported data has arrived. Of the data that has arrived, less than two bits are missing
        /// at each end of a range.
        #[test]
        fn window_reports_arrived_data(
            ack in any::<u32>(),
            mut cuts in proptest::collection::btree_set(1..60_000u32, 2..40),
            room in 1..=18usize,
        ) {
            if cuts.len() % 2 == 1 {
                cuts.pop_last();
            }
            let cuts: Vec<u32> = cuts.into_iter().map(|offset| ack.wrapping_add(offset)).collect();
            let ranges: Vec<SeqRange> = cuts.chunks(2).map(|pair| range(pair[0], pair[1])).collect();
            let window = AckWindow::covering(SeqNum::new(ack), ranges.iter().copied(), room);
            prop_assert!(window.as_bytes().len() <= room && window.as_bytes().last() != Some(&0));
            let reported: Vec<SeqRange> = window.ranges(SeqNum::new(ack)).collect();
            for run in &reported {
                prop_assert!(ranges.iter().any(|range| range.contains(*run)), "{run:?}");
            }
            let step = window.bytes_per_bit();
            for range in ranges.iter().filter(|range| range.len() >= 2 * step && step > 0) {
                let run = reported.iter().find(|run| range.contains(**run));
                prop_assert!(run.is_some_and(|run| range.len() - run.len() < 2 * step));
            }
        }

        #[test]
        fn parsing_arbitrary_fields_does_not_panic(fields in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Some(option) = SantaCruz::of_fields(&fields) {
                let again = option.fields();
                prop_assert_eq!(SantaCruz::of_fields(&again[..option.fields_len() as usize]), Some(option));
            }
        }
    }
}

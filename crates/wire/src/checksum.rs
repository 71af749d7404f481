//! Internet checksum (RFC 1071) of IPv4 headers, TCP segments and ICMP messages.

/// An incomplete checksum: one's complement sum of 16-bit words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checksum {
    sum: u16,
    /// Whether the number of added bytes is odd. The next byte is then the low half of a word.
    odd: bool,
}

impl Checksum {
    /// Sum of no bytes. It also equals the sum of any number of zeros.
    pub const EMPTY: Self = Self { sum: 0, odd: false };

    /// Returns the sum of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::EMPTY.with(bytes)
    }

    /// Returns the sum extended by these bytes.
    pub fn with(mut self, bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return self;
        }
        let mut rest = bytes;
        if self.odd
            && let Some((&low, after)) = rest.split_first()
        {
            self.add(u16::from(low));
            self.odd = false;
            rest = after;
        }
        self.add(sum_of(rest));
        self.odd ^= rest.len() % 2 == 1;
        self
    }

    /// Returns the sum of an array of even length. A constant length needs no loop.
    #[inline]
    pub(crate) fn of_array<const LEN: usize>(bytes: &[u8; LEN]) -> Self {
        const { assert!(LEN.is_multiple_of(2), "a word begins behind it") };
        Self { sum: sum_of(bytes), odd: false }
    }

    /// Reduces a sum of 16-bit words that were added as integers, up to 2⁴⁸ of them.
    #[inline]
    pub(crate) fn of_words(sum: u64) -> Self {
        let [low, high, ..] = fold(sum).to_le_bytes();
        Self { sum: u16::from_le_bytes([low, high]), odd: false }
    }

    /// Returns the sum that corresponds to a checksum field.
    pub(crate) fn from_field(field: u16) -> Self {
        Self { sum: !field, odd: false }
    }

    /// Adds a 16-bit word. The number of bytes added before must be even.
    pub(crate) fn with_word(mut self, word: u16) -> Self {
        self.add(word);
        self
    }

    /// Subtracts a 16-bit word that was added. The number of bytes added before must be even.
    pub(crate) fn without_word(self, word: u16) -> Self {
        // RFC 1624 §3: in one's complement, subtraction is addition of the complement.
        self.with_word(!word)
    }

    /// Appends the bytes summed in `other`.
    pub fn and(mut self, other: Self) -> Self {
        // RFC 1071 §2 (B): the sum of swapped bytes is the swapped sum.
        self.add(if self.odd { other.sum.swap_bytes() } else { other.sum });
        self.odd ^= other.odd;
        self
    }

    /// Returns the value of the checksum field: the complement of the sum.
    pub fn field(self) -> u16 {
        !self.sum
    }

    /// Returns the field for a checksum that a device completes: the sum itself, over the
    /// pseudo-header. See [`gso`](crate::gso).
    pub fn partial_field(self) -> u16 {
        self.sum
    }

    /// Returns whether bytes that include their own checksum are intact.
    pub fn is_good(self) -> bool {
        self.field() == 0
    }

    /// RFC 1071 §2 (1): adds the carry at the low end. Only a sum of zeros is zero.
    fn add(&mut self, word: u16) {
        let (sum, carry) = self.sum.overflowing_add(word);
        self.sum = sum + u16::from(carry);
    }
}

/// Returns the sum of bytes that begin a word. An odd number of bytes is padded with a zero.
#[inline]
fn sum_of(bytes: &[u8]) -> u16 {
    // RFC 1071 §2 (C): words of 32 bits give the same sum, and a 64-bit sum holds the carries of
    // 2³² of them. Several independent sums let a wide load be processed in parallel.
    let (blocks, rest) = bytes.as_chunks::<32>();
    let (mut low, mut high) = ([0; 4], [0; 4]);
    for block in blocks {
        let (wide, _) = block.as_chunks::<8>();
        for ((low, high), word) in low.iter_mut().zip(&mut high).zip(wide) {
            // RFC 1071 §2 (B): the byte order does not matter if the sum is read in the same order.
            let word = u64::from_ne_bytes(*word);
            *low += word & 0xffff_ffff;
            *high += word >> 32;
        }
    }
    let mut sum = low.iter().chain(&high).sum::<u64>();
    let (wide, rest) = rest.as_chunks::<8>();
    for word in wide {
        let word = u64::from_ne_bytes(*word);
        sum += (word & 0xffff_ffff) + (word >> 32);
    }
    let (words, last) = rest.as_chunks::<2>();
    for &word in words {
        sum += u64::from(u16::from_ne_bytes(word));
    }
    if let [high] = *last {
        sum += u64::from(u16::from_ne_bytes([high, 0]));
    }
    let [a, b, ..] = fold(sum).to_le_bytes();
    u16::from_be(u16::from_le_bytes([a, b]))
}

/// Reduces a sum in one's complement to less than 2¹⁶.
#[inline]
fn fold(sum: u64) -> u64 {
    // Each step adds the upper part to the lower, and leaves at most 33, 18, 17 and 16 bits.
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) + (sum >> 16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 1071 §1 literally: pairs of bytes, with the end-around carry after each.
    fn plain(bytes: &[u8]) -> u16 {
        bytes.chunks(2).fold(0, |sum, pair| {
            let word = u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
            let (sum, carry) = u16::overflowing_add(sum, word);
            sum + u16::from(carry)
        })
    }

    /// Bytes of which many are zero or all ones, to cover carries and the two zeros of one's
    /// complement.
    fn any_bytes(most: usize) -> BoxedStrategy<Vec<u8>> {
        let byte = prop_oneof![Just(0), Just(0xff), any::<u8>()];
        proptest::collection::vec(byte, 0..most).boxed()
    }

    /// The example of RFC 1071 §3.
    #[test]
    fn example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Checksum::of(&bytes).field(), !0xddf2);
    }

    /// The length of the largest packet, so that many carries accumulate.
    #[test]
    fn carries_of_the_largest_packet_are_kept() {
        let ones = vec![0xff; 1 << 16];
        for len in [65_535, 65_534, 65_000, 33] {
            assert_eq!(Checksum::of(&ones[..len]).field(), !plain(&ones[..len]), "{len} bytes");
        }
    }

    proptest! {
        #[test]
        fn sum_equals_reference_at_any_alignment(bytes in any_bytes(300), from in 0..16usize) {
            let bytes = bytes.get(from..).unwrap_or_default();
            let sum = Checksum::of(bytes);
            prop_assert_eq!(sum.field(), !plain(bytes));
            prop_assert_eq!(sum.partial_field(), plain(bytes));
            prop_assert_eq!(sum.odd, bytes.len() % 2 == 1);
        }

        #[test]
        fn without_word_reverses_with_word(bytes in any_bytes(60), words: [u16; 2]) {
            let bytes = &bytes[..bytes.len() & !1];
            let with = Checksum::of(bytes).with_word(words[0]).with_word(words[1]);
            // One's complement has two zeros, which are equal.
            let number = |sum: Checksum| if sum.field() == 0 { u16::MAX } else { sum.field() };
            prop_assert_eq!(number(with.without_word(words[0])), number(Checksum::of(bytes).with_word(words[1])));
        }

        #[test]
        fn sums_of_parts_add_up(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0..200usize) {
            let cut = cut.min(bytes.len());
            let (front, back) = bytes.split_at(cut);
            prop_assert_eq!(Checksum::of(front).with(back), Checksum::of(&bytes));
            prop_assert_eq!(Checksum::of(front).and(Checksum::of(back)), Checksum::of(&bytes));
        }

        #[test]
        fn bytes_with_their_checksum_are_good(mut bytes in proptest::collection::vec(any::<u8>(), 2..200)) {
            bytes[..2].fill(0);
            let field = Checksum::of(&bytes).field();
            bytes[..2].copy_from_slice(&field.to_be_bytes());
            prop_assert!(Checksum::of(&bytes).is_good());
        }

        #[test]
        fn flipped_bit_is_detected(mut bytes in proptest::collection::vec(any::<u8>(), 2..200), bit in any::<proptest::sample::Index>()) {
            bytes[..2].fill(0);
            let field = Checksum::of(&bytes).field();
            bytes[..2].copy_from_slice(&field.to_be_bytes());
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!Checksum::of(&bytes).is_good());
        }
    }
}

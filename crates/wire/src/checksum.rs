//! The Internet checksum (RFC 1071), for IPv4 headers and TCP segments.

/// A sum in progress: 16-bit words added up in one's complement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checksum {
    sum: u32,
    /// An odd number of bytes has been added: the next is the low half of a word.
    odd: bool,
}

impl Checksum {
    /// Of no bytes. Zeros leave it as it is, however many.
    pub const EMPTY: Self = Self { sum: 0, odd: false };

    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::EMPTY.with(bytes)
    }

    /// With these bytes behind those added so far.
    pub fn with(mut self, bytes: &[u8]) -> Self {
        let mut rest = bytes;
        if self.odd
            && let Some((&low, after)) = rest.split_first()
        {
            self.add(u16::from(low));
            self.odd = false;
            rest = after;
        }
        let (words, last) = rest.as_chunks::<2>();
        for &word in words {
            self.add(u16::from_be_bytes(word));
        }
        if let [high] = *last {
            self.add(u16::from_be_bytes([high, 0]));
            self.odd = true;
        }
        self
    }

    /// With a number of 16 bits. Only after an even number of bytes, where a word begins.
    pub(crate) fn with_word(mut self, word: u16) -> Self {
        self.add(word);
        self
    }

    /// With what another sum was made of behind it all.
    pub fn and(mut self, other: Self) -> Self {
        // The sum is below 2¹⁶. RFC 1071 §2 (B): the sum of swapped bytes is the swapped sum.
        let word = low_half(other.sum);
        self.add(if self.odd { word.swap_bytes() } else { word });
        self.odd ^= other.odd;
        self
    }

    /// The field to write: the complement of the sum.
    pub fn field(self) -> u16 {
        !low_half(self.sum)
    }

    /// Whether bytes that hold their own checksum are intact.
    pub fn is_good(self) -> bool {
        self.field() == 0
    }

    /// RFC 1071 §2 (1): what overflows is added at the low end, so the sum stays below 2¹⁶.
    fn add(&mut self, word: u16) {
        let sum = self.sum + u32::from(word);
        self.sum = (sum & 0xffff) + (sum >> 16);
    }
}

/// The low 16 bits.
fn low_half(sum: u32) -> u16 {
    let [_, _, high, low] = sum.to_be_bytes();
    u16::from_be_bytes([high, low])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 1071 §3 works this example out.
    #[test]
    fn the_example_of_the_rfc() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Checksum::of(&bytes).field(), !0xddf2);
    }

    proptest! {
        #[test]
        fn parts_add_up(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0..200usize) {
            let cut = cut.min(bytes.len());
            let (front, back) = bytes.split_at(cut);
            prop_assert_eq!(Checksum::of(front).with(back), Checksum::of(&bytes));
            prop_assert_eq!(Checksum::of(front).and(Checksum::of(back)), Checksum::of(&bytes));
        }

        #[test]
        fn what_holds_its_checksum_is_good(mut bytes in proptest::collection::vec(any::<u8>(), 2..200)) {
            bytes[..2].fill(0);
            let field = Checksum::of(&bytes).field();
            bytes[..2].copy_from_slice(&field.to_be_bytes());
            prop_assert!(Checksum::of(&bytes).is_good());
        }

        #[test]
        fn a_flipped_bit_shows(mut bytes in proptest::collection::vec(any::<u8>(), 2..200), bit in any::<proptest::sample::Index>()) {
            bytes[..2].fill(0);
            let field = Checksum::of(&bytes).field();
            bytes[..2].copy_from_slice(&field.to_be_bytes());
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!Checksum::of(&bytes).is_good());
        }
    }
}

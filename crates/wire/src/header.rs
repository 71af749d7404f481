//! Headers on the stack.

use std::fmt;
use std::ops::Deref;

use crate::checksum::Checksum;

/// Bytes of one header, at most 60: the maximum of an IPv4 or TCP header. It needs no allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Header {
    bytes: [u8; Self::MAX_LEN],
    len: usize,
}

impl Header {
    /// Maximum length in bytes: the number of words that four bits count.
    pub const MAX_LEN: usize = 60;

    pub(crate) const EMPTY: Self = Self { bytes: [0; Self::MAX_LEN], len: 0 };

    /// Appends bytes. Bytes without room are dropped; the `Repr` has checked that there are none.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        if let Some(room) = self.bytes.get_mut(self.len..end) {
            room.copy_from_slice(bytes);
            self.len = end;
        }
    }

    /// Appends the header to a packet.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        // Copies a constant length and then truncates: a constant length needs no call of `memcpy`.
        let end = out.len() + self.len;
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }

    /// Returns the sum over its bytes.
    #[inline]
    pub(crate) fn sum(&self) -> Checksum {
        // A header consists of whole words, and zeros follow it in the array.
        Checksum::of_array(&self.bytes)
    }

    /// Overwrites two bytes with a number.
    pub(crate) fn set_word(&mut self, at: usize, word: u16) {
        if let Some(room) = self.bytes.get_mut(at..at + 2) {
            room.copy_from_slice(&word.to_be_bytes());
        }
    }
}

impl Deref for Header {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl From<&[u8]> for Header {
    /// Takes at most the first 60 bytes.
    fn from(bytes: &[u8]) -> Self {
        let mut header = Self::EMPTY;
        header.push(bytes.get(..Self::MAX_LEN).unwrap_or(bytes));
        header
    }
}

//! Headers on the stack.

use std::fmt;
use std::ops::Deref;

use crate::checksum::Checksum;

/// The bytes of one header, of at most 60: what an IPv4 or TCP header can be. Nothing is allocated
/// for it; copy it to where it is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Header {
    bytes: [u8; Self::MAX_LEN],
    len: usize,
}

impl Header {
    /// The longest: as many words as four bits count.
    pub const MAX_LEN: usize = 60;

    pub(crate) const EMPTY: Self = Self { bytes: [0; Self::MAX_LEN], len: 0 };

    /// Adds bytes behind the others. Those without room are left out: a `Repr` has checked that
    /// there are none.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        if let Some(room) = self.bytes.get_mut(self.len..end) {
            room.copy_from_slice(bytes);
            self.len = end;
        }
    }

    /// Appends it to a packet.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        // All of its room and then less: a length that is known is no call.
        let end = out.len() + self.len;
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }

    /// The sum over its bytes.
    #[inline]
    pub(crate) fn sum(&self) -> Checksum {
        // A header is whole words, and behind it there are zeros.
        Checksum::of_array(&self.bytes)
    }

    /// Puts a number where there are two bytes already.
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
    /// The first 60 bytes at the most.
    fn from(bytes: &[u8]) -> Self {
        let mut header = Self::EMPTY;
        header.push(bytes.get(..Self::MAX_LEN).unwrap_or(bytes));
        header
    }
}

//! Extension headers of IPv6 (RFC 8200 §4).

/// Hop-by-hop options, by their number (IANA).
const HOP_BY_HOP: u8 = 0;
/// A routing header.
const ROUTING: u8 = 43;
/// A fragment header.
const FRAGMENT: u8 = 44;
/// Destination options.
const DESTINATION_OPTIONS: u8 = 60;

/// Options that fill (RFC 8200 §4.2): one byte, and as many as it says.
const PAD_1: u8 = 0;
const PAD_N: u8 = 1;

/// Whether a number is that of an extension header which the walk knows how to pass.
pub(super) fn is_extension(number: u8) -> bool {
    matches!(number, HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION_OPTIONS)
}

/// An extension header as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension<'a> {
    /// What it is (IANA).
    pub kind: u8,
    /// All of it, at least eight bytes.
    pub bytes: &'a [u8],
}

impl Extension<'_> {
    /// Whether it is a fragment header, of a packet that is part of a larger one.
    pub fn is_fragment(&self) -> bool {
        // RFC 8200 §4.5: the offset and M, without the reserved bits.
        self.kind == FRAGMENT && self.offset_and_more() & 0xfff9 != 0
    }

    /// Whether it is one of a part that is not the first: what follows is the middle of something.
    pub fn is_later_fragment(&self) -> bool {
        self.kind == FRAGMENT && self.offset_and_more() & 0xfff8 != 0
    }

    fn offset_and_more(&self) -> u16 {
        u16::from_be_bytes([self.bytes[2], self.bytes[3]])
    }

    /// Whether a host may go on to the next header.
    fn may_be_passed(&self) -> bool {
        match self.kind {
            // RFC 8200 §4.4: a packet that has still to visit others is not for us, and its
            // checksum is about another destination.
            ROUTING => self.bytes[3] == 0,
            HOP_BY_HOP | DESTINATION_OPTIONS => options_may_be_skipped(&self.bytes[2..]),
            _ => true,
        }
    }
}

/// RFC 8200 §4.2: the two highest bits of an option say what becomes of a packet for who doesn't
/// know it; only zeros say that it goes on. We know those that fill.
fn options_may_be_skipped(mut options: &[u8]) -> bool {
    loop {
        options = match *options {
            [] => return true,
            [PAD_1, ref rest @ ..] => rest,
            [kind, len, ref rest @ ..] if kind == PAD_N || kind >> 6 == 0 => {
                let Some(rest) = rest.get(usize::from(len)..) else { return false };
                rest
            }
            _ => return false,
        };
    }
}

/// The extension headers of a packet. Ends at what is none, or at one that a host must not pass.
#[derive(Debug, Clone)]
pub struct Extensions<'a> {
    next: u8,
    rest: &'a [u8],
    first: bool,
    ended: bool,
}

impl<'a> Extensions<'a> {
    pub(super) fn new(next_header: u8, rest: &'a [u8]) -> Self {
        Self { next: next_header, rest, first: true, ended: false }
    }

    /// The number and the bytes of what comes next.
    pub(super) fn what_follows(&self) -> (u8, &'a [u8]) {
        (self.next, self.rest)
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    fn next(&mut self) -> Option<Extension<'a>> {
        let kind = self.next;
        // RFC 8200 §4.1: hop-by-hop options stand first or not at all.
        if self.ended || !is_extension(kind) || kind == HOP_BY_HOP && !self.first {
            return None;
        }
        // Each takes eight bytes at least, so there is an end.
        let more = if kind == FRAGMENT { 0 } else { usize::from(*self.rest.get(1)?) };
        let (bytes, rest) = self.rest.split_at_checked(8 * (1 + more))?;
        let extension = Extension { kind, bytes };
        if !extension.may_be_passed() {
            return None;
        }
        *self = Self { next: bytes[0], rest, first: false, ended: extension.is_later_fragment() };
        Some(extension)
    }
}

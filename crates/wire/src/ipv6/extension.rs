//! Extension headers of IPv6 (RFC 8200 §4).

/// Number of hop-by-hop options (IANA).
const HOP_BY_HOP: u8 = 0;
/// Number of a routing header.
const ROUTING: u8 = 43;
/// Number of a fragment header.
const FRAGMENT: u8 = 44;
/// Number of destination options.
const DESTINATION_OPTIONS: u8 = 60;

/// Padding options (RFC 8200 §4.2): Pad1 and PadN.
const PAD_1: u8 = 0;
const PAD_N: u8 = 1;

/// Returns whether a number is that of a supported extension header.
pub(super) fn is_extension(number: u8) -> bool {
    matches!(number, HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION_OPTIONS)
}

/// A received extension header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Number (IANA).
    pub kind: u8,
    /// All bytes of the header, at least eight.
    pub bytes: &'a [u8],
}

impl Extension<'_> {
    /// Returns whether it is the fragment header of a fragmented packet.
    pub fn is_fragment(&self) -> bool {
        // RFC 8200 §4.5: the offset and M, without the reserved bits.
        self.kind == FRAGMENT && self.offset_and_more() & 0xfff9 != 0
    }

    /// Returns whether it belongs to a fragment other than the first. No header then follows it.
    pub fn is_later_fragment(&self) -> bool {
        self.kind == FRAGMENT && self.offset_and_more() & 0xfff8 != 0
    }

    fn offset_and_more(&self) -> u16 {
        u16::from_be_bytes([self.bytes[2], self.bytes[3]])
    }

    /// Returns whether a host may process the next header.
    fn may_be_passed(&self) -> bool {
        match self.kind {
            // RFC 8200 §4.4: a packet that must visit other nodes is not for this host, and its
            // checksum is for another destination.
            ROUTING => self.bytes[3] == 0,
            HOP_BY_HOP | DESTINATION_OPTIONS => options_may_be_skipped(&self.bytes[2..]),
            _ => true,
        }
    }
}

/// RFC 8200 §4.2: the two highest bits of an unknown option say whether to skip it; only zeros do.
/// Padding options are known.
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

/// Iterator over the extension headers of a packet. It ends at another header, or at one that a
/// host must not skip.
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

    /// Number and bytes of the next header.
    pub(super) fn next_header(&self) -> (u8, &'a [u8]) {
        (self.next, self.rest)
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    fn next(&mut self) -> Option<Extension<'a>> {
        let kind = self.next;
        // RFC 8200 §4.1: hop-by-hop options occur only at the first position.
        if self.ended || !is_extension(kind) || kind == HOP_BY_HOP && !self.first {
            return None;
        }
        // Each header has at least eight bytes, so the iteration ends.
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

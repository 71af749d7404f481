//! Tail framing: only the end of a write is cut, the rest is full-sized.
//!
//! A sender detects the loss of a segment soon if segments follow it. Nothing follows the last ones
//! of a write, so only they need smaller segments. RFC 8985 §7 calls their loss a tail loss.
//!
//! The *tail* is at the end of the queued data. A write that another one follows before its end is
//! sent has no tail, because the data that follows reveals its loss.
//!
//! The number of pieces never exceeds the number of segments that the congestion window admits when
//! the tail begins. Otherwise the last piece would wait for an acknowledgment, and a cut would cost
//! a round trip although nothing is lost.

use wire::SeqNum;

/// Cut of a tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The last SMSS bytes of a write, or all of a shorter one, leave in this number of pieces of
    /// equal size (2 to 64). A write of `L` bytes has `⌈L / SMSS⌉ - 1 + n` segments wherever the
    /// tail begins. With the last SMSS bytes as the tail, every piece has up to `⌈SMSS / n⌉` bytes,
    /// and the cuts do not depend on the segments before.
    Pieces(u8),
    /// The last byte of a write leaves in a segment of its own.
    LastByte,
}

/// Facts about the end of the queued data. Sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailView {
    /// SND.NXT.
    pub nxt: SeqNum,
    /// Number of bytes from there to the end of the queued data.
    pub left: u32,
    /// Sender maximum segment size.
    pub smss: u32,
    /// Number of segments that the congestion window admits now.
    pub room: u32,
}

/// Next segment of new data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailSegment {
    /// Payload in bytes.
    pub payload: u32,
    /// Whether the tail that the segment belongs to is shorter than SMSS. Nagle's rule treats a
    /// tail as if it were one segment.
    pub small: bool,
    /// Whether an earlier part of the tail has been sent, or at least SMSS bytes follow. Nagle's
    /// rule then does not hold it.
    pub continues: bool,
}

/// Cuts in the end of a write, of [`FullSized`](super::FullSized) segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    cut: Cut,
    /// Payload of a piece of the present tail; zero before the first tail. SMSS has 16 bits.
    piece: u16,
    /// Length of the present tail in bytes.
    len: u16,
    /// Sequence number after the present tail, in halves: aligned to 4 bytes, the framing would
    /// enlarge [`AnySegmenter`](super::AnySegmenter) and so every connection.
    end: [u16; 2],
}

const _: () = assert!(
    size_of::<super::AnySegmenter>() == 12,
    "AnySegmenter grew, and so does every connection; move the state of a segmenter to the heap"
);

impl Tail {
    /// Maximum number of pieces.
    pub const MOST_PIECES: u8 = 64;

    /// Creates the framing of a connection that has not sent data.
    pub fn new(cut: Cut) -> Self {
        Self { cut, piece: 0, len: 0, end: [0; 2] }
    }

    /// Returns the next segment of new data. The same facts give the same segment, whether or not
    /// it is sent.
    pub fn next(&mut self, view: &TailView) -> TailSegment {
        let TailView { nxt, left, smss, room } = *view;
        if left > smss {
            let payload = match self.cut {
                Cut::Pieces(_) => smss.min(left - smss),
                Cut::LastByte => smss,
            };
            return TailSegment { payload, small: false, continues: true };
        }
        let end = halves(nxt + left);
        if self.piece == 0 || self.end != end || left > u32::from(self.len) {
            let pieces = match self.cut {
                Cut::Pieces(most) => room.min(u32::from(most)),
                Cut::LastByte => room.min(2),
            };
            if pieces == 0 {
                // Only a probe may be sent.
                return TailSegment { payload: left, small: left < smss, continues: false };
            }
            let piece = match self.cut {
                Cut::LastByte if pieces == 2 => left.saturating_sub(1).max(1),
                _ => left.div_ceil(pieces),
            };
            *self = Self { piece: short(piece), len: short(left), end, ..*self };
        }
        let len = u32::from(self.len);
        TailSegment {
            payload: u32::from(self.piece).min(left),
            small: len < smss,
            continues: left < len,
        }
    }
}

/// Narrows a length of at most SMSS, which has 16 bits.
fn short(bytes: u32) -> u16 {
    u16::try_from(bytes).unwrap_or(u16::MAX)
}

fn halves(seq: SeqNum) -> [u16; 2] {
    [short(seq.value() >> 16), short(seq.value() & 0xffff)]
}

#[cfg(test)]
mod tests;

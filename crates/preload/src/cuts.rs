//! Positions at which a write is cut. The rules are those of `tail`, `tiny-tail` and `fs` in the
//! crate `bpf`, and so those of the senders with these names, as far as the kernel permits.

/// Largest number of pieces of a write.
pub const MOST_PIECES: usize = 64;

/// Cuts in a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The last segment of a write leaves in this number of pieces, at least 2.
    Tail(u8),
    /// The last byte of a write leaves in a segment of its own.
    LastByte,
    /// The initial window leaves in this number of segments, as long as the congestion window has
    /// fewer segments than `below` (fixed-size Smart Framing).
    FixedSize {
        /// Number of segments of reduced size to an initial window.
        segments: u8,
        /// Initial window in full-sized segments.
        window: u8,
        /// First congestion window in segments with which writes are not cut.
        below: u8,
    },
}

/// Facts about the sender of a connection whose queue is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowFacts {
    /// Payload of a full-sized segment in bytes.
    pub mss: u32,
    /// Congestion window in segments.
    pub window: u32,
    /// Segments in flight.
    pub in_flight: u32,
}

/// Lengths of the pieces of a write: the first, and the others, of which the last one has the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    first: usize,
    step: usize,
    count: usize,
    length: usize,
}

impl Cut {
    /// Returns the pieces of a write of `length` bytes, or `None` if it is not cut. All segments of
    /// a write that is cut fit into the congestion window, except with fixed-size framing, whose
    /// last piece may not.
    pub fn pieces(self, length: usize, facts: &WindowFacts) -> Option<Pieces> {
        let mss = usize::try_from(facts.mss).ok()?;
        let room = usize::try_from(facts.window.checked_sub(facts.in_flight)?).ok()?;
        if mss == 0 || room < 2 {
            return None;
        }
        match self {
            Self::Tail(most) => tail(length, mss, room, usize::from(most)),
            Self::LastByte => last_byte(length, mss, room),
            Self::FixedSize { segments, window, below } => (facts.window < u32::from(below))
                .then(|| mss * usize::from(window) / usize::from(segments).max(1))
                .and_then(|size| fixed_size(length, size.clamp(1, mss), room)),
        }
    }
}

fn tail(length: usize, mss: usize, room: usize, most: usize) -> Option<Pieces> {
    let before = length.saturating_sub(mss);
    let tail = length - before;
    let pieces = room.checked_sub(before.div_ceil(mss))?.min(most).min(MOST_PIECES - 1);
    if pieces < 2 || tail < 2 {
        return None;
    }
    let step = tail.div_ceil(pieces);
    let count = usize::from(before > 0) + tail.div_ceil(step);
    let first = if before > 0 { before } else { step };
    Some(Pieces { first, step, count, length })
}

fn last_byte(length: usize, mss: usize, room: usize) -> Option<Pieces> {
    let first = length.checked_sub(1).filter(|first| *first > 0)?;
    let fits = room > first.div_ceil(mss);
    fits.then_some(Pieces { first, step: 1, count: 2, length })
}

fn fixed_size(length: usize, size: usize, room: usize) -> Option<Pieces> {
    let count = length.div_ceil(size).min(room).min(MOST_PIECES);
    (count > 1).then_some(Pieces { first: size, step: size, count, length })
}

impl Pieces {
    /// Number of pieces, from 2 to [`MOST_PIECES`].
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the end of a piece in the write.
    pub fn end(&self, index: usize) -> usize {
        if index + 1 >= self.count {
            return self.length;
        }
        (self.first + index * self.step).min(self.length)
    }
}

#[cfg(test)]
mod tests;

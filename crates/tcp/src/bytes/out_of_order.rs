//! Out-of-order bytes without a position in the ring buffer, until the bytes missing before them
//! arrive.
//!
//! They are kept as pieces that neither overlap nor touch. They need the memory of the bytes that
//! arrived; the distance to the first missing byte costs nothing. If two segments differ in the
//! same byte, the first one counts.

use std::collections::VecDeque;

use wire::{SeqNum, SeqRange};

use super::{count, make_room};

/// Pieces of a stream above the first missing byte.
#[derive(Debug, Default)]
pub(super) struct OutOfOrder {
    /// Pieces by sequence number, with at least one missing byte between them.
    pieces: Vec<Piece>,
    /// Memory of the bytes of all pieces.
    memory: usize,
}

#[derive(Debug)]
struct Piece {
    start: SeqNum,
    bytes: VecDeque<u8>,
}

impl Piece {
    fn new(start: SeqNum, bytes: &[u8]) -> Self {
        let mut piece = Self { start, bytes: VecDeque::new() };
        piece.append(bytes);
        piece
    }

    fn end(&self) -> SeqNum {
        self.start + count(self.bytes.len())
    }

    fn append(&mut self, bytes: &[u8]) {
        make_room(&mut self.bytes, bytes.len());
        self.bytes.extend(bytes);
    }

    fn prepend(&mut self, bytes: &[u8]) {
        self.append(bytes);
        self.bytes.rotate_right(bytes.len());
        self.start = self.start - count(bytes.len());
    }

    /// Joins this piece, `between` and `next`. The longer of the two pieces is not copied.
    fn join(mut self, between: &[u8], mut next: Self) -> Self {
        if self.bytes.len() >= next.bytes.len() {
            self.append(between);
            make_room(&mut self.bytes, next.bytes.len());
            self.bytes.append(&mut next.bytes);
            return self;
        }
        next.prepend(between);
        next.prepend(self.bytes.make_contiguous());
        next
    }

    fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

impl OutOfOrder {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Heap memory in bytes.
    pub(super) fn memory(&self) -> usize {
        self.memory + self.pieces.capacity() * size_of::<Piece>()
    }

    /// Number of bytes in all pieces.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes.len()).sum()
    }

    /// Removes all pieces and frees their memory.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Range of the first piece.
    pub(super) fn first(&self) -> Option<SeqRange> {
        let piece = self.pieces.first()?;
        SeqRange::new(piece.start, piece.end())
    }

    /// Removes the first piece and appends it to `stream`.
    pub(super) fn take_first(&mut self, stream: &mut VecDeque<u8>) {
        let mut piece = self.pieces.remove(0);
        self.memory -= piece.memory();
        stream.append(&mut piece.bytes);
        if self.pieces.is_empty() {
            self.clear();
        }
    }

    /// Stores the bytes from `start` on, except those that are present already.
    pub(super) fn insert(&mut self, start: SeqNum, bytes: &[u8]) {
        let end = start + count(bytes.len());
        let from = |at: SeqNum| at.distance_from(start) as usize;
        // The pieces that the new bytes overlap or touch.
        let first = self.pieces.partition_point(|piece| piece.end().before(start));
        let behind = self.pieces.partition_point(|piece| piece.start.at_or_before(end));
        let mut touched = self.pieces.drain(first..behind);
        let (added, removed) = if let Some(mut piece) = touched.next() {
            let mut removed = piece.memory();
            if piece.start.after(start) {
                piece.prepend(&bytes[..from(piece.start)]);
            }
            for next in touched {
                removed += next.memory();
                let between = &bytes[from(piece.end())..from(next.start)];
                piece = piece.join(between, next);
            }
            if piece.end().before(end) {
                piece.append(&bytes[from(piece.end())..]);
            }
            (piece, removed)
        } else {
            drop(touched);
            (Piece::new(start, bytes), 0)
        };
        self.memory = self.memory + added.memory() - removed;
        self.pieces.insert(first, added);
    }

    /// Appends to `stream`, which ends at `start`, the bytes that arrived there and the pieces that
    /// they reach.
    pub(super) fn fill(&mut self, start: SeqNum, bytes: &[u8], stream: &mut VecDeque<u8>) {
        let end = start + count(bytes.len());
        let from = |at: SeqNum| at.distance_from(start) as usize;
        let reached = self.pieces.partition_point(|piece| piece.start.at_or_before(end));
        let mut next = start;
        for mut piece in self.pieces.drain(..reached) {
            self.memory -= piece.memory();
            let between = &bytes[from(next)..from(piece.start)];
            make_room(stream, between.len() + piece.bytes.len());
            stream.extend(between);
            next = piece.end();
            stream.append(&mut piece.bytes);
        }
        if next.before(end) {
            let rest = &bytes[from(next)..];
            make_room(stream, rest.len());
            stream.extend(rest);
        }
        if self.pieces.is_empty() {
            self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A plain map from indexes to bytes, as a reference.
    struct Map(Vec<Option<u8>>);

    impl Map {
        fn insert(&mut self, at: usize, bytes: &[u8]) {
            for (slot, &byte) in self.0[at..].iter_mut().zip(bytes) {
                slot.get_or_insert(byte);
            }
        }

        fn pieces(&self, from: usize) -> Vec<(usize, Vec<u8>)> {
            let mut found: Vec<(usize, Vec<u8>)> = Vec::new();
            for (at, byte) in self.0.iter().enumerate().skip(from) {
                let Some(byte) = *byte else { continue };
                match found.last_mut() {
                    Some((start, bytes)) if *start + bytes.len() == at => bytes.push(byte),
                    _ => found.push((at, vec![byte])),
                }
            }
            found
        }
    }

    fn pieces(store: &OutOfOrder, base: SeqNum) -> Vec<(usize, Vec<u8>)> {
        let index = |piece: &Piece| piece.start.distance_from(base) as usize;
        store
            .pieces
            .iter()
            .map(|piece| (index(piece), piece.bytes.iter().copied().collect()))
            .collect()
    }

    fn measured(store: &OutOfOrder) -> usize {
        store.pieces.iter().map(Piece::memory).sum()
    }

    proptest! {
        #[test]
        fn contents_match_a_plain_map(
            base in prop_oneof![Just(7u32), Just(u32::MAX - 150)],
            steps in prop::collection::vec((0..300usize, 1..60usize, any::<u8>(), any::<bool>()), 1..80),
        ) {
            let base = SeqNum::new(base);
            let mut store = OutOfOrder::default();
            let mut map = Map(vec![None; 2_000]);
            let mut stream = VecDeque::new();
            for (distance, len, fill, in_order) in steps {
                let next = stream.len();
                let bytes: Vec<u8> = (0..len).map(|at| fill.wrapping_add(u8::try_from(at).unwrap())).collect();
                let at = if in_order { next } else { next + 1 + distance };
                if at + len > map.0.len() {
                    break;
                }
                map.insert(at, &bytes);
                if in_order {
                    store.fill(base + count(at), &bytes, &mut stream);
                } else {
                    store.insert(base + count(at), &bytes);
                }
                let whole = map.0.iter().map_while(|byte| *byte);
                prop_assert!(stream.iter().copied().eq(whole));
                prop_assert_eq!(pieces(&store, base), map.pieces(stream.len()));
                prop_assert_eq!(store.memory, measured(&store));
            }
        }
    }

    /// One byte at the end of a window needs as much memory as one byte next to the gap.
    #[test]
    fn memory_does_not_depend_on_distance() {
        let mut store = OutOfOrder::default();
        store.insert(SeqNum::new(1 << 30), b"x");
        assert!(store.memory() < 256, "{} bytes", store.memory());
    }
}

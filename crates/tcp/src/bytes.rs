//! A connection together with the bytes it carries.

use std::collections::VecDeque;
use std::ops::{Deref, Range};

use units::Instant;
use wire::{Mss, Segment, SeqNum, SeqRange};

use crate::connection::Connection;
use crate::event::{Accepted, CallError, Event};
use crate::icmp::IcmpError;

/// A [`Connection`] and the bytes of both directions: what a program on a real wire drives.
///
/// The driving contract is `Connection`'s; the calls that move bytes are replaced by the ones here, the rest
/// are passed on to it, and what only looks at it is reached through it.
///
/// A direction keeps its buffer when it runs empty, for it may be filled again at once. Whoever holds many connections
/// calls [`release`](ByteStream::release) on one that has been quiet: it is then as small as this type and what
/// `Connection` keeps for it.
#[derive(Debug)]
pub struct ByteStream {
    connection: Connection,
    /// Bytes written and not yet acknowledged.
    outgoing: VecDeque<u8>,
    /// Bytes received and not yet read, with room left for those that are missing.
    incoming: VecDeque<u8>,
}

impl ByteStream {
    /// Wraps a connection on which nothing has been written or received.
    pub fn new(connection: Connection) -> Self {
        Self { connection, outgoing: VecDeque::new(), incoming: VecDeque::new() }
    }

    /// Queues bytes to be sent and returns how many fit.
    ///
    /// # Errors
    /// As [`Connection::write`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, CallError> {
        let wanted = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let taken = self.connection.write(wanted)? as usize;
        self.outgoing.extend(&bytes[..taken]);
        Ok(taken)
    }

    /// Moves bytes that arrived in order into `into` and returns how many.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        let wanted = u32::try_from(into.len()).unwrap_or(u32::MAX);
        let taken = self.connection.read(wanted) as usize;
        let [first, second] = slices(&self.incoming, 0..taken);
        into[..first.len()].copy_from_slice(first);
        into[first.len()..taken].copy_from_slice(second);
        self.forget_read(taken);
        taken
    }

    /// What arrived in order and hasn't been read, in at most two pieces and without a copy; [`consume`](Self::consume)
    /// says how much of it is done with.
    pub fn peek(&self) -> [&[u8]; 2] {
        slices(&self.incoming, 0..self.connection.readable() as usize)
    }

    /// Drops up to `bytes` that arrived in order, as if they had been read, and returns how many.
    pub fn consume(&mut self, bytes: usize) -> usize {
        let wanted = u32::try_from(bytes).unwrap_or(u32::MAX);
        let taken = self.connection.read(wanted) as usize;
        self.forget_read(taken);
        taken
    }

    /// Handles an arriving segment with its payload. A payload of another length than the segment says is
    /// ignored with the segment.
    pub fn on_segment(&mut self, segment: &Segment, payload: &[u8], now: Instant) {
        if u32::try_from(payload.len()) != Ok(segment.payload_len) {
            return;
        }
        // Where the segment overlaps what came before it out of order, what came first stays.
        let mut held = self.connection.overlaps(segment);
        let unread = self.connection.readable();
        let base = self.connection.rcv.nxt;
        if let Some(Accepted { skip, offset, len }) = self.connection.on_segment(segment, now) {
            let taken = &payload[skip as usize..(skip + len) as usize];
            if held.is_empty() {
                self.place(offset, taken);
            } else {
                self.place_around(&mut held, base - unread, offset, taken);
            }
        }
        self.forget_acknowledged();
    }

    /// The next segment to send; its payload replaces what `payload` holds.
    pub fn poll_transmit(&mut self, now: Instant, payload: &mut Vec<u8>) -> Option<Segment> {
        let (segment, [first, second]) = self.poll_transmit_slices(now)?;
        payload.clear();
        payload.extend_from_slice(first);
        payload.extend_from_slice(second);
        Some(segment)
    }

    /// The next segment to send, with its payload in at most two pieces (the second is empty when the first is) and
    /// without a copy.
    pub fn poll_transmit_slices(&mut self, now: Instant) -> Option<(Segment, [&[u8]; 2])> {
        let segment = self.connection.poll_transmit(now)?;
        if segment.payload_len == 0 {
            return Some((segment, [&[], &[]]));
        }
        let start = self.connection.buffer_offset(&segment) as usize;
        let payload = slices(&self.outgoing, start..start + segment.payload_len as usize);
        Some((segment, payload))
    }

    /// As [`Connection::runs_dry`].
    pub fn runs_dry(&mut self) -> bool {
        self.connection.runs_dry()
    }

    /// As [`Connection::connect`].
    ///
    /// # Errors
    /// As there.
    pub fn connect(&mut self) -> Result<(), CallError> {
        self.connection.connect()
    }

    /// As [`Connection::listen`].
    ///
    /// # Errors
    /// As there.
    pub fn listen(&mut self) -> Result<(), CallError> {
        self.connection.listen()
    }

    /// As [`Connection::close`].
    ///
    /// # Errors
    /// As there.
    pub fn close(&mut self) -> Result<(), CallError> {
        self.connection.close()
    }

    /// As [`Connection::abort`].
    pub fn abort(&mut self) {
        self.connection.abort();
    }

    /// As [`Connection::on_timeout`].
    pub fn on_timeout(&mut self, now: Instant) {
        self.connection.on_timeout(now);
    }

    /// As [`Connection::on_packet_too_big`].
    pub fn on_packet_too_big(&mut self, mss: Mss, seq: SeqNum, now: Instant) -> bool {
        self.connection.on_packet_too_big(mss, seq, now)
    }

    /// As [`Connection::on_icmp_error`].
    pub fn on_icmp_error(&mut self, error: IcmpError, seq: SeqNum, now: Instant) -> bool {
        self.connection.on_icmp_error(error, seq, now)
    }

    /// As [`Connection::poll_event`].
    pub fn poll_event(&mut self) -> Option<Event> {
        self.connection.poll_event()
    }

    /// The bytes it holds for its user: written and not acknowledged, received and not read, gaps in between included.
    pub fn held(&self) -> usize {
        self.outgoing.len() + self.incoming.len()
    }

    /// The bytes of memory that [`release`](Self::release) would give back, queues not counted.
    pub fn spare(&self) -> usize {
        [&self.outgoing, &self.incoming].iter().filter(|buffer| buffer.is_empty()).map(|b| b.capacity()).sum()
    }

    /// Gives back the buffers of directions without bytes, and the memory of queues that are empty.
    pub fn release(&mut self) {
        for buffer in [&mut self.outgoing, &mut self.incoming] {
            if buffer.is_empty() {
                *buffer = VecDeque::new();
            }
        }
        self.connection.release();
    }

    /// The bytes of memory behind this value: buffers and queues. The value itself is `size_of::<ByteStream>()`.
    pub fn memory(&self) -> usize {
        self.outgoing.capacity() + self.incoming.capacity() + self.connection.memory()
    }

    /// Writes bytes to their place, counted from the first unread one.
    fn place(&mut self, offset: u32, bytes: &[u8]) {
        let start = offset as usize;
        if start == self.incoming.len() {
            self.incoming.extend(bytes);
            return;
        }
        let end = start + bytes.len();
        if self.incoming.len() < end {
            self.incoming.resize(end, 0);
        }
        let (first, second) = self.incoming.as_mut_slices();
        let in_first = first.len().clamp(start, end) - start;
        let (head, tail) = bytes.split_at(in_first);
        if !head.is_empty() {
            first[start..start + in_first].copy_from_slice(head);
        }
        if !tail.is_empty() {
            let at = start + in_first - first.len();
            second[at..at + tail.len()].copy_from_slice(tail);
        }
    }

    /// The same, but not where `held` has arrived before; `base` is the first unread number.
    #[cold]
    fn place_around(&mut self, held: &mut [SeqRange], base: SeqNum, offset: u32, bytes: &[u8]) {
        held.sort_unstable_by_key(|range| range.start().distance_from(base));
        let start = base + offset;
        let (mut at, len) = (0, bytes.len());
        for range in held {
            let until = (range.start().distance_from(start) as usize).min(len);
            if at < until {
                self.place(offset + count(at), &bytes[at..until]);
            }
            at = at.max(range.end().distance_from(start) as usize);
        }
        if at < len {
            self.place(offset + count(at), &bytes[at..]);
        }
    }

    fn forget_read(&mut self, bytes: usize) {
        self.incoming.drain(..bytes);
    }

    fn forget_acknowledged(&mut self) {
        let kept = self.connection.unacknowledged() as usize;
        let gone = self.outgoing.len().saturating_sub(kept);
        self.outgoing.drain(..gone);
    }
}

/// A range of a ring as it lies in memory.
fn slices(ring: &VecDeque<u8>, range: Range<usize>) -> [&[u8]; 2] {
    let (first, second) = ring.as_slices();
    let within = |slice: &[u8], at: usize| at.min(slice.len());
    let (start, end) = (within(first, range.start), within(first, range.end));
    if start == end {
        // All of it, if anything, lies in the second.
        return [&second[range.start - first.len().min(range.start)..][..range.len()], &[]];
    }
    [&first[start..end], &second[..range.end - end]]
}

/// Lengths are those of windows and payloads, which fit.
fn count(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl Deref for ByteStream {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        &self.connection
    }
}

#[cfg(test)]
mod tests;

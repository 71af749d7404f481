//! A connection together with the bytes it carries.

mod incoming;
mod out_of_order;

use std::collections::VecDeque;
use std::ops::{Deref, Range};

use units::Instant;
use wire::{Mss, Segment, SeqNum};

use self::incoming::{Front, Incoming};
use crate::connection::Connection;
use crate::event::{Accepted, CallError, Event};
use crate::icmp::IcmpError;

/// A [`Connection`] and the bytes of both directions: what a program on a real wire drives.
///
/// The driving contract is `Connection`'s; the calls that move bytes are replaced by the ones here,
/// the rest are passed on to it, and what only looks at it is reached through it.
///
/// A direction keeps its buffer when it runs empty, for it may be filled again at once. Whoever
/// holds many connections calls [`release`](ByteStream::release) on one that has been quiet: it is
/// then as small as this type and what `Connection` keeps for it.
#[derive(Debug)]
pub struct ByteStream {
    connection: Connection,
    /// Bytes written and not yet acknowledged.
    outgoing: VecDeque<u8>,
    /// Bytes received and not yet read.
    incoming: Incoming,
}

impl ByteStream {
    /// Wraps a connection on which nothing has been written or received.
    pub fn new(connection: Connection) -> Self {
        Self { connection, outgoing: VecDeque::new(), incoming: Incoming::default() }
    }

    /// Queues bytes to be sent and returns how many fit.
    ///
    /// # Errors
    /// As [`Connection::write`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, CallError> {
        let wanted = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let taken = self.connection.write(wanted)? as usize;
        make_room(&mut self.outgoing, taken);
        self.outgoing.extend(&bytes[..taken]);
        Ok(taken)
    }

    /// Moves bytes that arrived in order into `into` and returns how many.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        let wanted = u32::try_from(into.len()).unwrap_or(u32::MAX);
        let taken = self.connection.read(wanted) as usize;
        let [first, second] = self.incoming.peek(taken);
        into[..first.len()].copy_from_slice(first);
        into[first.len()..taken].copy_from_slice(second);
        self.incoming.consume(taken);
        taken
    }

    /// What arrived in order and hasn't been read, in at most two pieces and without a copy;
    /// [`consume`](Self::consume) says how much of it is done with.
    pub fn peek(&self) -> [&[u8]; 2] {
        self.incoming.peek(self.front().unread)
    }

    /// Drops up to `bytes` that arrived in order, as if they had been read, and returns how many.
    pub fn consume(&mut self, bytes: usize) -> usize {
        let wanted = u32::try_from(bytes).unwrap_or(u32::MAX);
        let taken = self.connection.read(wanted) as usize;
        self.incoming.consume(taken);
        taken
    }

    /// Handles an arriving segment with its payload. A payload of another length than the segment
    /// says is ignored with the segment.
    pub fn on_segment(&mut self, segment: &Segment, payload: &[u8], now: Instant) {
        if u32::try_from(payload.len()) != Ok(segment.payload_len) {
            return;
        }
        let front = self.front();
        if let Some(Accepted { skip, offset, len }) = self.connection.on_segment(segment, now) {
            let taken = &payload[skip as usize..(skip + len) as usize];
            let ahead = (offset as usize).saturating_sub(front.unread);
            if ahead == 0 {
                self.incoming.extend(front, taken);
            } else {
                self.incoming.insert(front, front.next + count(ahead), taken);
            }
        }
        if self.incoming.has_out_of_order() && !self.connection.rcv.has_out_of_order() {
            // The stream ends before them.
            self.incoming.forget_out_of_order(self.front().unread);
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

    /// The next segment to send, with its payload in at most two pieces (the second is empty when
    /// the first is) and without a copy.
    pub fn poll_transmit_slices(&mut self, now: Instant) -> Option<(Segment, [&[u8]; 2])> {
        let segment = self.connection.poll_transmit(now)?;
        if segment.payload_len == 0 {
            return Some((segment, [&[], &[]]));
        }
        let start = self.connection.buffer_offset(&segment) as usize;
        let payload = slices(&self.outgoing, start..start + segment.payload_len as usize);
        Some((segment, payload))
    }

    /// As [`Connection::offset_timestamps`].
    pub fn offset_timestamps(&mut self, offset: u32, now: Instant) {
        self.connection.offset_timestamps(offset, now);
    }

    /// As [`Connection::note_if_drained`].
    pub fn note_if_drained(&mut self) -> bool {
        self.connection.note_if_drained()
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

    /// Gives up what has arrived out of order, although the peer has been told that it is here. RFC
    /// 2018 §8 allows that when memory is short: the peer sends it again after a timeout.
    ///
    /// Unlike there, the next acknowledgment does not report the newest segment if that was given
    /// up too: a receiver that reports only what it holds is easier to reason about, and the
    /// sender loses nothing by it.
    pub fn renege(&mut self) {
        self.connection.rcv.renege();
        self.incoming.forget_out_of_order(self.front().unread);
    }

    /// Whether a segment with this number brings the next byte, or one that is here already.
    pub fn is_in_order(&self, seq: SeqNum) -> bool {
        seq.at_or_before(self.connection.rcv.nxt)
    }

    /// The bytes of memory that hold what has arrived out of order, with the gaps that are kept
    /// open in it.
    pub fn out_of_order(&self) -> usize {
        self.incoming.out_of_order(self.front().unread)
    }

    /// What has arrived in order and has not been read, in one piece.
    pub fn peek_whole(&mut self) -> &[u8] {
        self.incoming.peek_whole(self.connection.readable() as usize)
    }

    /// The bytes of memory that [`release`](Self::release) would give back, queues not counted.
    /// Less if bytes that arrived out of order have to move for that.
    pub fn spare(&self) -> usize {
        let outgoing = self.outgoing.capacity() - room_for(&self.outgoing, self.outgoing.len());
        outgoing + self.incoming.spare(self.front().unread)
    }

    /// Gives back the memory of buffers and queues that is not in use.
    pub fn release(&mut self) {
        let kept = room_for(&self.outgoing, self.outgoing.len());
        if kept < self.outgoing.capacity() {
            self.outgoing.shrink_to(kept);
        }
        self.incoming.release(self.front());
        self.connection.release();
    }

    /// The bytes of memory behind this value: buffers and queues. The value itself is
    /// `size_of::<ByteStream>()`.
    pub fn memory(&self) -> usize {
        self.outgoing.capacity() + self.incoming.memory() + self.connection.memory()
    }

    fn front(&self) -> Front {
        Front { unread: self.connection.readable() as usize, next: self.connection.rcv.nxt }
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

/// Makes room in a buffer for so many more bytes. A buffer that grows becomes a power of two, so
/// that its memory is at most twice what it holds, and a limit on what it holds that is a power of
/// two is a limit on its memory.
#[inline]
fn make_room(buffer: &mut VecDeque<u8>, more: usize) {
    let len = buffer.len() + more;
    if len > buffer.capacity() {
        grow(buffer, len);
    }
}

#[cold]
#[inline(never)]
fn grow(buffer: &mut VecDeque<u8>, len: usize) {
    buffer.reserve_exact(enough(len) - buffer.len());
}

/// The memory that a buffer with so many bytes would have been given.
fn room_for(buffer: &VecDeque<u8>, len: usize) -> usize {
    if len == 0 { 0 } else { enough(len).min(buffer.capacity()) }
}

fn enough(len: usize) -> usize {
    len.next_power_of_two().max(32)
}

/// A length within a window, which fits.
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

//! A connection together with the bytes it carries.

mod incoming;
mod out_of_order;

use std::collections::VecDeque;
use std::ops::{Deref, Range};

use units::Instant;
use wire::{Mss, Segment, SeqNum};

use self::incoming::{Front, Incoming};
use crate::config::Timeouts;
use crate::connection::Connection;
use crate::connection::IcmpError;
use crate::event::{Accepted, CallError, Event};

/// A [`Connection`] with the bytes of both directions, for programs on a real wire.
///
/// The driving contract is that of `Connection`. The calls that transfer bytes have variants here;
/// other calls are forwarded, and queries use `Deref`.
///
/// A direction keeps its buffer when it becomes empty, because more data may follow. A driver with
/// many connections calls [`release`](ByteStream::release) on idle ones. Then only this type and
/// the memory of `Connection` remain.
#[derive(Debug)]
pub struct ByteStream {
    connection: Connection,
    /// Bytes written and not yet acknowledged.
    outgoing: VecDeque<u8>,
    /// Bytes received and not yet read.
    incoming: Incoming,
}

impl ByteStream {
    /// Wraps a connection without written or received data.
    pub fn new(connection: Connection) -> Self {
        Self { connection, outgoing: VecDeque::new(), incoming: Incoming::default() }
    }

    /// Queues bytes to be sent. Returns the number of bytes that fit.
    ///
    /// # Errors
    /// Returns the errors of [`Connection::write`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, CallError> {
        let wanted = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let taken = self.connection.write(wanted)? as usize;
        make_room(&mut self.outgoing, taken);
        self.outgoing.extend(&bytes[..taken]);
        Ok(taken)
    }

    /// Moves bytes that arrived in order into `into`. Returns their number.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        let wanted = u32::try_from(into.len()).unwrap_or(u32::MAX);
        let taken = self.connection.read(wanted) as usize;
        let [first, second] = self.incoming.peek(taken);
        into[..first.len()].copy_from_slice(first);
        into[first.len()..taken].copy_from_slice(second);
        self.incoming.consume(taken);
        taken
    }

    /// Returns the bytes that arrived in order and have not been read, in at most two slices and
    /// without a copy. [`consume`](Self::consume) removes them.
    pub fn peek(&self) -> [&[u8]; 2] {
        self.incoming.peek(self.front().unread)
    }

    /// Discards up to `bytes` that arrived in order, as if they had been read. Returns their
    /// number.
    pub fn consume(&mut self, bytes: usize) -> usize {
        let wanted = u32::try_from(bytes).unwrap_or(u32::MAX);
        let taken = self.connection.read(wanted) as usize;
        self.incoming.consume(taken);
        taken
    }

    /// Handles an arriving segment with its payload. The segment is ignored if the length of
    /// `payload` differs from its own.
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
            // The stream ends before the out-of-order data.
            self.incoming.forget_out_of_order(self.front().unread);
        }
        self.forget_acknowledged();
    }

    /// Returns the next segment to send. Its payload replaces the contents of `payload`.
    pub fn poll_transmit(&mut self, now: Instant, payload: &mut Vec<u8>) -> Option<Segment> {
        let (segment, [first, second]) = self.poll_transmit_slices(now)?;
        payload.clear();
        payload.extend_from_slice(first);
        payload.extend_from_slice(second);
        Some(segment)
    }

    /// Returns the next segment to send, with its payload in at most two slices and without a copy.
    /// The second slice is empty if the first is.
    pub fn poll_transmit_slices(&mut self, now: Instant) -> Option<(Segment, [&[u8]; 2])> {
        let segment = self.connection.poll_transmit(now)?;
        if segment.payload_len == 0 {
            return Some((segment, [&[], &[]]));
        }
        let start = self.connection.buffer_offset(&segment) as usize;
        let payload = slices(&self.outgoing, start..start + segment.payload_len as usize);
        Some((segment, payload))
    }

    /// Calls [`Connection::offset_timestamps`].
    pub fn offset_timestamps(&mut self, offset: u32, now: Instant) {
        self.connection.offset_timestamps(offset, now);
    }

    /// Calls [`Connection::note_if_drained`].
    pub fn note_if_drained(&mut self, now: Instant) -> bool {
        self.connection.note_if_drained(now)
    }

    /// Calls [`Connection::connect`].
    ///
    /// # Errors
    /// Returns the errors of [`Connection::connect`].
    pub fn connect(&mut self) -> Result<(), CallError> {
        self.connection.connect()
    }

    /// Calls [`Connection::listen`].
    ///
    /// # Errors
    /// Returns the errors of [`Connection::listen`].
    pub fn listen(&mut self) -> Result<(), CallError> {
        self.connection.listen()
    }

    /// Calls [`Connection::close`].
    ///
    /// # Errors
    /// Returns the errors of [`Connection::close`].
    pub fn close(&mut self) -> Result<(), CallError> {
        self.connection.close()
    }

    /// Calls [`Connection::refuse_data`].
    pub fn refuse_data(&mut self) {
        self.connection.refuse_data();
    }

    /// Calls [`Connection::abort`].
    pub fn abort(&mut self) {
        self.connection.abort();
    }

    /// Calls [`Connection::set_timeouts`].
    pub fn set_timeouts(&mut self, timeouts: Timeouts, now: Instant) {
        self.connection.set_timeouts(timeouts, now);
    }

    /// Calls [`Connection::on_timeout`].
    pub fn on_timeout(&mut self, now: Instant) {
        self.connection.on_timeout(now);
    }

    /// Calls [`Connection::on_packet_too_big`].
    pub fn on_packet_too_big(&mut self, mss: Mss, seq: SeqNum, now: Instant) -> bool {
        self.connection.on_packet_too_big(mss, seq, now)
    }

    /// Calls [`Connection::on_icmp_error`].
    pub fn on_icmp_error(&mut self, error: IcmpError, seq: SeqNum, now: Instant) -> bool {
        self.connection.on_icmp_error(error, seq, now)
    }

    /// Calls [`Connection::poll_event`].
    pub fn poll_event(&mut self) -> Option<Event> {
        self.connection.poll_event()
    }

    /// Discards the out-of-order data, although its arrival was reported. RFC 2018 §8 allows that
    /// when memory is short: the peer sends it again after a timeout.
    ///
    /// Unlike there, the next acknowledgment does not report the newest segment if it was discarded
    /// too. Reports then contain only data that the receiver holds, at no cost for the sender.
    pub fn renege(&mut self) {
        self.connection.rcv.renege();
        self.incoming.forget_out_of_order(self.front().unread);
    }

    /// Returns whether a segment with this sequence number begins at the next expected byte or
    /// below.
    pub fn is_in_order(&self, seq: SeqNum) -> bool {
        seq.at_or_before(self.connection.rcv.nxt)
    }

    /// Memory of the out-of-order data in bytes, with the gaps inside it.
    pub fn out_of_order(&self) -> usize {
        self.incoming.out_of_order(self.front().unread)
    }

    /// Returns the bytes that arrived in order and have not been read, in one slice.
    pub fn peek_whole(&mut self) -> &[u8] {
        self.incoming.peek_whole(self.connection.readable() as usize)
    }

    /// Number of bytes that [`release`](Self::release) would free, without queues. It may free less
    /// if out-of-order data has to move.
    pub fn spare(&self) -> usize {
        let outgoing = self.outgoing.capacity() - room_for(&self.outgoing, self.outgoing.len());
        outgoing + self.incoming.spare(self.front().unread)
    }

    /// Frees unused memory of buffers and queues.
    pub fn release(&mut self) {
        let kept = room_for(&self.outgoing, self.outgoing.len());
        if kept < self.outgoing.capacity() {
            self.outgoing.shrink_to(kept);
        }
        self.incoming.release(self.front());
        self.connection.release();
    }

    /// Heap memory of buffers and queues in bytes. The value itself has `size_of::<ByteStream>()`.
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

/// Returns a range of a ring buffer as two slices.
fn slices(ring: &VecDeque<u8>, range: Range<usize>) -> [&[u8]; 2] {
    let (first, second) = ring.as_slices();
    let within = |slice: &[u8], at: usize| at.min(slice.len());
    let (start, end) = (within(first, range.start), within(first, range.end));
    if start == end {
        // The range is empty or lies in the second slice.
        return [&second[range.start - first.len().min(range.start)..][..range.len()], &[]];
    }
    [&first[start..end], &second[..range.end - end]]
}

/// Makes room for `more` bytes in a buffer. A growing buffer becomes a power of two, so its memory
/// is at most twice its contents. A limit on the contents that is a power of two also limits the
/// memory.
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

/// Capacity that a buffer with `len` bytes would have been given.
fn room_for(buffer: &VecDeque<u8>, len: usize) -> usize {
    if len == 0 { 0 } else { enough(len).min(buffer.capacity()) }
}

fn enough(len: usize) -> usize {
    len.next_power_of_two().max(32)
}

/// Converts a length within a window, which fits.
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

//! A connection together with the bytes it carries.

use std::collections::VecDeque;
use std::ops::Deref;

use units::Instant;
use wire::Segment;

use crate::connection::Connection;
use crate::event::{Accepted, CallError, Event};

/// A [`Connection`] and the bytes of both directions: what a program on a real wire drives.
///
/// The driving contract is `Connection`'s; the calls that move bytes are replaced by the ones here, the rest
/// are passed on to it, and what only looks at it is reached through it.
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
        for (slot, byte) in into.iter_mut().zip(self.incoming.drain(..taken)) {
            *slot = byte;
        }
        taken
    }

    /// Handles an arriving segment with its payload. A payload of another length than the segment says is
    /// ignored with the segment.
    pub fn on_segment(&mut self, segment: &Segment, payload: &[u8], now: Instant) {
        if u32::try_from(payload.len()) != Ok(segment.payload_len) {
            return;
        }
        let Some(Accepted { skip, offset, len }) = self.connection.on_segment(segment, now) else {
            self.forget_acknowledged();
            return;
        };
        let (offset, len) = (offset as usize, len as usize);
        if self.incoming.len() < offset + len {
            self.incoming.resize(offset + len, 0);
        }
        let taken = &payload[skip as usize..skip as usize + len];
        for (slot, byte) in self.incoming.range_mut(offset..offset + len).zip(taken) {
            *slot = *byte;
        }
        self.forget_acknowledged();
    }

    /// The next segment to send; its payload replaces what `payload` holds.
    pub fn poll_transmit(&mut self, now: Instant, payload: &mut Vec<u8>) -> Option<Segment> {
        let segment = self.connection.poll_transmit(now)?;
        payload.clear();
        if segment.payload_len > 0 {
            let start = self.connection.buffer_offset(&segment) as usize;
            payload.extend(self.outgoing.range(start..start + segment.payload_len as usize));
        }
        Some(segment)
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

    /// As [`Connection::poll_event`].
    pub fn poll_event(&mut self) -> Option<Event> {
        self.connection.poll_event()
    }

    fn forget_acknowledged(&mut self) {
        let kept = self.connection.unacknowledged() as usize;
        let gone = self.outgoing.len().saturating_sub(kept);
        self.outgoing.drain(..gone);
    }
}

impl Deref for ByteStream {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        &self.connection
    }
}

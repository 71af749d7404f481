//! Calls of the application on one connection: its received bytes, its bytes to send, and its end.

use tcp::{ByteStream, CallError};
use units::Instant;

use super::Stack;
use super::slot::RELEASE_AFTER;
use crate::event::ConnectionId;

impl Stack {
    /// Moves received in-order bytes into `into` and returns their number, which is 0 for an ended
    /// connection.
    pub fn read(&mut self, id: ConnectionId, into: &mut [u8]) -> usize {
        self.take(id, |stream| stream.read(into))
    }

    /// Unread in-order bytes, in at most two slices. The second is empty if the first is.
    pub fn peek(&self, id: ConnectionId) -> [&[u8]; 2] {
        let slot = self.slots.get(id.index()).filter(|slot| slot.id == id);
        slot.map_or([&[], &[]], |slot| slot.stream.peek())
    }

    /// Unread in-order bytes as one slice. May copy within the buffer.
    pub fn peek_whole(&mut self, id: ConnectionId) -> &[u8] {
        self.slot(id).map_or(&[], |slot| slot.stream.peek_whole())
    }

    /// Discards up to `bytes` unread in-order bytes as if they had been read, and returns their
    /// number.
    pub fn consume(&mut self, id: ConnectionId, bytes: usize) -> usize {
        self.take(id, |stream| stream.consume(bytes))
    }

    #[inline]
    fn take(&mut self, id: ConnectionId, take: impl FnOnce(&mut ByteStream) -> usize) -> usize {
        let Some(slot) = self.slots.get_mut(id.index()).filter(|slot| slot.id == id) else {
            return 0;
        };
        let taken = take(&mut slot.stream);
        slot.read_bytes += taken as u64;
        slot.reported_readable = slot.stream.readable();
        if taken == 0 {
            return 0;
        }
        if slot.stream.is_ack_due() {
            // The receive window may have opened.
            self.schedule_send(id);
        } else {
            slot.count(&mut self.buffered);
            // Empty buffers are freed after `RELEASE_AFTER` without traffic.
            self.timers.set(id, &mut slot.timer, slot.active_at + RELEASE_AFTER);
        }
        taken
    }

    /// Queues bytes to send and returns how many fit. If fewer than all fit, an
    /// [`EventKind::Writable`](crate::EventKind::Writable) event follows when there is room again.
    ///
    /// # Errors
    /// If the connection has ended or this end is closed.
    pub fn write(
        &mut self,
        id: ConnectionId,
        bytes: &[u8],
        now: Instant,
    ) -> Result<usize, CallError> {
        let room = self.room_to_write(id);
        let Some(slot) = self.slot(id) else { return Err(CallError::Over { call: "write" }) };
        let taken = slot.stream.write(&bytes[..bytes.len().min(room)])?;
        slot.blocked = taken < bytes.len();
        if slot.blocked && taken > 0 {
            self.update_connection(id, now);
        } else if taken > 0 {
            self.schedule_send(id);
        }
        Ok(taken)
    }

    /// The number of bytes that [`write`](Self::write) would accept. If it is 0, an
    /// [`EventKind::Writable`](crate::EventKind::Writable) event follows when there is room.
    pub fn writable(&mut self, id: ConnectionId) -> usize {
        let room = self.room_to_write(id);
        let Some(slot) = self.slot(id) else { return 0 };
        let room = room.min(usize::try_from(slot.stream.writable()).unwrap_or(usize::MAX));
        slot.blocked |= room == 0;
        room
    }

    /// Like [`writable`](Self::writable), but keeps at most `most` bytes beyond the peer's last
    /// acknowledgment.
    pub fn writable_ahead(&mut self, id: ConnectionId, most: u32) -> usize {
        let room = self.writable(id);
        let Some(slot) = self.slot(id) else { return 0 };
        let ahead = most.saturating_sub(slot.stream.unacknowledged());
        slot.blocked |= ahead == 0;
        room.min(usize::try_from(ahead).unwrap_or(usize::MAX))
    }

    fn room_to_write(&self, id: ConnectionId) -> usize {
        let limits = &self.config.limits;
        let Some(slot) = self.slots.get(id.index()) else { return 0 };
        let held = usize::try_from(slot.stream.unacknowledged()).unwrap_or(usize::MAX);
        let mut share = limits.share(self.buffered);
        if limits.is_tight(self.buffered) {
            // While memory is scarce, a peer that requests much and acknowledges nothing could
            // otherwise fill it before it is found to be slow.
            let taken = usize::try_from(slot.acknowledged_bytes).unwrap_or(usize::MAX);
            // Rounded to whole reserves: a buffer that grows byte by byte takes twice the memory.
            let reserve = limits.reserve().max(1);
            share = share.min((taken / reserve).saturating_add(1).saturating_mul(reserve));
        }
        share.saturating_sub(held)
    }

    /// Closes the sending direction: queued bytes are sent, then a FIN.
    pub fn close(&mut self, id: ConnectionId, now: Instant) {
        if let Some(slot) = self.slot(id) {
            // Closing a connection that is already closed has no effect.
            let _ = slot.stream.close();
            self.update_connection(id, now);
        }
    }

    /// Aborts a connection with a reset.
    pub fn abort(&mut self, id: ConnectionId, now: Instant) {
        if let Some(slot) = self.slot(id) {
            slot.stream.abort();
            self.update_connection(id, now);
        }
    }
}

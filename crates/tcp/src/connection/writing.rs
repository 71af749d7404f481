//! Calls of the application that queue data, and options of the socket that decide when it is sent.

use units::Instant;

use crate::connection::Connection;
use crate::event::CallError;
use crate::send::{PacketSender, WriteFlags};

impl Connection {
    /// Queues `bytes` to be sent. Returns the number of bytes that fit into the send buffer.
    ///
    /// # Errors
    /// Returns an error if the connection is not open, or was closed locally.
    pub fn write(&mut self, bytes: u32) -> Result<u32, CallError> {
        self.write_with(bytes, WriteFlags::default())
    }

    /// Queues `bytes` to be sent, with flags. Returns the number of bytes that fit into the send
    /// buffer. A sender that counts bytes ignores the flags.
    ///
    /// # Errors
    /// Returns an error if the connection is not open, or was closed locally.
    #[inline]
    pub fn write_with(&mut self, bytes: u32, flags: WriteFlags) -> Result<u32, CallError> {
        if !self.state.accepts_writes() {
            return Err(CallError::State { call: "write", state: self.state });
        }
        if self.limits_writes() {
            let opens = !self.state.is_synchronized();
            return Ok(if opens { 0 } else { self.snd.write_into_memory(bytes, flags) });
        }
        let taken = self.snd.write(bytes, self.config.send_buffer);
        if self.is_special() && taken > 0 && self.snd.special.packets().is_some() {
            self.snd.note_write(flags);
        }
        Ok(taken)
    }

    /// Returns whether writes are limited by memory as in Linux
    /// ([`SendMemory`](crate::SendMemory)).
    ///
    /// [`write`](Self::write) then takes one buffer of several segments at most, and nothing before
    /// the connection is synchronized. Drain before the next call: Linux sends a full buffer before
    /// it begins another one. What is left belongs to the same write. If nothing is taken, the
    /// application [waits](Self::waits_for_memory).
    #[inline]
    pub fn limits_writes(&self) -> bool {
        self.is_special() && self.snd.limits_writes()
    }

    /// Returns whether the application waits for memory, because the last write took nothing.
    pub fn waits_for_memory(&self) -> bool {
        self.snd.special.packets().is_some_and(PacketSender::waits_for_memory)
    }

    /// Returns whether an application that [waits](Self::waits_for_memory) is woken, so that it may
    /// write again. Call it after the drain that follows a segment.
    pub fn wakes_writer(&mut self, now: Instant) -> bool {
        self.snd.wakes_writer(now)
    }

    /// Holds back a last segment that is not full (`TCP_CORK`), or releases it. A sender that
    /// counts bytes ignores it.
    pub fn set_cork(&mut self, cork: bool) {
        if let Some(packets) = self.snd.special.packets_mut() {
            packets.writes.set_cork(cork);
        }
    }

    /// Switches Nagle's rule off or on (`TCP_NODELAY`), instead of the configuration. A sender that
    /// counts bytes ignores it.
    pub fn set_no_delay(&mut self, no_delay: bool) {
        if let Some(packets) = self.snd.special.packets_mut() {
            packets.writes.set_no_delay(no_delay);
        }
    }
}

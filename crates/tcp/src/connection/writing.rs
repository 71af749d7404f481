//! Calls of the application that queue data, and options of the socket that decide when it is sent.

use crate::connection::Connection;
use crate::event::CallError;
use crate::send::WriteFlags;

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
        let taken = self.snd.write(bytes, self.config.send_buffer);
        if self.special && taken > 0 && self.snd.special.packets().is_some() {
            self.snd.note_write(flags);
        }
        Ok(taken)
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

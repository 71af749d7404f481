//! The application of an endpoint: it writes, reads and closes by a plan.

use std::fmt;

use tcp::{ByteStream, State};
use units::{Duration, Instant};

/// Plan of an application. It closes after everything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Total number of bytes to write.
    pub bytes: u32,
    /// Number of bytes per write, at least one.
    pub write: u32,
    /// Time between writes.
    pub write_every: Duration,
    /// Number of bytes per read, at least one.
    pub read: u32,
    /// Time between reads.
    pub read_every: Duration,
}

impl Plan {
    /// Writes `bytes` bytes as soon as there is room, and reads everything available.
    pub const fn eager(bytes: u32) -> Self {
        Self {
            bytes,
            write: u32::MAX,
            write_every: Duration::ZERO,
            read: u32::MAX,
            read_every: Duration::ZERO,
        }
    }
}

/// Executes a plan and checks the bytes that are read.
#[derive(Debug)]
pub(super) struct User {
    plan: Plan,
    /// Distinguishes the bytes of the two directions.
    salt: usize,
    written: u32,
    read: u32,
    closed: bool,
    next_write: Instant,
    next_read: Instant,
    buffer: Vec<u8>,
}

impl User {
    pub(super) const fn new(plan: Plan, salt: usize) -> Self {
        Self {
            plan,
            salt,
            written: 0,
            read: 0,
            closed: false,
            next_write: Instant::ZERO,
            next_read: Instant::ZERO,
            buffer: Vec::new(),
        }
    }

    pub(super) const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns whether everything in the other application's plan has been read.
    pub(super) const fn has_read(&self, others: &Plan) -> bool {
        self.read == others.bytes
    }

    /// Time of the next action that the stream allows.
    pub(super) fn next_action(&self, stream: &ByteStream) -> Instant {
        let read = if stream.readable() > 0 { self.next_read } else { Instant::NEVER };
        let write = if self.wants_to_write(stream) { self.next_write } else { Instant::NEVER };
        read.min(write)
    }

    /// Performs due actions. Returns an error for bytes that differ from those written.
    pub(super) fn act(&mut self, stream: &mut ByteStream, now: Instant) -> Result<(), String> {
        if stream.readable() > 0 && self.next_read <= now {
            self.next_read = now + self.plan.read_every;
            return self.read(stream);
        }
        if self.wants_to_write(stream) && self.next_write <= now {
            self.next_write = now + self.plan.write_every;
            return self.write(stream);
        }
        Ok(())
    }

    fn wants_to_write(&self, stream: &ByteStream) -> bool {
        match stream.state() {
            // A listener cannot write yet. In SYN-SENT some applications write and others wait.
            State::Closed | State::Listen => false,
            State::SynSent if self.plan.bytes.is_multiple_of(2) => false,
            _ if self.written == self.plan.bytes => !self.closed,
            _ => stream.writable() > 0,
        }
    }

    fn write(&mut self, stream: &mut ByteStream) -> Result<(), String> {
        if self.written == self.plan.bytes {
            self.closed = true;
            return stream.close().map_err(|error| error.to_string());
        }
        let wanted = (self.plan.bytes - self.written).min(self.plan.write).min(stream.writable());
        self.buffer.clear();
        self.buffer
            .extend((self.written..self.written + wanted).map(|place| byte(place, self.salt)));
        let taken = stream.write(&self.buffer).map_err(|error| error.to_string())?;
        if taken != wanted as usize {
            return Err(format!("{taken} bytes taken where {wanted} were to fit"));
        }
        self.written += wanted;
        Ok(())
    }

    fn read(&mut self, stream: &mut ByteStream) -> Result<(), String> {
        let wanted = stream.readable().min(self.plan.read);
        self.buffer.clear();
        self.buffer.resize(wanted as usize, 0);
        let got = stream.read(&mut self.buffer);
        if got != wanted as usize {
            return Err(format!("{got} bytes read where {wanted} were to be had"));
        }
        let expected = (self.read..self.read + wanted).map(|place| byte(place, 1 - self.salt));
        if let Some(wrong) =
            self.buffer.iter().copied().zip(expected).position(|(got, sent)| got != sent)
        {
            return Err(format!("byte {} isn't the one that was sent", self.read as usize + wrong));
        }
        self.read += wanted;
        Ok(())
    }
}

/// Byte at a position of a stream. No two positions within 64 KiB of each other have equal
/// surroundings.
fn byte(place: u32, salt: usize) -> u8 {
    let [low, high, ..] = place.wrapping_mul(40_503).to_le_bytes();
    (low ^ high).wrapping_add(if salt == 0 { 0 } else { 101 })
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wrote {} of {} and read {}", self.written, self.plan.bytes, self.read)
    }
}

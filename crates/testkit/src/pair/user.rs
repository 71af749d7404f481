//! What the user of an endpoint does: write, read and close by a plan.

use std::fmt;

use tcp::{ByteStream, State};
use units::{Duration, Instant};

/// A user's plan. Whoever has written everything closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Bytes to write in all.
    pub bytes: u32,
    /// How many to write at a time, at least one.
    pub write: u32,
    /// How long to wait between writes.
    pub write_every: Duration,
    /// How many to read at a time, at least one.
    pub read: u32,
    /// How long to wait between reads.
    pub read_every: Duration,
}

impl Plan {
    /// Writes so many bytes as soon as there is room, and reads whatever has come.
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

/// Carries out a plan, and checks what is read.
#[derive(Debug)]
pub(super) struct User {
    plan: Plan,
    /// Tells the bytes of one direction from those of the other.
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

    /// Whether everything that the other user plans to write has been read.
    pub(super) const fn has_read(&self, others: &Plan) -> bool {
        self.read == others.bytes
    }

    /// When there is something to do, given what the stream allows.
    pub(super) fn next_action(&self, stream: &ByteStream) -> Instant {
        let read = if stream.readable() > 0 { self.next_read } else { Instant::NEVER };
        let write = if self.wants_to_write(stream) { self.next_write } else { Instant::NEVER };
        read.min(write)
    }

    /// Does what is due, and complains about bytes that are not those that were written.
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
            // A listener can't write yet; and in SYN-SENT some write and some wait.
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

/// The byte at a place of a stream. No two places within 64 KiB of each other have the same
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

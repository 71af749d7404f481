//! A pair of TCP connections: data, ends and resets of each one are passed to the other.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

use rustix::net::sockopt::set_socket_linger;

use super::poller::{Event, Poller, Token};

/// Maximum number of reads of one direction in a turn.
const READS: usize = 16;
/// Data in the send buffer that has not been sent, in bytes, above which no more is read at the
/// other side. Beyond it only the data of one read waits, so the memory is bounded.
const UNSENT_BYTES: i32 = 1 << 17;

/// The state of a pair after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It waits for an event.
    Waiting,
    /// It has more to copy.
    Busy,
    /// Both connections have ended.
    Over,
}

/// Two connections: inside, that is on the link, and outside.
#[derive(Debug)]
pub(super) struct Joined {
    ends: [TcpStream; 2],
    /// The data from either end to the other.
    flows: [Flow; 2],
    failed: bool,
}

/// One direction.
#[derive(Debug)]
struct Flow {
    readable: bool,
    writable: bool,
    /// Data that the receiving connection has not taken, from `taken` on.
    rest: Vec<u8>,
    taken: usize,
    /// The sender has ended its data.
    ended: bool,
}

impl Joined {
    pub(super) fn new(inside: TcpStream, outside: TcpStream) -> io::Result<Self> {
        for end in [&inside, &outside] {
            end.set_nonblocking(true)?;
            // The pair passes writes on as they come.
            end.set_nodelay(true)?;
            tun::limit_unsent(end, UNSENT_BYTES)?;
        }
        let flow =
            || Flow { readable: false, writable: true, rest: Vec::new(), taken: 0, ended: false };
        Ok(Self { ends: [inside, outside], flows: [flow(), flow()], failed: false })
    }

    /// Adds both ends to the poller. The outer one is there already.
    pub(super) fn watch(&self, id: u64, poller: &Poller) -> io::Result<()> {
        poller.add_edges(&self.ends[0], Token::Joined(id, 0))?;
        poller.change_edges(&self.ends[1], Token::Joined(id, 1))
    }

    /// Takes note of an event of one side.
    pub(super) fn notice(&mut self, side: usize, event: Event) {
        let [inside, outside] = &mut self.flows;
        let (from, to) = if side == 0 { (inside, outside) } else { (outside, inside) };
        from.readable |= event.readable;
        to.writable |= event.writable;
        self.failed |= event.failed;
    }

    /// Copies both directions, through `buffer`.
    pub(super) fn copy(&mut self, buffer: &mut [u8]) -> Progress {
        let [inside, outside] = &self.ends;
        let [up, down] = &mut self.flows;
        let results = [up.copy(inside, outside, buffer), down.copy(outside, inside, buffer)];
        if self.failed || results.iter().any(Result::is_err) {
            // Both connections see the reset.
            self.ends.iter().for_each(reset);
            return Progress::Over;
        }
        if self.flows.iter().all(Flow::is_over) {
            return Progress::Over;
        }
        let busy = results.into_iter().flatten().any(|is_busy| is_busy);
        if busy { Progress::Busy } else { Progress::Waiting }
    }
}

impl Flow {
    fn is_over(&self) -> bool {
        self.ended && self.rest.is_empty()
    }

    /// Copies until one of the connections has to wait, or for some turns. Returns whether there is
    /// more to copy.
    fn copy(
        &mut self,
        mut from: &TcpStream,
        to: &TcpStream,
        buffer: &mut [u8],
    ) -> io::Result<bool> {
        for _ in 0..READS {
            if !self.write_rest(to)? || self.ended || !self.readable {
                return Ok(false);
            }
            match from.read(buffer) {
                Ok(0) => {
                    self.ended = true;
                    // The other side may have ended the connection.
                    let _ = to.shutdown(Shutdown::Write);
                }
                Ok(len) => {
                    let taken = self.write(to, &buffer[..len])?;
                    self.rest.extend_from_slice(&buffer[taken..len]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Writes the data that waits. Returns whether the receiving connection takes more.
    fn write_rest(&mut self, to: &TcpStream) -> io::Result<bool> {
        if self.writable && !self.rest.is_empty() {
            let rest = std::mem::take(&mut self.rest);
            let taken = self.taken + self.write(to, &rest[self.taken..])?;
            if taken < rest.len() {
                (self.rest, self.taken) = (rest, taken);
            } else {
                self.taken = 0;
            }
        }
        Ok(self.writable)
    }

    /// Writes until the connection takes no more. Returns the number of bytes written.
    fn write(&mut self, mut to: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        while taken < bytes.len() {
            match to.write(&bytes[taken..]) {
                Ok(len) => taken += len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.writable = false;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }
}

/// Makes a connection end with a reset when it is closed.
pub(super) fn reset(connection: &TcpStream) {
    // The connection may have ended.
    let _ = set_socket_linger(connection, Some(std::time::Duration::ZERO));
}

#[cfg(test)]
mod tests;

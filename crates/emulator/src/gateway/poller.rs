//! Events of many descriptors (`epoll(7)`).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use units::Duration;

/// Maximum number of packets, datagrams or connections that are taken from one descriptor for an
/// event.
pub(super) const BATCH: usize = 64;
/// Maximum number of events of one wait.
const EVENTS: usize = 128;

/// The object of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// The end of the gateway.
    Stopped,
    /// The TUN device.
    Device,
    /// A listener, by its place in the list.
    Listener(usize),
    /// A socket for datagrams to any host, by its place in the list.
    Datagrams(usize),
    /// A connection that is being opened outside.
    Opening(u64),
    /// A pair of connections, and the side of the event: 0 is inside.
    Joined(u64, usize),
    /// A session of datagrams.
    Session(u64),
}

/// An event of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) token: Token,
    /// There is data, an end or an error to read.
    pub(super) readable: bool,
    /// There is room to write, or an error.
    pub(super) writable: bool,
    pub(super) failed: bool,
}

/// Bits of a number that hold its kind; the others hold the identifier.
const KIND_BITS: u32 = 3;

impl Token {
    fn number(self) -> u64 {
        let place = |at: usize| u64::try_from(at).unwrap_or_default();
        let (kind, id) = match self {
            Self::Stopped => (0, 0),
            Self::Device => (1, 0),
            Self::Listener(at) => (2, place(at)),
            Self::Datagrams(at) => (3, place(at)),
            Self::Opening(id) => (4, id),
            Self::Joined(id, 0) => (5, id),
            Self::Joined(id, _) => (6, id),
            Self::Session(id) => (7, id),
        };
        id << KIND_BITS | kind
    }

    fn of(number: u64) -> Self {
        let id = number >> KIND_BITS;
        let place = usize::try_from(id).unwrap_or(usize::MAX);
        match number & ((1 << KIND_BITS) - 1) {
            0 => Self::Stopped,
            1 => Self::Device,
            2 => Self::Listener(place),
            3 => Self::Datagrams(place),
            4 => Self::Opening(id),
            5 => Self::Joined(id, 0),
            6 => Self::Joined(id, 1),
            _ => Self::Session(id),
        }
    }
}

/// A set of descriptors to wait for. A descriptor leaves it when it is closed.
#[derive(Debug)]
pub(super) struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll })
    }

    /// Adds a descriptor that has an event as long as there is something to read.
    pub(super) fn add_levels(&self, fd: impl AsFd, token: Token) -> io::Result<()> {
        self.add(fd, token, epoll::EventFlags::IN)
    }

    /// Adds a descriptor that has an event whenever more can be read or written.
    pub(super) fn add_edges(&self, fd: impl AsFd, token: Token) -> io::Result<()> {
        self.add(fd, token, EDGES)
    }

    /// Removes a descriptor, if it is in the set.
    pub(super) fn remove(&self, fd: impl AsFd) {
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Gives a descriptor of [`add_edges`](Self::add_edges) another token. It has an event if
    /// something can be read or written now.
    pub(super) fn change_edges(&self, fd: impl AsFd, token: Token) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token.number());
        Ok(epoll::modify(&self.epoll, fd, data, EDGES)?)
    }

    fn add(&self, fd: impl AsFd, token: Token, flags: epoll::EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, epoll::EventData::new_u64(token.number()), flags)?)
    }

    /// Waits for events, for `most` at most, and appends them to `events`.
    pub(super) fn wait(&self, most: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        let most = most.map(|most| Timespec {
            tv_sec: i64::try_from(most.as_nanos() / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(most.as_nanos() % 1_000_000_000).unwrap_or_default(),
        });
        let mut space = [MaybeUninit::uninit(); EVENTS];
        let (ready, _) = match epoll::wait(&self.epoll, &mut space, most.as_ref()) {
            Err(Errno::INTR) => return Ok(()),
            result => result?,
        };
        events.extend(ready.iter().map(|found| {
            let flags = found.flags;
            let ended = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
            Event {
                token: Token::of(found.data.u64()),
                readable: flags
                    .intersects(epoll::EventFlags::IN | epoll::EventFlags::RDHUP | ended),
                writable: flags.intersects(epoll::EventFlags::OUT | ended),
                failed: flags.contains(epoll::EventFlags::ERR),
            }
        }));
        Ok(())
    }
}

const EDGES: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::OUT)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_token() {
        for token in [
            Token::Stopped,
            Token::Device,
            Token::Listener(1),
            Token::Datagrams(0),
            Token::Opening(7),
            Token::Joined(1 << 40, 0),
            Token::Joined(1 << 40, 1),
            Token::Session(3),
        ] {
            assert_eq!(Token::of(token.number()), token);
        }
    }
}

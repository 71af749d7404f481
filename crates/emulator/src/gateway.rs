//! A way to the networks outside of this machine without privileges: connections, datagrams and
//! echo requests of a link end here, and continue in ordinary sockets of this process.
//!
//! The kernel of this machine is the other end of each TCP connection on the link
//! ([`tun::Gateway`]). A connection is opened outside before the kernel answers its first segment,
//! so a refused or unreachable destination is one on the link, too.
//!
//! | part | module |
//! | --- | --- |
//! | connections until both ends exist | `openings` |
//! | a pair of connections, which copies both directions | `joined` |
//! | UDP datagrams and echo requests | `sessions` |
//! | packets that the gateway reads and writes | `packets` |
//! | events | `poller` |

mod joined;
mod openings;
mod packets;
mod poller;
mod sessions;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::net::UnixStream;
use std::thread::{Builder, JoinHandle};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use tun::{Clock, Error, Gateway};
use units::{Duration, Instant};

use self::joined::{Joined, Progress};
use self::openings::Openings;
use self::packets::Arrived;
use self::poller::{BATCH, Event, Poller, Token};
use self::sessions::Sessions;

/// Interval at which expired connections and sessions are looked for.
const SWEEP: Duration = Duration::from_secs(1);
/// Time for which no connection is accepted after there was no descriptor or memory for one.
const PAUSE: Duration = Duration::from_millis(100);
/// Length of the buffer for packets, datagrams and data of connections, in bytes.
const BUFFER_BYTES: usize = 1 << 17;
/// Descriptors that are neither for connections nor for sessions.
const OTHER_FILES: u64 = 128;
/// Limits for connections and for sessions, unless there are too few descriptors.
const MAX_CONNECTIONS: u64 = 8192;
const MAX_SESSIONS: u64 = 1024;

/// A running gateway. It ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    /// Its closure ends the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Starts a gateway. Its sockets are in the network namespace of the calling thread. `mtu` is
    /// that of the links.
    pub(crate) fn start(gateway: Gateway, mtu: u32) -> Result<Self, Error> {
        let fail = |e: io::Error| Error::new("start the gateway of the link", e);
        let (stop, stopped) = UnixStream::pair().map_err(fail)?;
        let state = State::new(gateway, stopped, mtu).map_err(fail)?;
        let thread = Builder::new().name("tcpsf-nat".to_owned()).spawn(|| state.run());
        Ok(Self { stop: Some(stop), thread: Some(thread.map_err(fail)?) })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A panic in the thread has ended the gateway as well.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The maximum numbers of connections and of sessions for the limit of open files. A connection
/// needs two descriptors.
fn limits(files: Option<u64>) -> (usize, usize) {
    let free = files.unwrap_or(u64::MAX).saturating_sub(OTHER_FILES);
    let sessions = (free / 4).min(MAX_SESSIONS);
    let connections = ((free - sessions) / 2).min(MAX_CONNECTIONS);
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX).max(1);
    (number(connections), number(sessions))
}

/// Returns true if there is no descriptor or no memory for another connection (accept(2)).
fn lacks_room(error: &io::Error) -> bool {
    let kind = Errno::from_io_error(error);
    matches!(kind, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

struct State {
    gateway: Gateway,
    poller: Poller,
    clock: Clock,
    openings: Openings,
    joined: BTreeMap<u64, Joined>,
    /// Pairs that have more to do than fits into a turn.
    busy: BTreeSet<u64>,
    sessions: Sessions,
    /// The time until which listeners are not watched.
    paused: Option<Instant>,
    buffer: Vec<u8>,
    /// Its end ends the gateway.
    _stopped: UnixStream,
}

impl State {
    fn new(gateway: Gateway, stopped: UnixStream, mtu: u32) -> io::Result<Self> {
        let (connections, sessions) = limits(getrlimit(Resource::Nofile).current);
        let poller = Poller::new()?;
        poller.add_levels(&stopped, Token::Stopped)?;
        poller.add_levels(&gateway.tun, Token::Device)?;
        for (number, listener) in (0..).zip(&gateway.listeners) {
            poller.add_levels(listener, Token::Listener(number))?;
        }
        for (number, socket) in (0..).zip(&gateway.datagrams) {
            poller.add_levels(socket, Token::Datagrams(number))?;
        }
        Ok(Self {
            gateway,
            poller,
            clock: Clock::start(),
            openings: Openings::new(connections),
            joined: BTreeMap::new(),
            busy: BTreeSet::new(),
            sessions: Sessions::new(sessions, mtu),
            paused: None,
            buffer: vec![0; BUFFER_BYTES],
            _stopped: stopped,
        })
    }

    fn run(mut self) {
        let mut events = Vec::new();
        let mut swept = self.clock.now();
        loop {
            let wait = if !self.busy.is_empty() {
                Some(Duration::ZERO)
            } else if self.paused.is_some() {
                Some(PAUSE)
            } else if self.openings.is_empty() && self.sessions.is_empty() {
                None
            } else {
                Some(SWEEP)
            };
            if self.poller.wait(wait, &mut events).is_err() {
                return;
            }
            let now = self.clock.now();
            for event in events.drain(..) {
                if event.token == Token::Stopped {
                    return;
                }
                self.handle(event, now);
            }
            if self.paused.is_some_and(|until| until <= now) {
                self.resume(now);
            }
            for id in std::mem::take(&mut self.busy) {
                self.copy(id);
            }
            if now.since(swept) >= SWEEP {
                swept = now;
                self.openings.expire(now);
                self.sessions.expire(now);
            }
        }
    }

    fn handle(&mut self, event: Event, now: Instant) {
        match event.token {
            Token::Stopped => {}
            Token::Device => self.read_packets(now),
            Token::Listener(number) => self.accept(number, now),
            Token::Datagrams(number) => {
                let Self { sessions, poller, buffer, gateway, .. } = self;
                let Some(socket) = gateway.datagrams.get(number) else { return };
                for _ in 0..BATCH {
                    let Ok((len, client, to)) = tun::receive_redirected(socket, buffer) else {
                        break;
                    };
                    sessions.send(client, to, &buffer[..len], now, poller, &gateway.tun);
                }
            }
            Token::Opening(id) => self.openings.proceed(id, now, &self.gateway.tun),
            Token::Joined(id, side) => {
                if let Some(pair) = self.joined.get_mut(&id) {
                    pair.notice(side, event);
                    self.copy(id);
                }
            }
            Token::Session(id) => {
                self.sessions.receive(id, event, now, &mut self.buffer, &self.gateway.tun);
            }
        }
    }

    /// Reads packets that have no socket.
    fn read_packets(&mut self, now: Instant) {
        let Self { gateway, poller, openings, sessions, joined, buffer, .. } = self;
        for _ in 0..BATCH {
            let Ok(Some(len)) = gateway.tun.read(buffer) else { return };
            let packet = &buffer[..len];
            match packets::read(packet) {
                Arrived::Opening(ends) => {
                    openings.begin(ends, packet, joined.len(), now, poller, &gateway.tun);
                }
                Arrived::Echo { client, to, echo } => {
                    let about = (packet, to);
                    sessions.request(client, about, echo, now, poller, &gateway.tun);
                }
                Arrived::Other => {}
            }
        }
    }

    /// Accepts connections, and joins each with the one outside.
    fn accept(&mut self, number: usize, now: Instant) {
        let Some(listener) = self.gateway.listeners.get(number) else { return };
        for _ in 0..BATCH {
            let inside = match listener.accept() {
                Ok((inside, _)) => inside,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Such connections stay in the queue of the listener, which would remain readable.
                Err(error) if lacks_room(&error) => return self.pause(now),
                // The connection has ended.
                Err(_) => continue,
            };
            let Some((id, outside)) = self.openings.take(&inside) else {
                joined::reset(&inside);
                continue;
            };
            let pair = Joined::new(inside, outside);
            if let Ok(pair) = pair.and_then(|pair| pair.watch(id, &self.poller).map(|()| pair)) {
                self.joined.insert(id, pair);
            }
        }
    }

    /// Stops watching the listeners for a time.
    fn pause(&mut self, now: Instant) {
        for listener in &self.gateway.listeners {
            self.poller.remove(listener);
        }
        self.paused = Some(now + PAUSE);
    }

    /// Watches the listeners again. If that fails, it waits once more.
    fn resume(&mut self, now: Instant) {
        let watched = (0..).zip(&self.gateway.listeners).try_for_each(|(number, listener)| {
            self.poller.add_levels(listener, Token::Listener(number))
        });
        self.paused = None;
        if watched.is_err() {
            self.pause(now);
        }
    }

    /// Copies what a pair of connections has to copy.
    fn copy(&mut self, id: u64) {
        let Some(pair) = self.joined.get_mut(&id) else { return };
        match pair.copy(&mut self.buffer) {
            Progress::Waiting => {}
            Progress::Busy => {
                self.busy.insert(id);
            }
            Progress::Over => {
                self.joined.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_leave_descriptors_for_other_files() {
        for files in [0, 100, 129, 256, 1024, 4096, 1 << 20] {
            let (connections, sessions) = limits(Some(files));
            let needed = 2 * u64::try_from(connections).unwrap() + u64::try_from(sessions).unwrap();
            assert!(connections >= 1 && sessions >= 1);
            assert!(files < 140 || needed + OTHER_FILES <= files, "{files}");
        }
        assert_eq!(limits(Some(1024)), (336, 224));
        assert_eq!(limits(None), (8192, 1024));
    }
}

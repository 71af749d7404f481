//! TCP proxy. A peer's connection ends here, and its bytes are relayed over a connection of the
//! kernel to an upstream. Operators of satellite links call this a performance-enhancing proxy (RFC
//! 3135): this host's sender serves the peers behind the lossy part of the path.
//!
//! The proxy buffers no data of its own. The peer's bytes stay in the receive buffer of its
//! connection until the kernel accepts them. The kernel's socket is read only as far as the peer's
//! connection has room. Each side thus throttles the other.
//!
//! All sockets are registered with one epoll descriptor for their whole life, edge-triggered. A
//! reported state is stored and considered valid until a call returns otherwise, so that a wait
//! reports no state twice.

use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, connect, recv, send,
    shutdown, socket_with, sockopt,
};
use tun::Error;
use units::{Duration, Instant};

use crate::config::StackConfig;
use crate::connections::{Connections, Entry};
use crate::event::{ConnectionId, Event, EventKind};
use crate::service::Service;
use crate::stack::Stack;

/// Maximum number of bytes relayed to a peer before another connection is served.
const QUANTUM: usize = 256 << 10;

/// Maximum number of bytes moved by one call.
const CHUNK: usize = 64 << 10;

/// Interval between checks whether a peer has acknowledged all data of a failed upstream.
const DRAIN_POLL: Duration = Duration::from_millis(50);

/// Maximum number of socket events per call.
const MAX_EVENTS: usize = 256;

/// Events registered for each socket, edge-triggered.
const SOCKET_EVENTS: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

/// Relays peers to an upstream.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    upstream: Vec<SocketAddr>,
    /// Maximum time for one address of the upstream to answer.
    connect_timeout: Duration,
    /// The backlog has the connections that have used up their quantum and have more to relay.
    relays: Connections<Relay>,
    /// Epoll descriptor of all sockets.
    epoll: OwnedFd,
    chunk: Vec<u8>,
    counters: Relayed,
}

/// Totals of the proxy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Relayed {
    /// Connections established to the upstream.
    pub connected: u64,
    /// Peers for which no connection to the upstream could be established.
    pub unconnected: u64,
    /// Bytes relayed from the upstream to peers.
    pub down_bytes: u64,
    /// Bytes relayed from peers to the upstream.
    pub up_bytes: u64,
}

/// A peer's connection and the kernel's socket to the upstream.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of two directions")]
struct Relay {
    socket: OwnedFd,
    /// Index of the upstream address being connected to; `None` once connected.
    connecting_to: Option<usize>,
    /// The socket may be readable.
    upstream_readable: bool,
    /// The socket's send buffer is full.
    upstream_blocked: bool,
    /// The upstream sends no more data.
    upstream_closed: bool,
    /// The upstream accepts no more data. Data from the peer is discarded.
    upstream_rejects: bool,
    /// The upstream failed without an orderly close. The peer is reset once it has acknowledged the
    /// data sent before.
    upstream_failed: bool,
    /// The socket was shut down for writing after the peer's FIN.
    upstream_shut_down: bool,
}

impl Proxy {
    /// Creates a proxy that accepts peers on this port. Each is connected to the first address of
    /// the upstream that answers within `connect_timeout`.
    ///
    /// # Errors
    /// If the system has no more descriptors.
    pub fn new(
        port: u16,
        upstream: Vec<SocketAddr>,
        connect_timeout: Duration,
    ) -> Result<Self, Error> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)
            .map_err(|errno| Error::new("make an epoll descriptor", errno))?;
        Ok(Self {
            port,
            upstream,
            connect_timeout,
            relays: Connections::default(),
            epoll,
            chunk: vec![0; CHUNK],
            counters: Relayed::default(),
        })
    }

    /// Totals so far.
    pub fn relayed(&self) -> &Relayed {
        &self.counters
    }

    /// Starts to connect to the upstream's address at `index`, or to the first later one for which
    /// this succeeds.
    fn connect_from(&self, id: ConnectionId, mut index: usize) -> Option<(OwnedFd, usize)> {
        loop {
            let address = *self.upstream.get(index)?;
            match begin_connect(address, &self.epoll, id) {
                Ok(socket) => return Some((socket, index)),
                Err(_) => index += 1,
            }
        }
    }

    fn accept(&mut self, stack: &mut Stack, id: ConnectionId, now: Instant) {
        let Some((socket, index)) = self.connect_from(id, 0) else {
            self.counters.unconnected += 1;
            stack.abort(id, now);
            return;
        };
        let relay = Relay {
            socket,
            connecting_to: Some(index),
            upstream_readable: false,
            upstream_blocked: false,
            upstream_closed: false,
            upstream_rejects: false,
            upstream_failed: false,
            upstream_shut_down: false,
        };
        self.relays.insert(id, now + self.connect_timeout, relay);
    }

    /// Relays data in both directions for one peer, as far as possible.
    fn pump(&mut self, stack: &mut Stack, id: ConnectionId, now: Instant) {
        let Some(mut relay) = self.relays.take(id) else { return };
        if relay.connecting_to.is_none() {
            self.down(stack, &mut relay, now);
            let rejected_before = relay.upstream_rejects;
            self.up(stack, &mut relay);
            if relay.upstream_rejects && !rejected_before {
                // Reading to the end of the stream tells whether the upstream closed or failed.
                relay.upstream_readable = true;
                self.down(stack, &mut relay, now);
            }
        }
        if relay.upstream_failed && relay.upstream_closed {
            let has_unacknowledged =
                stack.connection(id).is_some_and(|connection| connection.unacknowledged() > 0);
            if !has_unacknowledged {
                stack.abort(id, now);
                return;
            }
            relay.deadline = now + DRAIN_POLL;
        }
        self.relays.put(relay);
    }

    /// Relays from the upstream to the peer.
    fn down(&mut self, stack: &mut Stack, relay: &mut Entry<Relay>, now: Instant) {
        let mut budget = QUANTUM;
        while relay.upstream_readable && !relay.upstream_closed {
            if budget == 0 {
                self.relays.defer(relay);
                break;
            }
            let room = stack.writable(relay.id).min(CHUNK);
            if room == 0 {
                break;
            }
            let count = match recv(&relay.socket, &mut self.chunk[..room], RecvFlags::DONTWAIT) {
                Ok((count, _)) => count,
                Err(Errno::INTR) => continue,
                // Only after `EAGAIN` does epoll report new data. A short read is no indication of
                // an empty buffer: urgent data ends a read, too.
                Err(Errno::AGAIN) => {
                    relay.upstream_readable = false;
                    break;
                }
                Err(_) => {
                    (relay.upstream_closed, relay.upstream_failed) = (true, true);
                    relay.upstream_rejects = true;
                    break;
                }
            };
            if count == 0 {
                relay.upstream_closed = true;
                if !relay.upstream_failed {
                    stack.close(relay.id, now);
                }
                break;
            }
            // There is room for all bytes, unless the peer's connection has ended.
            if stack.write(relay.id, &self.chunk[..count], now) != Ok(count) {
                (relay.upstream_closed, relay.upstream_failed) = (true, true);
                break;
            }
            budget = budget.saturating_sub(count);
            self.counters.down_bytes += count as u64;
        }
    }

    /// Relays from the peer to the upstream.
    fn up(&mut self, stack: &mut Stack, relay: &mut Entry<Relay>) {
        while relay.upstream_rejects || !relay.upstream_blocked {
            let [first, _] = stack.peek(relay.id);
            if first.is_empty() {
                break;
            }
            if relay.upstream_rejects {
                let count = first.len();
                stack.consume(relay.id, count);
                continue;
            }
            match send(&relay.socket, first, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(count) => {
                    self.counters.up_bytes += count as u64;
                    stack.consume(relay.id, count);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => relay.upstream_blocked = true,
                Err(errno) => {
                    relay.upstream_rejects = true;
                    // `EPIPE` follows an orderly close of the upstream. The kernel reports any
                    // other error only once; after that, the end of the upstream's data looks like
                    // an orderly close.
                    relay.upstream_failed |= errno != Errno::PIPE;
                }
            }
        }
        if !relay.upstream_shut_down && stack.is_at_end(relay.id) {
            relay.upstream_shut_down = true;
            // If the upstream has gone, reading tells whether it closed or failed.
            relay.upstream_rejects |= shutdown(&relay.socket, Shutdown::Write).is_err();
        }
    }

    /// Handles the events of the socket with this token.
    fn on_socket_event(
        &mut self,
        stack: &mut Stack,
        token_value: u64,
        flags: EventFlags,
        now: Instant,
    ) {
        let index = usize::try_from(token_value & u64::from(u32::MAX)).unwrap_or(usize::MAX);
        // The relay may have ended, and its slot may have been reused.
        let relay = self.relays.get_at_mut(index);
        let Some(relay) = relay.filter(|relay| token(relay.id) == token_value) else { return };
        relay.upstream_readable |= flags.intersects(!EventFlags::OUT);
        relay.upstream_blocked &=
            !flags.intersects(EventFlags::OUT | EventFlags::ERR | EventFlags::HUP);
        let id = relay.id;
        if relay.connecting_to.is_some() {
            self.on_connect_result(stack, id, now);
        } else {
            self.pump(stack, id, now);
        }
    }

    /// Handles the result of a connection attempt to the upstream, including its timeout.
    fn on_connect_result(&mut self, stack: &mut Stack, id: ConnectionId, now: Instant) {
        let Some(mut relay) = self.relays.take(id) else { return };
        let Some(index) = relay.connecting_to else {
            self.relays.put(relay);
            return;
        };
        let open = matches!(sockopt::socket_error(&relay.socket), Ok(Ok(())));
        let on_time = now < relay.deadline;
        if open && on_time {
            relay.connecting_to = None;
            relay.deadline = Instant::NEVER;
            self.counters.connected += 1;
            // The sender of the data has already applied its own buffering.
            let _ = sockopt::set_tcp_nodelay(&relay.socket, true);
            self.relays.put(relay);
            self.pump(stack, id, now);
            return;
        }
        let Some((socket, index)) = self.connect_from(id, index + 1) else {
            self.counters.unconnected += 1;
            stack.abort(id, now);
            return;
        };
        (relay.socket, relay.connecting_to) = (socket, Some(index));
        relay.deadline = now + self.connect_timeout;
        relay.upstream_readable = false;
        self.relays.put(relay);
    }
}

/// Starts a non-blocking connection attempt and registers its socket with `epoll`.
fn begin_connect(address: SocketAddr, epoll: &OwnedFd, id: ConnectionId) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(errno) => return Err(errno),
    }
    // The socket is registered after `connect`, because epoll reports an unconnected socket as hung
    // up. Conditions that hold already are reported, too.
    epoll::add(epoll, &socket, EventData::new_u64(token(id)), SOCKET_EVENTS)?;
    Ok(socket)
}

/// The epoll token of a connection: its slot index, and the low 32 bits of its serial number.
fn token(id: ConnectionId) -> u64 {
    id.serial << 32 | u64::from(id.index)
}

impl Service for Proxy {
    /// Turns the Nagle algorithm off (RFC 9293 §3.7.4). The upstream's TCP has already applied it,
    /// or the upstream has disabled it and its data must not wait for acknowledgments here.
    fn configure(&self, config: &mut StackConfig) {
        config.tcp.nagle = false;
    }

    fn start(&mut self, stack: &mut Stack, _now: Instant) {
        stack.listen(self.port);
    }

    fn on_event(&mut self, stack: &mut Stack, event: Event, now: Instant) {
        match event.kind {
            EventKind::Accepted(_) => self.accept(stack, event.id, now),
            EventKind::Readable | EventKind::Writable => self.pump(stack, event.id, now),
            EventKind::Closed(ending) => {
                if let Some(relay) = self.relays.take(event.id)
                    && !ending.is_finished()
                {
                    // The upstream receives a reset, too.
                    let _ =
                        sockopt::set_socket_linger(&relay.socket, Some(std::time::Duration::ZERO));
                }
            }
            EventKind::Connected => {}
        }
    }

    fn on_timeout(&mut self, stack: &mut Stack, now: Instant) {
        while let Some(id) = self.relays.next_due(now) {
            let Some(relay) = self.relays.get_mut(id) else { continue };
            if relay.connecting_to.is_some() {
                self.on_connect_result(stack, id, now);
            } else {
                relay.deadline = Instant::NEVER;
                self.pump(stack, id, now);
            }
        }
        for _ in 0..self.relays.turns() {
            if let Some(id) = self.relays.next_turn() {
                self.pump(stack, id, now);
            }
        }
    }

    fn next_timeout(&self) -> Instant {
        self.relays.next_timeout()
    }

    fn stop(&mut self, stack: &mut Stack, _now: Instant) {
        stack.stop_listening(self.port);
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.epoll.as_fd())
    }

    fn on_ready(&mut self, stack: &mut Stack, now: Instant) {
        const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut room = [MaybeUninit::uninit(); MAX_EVENTS];
        // If a signal interrupts the call, the events remain for the next one.
        let Ok((events, _)) = epoll::wait(&self.epoll, &mut room, Some(&NO_WAIT)) else { return };
        for event in events {
            // The fields are packed, so they are copied.
            let (flags, data) = (event.flags, event.data);
            self.on_socket_event(stack, data.u64(), flags, now);
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let Relayed { connected, unconnected, down_bytes, up_bytes } = self.counters;
        vec![
            ("upstream_connected", connected),
            ("upstream_failed", unconnected),
            ("down_bytes", down_bytes),
            ("up_bytes", up_bytes),
        ]
    }
}

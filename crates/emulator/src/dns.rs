//! A forwarder of DNS messages (RFC 1035 §4.2), over UDP and TCP. It changes nothing in them.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};

use rustix::event::{PollFd, PollFlags};
use tun::{Clock, Error};
use units::{Duration, Instant};

/// The port of DNS servers.
pub(crate) const PORT: u16 = 53;

/// Maximum number of queries over UDP that wait for a response. The oldest one gives way.
const MAX_QUERIES: usize = 512;
/// Maximum number of TCP connections at a time.
const MAX_CONNECTIONS: usize = 64;
/// Time after which a query or a connection without data is given up. Clients ask again earlier.
const TIMEOUT: Duration = Duration::from_secs(10);
const TCP_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);
/// Maximum length of a message (RFC 1035 §4.2.2), and of a UDP datagram.
const MESSAGE_BYTES: usize = 65_535;
/// Length of the header (RFC 1035 §4.1.1), which begins with the identifier.
const HEADER_BYTES: usize = 12;

/// A running forwarder. It ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct Forwarder {
    /// Its closure ends the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    /// Starts a forwarder at `address`, in the network namespace of the calling thread, where the
    /// `servers` are. `None` if another server answers at all addresses, and so at this one.
    pub(crate) fn start(address: IpAddr, servers: Vec<SocketAddr>) -> Result<Option<Self>, Error> {
        Self::at(SocketAddr::new(address, PORT), servers)
    }

    fn at(at: SocketAddr, servers: Vec<SocketAddr>) -> Result<Option<Self>, Error> {
        let bound = Bound::at(at)?;
        bound.map(|bound| Self::with(bound, servers)).transpose()
    }

    /// Starts a forwarder at sockets that exist. The `servers` are in the network namespace of the
    /// calling thread.
    pub(crate) fn with(bound: Bound, servers: Vec<SocketAddr>) -> Result<Self, Error> {
        let fail = |e| Error::new("forward DNS messages", e);
        let Bound { udp, tcp } = bound;
        udp.set_nonblocking(true).map_err(fail)?;
        tcp.set_nonblocking(true).map_err(fail)?;
        let (stop, stopped) = UnixStream::pair().map_err(fail)?;
        let relay = Relay {
            udp,
            tcp,
            stopped,
            servers: servers.into(),
            queries: VecDeque::new(),
            connections: Arc::new(AtomicUsize::new(0)),
            clock: Clock::start(),
        };
        let thread = Builder::new().name("tcpsf-dns".to_owned()).spawn(|| relay.run());
        Ok(Self { stop: Some(stop), thread: Some(thread.map_err(fail)?) })
    }
}

/// The sockets of a forwarder.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) udp: UdpSocket,
    pub(crate) tcp: TcpListener,
}

impl Bound {
    /// Makes sockets at an address. `None` if another server has it.
    pub(crate) fn at(at: SocketAddr) -> Result<Option<Self>, Error> {
        match UdpSocket::bind(at).and_then(|udp| Ok(Self { udp, tcp: TcpListener::bind(at)? })) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            bound => {
                bound.map(Some).map_err(|e| Error::new(format!("forward DNS messages at {at}"), e))
            }
        }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A panic in the thread has ended the forwarder as well.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A query that was passed on to a server.
#[derive(Debug)]
struct Query {
    /// A socket of its own, with a random port (RFC 5452 §9.2), connected to the server.
    socket: UdpSocket,
    client: SocketAddr,
    id: [u8; 2],
    until: Instant,
}

#[derive(Debug)]
struct Relay {
    udp: UdpSocket,
    tcp: TcpListener,
    stopped: UnixStream,
    servers: Arc<[SocketAddr]>,
    /// The oldest first.
    queries: VecDeque<Query>,
    connections: Arc<AtomicUsize>,
    clock: Clock,
}

impl Relay {
    fn run(mut self) {
        let mut buffer = vec![0; MESSAGE_BYTES];
        loop {
            let own = [self.stopped.as_fd(), self.udp.as_fd(), self.tcp.as_fd()];
            let all = own.into_iter().chain(self.queries.iter().map(|query| query.socket.as_fd()));
            let mut fds: Vec<_> =
                all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            let until = self.queries.front().map_or(Instant::NEVER, |query| query.until);
            if self.clock.wait(&mut fds, until, Duration::ZERO).is_err() {
                return;
            }
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            let [stopped, udp, tcp, queries @ ..] = &ready[..] else { return };
            if *stopped {
                return;
            }
            self.pass_back(queries, &mut buffer);
            if *udp {
                self.pass_on(&mut buffer);
            }
            if *tcp {
                self.accept();
            }
        }
    }

    /// Passes new queries on to every server.
    fn pass_on(&mut self, buffer: &mut [u8]) {
        while let Ok((len, client)) = self.udp.recv_from(buffer) {
            let Some((id, message)) = identifier(&buffer[..len]) else { continue };
            let until = self.clock.now() + TIMEOUT;
            for server in &*self.servers {
                let Ok(socket) = connected(server) else { continue };
                if socket.send(message).is_ok() {
                    self.queries.push_back(Query { socket, client, id, until });
                }
            }
            while self.queries.len() > MAX_QUERIES {
                self.queries.pop_front();
            }
        }
    }

    /// Passes the first response to a query back to the client, and forgets the query.
    fn pass_back(&mut self, ready: &[bool], buffer: &mut [u8]) {
        let mut answered = Vec::new();
        for (query, _) in self.queries.iter().zip(ready).filter(|(_, ready)| **ready) {
            let Ok(len) = query.socket.recv(buffer) else { continue };
            if let Some((id, message)) = identifier(&buffer[..len])
                && id == query.id
                && !answered.contains(&(query.client, id))
            {
                // The client may have given up.
                let _ = self.udp.send_to(message, query.client);
                answered.push((query.client, id));
            }
        }
        let now = self.clock.now();
        self.queries
            .retain(|query| query.until > now && !answered.contains(&(query.client, query.id)));
    }

    /// Accepts connections, each served by threads of its own.
    fn accept(&self) {
        while let Ok((client, _)) = self.tcp.accept() {
            let (servers, counter) = (Arc::clone(&self.servers), Arc::clone(&self.connections));
            if counter.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
                counter.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let done = Arc::clone(&counter);
            let thread = Builder::new().name("tcpsf-dns-tcp".to_owned()).spawn(move || {
                // Both ends see the end of the connection.
                let _ = relay_connection(&client, &servers);
                counter.fetch_sub(1, Ordering::Relaxed);
            });
            if thread.is_err() {
                done.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

fn connected(server: &SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = if server.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The identifier of a message, and the message. `None` if it is shorter than a header.
fn identifier(message: &[u8]) -> Option<([u8; 2], &[u8])> {
    let header = message.first_chunk::<HEADER_BYTES>()?;
    Some(([header[0], header[1]], message))
}

/// Copies both directions between a client and the first server that accepts.
fn relay_connection(client: &TcpStream, servers: &[SocketAddr]) -> io::Result<()> {
    let mut found = Err(io::ErrorKind::NotConnected.into());
    for server in servers {
        found = TcpStream::connect_timeout(server, TCP_TIMEOUT);
        if found.is_ok() {
            break;
        }
    }
    let server = found?;
    client.set_nonblocking(false)?;
    for stream in [client, &server] {
        stream.set_read_timeout(Some(TCP_TIMEOUT))?;
        stream.set_write_timeout(Some(TCP_TIMEOUT))?;
        stream.set_nodelay(true)?;
    }
    std::thread::scope(|scope| {
        let up = Builder::new().spawn_scoped(scope, || copy_until_end(client, &server))?;
        copy_until_end(&server, client);
        let _ = up.join();
        Ok(())
    })
}

/// Copies until the end of the data, and passes the end on.
fn copy_until_end(mut from: &TcpStream, mut to: &TcpStream) {
    let mut buffer = [0; 4096];
    while let Ok(len) = from.read(&mut buffer) {
        if len == 0 || to.write_all(&buffer[..len]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests;

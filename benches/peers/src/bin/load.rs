//! Client over the kernel's TCP. It opens connections to a server, keeps them busy for a while, and
//! prints the result as JSON.
//!
//! `load get|put|ask|hold --connections N --milliseconds M [--fresh]`. `get` reads from the source.
//! `put` writes to the sink. `ask` sends requests and waits for the responses; with `--fresh` it
//! sends one request per connection. `hold` opens the connections, sends one request on each, and
//! waits until its standard input ends.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

use peers::{CHUNK, REQUEST, REQUESTS, RESPONSE, SERVER, SINK, SOURCE};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::sockopt::{set_tcp_nodelay, socket_error};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use tun::Clock;
use units::{Duration, Instant};

/// Maximum number of concurrent handshakes.
const MAX_HANDSHAKES: usize = 256;

const STALL_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Get,
    Put,
    Ask,
    Hold,
}

struct Client {
    work: Work,
    fresh: bool,
    poll: std::os::fd::OwnedFd,
    connections: Vec<Connection>,
    /// Number of connections to open.
    wanted: usize,
    bytes: Vec<u8>,
    moved: u64,
    answers: u64,
}

struct Connection {
    stream: TcpStream,
    /// The request has been sent.
    open: bool,
    /// Missing bytes of the response.
    missing: usize,
}

impl Client {
    fn open(&self, index: usize) -> Connection {
        let port = match self.work {
            Work::Get => SOURCE,
            Work::Put => SINK,
            Work::Ask | Work::Hold => REQUESTS,
        };
        let to = SocketAddr::new(IpAddr::from(SERVER), port);
        let socket =
            socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::NONBLOCK, None)
                .expect("a socket");
        set_tcp_nodelay(&socket, true).expect("it does not wait");
        let begun = connect(&socket, &to);
        assert!(matches!(begun, Ok(()) | Err(Errno::INPROGRESS)), "connect: {begun:?}");
        let data = epoll::EventData::new_u64(index as u64);
        let mut flags = epoll::EventFlags::IN;
        flags.set(epoll::EventFlags::OUT, self.work != Work::Get);
        // Edge-triggered, since a connection with a request is nearly always writable.
        flags.set(epoll::EventFlags::ET, matches!(self.work, Work::Ask | Work::Hold));
        epoll::add(&self.poll, &socket, data, flags).expect("it is watched");
        Connection { stream: TcpStream::from(socket), open: false, missing: 0 }
    }

    /// Continues the work of a ready connection.
    fn serve(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        match self.work {
            Work::Put => match connection.stream.write(&self.bytes) {
                Ok(taken) => self.moved += taken as u64,
                Err(error) => assert!(error.kind() == ErrorKind::WouldBlock, "write: {error}"),
            },
            Work::Get => match connection.stream.read(&mut self.bytes) {
                Ok(0) => panic!("the server has closed"),
                Ok(taken) => self.moved += taken as u64,
                Err(error) => assert!(error.kind() == ErrorKind::WouldBlock, "read: {error}"),
            },
            Work::Ask | Work::Hold if !connection.open => {
                if let Ok(Some(Errno::CONNREFUSED)) =
                    socket_error(&connection.stream).map(Result::err)
                {
                    // All sockets of smoltcp were in use.
                    self.connections[index] = self.open(index);
                } else {
                    connection.ask(&self.bytes);
                }
            }
            Work::Ask | Work::Hold => {
                let taken = match connection.stream.read(&mut self.bytes) {
                    Ok(0) => panic!("the server has closed"),
                    Ok(taken) => taken,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                    Err(error) => panic!("read: {error}"),
                };
                self.moved += taken as u64;
                connection.missing =
                    connection.missing.checked_sub(taken).expect("no more than was asked for");
                if connection.missing > 0 {
                    return;
                }
                self.answers += 1;
                if self.work == Work::Ask && self.fresh {
                    self.connections[index] = self.open(index);
                } else if self.work == Work::Ask {
                    connection.ask(&self.bytes);
                }
                if self.connections.len() < self.wanted {
                    let connection = self.open(self.connections.len());
                    self.connections.push(connection);
                }
            }
        }
    }
}

impl Connection {
    fn ask(&mut self, bytes: &[u8]) {
        self.stream
            .write_all(&bytes[..REQUEST])
            .expect("a connection on which a small request fits");
        self.open = true;
        self.missing = RESPONSE;
    }
}

fn main() {
    let work = match std::env::args().nth(1).as_deref() {
        Some("get") => Work::Get,
        Some("put") => Work::Put,
        Some("ask") => Work::Ask,
        Some("hold") => Work::Hold,
        other => panic!("{other:?}: no such work"),
    };
    let end = Instant::ZERO + Duration::from_millis(peers::option("--milliseconds", 2000));
    let wanted = peers::option("--connections", 1);
    let mut client = Client {
        work,
        wanted,
        fresh: peers::flag("--fresh"),
        poll: epoll::create(epoll::CreateFlags::CLOEXEC).expect("an epoll"),
        connections: Vec::new(),
        bytes: vec![b'x'; 4 * CHUNK],
        moved: 0,
        answers: 0,
    };
    // More concurrent SYNs than the device's queue holds would be lost.
    for index in 0..wanted.min(MAX_HANDSHAKES) {
        let connection = client.open(index);
        client.connections.push(connection);
    }
    let clock = Clock::start();
    let mut last = clock.now();
    let mut events = Vec::with_capacity(256);
    while work == Work::Hold && client.answers < wanted as u64
        || work != Work::Hold && clock.now() < end
    {
        events.clear();
        let timeout = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        epoll::wait(&client.poll, rustix::buffer::spare_capacity(&mut events), Some(&timeout))
            .expect("a wait");
        if events.is_empty() {
            assert!(clock.now().since(last) < STALL_TIMEOUT, "nothing moves");
            continue;
        }
        last = clock.now();
        for event in &events {
            client.serve(usize::try_from(event.data.u64()).expect("a index"));
        }
    }
    let elapsed = clock.now().as_nanos();
    println!(
        r#"{{"nanoseconds": {elapsed}, "bytes": {}, "answers": {}}}"#,
        client.moved, client.answers
    );
    if work == Work::Hold {
        std::io::stdout().flush().expect("somebody listens");
        std::io::stdin().read_to_end(&mut client.bytes).expect("its end");
    }
}

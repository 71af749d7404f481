//! The host's end of the exchanges: a service that is the server of all connections, or their
//! clients.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use host::{ConnectionId, EndReason, Event, EventKind, Service, Stack, Tuple};
use units::Instant;

use crate::case::Case;
use crate::request::{HEADER_LEN, Request};

/// Maximum number of bytes per write.
const QUANTUM: usize = 64 << 10;

/// Results of the connections of one end.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    /// Connections without error: all bytes correct, and closed by both ends.
    pub good: u64,
    /// Compared payload bytes.
    pub compared_bytes: u64,
    /// Other connections, counted by error.
    pub bad: BTreeMap<String, u64>,
}

impl Tally {
    pub(crate) fn add(&mut self, result: Result<(), String>, bytes: u64) {
        self.compared_bytes += bytes;
        match result {
            Ok(()) => self.good += 1,
            Err(why) => *self.bad.entry(why).or_default() += 1,
        }
    }
}

/// The server or the clients of an exchange.
#[derive(Debug)]
pub(crate) struct Ours {
    role: Role,
    /// Jobs by [`ConnectionId::index`].
    jobs: Vec<Option<Job>>,
    tally: Tally,
    open: usize,
    chunk: Vec<u8>,
}

#[derive(Debug)]
enum Role {
    Server { port: u16 },
    Clients { local: IpAddr, remote: SocketAddr, next: u64, port: u16, case: Box<Case> },
}

/// Progress of a connection.
#[derive(Debug)]
struct Job {
    id: ConnectionId,
    client: bool,
    header: Vec<u8>,
    /// The request; for a server `None` until its header has arrived.
    request: Option<Request>,
    /// Number of the peer's bytes read, without the header.
    read: u64,
    /// Number of bytes written, including the header.
    written: u64,
    closed: bool,
    wrong: Option<&'static str>,
}

impl Job {
    fn new(id: ConnectionId, request: Option<Request>) -> Self {
        let header = request.map_or_else(Vec::new, |request| request.to_bytes().to_vec());
        Self {
            id,
            client: request.is_some(),
            header,
            request,
            read: 0,
            written: 0,
            closed: false,
            wrong: None,
        }
    }

    /// Total number of bytes to read, without the header.
    fn bytes_to_read(&self) -> u64 {
        self.request.map_or(u64::MAX, |request| if self.client { request.down } else { request.up })
    }

    /// Number of bytes that may be written by now, including the header.
    fn bytes_to_write(&self) -> u64 {
        match self.request {
            Some(request) if self.client => HEADER_LEN as u64 + request.up,
            Some(request) if self.read == request.up => request.down,
            _ => 0,
        }
    }

    fn is_done(&self) -> bool {
        self.request.is_some()
            && self.read == self.bytes_to_read()
            && self.written == self.bytes_to_write()
    }

    /// Checks received bytes and returns how many were used.
    fn accept(&mut self, mut bytes: &[u8]) -> usize {
        let len = bytes.len();
        if self.request.is_none() {
            let (head, rest) = bytes.split_at(bytes.len().min(HEADER_LEN - self.header.len()));
            self.header.extend_from_slice(head);
            bytes = rest;
            self.request =
                <&[u8; HEADER_LEN]>::try_from(&self.header[..]).ok().map(Request::from_bytes);
        }
        let Some(request) = self.request.filter(|_| !bytes.is_empty()) else { return len };
        let right = if self.client {
            request.is_download(self.read, bytes)
        } else {
            request.is_upload(self.read, bytes)
        };
        self.read += bytes.len() as u64;
        if !right {
            self.wrong = Some("wrong bytes");
        } else if self.read > self.bytes_to_read() {
            self.wrong = Some("too many bytes");
        }
        len
    }

    /// Fills `into` with the next bytes to write.
    fn fill(&self, into: &mut [u8]) {
        let Some(request) = self.request else { return };
        if !self.client {
            request.download(self.written, into);
        } else if let Some(at) = self.written.checked_sub(HEADER_LEN as u64) {
            request.upload(at, into);
        } else {
            let rest = &self.header[usize::try_from(self.written).unwrap_or(0)..];
            let (head, upload) = into.split_at_mut(rest.len().min(into.len()));
            head.copy_from_slice(&rest[..head.len()]);
            request.upload(0, upload);
        }
    }
}

impl Ours {
    pub(crate) fn server(port: u16) -> Self {
        Self::new(Role::Server { port })
    }

    pub(crate) fn clients(local: IpAddr, remote: SocketAddr, case: Case) -> Self {
        Self::new(Role::Clients { local, remote, next: 0, port: 1024, case: Box::new(case) })
    }

    fn new(role: Role) -> Self {
        Self { role, jobs: Vec::new(), tally: Tally::default(), open: 0, chunk: vec![0; QUANTUM] }
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Whether all clients have ended.
    pub(crate) fn is_done(&self) -> bool {
        matches!(&self.role, Role::Clients { next, case, .. } if *next >= case.connections && self.open == 0)
    }

    /// Number of connections that have not ended.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    fn begin(&mut self, id: ConnectionId, request: Option<Request>) {
        if self.jobs.len() <= id.index() {
            self.jobs.resize_with(id.index() + 1, || None);
        }
        self.jobs[id.index()] = Some(Job::new(id, request));
        self.open += 1;
    }

    /// Opens connections up to the limit of concurrency.
    fn connect(&mut self, stack: &mut Stack, now: Instant) {
        loop {
            let Role::Clients { local, remote, next, port, case } = &mut self.role else { return };
            if *next >= case.connections || self.open >= case.concurrency {
                return;
            }
            let request = Request::draw(*next, case.seed, case.up, case.down);
            *next += 1;
            let (local, remote) = (*local, *remote);
            // Ports are used in sequence; those in use are skipped.
            let id = loop {
                *port = port.checked_add(1).unwrap_or(1024);
                let tuple = Tuple {
                    local,
                    remote: remote.ip(),
                    local_port: *port,
                    remote_port: remote.port(),
                };
                if let Ok(id) = stack.connect(tuple, now) {
                    break id;
                }
            };
            self.begin(id, Some(request));
        }
    }

    fn pump(&mut self, stack: &mut Stack, id: ConnectionId, now: Instant) {
        let Some(job) =
            self.jobs.get_mut(id.index()).and_then(Option::as_mut).filter(|job| job.id == id)
        else {
            return;
        };
        loop {
            let used: usize = stack.peek(id).iter().map(|part| job.accept(part)).sum();
            if used == 0 {
                break;
            }
            stack.consume(id, used);
        }
        if stack.is_at_end(id) && (job.request.is_none() || job.read < job.bytes_to_read()) {
            job.wrong = Some("too few bytes");
        }
        if job.wrong.is_some() {
            stack.abort(id, now);
            return;
        }
        while job.written < job.bytes_to_write() {
            let len =
                QUANTUM.min(usize::try_from(job.bytes_to_write() - job.written).unwrap_or(QUANTUM));
            job.fill(&mut self.chunk[..len]);
            let Ok(taken) = stack.write(id, &self.chunk[..len], now) else { return };
            job.written += taken as u64;
            if taken < len {
                return;
            }
        }
        let Some(request) = job.request else { return };
        let sent = job.written == job.bytes_to_write();
        let closes = if job.client {
            request.half_closes() && sent
                || job.is_done() && (!request.server_closes_first() || stack.is_at_end(id))
        } else {
            job.is_done() && (request.server_closes_first() || stack.is_at_end(id))
        };
        if closes && !job.closed {
            job.closed = true;
            stack.close(id, now);
        }
    }

    fn end(&mut self, id: ConnectionId, ending: EndReason) {
        let job = self.jobs.get_mut(id.index()).and_then(|job| job.take_if(|job| job.id == id));
        let Some(job) = job else { return };
        self.open -= 1;
        let result = match (job.wrong, ending) {
            (Some(wrong), _) => Err(wrong.to_owned()),
            (None, ending) if ending.is_finished() && job.is_done() => Ok(()),
            (None, ending) if ending.is_finished() => Err("unfinished".to_owned()),
            (None, ending) => Err(ending.to_string()),
        };
        self.tally.add(result, job.read);
    }
}

impl Service for Ours {
    fn start(&mut self, stack: &mut Stack, now: Instant) {
        match self.role {
            Role::Server { port } => stack.listen(port),
            Role::Clients { .. } => self.connect(stack, now),
        }
    }

    fn on_event(&mut self, stack: &mut Stack, event: Event, now: Instant) {
        match event.kind {
            EventKind::Accepted(_) => self.begin(event.id, None),
            EventKind::Closed(ending) => {
                self.end(event.id, ending);
                self.connect(stack, now);
                return;
            }
            EventKind::Connected | EventKind::Readable | EventKind::Writable => {}
        }
        self.pump(stack, event.id, now);
    }

    fn on_timeout(&mut self, _stack: &mut Stack, _now: Instant) {}

    fn next_timeout(&self) -> Instant {
        Instant::NEVER
    }

    fn stop(&mut self, stack: &mut Stack, _now: Instant) {
        if let Role::Server { port } = self.role {
            stack.stop_listening(port);
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("good", self.tally.good), ("bad", self.tally.bad.values().sum())]
    }
}

//! HTTP client that fetches one resource repeatedly, each time over a new connection (RFC 9110, RFC
//! 9112).
//!
//! A request has the version HTTP/1.0, so its response has no chunks (RFC 9112 §6.1). The body ends
//! after the length given by the response, or with the connection.

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

use units::{Duration, Instant};

use crate::connections::Connections;
use crate::event::{ConnectionId, Event, EventKind};
use crate::service::Service;
use crate::stack::{OpenError, Stack};
use crate::tuple::Tuple;

mod outcome;
mod response;

pub use outcome::{Fetched, Outcome};
use response::{Body, response_head};

/// First port of the dynamic range (RFC 6335 §6). Later connections use the next ports.
const FIRST_PORT: u16 = 49_152;

/// The resource to fetch, and the number of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchConfig {
    /// The local address of the connections, of the server's IP version.
    pub local: IpAddr,
    /// The server.
    pub remote: SocketAddr,
    /// The value of the header field Host (RFC 9110 §7.2).
    pub authority: String,
    /// The request target: path and query (RFC 9112 §3.2.1).
    pub target: String,
    /// The number of requests.
    pub requests: u64,
    /// The number of connections that may be open at the same time.
    pub concurrency: usize,
    /// The longest time from the SYN to the last byte of the response.
    pub timeout: Duration,
}

/// Client that fetches one resource repeatedly.
#[derive(Debug)]
pub struct Fetcher {
    config: FetchConfig,
    request: Vec<u8>,
    /// The body of each response is written here.
    body: Option<File>,
    body_error: Option<io::Error>,
    fetches: Connections<Fetch>,
    port: u16,
    /// The time at which the first requests start; [`Instant::NEVER`] once they have started.
    begin_at: Instant,
    started: u64,
    open: usize,
    stopping: bool,
    finished: Vec<Fetched>,
    complete: u64,
    failed: u64,
}

/// A request in progress.
#[derive(Debug)]
struct Fetch {
    found: Fetched,
    /// Number of request bytes written.
    written: usize,
    /// The head of the response received so far; empty once it is complete.
    head: Vec<u8>,
    body: Body,
}

impl Fetcher {
    /// Creates a client for `config`. The body of each response is written to `body` if it is
    /// given, and discarded otherwise.
    pub fn new(config: FetchConfig, body: Option<File>) -> Self {
        let request = format!(
            "GET {} HTTP/1.0\r\nHost: {}\r\nUser-Agent: tcpsf/{}\r\nAccept: */*\r\nConnection: close\r\n\r\n",
            config.target,
            config.authority,
            env!("CARGO_PKG_VERSION"),
        );
        Self {
            config,
            request: request.into_bytes(),
            body,
            body_error: None,
            fetches: Connections::default(),
            port: FIRST_PORT,
            begin_at: Instant::NEVER,
            started: 0,
            open: 0,
            stopping: false,
            finished: Vec::new(),
            complete: 0,
            failed: 0,
        }
    }

    /// Whether every request has ended.
    pub fn is_done(&self) -> bool {
        self.open == 0 && (self.stopping || self.started >= self.config.requests)
    }

    /// Takes the results of the requests that have ended since the last call, in the order of
    /// completion.
    pub fn take_finished(&mut self) -> Vec<Fetched> {
        std::mem::take(&mut self.finished)
    }

    /// Takes the error that stopped the writing of bodies, if there was one.
    pub fn take_body_error(&mut self) -> Option<io::Error> {
        self.body_error.take()
    }

    /// Starts requests up to the limit of concurrency.
    fn start_requests(&mut self, stack: &mut Stack, now: Instant) {
        while !self.stopping
            && self.started < self.config.requests
            && self.open < self.config.concurrency
        {
            self.started += 1;
            match self.connect(stack, now) {
                Ok(id) => self.begin(stack, id, now),
                Err(OpenError::Full(_) | OpenError::InUse(_)) => {
                    let found = Fetched::started(self.started - 1, 0, now);
                    self.record_result(Fetched { outcome: Outcome::NotOpened, ..found });
                }
            }
        }
    }

    fn connect(&mut self, stack: &mut Stack, now: Instant) -> Result<ConnectionId, OpenError> {
        let FetchConfig { local, remote, .. } = self.config;
        let first = self.port;
        loop {
            let tuple = Tuple {
                local,
                remote: remote.ip(),
                local_port: self.port,
                remote_port: remote.port(),
            };
            let result = stack.connect(tuple, now);
            self.port = self.port.checked_add(1).unwrap_or(FIRST_PORT);
            if !matches!(result, Err(OpenError::InUse(_))) || self.port == first {
                return result;
            }
        }
    }

    fn begin(&mut self, stack: &Stack, id: ConnectionId, now: Instant) {
        let fetch = Fetch {
            found: Fetched::started(id.serial(), stack.sender(id).unwrap_or(0), now),
            written: 0,
            head: Vec::new(),
            body: Body::Head,
        };
        self.fetches.insert(id, now + self.config.timeout, fetch);
        self.open += 1;
    }

    /// Writes the rest of the request.
    fn write(&mut self, stack: &mut Stack, id: ConnectionId, now: Instant) {
        let Some(written) = self.fetches.get_mut(id).map(|fetch| fetch.written) else { return };
        // An ended connection has an event of its own.
        let taken = stack.write(id, &self.request[written..], now).unwrap_or(0);
        if let Some(fetch) = self.fetches.get_mut(id) {
            fetch.written += taken;
        }
    }

    /// Reads the received part of the response.
    fn read(&mut self, stack: &mut Stack, id: ConnectionId, now: Instant) {
        let outcome = loop {
            let Some(fetch) = self.fetches.get_mut(id) else { return };
            let [bytes, _] = stack.peek(id);
            if bytes.is_empty() {
                break match fetch.body {
                    Body::Length(0) => Some(Outcome::Complete),
                    _ if !stack.is_at_end(id) => None,
                    Body::ToEnd => Some(Outcome::Complete),
                    Body::Head | Body::Length(_) => Some(Outcome::Incomplete),
                };
            }
            fetch.found.first_byte.get_or_insert(now);
            let len = bytes.len();
            match fetch.take(bytes) {
                Ok(body) => {
                    if let Some(file) = &mut self.body
                        && let Err(error) = file.write_all(body)
                    {
                        self.body_error = Some(error);
                        self.body = None;
                    }
                }
                Err(outcome) => break Some(outcome),
            }
            let complete = fetch.body == Body::Length(0);
            stack.consume(id, len);
            if complete {
                break Some(Outcome::Complete);
            }
        };
        if let Some(outcome) = outcome {
            self.finish(stack, id, outcome, now);
        }
    }

    /// Ends a request and its connection: with a close if the response is complete, otherwise with
    /// a reset.
    fn finish(&mut self, stack: &mut Stack, id: ConnectionId, outcome: Outcome, now: Instant) {
        let Some(fetch) = self.fetches.take(id) else { return };
        self.open -= 1;
        self.record_result(Fetched { end: now, outcome, ..fetch.found });
        if outcome == Outcome::Complete {
            stack.close(id, now);
        } else {
            stack.abort(id, now);
        }
        self.start_requests(stack, now);
    }

    fn record_result(&mut self, found: Fetched) {
        *(if found.outcome == Outcome::Complete {
            &mut self.complete
        } else {
            &mut self.failed
        }) += 1;
        self.finished.push(found);
    }
}

impl Fetch {
    /// Accepts bytes of the response and returns those of its body. Bytes beyond the response are
    /// discarded.
    fn take<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Outcome> {
        let mut rest = bytes;
        if self.body == Body::Head {
            let before = self.head.len();
            self.head.extend_from_slice(bytes);
            let Some((status, body, len)) = response_head(&self.head)? else { return Ok(&[]) };
            self.found.status = Some(status);
            self.body = body;
            rest = &bytes[len.saturating_sub(before).min(bytes.len())..];
            self.head = Vec::new();
        }
        if let Body::Length(left) = &mut self.body {
            let most = usize::try_from(*left).unwrap_or(usize::MAX);
            rest = &rest[..rest.len().min(most)];
            *left -= rest.len() as u64;
        }
        self.found.body_bytes += rest.len() as u64;
        Ok(rest)
    }
}

impl Service for Fetcher {
    fn start(&mut self, _stack: &mut Stack, now: Instant) {
        // Requests start when the driver runs, which may be later.
        self.begin_at = now;
    }

    fn on_event(&mut self, stack: &mut Stack, event: Event, now: Instant) {
        let id = event.id;
        match event.kind {
            EventKind::Connected => {
                if let Some(fetch) = self.fetches.get_mut(id) {
                    fetch.found.connected = Some(now);
                }
                self.write(stack, id, now);
            }
            EventKind::Writable => self.write(stack, id, now),
            EventKind::Readable => self.read(stack, id, now),
            EventKind::Closed(ending) => self.finish(stack, id, Outcome::Failed(ending), now),
            EventKind::Accepted(_) => {}
        }
    }

    fn on_timeout(&mut self, stack: &mut Stack, now: Instant) {
        if self.begin_at <= now {
            self.begin_at = Instant::NEVER;
            self.start_requests(stack, now);
        }
        while let Some(id) = self.fetches.next_due(now) {
            self.finish(stack, id, Outcome::TimedOut, now);
        }
    }

    fn next_timeout(&self) -> Instant {
        self.fetches.next_timeout().min(self.begin_at)
    }

    fn stop(&mut self, stack: &mut Stack, now: Instant) {
        self.stopping = true;
        let open: Vec<_> = self.fetches.iter().map(|fetch| fetch.id).collect();
        for id in open {
            self.finish(stack, id, Outcome::Incomplete, now);
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("complete_responses", self.complete), ("failed_requests", self.failed)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_is_independent_of_segmentation() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more";
        for size in 1..text.len() {
            let mut fetch = Fetch {
                found: Fetched::started(0, 0, Instant::ZERO),
                written: 0,
                head: Vec::new(),
                body: Body::Head,
            };
            let body: Vec<u8> =
                text.chunks(size).flat_map(|part| fetch.take(part).unwrap().to_vec()).collect();
            assert_eq!((&body[..], fetch.body), (&b"hello"[..], Body::Length(0)), "{size}");
        }
    }
}

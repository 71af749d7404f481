//! File server for many concurrent connections.

mod answer;
mod exchange;
mod send;

use std::collections::VecDeque;
use std::hash::RandomState;

use units::{Duration, Instant};

use super::files::Folder;
use super::listing::Names;
use super::request::{self, Body, Method, Refusal};
use super::response::Status;
use crate::connections::{Connections, Entry};
use crate::event::{ConnectionId, Event, EventKind};
use crate::service::Service;
use crate::stack::Stack;

use exchange::{Exchange, Phase};
use send::CHUNK;

/// Maximum number of bytes sent for one connection before another is served.
const QUANTUM: usize = 256 << 10;

/// Time limits for peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// Maximum time from the first byte of a request to its end, including body and trailers. The
    /// first request of a connection must begin within the same time.
    pub request: Duration,
    /// Maximum time between a response and the next request.
    pub idle: Duration,
    /// Maximum time between the peer's acknowledgment of the whole response with our FIN, and the
    /// peer's FIN.
    pub linger: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            linger: Duration::from_secs(10),
        }
    }
}

/// Totals of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Responses by the first digit of their status code.
    pub answers: [u64; 6],
}

/// Serves the files of a folder over HTTP/1.1. Times are nanoseconds since 1970, for dates.
#[derive(Debug)]
pub struct FileServer {
    folder: Folder,
    /// Cache of the names in recently listed folders.
    names: Names,
    port: u16,
    limits: HttpLimits,
    /// The backlog has the connections that have used up their quantum and have more to send.
    exchanges: Connections<Exchange>,
    /// Connections whose listing waits until the rate limit allows its names to be read, in order
    /// of arrival.
    names_queue: VecDeque<ConnectionId>,
    chunk: Vec<u8>,
    served: Served,
    /// Secret keys for the boundaries of multipart responses.
    boundary_keys: RandomState,
    stopping: bool,
}

/// Whether an exchange can make further progress.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    More,
    Wait,
}

impl FileServer {
    /// Creates a server for this folder on this port.
    pub fn new(folder: Folder, port: u16, limits: HttpLimits) -> Self {
        Self {
            folder,
            names: Names::new(),
            port,
            limits,
            exchanges: Connections::default(),
            names_queue: VecDeque::new(),
            chunk: vec![0; CHUNK],
            served: Served::default(),
            boundary_keys: RandomState::new(),
            stopping: false,
        }
    }

    /// Totals so far.
    pub fn served(&self) -> &Served {
        &self.served
    }

    /// Number of directory entries read for listings.
    pub fn names_read(&self) -> u64 {
        self.names.read_so_far()
    }

    /// Memory held by requests and responses in bytes, beside the buffers of the stack.
    pub fn held_bytes(&self) -> usize {
        let held = |exchange: &Exchange| {
            let listing = exchange.listing.as_ref().map_or(0, |listing| listing.held_bytes());
            exchange.text.capacity() + listing
        };
        self.exchanges.iter().map(|exchange| held(exchange)).sum()
    }

    fn pump(&mut self, stack: &mut Stack, id: ConnectionId, now: Instant) {
        let Some(mut exchange) = self.exchanges.take(id) else { return };
        let mut budget = QUANTUM;
        while self.step(stack, &mut exchange, &mut budget, now) == Step::More {}
        self.exchanges.put(exchange);
    }

    fn step(
        &mut self,
        stack: &mut Stack,
        exchange: &mut Entry<Exchange>,
        budget: &mut usize,
        now: Instant,
    ) -> Step {
        if exchange.is_answering() {
            let step = self.send(stack, exchange, budget, now);
            if step == Step::More && !exchange.is_answering() {
                self.on_answer_sent(stack, exchange, now);
            }
            return step;
        }
        match exchange.phase {
            Phase::Closing => {
                // Further data is discarded, so that it does not fill the window.
                while stack.read(exchange.id, &mut self.chunk) > 0 {}
                Step::Wait
            }
            Phase::Body(body) => match request::skip(body, stack.peek_whole(exchange.id)) {
                Some((0, Body::NONE)) => {
                    exchange.phase = Phase::Head;
                    (exchange.due, exchange.deadline) = (Instant::NEVER, now + self.limits.idle);
                    Step::More
                }
                Some((0, _)) => self.wait_for_more(stack, exchange, now),
                Some((count, rest)) => {
                    stack.consume(exchange.id, count);
                    exchange.phase = Phase::Body(rest);
                    Step::More
                }
                // The request has been answered: a second response would be taken for that of the
                // next request.
                None => {
                    self.close(stack, exchange, now);
                    Step::More
                }
            },
            Phase::Head => self.read_head(stack, exchange, now),
        }
    }

    fn read_head(
        &mut self,
        stack: &mut Stack,
        exchange: &mut Entry<Exchange>,
        now: Instant,
    ) -> Step {
        let bytes = stack.peek_whole(exchange.id);
        if bytes.is_empty() {
            return self.wait_for_more(stack, exchange, now);
        }
        if exchange.due == Instant::NEVER {
            exchange.due = now + self.limits.request;
            exchange.deadline = exchange.due;
        }
        match request::read(bytes) {
            Ok(None) => self.wait_for_more(stack, exchange, now),
            Ok(Some((request, len))) => {
                stack.consume(exchange.id, len);
                self.answer(exchange, &request, now);
                exchange.phase = Phase::Body(request.body);
                Step::More
            }
            Err((refusal, len)) => {
                stack.consume(exchange.id, len);
                self.refuse(exchange, Method::Get, refusal, now);
                exchange.phase = Phase::Body(Body::NONE);
                Step::More
            }
        }
    }

    /// Waits for the rest of a request, which stays in the receive buffer of the connection. The
    /// stack counts and limits that buffer.
    fn wait_for_more(
        &mut self,
        stack: &mut Stack,
        exchange: &mut Entry<Exchange>,
        now: Instant,
    ) -> Step {
        if stack.peer_has_closed(exchange.id) {
            self.close(stack, exchange, now);
        }
        Step::Wait
    }

    /// Ends a response whose last byte has been written.
    fn on_answer_sent(&mut self, stack: &mut Stack, exchange: &mut Entry<Exchange>, now: Instant) {
        if exchange.persistent && !self.stopping {
            // The deadline of the request still applies, since its body may not have arrived.
            exchange.deadline = exchange.due;
        } else {
            self.close(stack, exchange, now);
        }
    }

    fn close(&mut self, stack: &mut Stack, exchange: &mut Entry<Exchange>, now: Instant) {
        if exchange.phase != Phase::Closing {
            exchange.phase = Phase::Closing;
            exchange.deadline = now + self.limits.linger;
            stack.close(exchange.id, now);
        }
    }

    fn on_deadline(&mut self, stack: &mut Stack, id: ConnectionId, now: Instant) {
        let Some(mut exchange) = self.exchanges.take(id) else { return };
        exchange.deadline = Instant::NEVER;
        match exchange.phase {
            // The peer has not acknowledged the whole response. The stack limits the time for that.
            Phase::Closing if stack.connection(id).is_some_and(|it| it.unacknowledged() > 0) => {
                exchange.deadline = now + self.limits.linger;
            }
            Phase::Closing => stack.abort(id, now),
            Phase::Head if exchange.due == Instant::NEVER => self.close(stack, &mut exchange, now),
            // The request has been answered, so no error response is sent.
            Phase::Body(_) => self.close(stack, &mut exchange, now),
            Phase::Head => {
                let refusal = Refusal { status: Status::RequestTimeout, close: true };
                self.refuse(&mut exchange, Method::Get, refusal, now);
            }
        }
        self.exchanges.put(exchange);
        self.pump(stack, id, now);
    }
}

impl Service for FileServer {
    fn start(&mut self, stack: &mut Stack, _now: Instant) {
        stack.listen(self.port);
    }

    fn on_event(&mut self, stack: &mut Stack, event: Event, now: Instant) {
        let id = event.id;
        match event.kind {
            EventKind::Accepted(_) => {
                self.exchanges.insert(id, now + self.limits.request, Exchange::new());
                self.pump(stack, id, now);
            }
            EventKind::Readable | EventKind::Writable => self.pump(stack, id, now),
            EventKind::Closed(_) => drop(self.exchanges.take(id)),
            EventKind::Connected => {}
        }
    }

    fn on_timeout(&mut self, stack: &mut Stack, now: Instant) {
        while let Some(id) = self.exchanges.next_due(now) {
            self.on_deadline(stack, id, now);
        }
        for _ in 0..self.exchanges.turns() {
            if let Some(id) = self.exchanges.next_turn() {
                self.pump(stack, id, now);
            }
        }
        while self.names.may_read_at() <= now {
            let Some(id) = self.names_queue.pop_front() else { break };
            if let Some(exchange) = self.exchanges.get_mut(id) {
                exchange.in_names_queue = false;
                self.pump(stack, id, now);
            }
        }
    }

    fn next_timeout(&self) -> Instant {
        let names =
            if self.names_queue.is_empty() { Instant::NEVER } else { self.names.may_read_at() };
        self.exchanges.next_timeout().min(names)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let [_, _, done, redirected, refused, failed] = self.served.answers;
        vec![
            ("responses_2xx", done),
            ("responses_3xx", redirected),
            ("responses_4xx", refused),
            ("responses_5xx", failed),
        ]
    }

    fn stop(&mut self, stack: &mut Stack, now: Instant) {
        self.stopping = true;
        stack.stop_listening(self.port);
        let idle = |exchange: &&Entry<Exchange>| {
            exchange.phase == Phase::Head
                && exchange.due == Instant::NEVER
                && !exchange.is_answering()
        };
        let idle: Vec<_> = self.exchanges.iter().filter(idle).map(|exchange| exchange.id).collect();
        for id in idle {
            if let Some(mut exchange) = self.exchanges.take(id) {
                self.close(stack, &mut exchange, now);
                self.exchanges.put(exchange);
            }
        }
    }
}

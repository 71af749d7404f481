//! File server for many concurrent connections.

mod answer;

use std::collections::VecDeque;
use std::fs::File;
use std::hash::RandomState;
use std::os::unix::fs::FileExt;

use units::{Duration, Instant};

use super::files::Folder;
use super::listing::{Listing, Names};
use super::multipart::Multipart;
use super::request::{self, Body, Method, Refusal};
use super::response::Status;
use crate::event::{ConnectionId, Event, EventKind};
use crate::service::Service;
use crate::stack::Stack;
use crate::timers::Timers;

/// Maximum number of bytes sent for one connection before another is served.
const QUANTUM: usize = 256 << 10;

/// Maximum number of file bytes in memory at once.
const CHUNK: usize = 64 << 10;

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
    /// Exchanges by [`ConnectionId::index`].
    exchanges: Vec<Option<Box<Exchange>>>,
    deadlines: Timers,
    /// Connections that have used up their quantum and have more to send.
    backlog: VecDeque<ConnectionId>,
    /// Connections whose listing waits until the rate limit allows its names to be read, in order
    /// of arrival.
    names_queue: VecDeque<ConnectionId>,
    chunk: Vec<u8>,
    served: Served,
    /// Secret keys for the boundaries of multipart responses.
    boundary_keys: RandomState,
    stopping: bool,
}

/// The requests and responses of a connection, one after the other.
#[derive(Debug)]
struct Exchange {
    id: ConnectionId,
    phase: Phase,
    /// The head of the response, small contents, and the current piece of a listing.
    text: Vec<u8>,
    /// Number of bytes of `text` that have been written.
    sent: usize,
    /// The file that follows `text`, with the start and end of the range that is left to send.
    file: Option<(File, u64, u64)>,
    /// The parts of a multipart response that follow.
    parts: Option<Box<Multipart>>,
    /// The rest of a listing.
    listing: Option<Box<Listing>>,
    /// The connection is in the queue of listings that wait for names.
    in_names_queue: bool,
    /// The connection is persistent.
    persistent: bool,
    /// Deadline of the request in progress; `NEVER` between requests.
    due: Instant,
    deadline: Instant,
    timer: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A request is awaited, or a response is being sent.
    Head,
    /// The body of a request is being skipped.
    Body(Body),
    /// The last response has been written.
    Closing,
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
            exchanges: Vec::new(),
            deadlines: Timers::default(),
            backlog: VecDeque::new(),
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
        self.exchanges.iter().flatten().map(|exchange| held(exchange)).sum()
    }

    fn pump(&mut self, stack: &mut Stack, id: ConnectionId, now: Instant) {
        let Some(mut exchange) = self.take(id) else { return };
        let mut budget = QUANTUM;
        while self.step(stack, &mut exchange, &mut budget, now) == Step::More {}
        self.deadlines.set(id, &mut exchange.timer, exchange.deadline);
        self.exchanges[id.index()] = Some(exchange);
    }

    fn take(&mut self, id: ConnectionId) -> Option<Box<Exchange>> {
        self.exchanges.get_mut(id.index())?.take_if(|exchange| exchange.id == id)
    }

    fn step(
        &mut self,
        stack: &mut Stack,
        exchange: &mut Exchange,
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

    fn read_head(&mut self, stack: &mut Stack, exchange: &mut Exchange, now: Instant) -> Step {
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
    fn wait_for_more(&mut self, stack: &mut Stack, exchange: &mut Exchange, now: Instant) -> Step {
        if stack.peer_has_closed(exchange.id) {
            self.close(stack, exchange, now);
        }
        Step::Wait
    }

    fn send(
        &mut self,
        stack: &mut Stack,
        exchange: &mut Exchange,
        budget: &mut usize,
        now: Instant,
    ) -> Step {
        let id = exchange.id;
        if exchange.sent < exchange.text.len() {
            let Ok(taken) = stack.write(id, &exchange.text[exchange.sent..], now) else {
                return Step::Wait;
            };
            exchange.sent += taken;
            if exchange.sent < exchange.text.len() {
                return Step::Wait;
            }
            (exchange.text, exchange.sent) = (Vec::new(), 0);
            return Step::More;
        }
        if exchange.listing.is_some() {
            return self.send_listing(stack, exchange, budget, now);
        }
        let Some((file, at, end)) = &mut exchange.file else { return Step::More };
        if *budget == 0 {
            self.backlog.push_back(id);
            return Step::Wait;
        }
        let left = usize::try_from(*end - *at).unwrap_or(usize::MAX);
        let room = stack.writable(id).min(CHUNK).min(*budget).min(left);
        if room == 0 {
            return Step::Wait;
        }
        match file.read_at(&mut self.chunk[..room], *at) {
            Ok(count) if count > 0 => {
                let Ok(taken) = stack.write(id, &self.chunk[..count], now) else {
                    return Step::Wait;
                };
                *at += taken as u64;
                *budget -= taken;
                exchange.finish_part();
                Step::More
            }
            // The file was truncated or cannot be read.
            _ => {
                exchange.abort(stack, now);
                Step::Wait
            }
        }
    }

    /// Generates the next piece of a listing, if the peer is about to have room for it. Unlike file
    /// data, a piece costs work in proportion to its length, and the peer may never read it.
    fn send_listing(
        &mut self,
        stack: &mut Stack,
        exchange: &mut Exchange,
        budget: &mut usize,
        now: Instant,
    ) -> Step {
        if *budget == 0 {
            self.backlog.push_back(exchange.id);
            return Step::Wait;
        }
        // Twice the congestion window: the data in flight, and the data that its acknowledgments
        // release.
        let ahead = stack.connection(exchange.id).map_or(0, |connection| 2 * connection.cwnd());
        if exchange.in_names_queue || stack.writable_ahead(exchange.id, ahead) == 0 {
            return Step::Wait;
        }
        let Some(listing) = &mut exchange.listing else { return Step::More };
        let (piece, is_last) = match listing.next_piece(&mut self.names, now) {
            Ok(Some(next)) => next,
            Ok(None) => {
                exchange.in_names_queue = true;
                self.names_queue.push_back(exchange.id);
                return Step::Wait;
            }
            Err(_) => {
                exchange.abort(stack, now);
                return Step::Wait;
            }
        };
        *budget = budget.saturating_sub(piece.len());
        exchange.text = piece;
        if is_last {
            exchange.listing = None;
        }
        Step::More
    }

    /// Ends a response whose last byte has been written.
    fn on_answer_sent(&mut self, stack: &mut Stack, exchange: &mut Exchange, now: Instant) {
        if exchange.persistent && !self.stopping {
            // The deadline of the request still applies, since its body may not have arrived.
            exchange.deadline = exchange.due;
        } else {
            self.close(stack, exchange, now);
        }
    }

    fn close(&mut self, stack: &mut Stack, exchange: &mut Exchange, now: Instant) {
        if exchange.phase != Phase::Closing {
            exchange.phase = Phase::Closing;
            exchange.deadline = now + self.limits.linger;
            stack.close(exchange.id, now);
        }
    }

    fn on_deadline(&mut self, stack: &mut Stack, id: ConnectionId, now: Instant) {
        let Some(mut exchange) = self.take(id) else { return };
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
        self.exchanges[id.index()] = Some(exchange);
        self.pump(stack, id, now);
    }
}

impl Exchange {
    /// Starts the next part of a multipart response, if the current range is complete. After the
    /// last part the response is complete.
    fn finish_part(&mut self) {
        let Some((_, at, end)) = &mut self.file else { return };
        if at < end {
            return;
        }
        let Some(parts) = &mut self.parts else {
            self.file = None;
            return;
        };
        let (text, next) = parts.advance();
        self.text.extend_from_slice(&text);
        if let Some(range) = next {
            (*at, *end) = (range.start, range.end);
        } else {
            (self.file, self.parts) = (None, None);
        }
    }

    /// Aborts a response that cannot be completed. An orderly close would make it look complete.
    fn abort(&mut self, stack: &mut Stack, now: Instant) {
        (self.file, self.parts, self.listing) = (None, None, None);
        self.phase = Phase::Closing;
        stack.abort(self.id, now);
    }

    fn is_answering(&self) -> bool {
        !self.text.is_empty() || self.file.is_some() || self.listing.is_some()
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
                if self.exchanges.len() <= id.index() {
                    self.exchanges.resize_with(id.index() + 1, || None);
                }
                self.exchanges[id.index()] = Some(Box::new(Exchange {
                    id,
                    phase: Phase::Head,
                    text: Vec::new(),
                    sent: 0,
                    file: None,
                    parts: None,
                    listing: None,
                    in_names_queue: false,
                    persistent: true,
                    due: Instant::NEVER,
                    deadline: now + self.limits.request,
                    timer: Instant::NEVER,
                }));
                self.pump(stack, id, now);
            }
            EventKind::Readable | EventKind::Writable => self.pump(stack, id, now),
            EventKind::Closed(_) => drop(self.take(id)),
            EventKind::Connected => {}
        }
    }

    fn on_timeout(&mut self, stack: &mut Stack, now: Instant) {
        while let Some((entry, id)) = self.deadlines.pop(now) {
            let exchange = self.exchanges.get_mut(id.index()).and_then(Option::as_mut);
            let Some(exchange) =
                exchange.filter(|exchange| exchange.id == id && exchange.timer == entry)
            else {
                continue;
            };
            exchange.timer = Instant::NEVER;
            if exchange.deadline <= now {
                exchange.deadline = Instant::NEVER;
                self.on_deadline(stack, id, now);
            } else {
                self.deadlines.set(id, &mut exchange.timer, exchange.deadline);
            }
        }
        for _ in 0..self.backlog.len() {
            if let Some(id) = self.backlog.pop_front() {
                self.pump(stack, id, now);
            }
        }
        while self.names.may_read_at() <= now {
            let Some(id) = self.names_queue.pop_front() else { break };
            if let Some(exchange) = self.exchanges.get_mut(id.index()).and_then(Option::as_mut)
                && exchange.id == id
            {
                exchange.in_names_queue = false;
                self.pump(stack, id, now);
            }
        }
        let exchanges = &self.exchanges;
        self.deadlines.sweep(exchanges.len(), |at, id| {
            let exchange = exchanges.get(id.index()).and_then(Option::as_ref);
            exchange.is_some_and(|exchange| exchange.id == id && exchange.timer == at)
        });
    }

    fn next_timeout(&self) -> Instant {
        if !self.backlog.is_empty() {
            return Instant::ZERO;
        }
        let names =
            if self.names_queue.is_empty() { Instant::NEVER } else { self.names.may_read_at() };
        self.deadlines.next().min(names)
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
        let idle = |exchange: &&Exchange| {
            exchange.phase == Phase::Head
                && exchange.due == Instant::NEVER
                && !exchange.is_answering()
        };
        let idle: Vec<_> = self
            .exchanges
            .iter()
            .flatten()
            .map(|exchange| &**exchange)
            .filter(idle)
            .map(|exchange| exchange.id)
            .collect();
        for id in idle {
            if let Some(mut exchange) = self.take(id) {
                self.close(stack, &mut exchange, now);
                self.exchanges[id.index()] = Some(exchange);
            }
        }
    }
}

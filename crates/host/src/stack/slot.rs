//! Per-connection state of the stack.

use std::collections::VecDeque;

use tcp::{ByteStream, State};
use units::{Duration, Instant};

use crate::config::Limits;
use crate::event::{ConnectionId, EndReason};
use crate::record::Record;
use crate::tuple::Tuple;

/// Empty buffers of a connection are freed after this time without traffic. Freeing them earlier
/// would be wasteful: each large allocation is a new memory mapping.
pub(super) const RELEASE_AFTER: Duration = Duration::from_secs(1);

/// State of a connection from the application's point of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AcceptState {
    /// The handshake is in progress. The application knows the connection only if it opened it.
    Handshaking,
    /// The connection is in the accept queue.
    Queued,
    /// The application has received the accept event, or opened the connection itself.
    Accepted,
    /// The application has received the close event.
    Closed,
}

/// Events that have not been delivered to the application.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent events, each pending at most once")]
pub(super) struct PendingEvents {
    pub(super) opened: bool,
    pub(super) readable: bool,
    pub(super) writable: bool,
    pub(super) ending: Option<EndReason>,
    /// The connection is in the event queue.
    pub(super) queued: bool,
}

/// A connection with the state that the stack keeps for it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Slot {
    pub(super) id: ConnectionId,
    pub(super) tuple: Tuple,
    pub(super) stream: ByteStream,
    pub(super) sender: u16,
    /// The connection was opened by this host.
    pub(super) active: bool,
    pub(super) accept_state: AcceptState,
    pub(super) pending_events: PendingEvents,
    /// The connection is in the send queue.
    pub(super) in_send_queue: bool,
    /// The connection is in the queue of deferrable output.
    pub(super) in_deferrable_queue: bool,
    /// The application wrote more bytes than fitted.
    pub(super) blocked: bool,
    /// The peer has closed its sending direction.
    pub(super) peer_closed: bool,
    /// The connection is counted in `Stack::half_open`.
    pub(super) half_open: bool,
    /// The connection is counted in `Stack::time_wait`, and not in `Stack::connections`.
    pub(super) time_wait: bool,
    /// The reason for the end, if the host ends the connection.
    pub(super) cause: Option<EndReason>,
    /// The time of this connection's valid entry in the timer heap.
    pub(super) timer: Instant,
    pub(super) start: Instant,
    /// The last time at which an acceptable segment arrived from the peer, or data, SYN or FIN was
    /// sent.
    pub(super) active_at: Instant,
    /// The time from which on the connection may be evicted; see
    /// [`Limits::MIN_RATE`](crate::Limits::MIN_RATE).
    pub(super) evictable_at: Instant,
    /// The connection is in the queue of those with out-of-order data.
    pub(super) in_out_of_order_queue: bool,
    /// The time at which the SYN was sent, while it is unacknowledged and was not retransmitted.
    pub(super) syn_sent: Option<Instant>,
    pub(super) handshake: Option<Duration>,
    pub(super) first_sent: Option<Instant>,
    pub(super) last_acknowledged: Option<Instant>,
    pub(super) rto_first: Duration,
    /// Memory of the buffers and queues in bytes, as last added to `Stack::buffered`.
    pub(super) buffered: usize,
    /// Readable bytes at the last event or read.
    pub(super) reported_readable: u32,
    pub(super) read_bytes: u64,
    /// Bytes that the peer has acknowledged.
    pub(super) acknowledged_bytes: u64,
}

impl Slot {
    pub(super) fn new(
        id: ConnectionId,
        tuple: Tuple,
        stream: ByteStream,
        sender: u16,
        evictable_at: Instant,
        now: Instant,
    ) -> Self {
        Self {
            id,
            tuple,
            rto_first: stream.rto(),
            stream,
            sender,
            active: false,
            accept_state: AcceptState::Handshaking,
            pending_events: PendingEvents::default(),
            in_send_queue: false,
            in_deferrable_queue: false,
            blocked: false,
            peer_closed: false,
            half_open: false,
            time_wait: false,
            cause: None,
            timer: Instant::NEVER,
            start: now,
            active_at: now,
            evictable_at,
            in_out_of_order_queue: false,
            syn_sent: None,
            handshake: None,
            first_sent: None,
            last_acknowledged: None,
            buffered: 0,
            reported_readable: 0,
            read_bytes: 0,
            acknowledged_bytes: 0,
        }
    }

    /// The earliest time at which the connection needs attention if no packet arrives.
    pub(super) fn deadline(&self, idle: Duration, lifetime: Duration) -> Instant {
        let timeout = self.stream.next_timeout();
        if self.time_wait || self.stream.state() == State::Closed {
            return timeout;
        }
        let release =
            if self.stream.spare() > 0 { self.active_at + RELEASE_AFTER } else { Instant::NEVER };
        timeout.min(release).min(self.active_at + idle).min(self.start + lifetime)
    }

    /// Postpones `evictable_at` for `bytes` of progress: bytes acknowledged by the peer, or
    /// received in order.
    #[inline]
    pub(super) fn credit_progress(&mut self, bytes: u32, limits: &Limits, now: Instant) {
        if bytes > 0 {
            let earned =
                Duration::from_nanos(u64::from(bytes) * (1_000_000_000 / Limits::MIN_RATE));
            let most = now + limits.evict_after;
            self.evictable_at = (self.evictable_at.max(now) + earned).min(most);
        }
    }

    /// Updates this connection's share in `all`, the memory of all connections.
    #[inline]
    pub(super) fn count(&mut self, all: &mut usize) {
        let buffered = self.stream.memory();
        *all = *all + buffered - self.buffered;
        self.buffered = buffered;
    }

    /// Adds the connection to the event queue, if it has an event that the application may see.
    pub(super) fn queue_event(&mut self, event_queue: &mut VecDeque<ConnectionId>) {
        let pending_events = &mut self.pending_events;
        let any = pending_events.opened
            || pending_events.readable
            || pending_events.writable
            || pending_events.ending.is_some();
        let reportable =
            matches!(self.accept_state, AcceptState::Queued | AcceptState::Accepted) || self.active;
        if any && reportable && !pending_events.queued {
            pending_events.queued = true;
            event_queue.push_back(self.id);
        }
    }

    pub(super) fn record(&self, ending: EndReason, now: Instant) -> Record {
        let statistics = *self.stream.statistics();
        Record {
            serial: self.id.serial,
            sender: self.sender,
            tuple: self.tuple,
            start: self.start,
            end: now,
            handshake: self.handshake,
            sent_bytes: statistics.bytes
                - statistics.retransmitted_bytes
                - self.stream.copied_bytes(),
            received_bytes: self.read_bytes,
            first_sent: self.first_sent,
            last_acknowledged: self.last_acknowledged,
            srtt: self.stream.srtt(),
            rto_first: self.rto_first,
            rto_last: self.stream.rto(),
            statistics,
            copied_segments: self.stream.copied_segments(),
            ending,
        }
    }
}

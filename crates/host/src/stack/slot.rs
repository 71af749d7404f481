//! What a stack keeps of a connection beside the connection itself.

use std::collections::VecDeque;

use tcp::{ByteStream, State};
use units::{Duration, Instant};

use crate::config::Limits;
use crate::event::{ConnectionId, EndReason};
use crate::record::Record;
use crate::tuple::Tuple;

/// A connection without traffic for so long gives back buffers that are empty. Before that they
/// would be wanted again: a large one is a new mapping of memory each time.
pub(super) const RELEASE_AFTER: Duration = Duration::from_secs(1);

/// How far the user knows of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AcceptState {
    /// In its handshake. Only who opens a connection himself knows of it.
    Handshaking,
    /// It waits to be taken.
    Queued,
    /// He has it.
    Accepted,
    /// He has been told that it is over.
    Closed,
}

/// What the user is to be told.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent events that wait to be told, each at most once"
)]
pub(super) struct PendingEvents {
    pub(super) opened: bool,
    pub(super) readable: bool,
    pub(super) writable: bool,
    pub(super) ending: Option<EndReason>,
    /// It stands in the queue of those with something to tell.
    pub(super) queued: bool,
}

/// A connection and what belongs to it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Slot {
    pub(super) id: ConnectionId,
    pub(super) tuple: Tuple,
    pub(super) stream: ByteStream,
    pub(super) sender: u16,
    /// Opened here.
    pub(super) active: bool,
    pub(super) accept_state: AcceptState,
    pub(super) pending_events: PendingEvents,
    /// It stands in the queue of those that may have something to send.
    pub(super) in_send_queue: bool,
    /// It stands in the queue of those that may owe an acknowledgment and nothing else.
    pub(super) in_deferrable_queue: bool,
    /// The user wrote more than fitted.
    pub(super) blocked: bool,
    /// The peer sends no more.
    pub(super) peer_closed: bool,
    /// It is counted as half open.
    pub(super) half_open: bool,
    /// It is counted as in TIME-WAIT, and no longer as a connection.
    pub(super) time_wait: bool,
    /// Why it will have ended, if that is the host's doing.
    pub(super) cause: Option<EndReason>,
    /// The time of the entry that stands for it among the timers.
    pub(super) timer: Instant,
    pub(super) start: Instant,
    /// When the peer last said something that only it could say, or was sent something else than
    /// an acknowledgment.
    pub(super) active_at: Instant,
    /// From then on it makes room for others that need it: see
    /// [`Limits::MIN_RATE`](crate::Limits::MIN_RATE).
    pub(super) evictable_at: Instant,
    /// It stands in the queue of those that hold data out of order.
    pub(super) in_out_of_order_queue: bool,
    /// When our first SYN left, as long as there was one only and it is not acknowledged.
    pub(super) syn_sent: Option<Instant>,
    pub(super) handshake: Option<Duration>,
    pub(super) first_sent: Option<Instant>,
    pub(super) last_acknowledged: Option<Instant>,
    pub(super) rto_first: Duration,
    /// The memory of its buffers and queues, when that was last counted.
    pub(super) buffered: usize,
    /// Bytes that could be read when the user was last told.
    pub(super) reported_readable: u32,
    pub(super) read_bytes: u64,
    /// What the peer has acknowledged.
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

    /// When it is next to be looked at, whatever arrives.
    pub(super) fn deadline(&self, idle: Duration, lifetime: Duration) -> Instant {
        let timeout = self.stream.next_timeout();
        if self.time_wait || self.stream.state() == State::Closed {
            return timeout;
        }
        let release =
            if self.stream.spare() > 0 { self.active_at + RELEASE_AFTER } else { Instant::NEVER };
        timeout.min(release).min(self.active_at + idle).min(self.start + lifetime)
    }

    /// The peer has acknowledged, or has sent in order, so many bytes.
    #[inline]
    pub(super) fn credit_progress(&mut self, bytes: u32, limits: &Limits, now: Instant) {
        if bytes > 0 {
            let earned =
                Duration::from_nanos(u64::from(bytes) * (1_000_000_000 / Limits::MIN_RATE));
            let most = now + limits.evict_after;
            self.evictable_at = (self.evictable_at.max(now) + earned).min(most);
        }
    }

    /// Counts its buffers among those of `all`.
    #[inline]
    pub(super) fn count(&mut self, all: &mut usize) {
        let buffered = self.stream.memory();
        *all = *all + buffered - self.buffered;
        self.buffered = buffered;
    }

    /// Puts it into the queue of those with something to tell, if it has anything.
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
            sent_bytes: statistics.bytes - statistics.retransmitted_bytes,
            received_bytes: self.read_bytes,
            first_sent: self.first_sent,
            last_acknowledged: self.last_acknowledged,
            srtt: self.stream.srtt(),
            rto_first: self.rto_first,
            rto_last: self.stream.rto(),
            statistics,
            ending,
        }
    }
}

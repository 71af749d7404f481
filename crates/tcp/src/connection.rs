//! One TCP connection.

use std::sync::Arc;

use policy::Feedback;
use policy::congestion::PathDelays;
use units::{Duration, Instant};
use wire::{
    Control, Flags, Mss, Options, Segment, SeqNum, Timestamps, UnscaledWindow, WindowScale,
};

use crate::config::{Config, Negotiated};
use crate::event::{CallError, CloseReason, Event, Events};
use crate::receive::Receiver;
use crate::rules::Rules;
use crate::send::{SendState, SendStatistics, Sender, TcpInfo};
use crate::state::State;

mod host_timers;
mod icmp;
mod layout;
mod opening;
mod readiness;
mod receiving;
mod resets;
mod snapshot;
mod timers;
mod writing;

use host_timers::HostTimers;
pub use icmp::IcmpError;
pub(crate) use opening::Opening;
use resets::OwedReset;
pub(crate) use timers::Timers;

/// One TCP connection as a state machine over sequence numbers. It performs no I/O and reads no
/// clock.
///
/// # Driving
///
/// 1. Feed one input: [`on_segment`](Self::on_segment), [`on_timeout`](Self::on_timeout), or a user
///    call ([`connect`](Self::connect), [`write`](Self::write), [`read`](Self::read),
///    [`close`](Self::close), …).
/// 2. Drain: call [`poll_transmit`](Self::poll_transmit) until `None`, then
///    [`poll_event`](Self::poll_event) until `None`. A drain that stops early loses
///    acknowledgments, because each out-of-order segment requires its own.
/// 3. Wait for the next segment or for [`next_timeout`](Self::next_timeout), the earlier of both.
///
/// Times passed in must not go backwards.
///
/// # Methods
///
/// - create: [`new`](Self::new), [`accept`](Self::accept), [`from_cookie`](Self::from_cookie),
///   [`established`](Self::established), [`inherit`](Self::inherit).
/// - user calls: [`connect`](Self::connect), [`listen`](Self::listen), [`write`](Self::write),
///   [`read`](Self::read), [`close`](Self::close), [`refuse_data`](Self::refuse_data),
///   [`abort`](Self::abort).
/// - input from the network: [`on_segment`](Self::on_segment),
///   [`on_packet_too_big`](Self::on_packet_too_big), [`on_icmp_error`](Self::on_icmp_error).
/// - time: [`next_timeout`](Self::next_timeout), [`on_timeout`](Self::on_timeout).
/// - output: [`poll_transmit`](Self::poll_transmit),
///   [`poll_acknowledgment`](Self::poll_acknowledgment),
///   [`note_if_drained`](Self::note_if_drained), [`poll_event`](Self::poll_event).
/// - cheap tests before output: [`is_idle`](Self::is_idle), [`may_defer`](Self::may_defer),
///   [`has_event`](Self::has_event), [`is_ack_due`](Self::is_ack_due).
/// - state of the connection: [`state`](Self::state), [`negotiated`](Self::negotiated),
///   [`readable`](Self::readable), [`writable`](Self::writable),
///   [`unacknowledged`](Self::unacknowledged), [`smss`](Self::smss), [`memory`](Self::memory),
///   [`icmp_error`](Self::icmp_error), [`last_received`](Self::last_received).
/// - state of the sender: [`cwnd`](Self::cwnd), [`ssthresh`](Self::ssthresh), [`rto`](Self::rto),
///   [`flight`](Self::flight), [`srtt`](Self::srtt), [`snapshot`](Self::snapshot),
///   [`path`](Self::path), [`statistics`](Self::statistics), [`send_state`](Self::send_state).
/// - settings: [`offset_timestamps`](Self::offset_timestamps),
///   [`set_timeouts`](Self::set_timeouts).
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    pub(crate) snd: Sender,
    pub(crate) config: Arc<Config>,
    pub(crate) timers: Timers,
    /// Allocated when first needed. Most segments only test whether it exists.
    pub(crate) host_timers: Option<Box<HostTimers>>,
    pub(crate) negotiated: Negotiated,
    pub(crate) state: State,
    pub(crate) opening: Opening,
    /// Rules that may be in force. It selects the variant of the path of a segment.
    pub(crate) rules: Rules,
    /// Whether data that arrives after the local FIN is answered with a reset.
    pub(crate) refuses_data: bool,
    /// Whether the connection has ended. It cannot be opened again.
    has_ended: bool,
    /// Whether the event queue is not empty. It is read after every call, so it is next to fields
    /// in use.
    has_event: bool,
    /// Kind of the pending reset. It is read as often as `has_event`.
    reset: OwedReset,
    pub(crate) rcv: Receiver,
    events: Events,
    /// Sequence number of the pending reset, and its acknowledgment number if it has one.
    reset_numbers: [SeqNum; 2],
}

impl Connection {
    /// Creates a closed connection with the initial sequence number `iss`.
    pub fn new(config: Arc<Config>, iss: SeqNum) -> Self {
        // Valid until the peer's SYN has arrived.
        let negotiated = Negotiated {
            peer_mss: Mss::DEFAULT_IPV4,
            send_scale: WindowScale::NONE,
            ..Negotiated::between_equals(&config)
        };
        Self::in_state(State::Closed, config, iss, negotiated)
    }

    fn in_state(state: State, config: Arc<Config>, iss: SeqNum, negotiated: Negotiated) -> Self {
        debug_assert_eq!(
            config.sender.rto(config.rto),
            config.rto,
            "SenderPolicy::rto was not used"
        );
        let snd = Sender::new(&config, &negotiated, iss);
        Self {
            state,
            rules: snd.rules(&config),
            snd,
            rcv: Receiver::new(&config),
            timers: Timers::OFF,
            reset: OwedReset::None,
            reset_numbers: [SeqNum::default(); 2],
            opening: Opening::Active,
            refuses_data: false,
            has_ended: false,
            has_event: false,
            events: Events::default(),
            host_timers: HostTimers::of(&config),
            negotiated,
            config,
        }
    }

    /// Creates a connection in ESTABLISHED without a handshake, and so without a round-trip time
    /// measurement. It is for simulated flows timed from their first segment, and for tests. Its
    /// host timers start at time zero.
    pub fn established(
        config: Arc<Config>,
        iss: SeqNum,
        irs: SeqNum,
        negotiated: Negotiated,
        peer_window: u32,
    ) -> Self {
        let mut connection = Self::in_state(State::Established, config, iss, negotiated);
        connection.rcv.synchronize(irs);
        connection.snd.syn_skipped(&connection.config, irs, peer_window);
        if connection.config.receiver.is_linux() {
            connection.begin_receiving(connection.negotiated.timestamps);
            connection.rcv.start_linux(false, Instant::ZERO);
        }
        if connection.host_timers.is_some() {
            connection.note_opened(Instant::ZERO);
        }
        connection
    }

    /// Reuses the queue memory of a connection that is no longer needed. It saves allocations for
    /// drivers that create many connections in sequence.
    pub fn inherit(&mut self, old: &mut Self) {
        self.snd.board.inherit(&mut old.snd.board);
        self.rcv.inherit(&mut old.rcv);
    }

    /// Opens the connection actively (RFC 9293 §3.10.1).
    ///
    /// # Errors
    /// Returns an error unless the connection is LISTEN, or CLOSED because it is new. A connection
    /// that has ended cannot be reused.
    pub fn connect(&mut self) -> Result<(), CallError> {
        if self.has_ended {
            return Err(CallError::Over { call: "connect" });
        }
        if !matches!(self.state, State::Closed | State::Listen) {
            return Err(CallError::State { call: "connect", state: self.state });
        }
        self.opening = Opening::Active;
        self.enter(State::SynSent);
        Ok(())
    }

    /// Waits for a peer to open the connection (RFC 9293 §3.10.1).
    ///
    /// # Errors
    /// Returns an error unless the connection is CLOSED because it is new.
    pub fn listen(&mut self) -> Result<(), CallError> {
        if self.has_ended {
            return Err(CallError::Over { call: "listen" });
        }
        if self.state != State::Closed {
            return Err(CallError::State { call: "listen", state: self.state });
        }
        self.opening = Opening::Listening;
        self.enter(State::Listen);
        Ok(())
    }

    /// Reads up to `bytes` that arrived in order and returns their number. The peer may then send
    /// more.
    #[inline]
    pub fn read(&mut self, bytes: u32) -> u32 {
        let taken = self.rcv.read(bytes);
        if taken > 0
            && self.state.can_receive()
            && self.rcv.owes_window_update(|| self.negotiated.peer_smss(&self.config))
        {
            self.rcv.ack_now();
        }
        if self.is_special() {
            self.note_read(taken);
        }
        taken
    }

    /// Closes the sending direction: the queued data is sent, then a FIN (RFC 9293 §3.10.4).
    ///
    /// # Errors
    /// Returns an error if there is nothing to close.
    pub fn close(&mut self) -> Result<(), CallError> {
        let opening =
            self.state == State::SynReceived || self.state == State::SynSent && self.snd.has_data();
        if opening {
            // RFC 9293 §3.10.4, SYN-RECEIVED: the FIN waits until the connection is open. Unlike
            // there, it also waits without queued data, because it cannot be sent before the SYN is
            // acknowledged. In SYN-SENT queued data is sent instead of discarded, so that an
            // application may write and close at once.
            self.snd.close();
            return Ok(());
        }
        let next = self
            .state
            .closed_by_user()
            .ok_or(CallError::State { call: "close", state: self.state })?;
        if next == State::Closed {
            self.enter_closed(CloseReason::Finished);
        } else {
            self.enter(next);
            self.snd.close();
        }
        Ok(())
    }

    /// Declares that the application reads no more. Data that arrives after the local FIN then ends
    /// the connection with a reset (RFC 9293 §3.6.1). Before the FIN it has no effect.
    pub fn refuse_data(&mut self) {
        self.refuses_data = true;
        self.rules = Rules::All;
    }

    /// Aborts the connection with a reset (RFC 9293 §3.10.5).
    pub fn abort(&mut self) {
        if self.state.is_reset_by_abort() {
            self.owe_reset_of_connection();
        }
        if self.state != State::Closed {
            self.enter_closed(CloseReason::Aborted);
        }
    }

    /// Returns the oldest pending event.
    pub fn poll_event(&mut self) -> Option<Event> {
        if !self.has_event {
            return None;
        }
        let event = self.events.pop();
        self.has_event = self.events.any();
        event
    }

    /// Time at which [`on_timeout`](Self::on_timeout) is next due; [`Instant::NEVER`] if no timer
    /// runs.
    pub fn next_timeout(&self) -> Instant {
        self.timers.next()
    }

    /// Negotiated options. They are final once the peer's SYN has arrived.
    pub fn negotiated(&self) -> Negotiated {
        self.negotiated
    }

    /// State of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Number of bytes that arrived in order and have not been read.
    pub fn readable(&self) -> u32 {
        self.rcv.unread()
    }

    /// Number of bytes that [`write`](Self::write) would accept.
    pub fn writable(&self) -> u32 {
        if self.state.accepts_writes() { self.snd.free(self.config.send_buffer) } else { 0 }
    }

    /// Number of bytes written and not yet acknowledged.
    pub fn unacknowledged(&self) -> u32 {
        self.snd.unacknowledged()
    }

    /// Congestion window in force, in bytes.
    pub fn cwnd(&self) -> u32 {
        self.snd.window()
    }

    /// Slow start threshold in bytes.
    pub fn ssthresh(&self) -> u32 {
        self.snd.ssthresh()
    }

    /// Delays of the forward and return path as the sender policy estimates them; `None` unless the
    /// peer reports arrival times.
    pub fn path(&self) -> Option<PathDelays> {
        self.snd.path()
    }

    /// `FlightSize` (RFC 5681 §2): number of sequence numbers in flight.
    pub fn flight(&self) -> u32 {
        self.snd.flight()
    }

    /// Retransmission timeout in force.
    pub fn rto(&self) -> Duration {
        match self.snd.special.packets() {
            Some(packets) if self.state.is_synchronized() => packets.rto(),
            _ => self.snd.rtt.rto(&self.config.rto),
        }
    }

    /// Smoothed round-trip time; `None` before the first measurement.
    pub fn srtt(&self) -> Option<Duration> {
        match self.snd.special.packets() {
            Some(packets) => packets.rtt.srtt(),
            None => self.snd.rtt.srtt(),
        }
    }

    /// State of the sender with the names of Linux's `TCP_INFO`; `None` if the sender counts bytes.
    pub fn tcp_info(&self, now: Instant) -> Option<TcpInfo> {
        self.snd.tcp_info(now)
    }

    /// Counters of what has been sent so far.
    pub fn statistics(&self) -> &SendStatistics {
        &self.snd.statistics
    }

    /// State of the sending half.
    pub fn send_state(&self) -> SendState {
        self.snd.state()
    }

    /// Sender maximum segment size in bytes.
    pub fn smss(&self) -> u32 {
        self.snd.smss
    }

    /// Offset of a segment's payload in the send buffer, from the first unacknowledged byte.
    pub(crate) fn buffer_offset(&self, segment: &Segment) -> u32 {
        segment.seq.distance_from(self.snd.first_unacknowledged_byte())
    }

    /// Frees the memory of empty queues.
    pub(crate) fn release(&mut self) {
        self.snd.board.release();
        self.rcv.release();
    }

    /// Heap memory of the connection in bytes, whatever the queues contain.
    pub fn memory(&self) -> usize {
        let host = self.host_timers.as_ref().map_or(0, |host| host.memory());
        self.snd.board.memory() + self.snd.sender_memory() + self.rcv.memory() + host
    }

    pub(crate) fn emit(&mut self, event: Event) {
        self.events.push(event);
        self.has_event = true;
    }

    /// Changes the state. Debug builds reject a transition that RFC 9293 does not have.
    #[inline]
    pub(crate) fn enter(&mut self, next: State) {
        debug_assert!(self.state.may_become(next), "{} cannot become {next}", self.state);
        self.state = next;
    }

    /// Ends the connection: stops all timers. Only a pending reset is still sent.
    pub(crate) fn enter_closed(&mut self, reason: CloseReason) {
        self.enter(State::Closed);
        self.has_ended = true;
        self.timers = Timers::OFF;
        self.emit(Event::Closed(reason));
    }

    /// RFC 9293 §3.10.7.4: returns a passively opened connection to LISTEN after a failed
    /// handshake.
    pub(crate) fn listen_again(&mut self) {
        self.enter(State::Listen);
        self.timers = Timers::OFF;
        self.snd.listen_again();
    }

    pub(crate) fn enter_time_wait(&mut self, now: Instant) {
        self.enter(State::TimeWait);
        self.timers = Timers { state: now + self.config.msl * 2, ..Timers::OFF };
    }

    /// Builds a segment with the acknowledgment, window and options that every segment of this
    /// connection carries.
    #[expect(clippy::inline_always, reason = "the segment stays in registers")]
    #[inline(always)]
    pub(crate) fn segment(
        &mut self,
        now: Instant,
        seq: SeqNum,
        payload_len: u32,
        control: Control,
    ) -> Segment {
        let mut options = Options::default();
        if self.negotiated.timestamps {
            options.timestamps = Some(self.timestamps(now));
        }
        let (window, ack) = if self.rules == Rules::All && self.rcv.is_linux() {
            self.window_and_acknowledgment(payload_len, now)
        } else {
            let peer_counts_duplicates = self.negotiated.feedback == Feedback::Cumulative;
            let (negotiated, config) = (&self.negotiated, &self.config);
            let smss = || negotiated.peer_smss(config);
            let window = self.rcv.advertise(negotiated.receive_scale, smss, peer_counts_duplicates);
            (window, self.rcv.acknowledge(&mut self.timers.delayed_ack))
        };
        // RFC 3168 §6.1.3: on every acknowledgment until a CWR arrives.
        let flags = Flags::NONE.with(Flags::ECE, self.rcv.echoes_mark());
        Segment { seq, ack: Some(ack), control, flags, window, payload_len, options }
    }

    // Not inlined: the clock needs a division, which would be hoisted for every segment, with or
    // without timestamps.
    #[inline(never)]
    fn timestamps(&self, now: Instant) -> Timestamps {
        Timestamps { val: self.timestamp_clock(now), ecr: self.rcv.timestamp_echo() }
    }

    /// Builds the SYN, or the SYN-ACK in SYN-RECEIVED.
    pub(crate) fn syn(&mut self, now: Instant) -> Segment {
        let answers = self.state == State::SynReceived;
        let config = &self.config;
        let options = Options {
            mss: Some(config.mss),
            window_scale: (config.window_scaling && (!answers || self.rcv.peer_scales()))
                .then_some(self.negotiated.receive_scale),
            // The active end offers both, the passive end chooses.
            sack_permitted: if answers {
                self.negotiated.feedback == Feedback::Sack
            } else {
                config.sack
            },
            santa_cruz_permitted: self.negotiated.santa_cruz_negotiated(),
            is_compact: config.compact_syn,
            timestamps: self.negotiated.timestamps.then(|| {
                let stamps = self.timestamps(now);
                Timestamps { ecr: if answers { stamps.ecr } else { 0 }, ..stamps }
            }),
            ..Options::default()
        };
        // RFC 7323 §2.2: the window of a SYN is never scaled.
        let window = Self::initial_window(config, answers && self.negotiated.timestamps);
        let window = UnscaledWindow::from_bytes(window, WindowScale::NONE);
        // RFC 3168 §6.1.1: both bits offer ECN, one accepts it. A SYN itself is never ECN-capable.
        let flags = if answers {
            Flags::NONE.with(Flags::ECE, self.negotiated.ecn)
        } else {
            Flags::NONE.with(Flags::ECE, config.ecn).with(Flags::CWR, config.ecn)
        };
        let ack = answers.then(|| self.rcv.acknowledge(&mut self.timers.delayed_ack));
        Segment {
            seq: self.snd.iss,
            ack,
            control: Control::Syn,
            flags,
            window,
            payload_len: 0,
            options,
        }
    }
}

/// RFC 7323 §5.4: clock with one tick per millisecond. It starts at 1 because an echo of 0 means
/// none.
pub(crate) fn timestamp_clock(now: Instant) -> u32 {
    let millis = now.as_nanos() / 1_000_000 + 1;
    u32::try_from(millis & u64::from(u32::MAX)).unwrap_or(0)
}

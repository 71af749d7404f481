//! One TCP connection.

use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;

use policy::Feedback;
use policy::congestion::PathDelays;
use units::{Duration, Instant};
use wire::{
    Control, Flags, Mss, Options, Segment, SeqNum, Timestamps, UnscaledWindow, WindowScale,
};

use crate::config::{Config, Negotiated};
use crate::event::{CallError, CloseReason, Event, Events};
use crate::host_timers::HostTimers;
use crate::opening::Opening;
use crate::receive::Receiver;
use crate::send::{SendState, SendStatistics, Sender};
use crate::state::State;

/// One TCP connection as a state machine over sequence numbers; it performs no I/O and reads no
/// clock.
///
/// # Driving
///
/// 1. Feed one thing: [`on_segment`](Self::on_segment), [`on_timeout`](Self::on_timeout), or a user
///    call ([`connect`](Self::connect), [`write`](Self::write), [`read`](Self::read),
///    [`close`](Self::close), …).
/// 2. Drain: [`poll_transmit`](Self::poll_transmit) until `None`, then
///    [`poll_event`](Self::poll_event) until `None`. A drain that stops early loses
///    acknowledgments: each out-of-order segment is owed one of its own.
/// 3. Wait for the next segment, or until [`next_timeout`](Self::next_timeout), whichever is first.
///
/// Times passed in must not go backwards.
///
/// # Memory
///
/// A driver with many connections finds none of them in its processor's cache, and waits for each
/// line of it. So what is used together lies together: first what only a sender of data uses
/// ([`SENDING`](Self::SENDING)), then what both do, then what a receiver does
/// ([`RECEIVING`](Self::RECEIVING)), last what hardly any packet asks for.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    pub(crate) snd: Sender,
    pub(crate) config: Arc<Config>,
    pub(crate) timers: Timers,
    /// None, or made when it is first needed: what happens to most segments asks no more than
    /// whether it is there.
    pub(crate) host_timers: Option<Box<HostTimers>>,
    pub(crate) negotiated: Negotiated,
    pub(crate) state: State,
    pub(crate) opening: Opening,
    /// It has come to its end, and can't be opened again.
    has_ended: bool,
    /// Asked for after everything that happens, and so kept where that has looked anyway.
    has_event: bool,
    /// Whether a reset is owed to the peer: for the same reason.
    reset: OwedReset,
    pub(crate) rcv: Receiver,
    events: Events,
    /// What an owed reset says, and what it acknowledges if it acknowledges anything.
    reset_numbers: [SeqNum; 2],
}

// For those who have a great many: of a processor's lines, all are kept in eight; of data, senders
// look at seven, receivers at three.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(
    size_of::<Connection>() <= 8 * 64
        && Connection::SENDING.end <= 7 * 64
        && Connection::RECEIVING.end - Connection::RECEIVING.start <= 3 * 64
);

/// Deadlines; a timer that is off is at [`Instant::NEVER`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timers {
    /// RFC 6298: the first segment in flight, or the SYN, isn't acknowledged.
    pub(crate) retransmit: Instant,
    /// RFC 9293 §3.8.6.3: an acknowledgment has been held back.
    pub(crate) delayed_ack: Instant,
    /// RFC 9293 §3.8.6.1: the peer's window is too small to send.
    pub(crate) persist: Instant,
    /// How long the state may last, or patience is to be looked at: in TIME-WAIT RFC 9293 §3.10.8,
    /// else [`HostTimers`].
    pub(crate) state: Instant,
}

impl Timers {
    pub(crate) const OFF: Self = Self {
        retransmit: Instant::NEVER,
        delayed_ack: Instant::NEVER,
        persist: Instant::NEVER,
        state: Instant::NEVER,
    };
}

/// Whether a reset is owed to the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwedReset {
    None,
    Bare,
    WithAcknowledgment,
}

/// What a connection may have to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    /// For certain nothing.
    Nothing,
    /// What loses nothing if segments that have arrived and are still to be fed are fed first: an
    /// acknowledgment without reports, which then stands for theirs too, or the next of many
    /// segments in flight.
    Deferrable,
    /// Perhaps more, and not to wait.
    Urgent,
}

impl Connection {
    /// The bytes of it that are used where it only sends data.
    pub const SENDING: Range<usize> = 0..offset_of!(Self, rcv) + Receiver::SENDER_END;

    /// The bytes of it that are used where it only receives data.
    pub const RECEIVING: Range<usize> =
        offset_of!(Self, snd.repair.in_recovery)..offset_of!(Self, rcv) + Receiver::RECEIVER_END;

    /// The bytes that [`next_timeout`](Self::next_timeout) looks at.
    pub const DEADLINES: Range<usize> =
        offset_of!(Self, timers)..offset_of!(Self, timers) + size_of::<Timers>();

    /// A closed connection whose initial sequence number will be `iss`.
    pub fn new(config: Arc<Config>, iss: SeqNum) -> Self {
        // Until the peer has said otherwise.
        let negotiated = Negotiated {
            peer_mss: Mss::DEFAULT_IPV4,
            send_scale: WindowScale::NONE,
            ..Negotiated::between_equals(&config)
        };
        Self::with_options(config, iss, negotiated)
    }

    fn with_options(config: Arc<Config>, iss: SeqNum, negotiated: Negotiated) -> Self {
        Self {
            state: State::Closed,
            snd: Sender::new(&config, &negotiated, iss),
            rcv: Receiver::new(&config),
            timers: Timers::OFF,
            reset: OwedReset::None,
            reset_numbers: [SeqNum::default(); 2],
            opening: Opening::Active,
            has_ended: false,
            has_event: false,
            events: Events::default(),
            host_timers: HostTimers::of(&config),
            negotiated,
            config,
        }
    }

    /// A connection in ESTABLISHED without a handshake, and so without a measurement of the
    /// round-trip time: for simulated flows that are timed from their first segment, and for
    /// tests. Its patience begins at zero.
    pub fn established(
        config: Arc<Config>,
        iss: SeqNum,
        irs: SeqNum,
        negotiated: Negotiated,
        peer_window: u32,
    ) -> Self {
        let mut connection = Self::with_options(config, iss, negotiated);
        connection.rcv.synchronize(irs);
        connection.snd.syn_skipped(irs, peer_window);
        connection.state = State::Established;
        if connection.host_timers.is_some() {
            connection.note_opened(Instant::ZERO);
        }
        connection
    }

    /// Takes over the memory of a connection's queues that is no longer needed. For those who make
    /// many connections, one after the other.
    pub fn inherit(&mut self, old: &mut Self) {
        self.snd.board.inherit(&mut old.snd.board);
        self.rcv.inherit(&mut old.rcv);
    }

    /// Opens actively (RFC 9293 §3.10.1).
    ///
    /// # Errors
    /// Unless the connection is LISTEN, or CLOSED because it is new: another connection is another
    /// `Connection`.
    pub fn connect(&mut self) -> Result<(), CallError> {
        if self.has_ended {
            return Err(CallError::Over { call: "connect" });
        }
        if !matches!(self.state, State::Closed | State::Listen) {
            return Err(CallError::State { call: "connect", state: self.state });
        }
        self.opening = Opening::Active;
        self.state = State::SynSent;
        Ok(())
    }

    /// Waits for a peer to open (RFC 9293 §3.10.1).
    ///
    /// # Errors
    /// Unless the connection is CLOSED because it is new.
    pub fn listen(&mut self) -> Result<(), CallError> {
        if self.has_ended {
            return Err(CallError::Over { call: "listen" });
        }
        if self.state != State::Closed {
            return Err(CallError::State { call: "listen", state: self.state });
        }
        self.opening = Opening::Listening;
        self.state = State::Listen;
        Ok(())
    }

    /// Queues `bytes` to be sent and returns how many fit into the send buffer.
    ///
    /// # Errors
    /// When the connection isn't open, or has been closed here.
    pub fn write(&mut self, bytes: u32) -> Result<u32, CallError> {
        if !self.state.accepts_writes() {
            return Err(CallError::State { call: "write", state: self.state });
        }
        Ok(self.snd.write(bytes, self.config.send_buffer))
    }

    /// Takes up to `bytes` that arrived in order, which lets the peer send more; returns how many.
    pub fn read(&mut self, bytes: u32) -> u32 {
        let taken = self.rcv.read(bytes);
        if taken > 0
            && self.state.can_receive()
            && self.rcv.owes_window_update(|| self.negotiated.peer_smss(&self.config))
        {
            self.rcv.ack_now();
        }
        taken
    }

    /// No more data will be written; what is queued is sent, then a FIN (RFC 9293 §3.10.4).
    ///
    /// # Errors
    /// When there is nothing to close.
    pub fn close(&mut self) -> Result<(), CallError> {
        let opening =
            self.state == State::SynReceived || self.state == State::SynSent && self.snd.has_data();
        if opening {
            // RFC 9293 §3.10.4, SYN-RECEIVED: the FIN waits until the connection is open. Unlike
            // there, it waits without queued data too, for it can't leave before the
            // SYN is acknowledged; and in SYN-SENT queued data is sent instead of given
            // up, so that a user can write, close and forget.
            self.snd.close();
            return Ok(());
        }
        let next = self
            .state
            .closed_by_user()
            .ok_or(CallError::State { call: "close", state: self.state })?;
        self.state = next;
        if next == State::Closed {
            self.enter_closed(CloseReason::Finished);
        } else {
            self.snd.close();
        }
        Ok(())
    }

    /// Ends the connection at once with a reset (RFC 9293 §3.10.5).
    pub fn abort(&mut self) {
        if self.state.is_reset_by_abort() {
            self.owe_reset(self.snd.pure_seq(), Some(self.rcv.nxt));
        }
        if self.state != State::Closed {
            self.enter_closed(CloseReason::Aborted);
        }
    }

    /// The next thing that happened, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        if !self.has_event {
            return None;
        }
        let event = self.events.pop();
        self.has_event = self.events.any();
        event
    }

    /// Whether [`poll_event`](Self::poll_event) has anything.
    #[inline]
    pub fn has_event(&self) -> bool {
        self.has_event
    }

    /// Whether an acknowledgment is due.
    #[inline]
    pub fn owes_acknowledgment(&self) -> bool {
        self.rcv.ack_is_due()
    }

    /// Whether [`poll_transmit`](Self::poll_transmit) has nothing for sure: nothing is owed, and
    /// either nothing is unsent or in flight, or what is in flight fills the congestion window.
    /// If not, it may have nothing all the same; this is a cheaper question.
    #[inline]
    pub fn has_nothing_to_send(&self) -> bool {
        !self.owes_reset()
            && !self.rcv.ack_is_due()
            && (self.snd.una == self.snd.end() || self.snd.is_cwnd_limited())
            && self.state.is_synchronized()
    }

    /// When [`on_timeout`](Self::on_timeout) is next due, [`Instant::NEVER`] if no timer runs.
    pub fn next_timeout(&self) -> Instant {
        let timers = &self.timers;
        timers.retransmit.min(timers.delayed_ack).min(timers.persist).min(timers.state)
    }

    /// What the two ends have agreed on, once the peer's SYN has come.
    pub fn negotiated(&self) -> Negotiated {
        self.negotiated
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Bytes that arrived in order and haven't been read.
    pub fn readable(&self) -> u32 {
        self.rcv.unread()
    }

    /// Bytes that [`write`](Self::write) would take.
    pub fn writable(&self) -> u32 {
        if self.state.accepts_writes() { self.snd.free(self.config.send_buffer) } else { 0 }
    }

    /// Where that lies which the next acknowledgment makes this end look at in memory of its own:
    /// for those who have it fetched ahead. There may be nothing there.
    #[inline]
    pub fn sending_queue(&self) -> [*const u8; 2] {
        self.snd.board.addresses()
    }

    /// The same for the next data.
    #[inline]
    pub const fn receiving_queue(&self) -> *const u8 {
        self.rcv.out_of_order_address()
    }

    /// Bytes written and not yet acknowledged.
    pub fn unacknowledged(&self) -> u32 {
        self.snd.unacknowledged()
    }

    /// What [`poll_transmit`](Self::poll_transmit) may have to send.
    pub fn pending(&self) -> Pending {
        const MANY: u32 = 16;
        let open = matches!(self.state, State::Established | State::CloseWait);
        if !open || self.owes_reset() || self.rcv.has_reports() || self.snd.repair.in_recovery {
            Pending::Urgent
        } else if self.snd.unacknowledged() > 0 {
            // While cuts are full-sized, they don't depend on what is fed first.
            let smss = self.snd.smss;
            if self.snd.flight() >= MANY * smss && self.snd.mss_c() == smss {
                Pending::Deferrable
            } else {
                Pending::Urgent
            }
        } else if self.rcv.ack_is_due() {
            Pending::Deferrable
        } else {
            Pending::Nothing
        }
    }

    /// The congestion window in force, in bytes.
    pub fn cwnd(&self) -> u32 {
        self.snd.window()
    }

    /// The slow start threshold in bytes.
    pub fn ssthresh(&self) -> u32 {
        self.snd.ssthresh()
    }

    /// What the sender's policy knows of the ways there and back, with a peer that reports what
    /// arrived when.
    pub fn path(&self) -> Option<PathDelays> {
        self.snd.path()
    }

    /// Sequence numbers sent and not acknowledged.
    pub fn flight(&self) -> u32 {
        self.snd.flight()
    }

    /// The retransmission timeout in force.
    pub fn rto(&self) -> Duration {
        self.snd.rtt.rto(&self.config.rto)
    }

    /// The smoothed round-trip time, once there was a measurement.
    pub fn srtt(&self) -> Option<Duration> {
        self.snd.rtt.srtt()
    }

    /// What has been sent so far.
    pub fn statistics(&self) -> &SendStatistics {
        &self.snd.statistics
    }

    /// The sending half as it stands.
    pub fn send_state(&self) -> SendState {
        self.snd.state()
    }

    /// The sender maximum segment size in bytes.
    pub fn smss(&self) -> u32 {
        self.snd.smss
    }

    /// Where a segment's payload lies in the send buffer, counted from the first unacknowledged
    /// byte.
    pub(crate) fn buffer_offset(&self, segment: &Segment) -> u32 {
        segment.seq.distance_from(self.snd.first_unacknowledged_byte())
    }

    /// Gives back the memory of queues that are empty.
    pub(crate) fn release(&mut self) {
        self.snd.board.release();
        self.rcv.release();
    }

    /// The bytes of memory behind this value: its queues, whatever they hold now.
    pub fn memory(&self) -> usize {
        let host = self.host_timers.as_ref().map_or(0, |host| host.memory());
        self.snd.board.memory() + self.snd.reports_memory() + self.rcv.memory() + host
    }

    /// A segment with these numbers and RST leaves before anything else.
    pub(crate) fn owe_reset(&mut self, seq: SeqNum, ack: Option<SeqNum>) {
        self.reset = if ack.is_some() { OwedReset::WithAcknowledgment } else { OwedReset::Bare };
        self.reset_numbers = [seq, ack.unwrap_or_default()];
    }

    pub(crate) fn owes_reset(&self) -> bool {
        self.reset != OwedReset::None
    }

    /// The numbers of the reset that is owed; it is owed no longer.
    pub(crate) fn take_reset(&mut self) -> Option<(SeqNum, Option<SeqNum>)> {
        let [seq, ack] = self.reset_numbers;
        match std::mem::replace(&mut self.reset, OwedReset::None) {
            OwedReset::None => None,
            OwedReset::Bare => Some((seq, None)),
            OwedReset::WithAcknowledgment => Some((seq, Some(ack))),
        }
    }

    pub(crate) fn emit(&mut self, event: Event) {
        self.events.push(event);
        self.has_event = true;
    }

    /// The connection is over: no timer runs and nothing more is sent, but for a reset that is
    /// owed.
    pub(crate) fn enter_closed(&mut self, reason: CloseReason) {
        self.state = State::Closed;
        self.has_ended = true;
        self.timers = Timers::OFF;
        self.emit(Event::Closed(reason));
    }

    /// RFC 9293 §3.10.7.4: what was opened passively and didn't come about goes on listening.
    pub(crate) fn listen_again(&mut self) {
        self.state = State::Listen;
        self.timers = Timers::OFF;
        self.snd.listen_again();
    }

    pub(crate) fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.timers = Timers { state: now + self.config.msl * 2, ..Timers::OFF };
    }

    /// A segment with the acknowledgment, window and options that every segment of this connection
    /// carries.
    #[expect(clippy::inline_always, reason = "the segment goes on in registers")]
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
        let peer_counts_duplicates = self.negotiated.feedback == Feedback::Cumulative;
        let (negotiated, config) = (&self.negotiated, &self.config);
        let smss = || negotiated.peer_smss(config);
        let window = self.rcv.advertise(negotiated.receive_scale, smss, peer_counts_duplicates);
        let ack = self.rcv.acknowledge(&mut self.timers.delayed_ack);
        // RFC 3168 §6.1.3: on every acknowledgment until the peer says that it has heard.
        let flags = Flags::NONE.with(Flags::ECE, self.rcv.echoes_mark());
        Segment { seq, ack: Some(ack), control, flags, window, payload_len, options }
    }

    // Out of line: the clock is a division, which would be done ahead for every segment, stamped or
    // not.
    #[inline(never)]
    fn timestamps(&self, now: Instant) -> Timestamps {
        Timestamps { val: self.timestamp_clock(now), ecr: self.rcv.timestamp_echo() }
    }

    /// The segment that opens: a SYN, or a SYN that also acknowledges one.
    pub(crate) fn syn(&mut self, now: Instant) -> Segment {
        let answers = self.state == State::SynReceived;
        let config = &self.config;
        let options = Options {
            mss: Some(config.mss),
            window_scale: (config.window_scaling && (!answers || self.rcv.peer_scales()))
                .then_some(self.negotiated.receive_scale),
            // Who opens offers both; who answers chooses.
            sack_permitted: if answers {
                self.negotiated.feedback == Feedback::Sack
            } else {
                config.sack
            },
            santa_cruz_permitted: self.negotiated.santa_cruz_negotiated(),
            timestamps: self.negotiated.timestamps.then(|| {
                let stamps = self.timestamps(now);
                Timestamps { ecr: if answers { stamps.ecr } else { 0 }, ..stamps }
            }),
            ..Options::default()
        };
        // RFC 7323 §2.2: the window of a SYN is never scaled.
        let window = UnscaledWindow::from_bytes(config.receive_buffer, WindowScale::NONE);
        // RFC 3168 §6.1.1: both bits to offer ECN, one to accept it; and a SYN itself is never
        // ECN-capable.
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

/// RFC 7323 §5.4: a clock of one tick a millisecond. Starts at 1 because an echo of 0 means none.
pub(crate) fn timestamp_clock(now: Instant) -> u32 {
    let millis = now.as_nanos() / 1_000_000 + 1;
    u32::try_from(millis & u64::from(u32::MAX)).unwrap_or(0)
}

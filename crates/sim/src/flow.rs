//! A simulated flow: the two ends of a connection, and the flow's statistics.

use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;

use policy::SenderPolicy;
use policy::congestion::{MAX_WINDOW, WindowRules};
use policy::rtt::RtoConfig;
use tcp::{Challenges, Config, Connection, DelayedAck, Negotiated, Timeouts};
use units::{Duration, Instant};
use wire::{Mss, SeqNum};

use crate::plan::PlannedWorkload;
use crate::scenario::{Opener, TcpSettings, Threshold};
use crate::timers::Timer;
use crate::workload::FlowStart;

/// A simulated flow.
///
/// With many flows every access is a cache miss. Fields are therefore grouped in whole cache lines,
/// in this order: fields that every packet needs, the end that sends, rarely used fields, and the
/// end that receives. The fields of the receiver that data segments need begin with a cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) identity: u64,
    /// Bytes not yet written to the sender.
    to_write: u64,
    /// Bytes that have not yet arrived in order.
    to_receive: u64,
    /// The time at which the sender last received or sent a segment.
    pub(crate) active_at: Instant,
    /// The time of the flow's current timer entry. Entries with other times are stale.
    pub(crate) scheduled: Instant,
    /// The flow's number in the run, in order of starting.
    pub(crate) serial: u64,
    /// Packets sent so far; the number of the next packet.
    pub(crate) packets: u32,
    /// Packets on the network. The flow's slot cannot be released before they have arrived.
    pub(crate) in_network: u32,
    pub(crate) workload: u16,
    closes: bool,
    /// All data has been acknowledged.
    acknowledged: bool,
    pub(crate) recorded: bool,
    /// The slot is free.
    pub(crate) is_free: bool,
    /// The receiver acts ahead of time (`shared::lookahead`), and always has: no packet is
    /// on its way to it.
    pub(crate) is_ahead: bool,
    /// A send opportunity is deferred until `send_deferred_until`.
    send_deferred: bool,
    /// The end that sends data.
    pub(crate) sender: Connection,
    /// The flow's number in its workload.
    pub(crate) index: u32,
    pub(crate) start: Start,
    /// The times at which all data had arrived, and had been acknowledged; [`Instant::NEVER`]
    /// before.
    pub(crate) all_received: Instant,
    pub(crate) all_acknowledged: Instant,
    /// The total time for which the sender was silent before its retransmission timer expired.
    waited: Duration,
    /// The end that receives data.
    pub(crate) receiver: Connection,
    send_deferred_until: Instant,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(
    size_of::<Flow>() == 18 * 64
        && Flow::USUAL.end == 64
        && lines(&Flow::SENDING) == 7
        && lines(&Flow::RECEIVING) == 3
        && lines(&Flow::DEADLINES[0]) == 1
        && lines(&Flow::DEADLINES[1]) == 1,
    "a part of a flow has left its lines"
);

/// A [`FlowStart`] in little memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) at: Instant,
    /// Size in bytes; [`ENDLESS`](Self::ENDLESS) represents `None`.
    size: u64,
    /// Zero represents `None`.
    class: u32,
    /// Index in [`crate::Plan::senders`].
    pub(crate) sender: u32,
}

impl Start {
    /// The size of an endless flow: more than any run transfers.
    const ENDLESS: u64 = u64::MAX;

    fn new(start: &FlowStart) -> Self {
        Self {
            at: start.at,
            size: start.size.unwrap_or(Self::ENDLESS),
            class: start.class.unwrap_or(0),
            sender: u32::try_from(start.sender).unwrap_or(u32::MAX),
        }
    }

    /// The flow's size in bytes; `None` for an endless flow.
    pub(crate) fn size(&self) -> Option<u64> {
        (self.size != Self::ENDLESS).then_some(self.size)
    }

    /// The number of the flow's size, from 1, among the workload's classes or transfers.
    pub(crate) fn class(&self) -> Option<u32> {
        (self.class != 0).then_some(self.class)
    }
}

/// The identification of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name {
    pub(crate) serial: u64,
    pub(crate) index: u32,
    pub(crate) workload: u16,
    pub(crate) identity: u64,
}

/// The identification of a packet in the links' random draws.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketName {
    pub(crate) identity: u64,
    pub(crate) serial: u32,
}

/// One of a flow's two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Sender,
    Receiver,
}

/// The configuration of a workload's flows that use one sender.
#[derive(Debug, Clone)]
pub(crate) struct Endpoints {
    config: Arc<Config>,
    opener: Option<Opener>,
}

impl Endpoints {
    pub(crate) fn new(workload: &PlannedWorkload, sender: SenderPolicy) -> Self {
        let opener = workload.handshake.then_some(workload.opener);
        Self { config: Arc::new(config(&workload.tcp, sender)), opener }
    }

    fn sender(&self, identity: u64) -> Connection {
        self.end(word(identity), word(identity >> 32), Opener::Sender)
    }

    fn receiver(&self, identity: u64) -> Connection {
        self.end(word(identity >> 32), word(identity), Opener::Receiver)
    }

    /// Makes an end. It opens the connection if the opener is `role`.
    fn end(&self, iss: SeqNum, irs: SeqNum, role: Opener) -> Connection {
        let config = Arc::clone(&self.config);
        let Some(opener) = self.opener else {
            let (negotiated, window) = (Negotiated::between_equals(&config), config.receive_buffer);
            return Connection::established(config, iss, irs, negotiated, window);
        };
        let mut end = Connection::new(config, iss);
        // Both calls are valid for a new connection, so neither can fail.
        let _ = if opener == role { end.connect() } else { end.listen() };
        end
    }
}

/// The memory layout of a flow, for prefetching.
impl Flow {
    /// The fields that every packet needs.
    pub(crate) const USUAL: Range<usize> = 0..offset_of!(Self, sender);
    /// The fields of the sending end that a packet for it needs.
    pub(crate) const SENDING: Range<usize> = within(offset_of!(Self, sender), Connection::SENDING);
    /// The fields of the receiving end that a packet for it needs.
    pub(crate) const RECEIVING: Range<usize> =
        within(offset_of!(Self, receiver), Connection::RECEIVING);
    /// The fields that determine the flow's next timeout.
    pub(crate) const DEADLINES: [Range<usize>; 2] = [
        within(offset_of!(Self, sender), Connection::DEADLINES),
        within(offset_of!(Self, receiver), Connection::DEADLINES),
    ];
    /// The fields that an expired timer needs, including those of a receiver that acts ahead of
    /// time.
    pub(crate) const EXPIRING: [Range<usize>; 2] =
        [offset_of!(Self, sender)..offset_of!(Self, receiver), Self::RECEIVING];
}

/// The number of cache lines that a range of bytes touches.
const fn lines(bytes: &Range<usize>) -> usize {
    bytes.end.div_ceil(64) - bytes.start / 64
}

/// Shifts a range relative to a value at offset `value` to the start of the enclosing struct.
const fn within(value: usize, bytes: Range<usize>) -> Range<usize> {
    value + bytes.start..value + bytes.end
}

impl Flow {
    /// A flow that starts with its first [`write`](Self::write).
    pub(crate) fn new(endpoints: &Endpoints, name: Name, start: FlowStart) -> Self {
        let Name { serial, index, workload, identity } = name;
        let start = Start::new(&start);
        Self {
            identity,
            to_write: start.size,
            to_receive: start.size,
            active_at: start.at,
            scheduled: Instant::NEVER,
            serial,
            packets: 0,
            in_network: 0,
            workload,
            closes: endpoints.opener.is_some(),
            acknowledged: false,
            recorded: false,
            is_free: false,
            is_ahead: false,
            send_deferred: false,
            sender: endpoints.sender(identity),
            index,
            start,
            all_received: Instant::NEVER,
            all_acknowledged: Instant::NEVER,
            waited: Duration::ZERO,
            receiver: endpoints.receiver(identity),
            send_deferred_until: Instant::NEVER,
        }
    }

    /// Takes over the memory of the queues of a finished flow.
    pub(crate) fn inherit(&mut self, old: &mut Self) {
        self.sender.inherit(&mut old.sender);
        self.receiver.inherit(&mut old.receiver);
    }

    /// Numbers a packet that is being sent.
    #[inline]
    pub(crate) fn name_packet(&mut self) -> PacketName {
        let name = PacketName { identity: self.identity, serial: self.packets };
        self.packets = self.packets.wrapping_add(1);
        name
    }

    /// Writes data to the sender, and closes it after the last byte.
    pub(crate) fn write(&mut self) {
        if self.to_write == 0 {
            return;
        }
        let room = self.sender.writable();
        // Filling the buffer at every acknowledgment would be work without effect.
        if room == 0 || room < SEND_BUFFER / 2 && u64::from(room) < self.to_write {
            return;
        }
        let wanted = u32::try_from(self.to_write).unwrap_or(u32::MAX);
        let taken = self.sender.write(wanted).unwrap_or(0);
        self.to_write -= u64::from(taken);
        if self.to_write == 0 && self.closes {
            let _ = self.sender.close();
        }
    }

    /// Reads the data that has arrived at the receiver.
    pub(crate) fn read(&mut self, now: Instant) {
        let taken = self.receiver.read(u32::MAX);
        if taken == 0 {
            return;
        }
        self.to_receive -= u64::from(taken);
        if self.to_receive == 0 {
            self.all_received = now;
        }
    }

    /// Handles an expired timer of the sender. A retransmission timeout adds the sender's silence
    /// to `waited`.
    pub(crate) fn expire(&mut self, now: Instant) {
        let before = self.sender.statistics().timeouts;
        self.sender.on_timeout(now);
        if self.sender.statistics().timeouts != before {
            self.waited = self.waited + now.since(self.active_at);
        }
    }

    /// The total time for which the sender has waited for its retransmission timer. An unfinished
    /// flow may still be waiting at `now`.
    pub(crate) fn waited(&self, now: Instant) -> Duration {
        if self.sender.unacknowledged() == 0 {
            self.waited
        } else {
            self.waited + now.since(self.active_at)
        }
    }

    /// Bytes that arrived in order.
    pub(crate) fn received(&self) -> u64 {
        self.start.size - self.to_receive
    }

    /// Returns true if all data has been acknowledged.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.acknowledged
    }

    /// Records the time at which all data has been acknowledged.
    pub(crate) fn note_acknowledged(&mut self, now: Instant) {
        if !self.is_acknowledged() && self.to_write == 0 && self.sender.unacknowledged() == 0 {
            self.acknowledged = true;
            self.all_acknowledged = now;
        }
    }

    /// The initial sequence number of the end that sends data.
    pub(crate) fn iss(&self) -> SeqNum {
        word(self.identity)
    }

    /// The initial sequence number of the end that receives data.
    pub(crate) fn irs(&self) -> SeqNum {
        word(self.identity >> 32)
    }

    pub(crate) fn end(&mut self, end: End) -> &mut Connection {
        match end {
            End::Sender => &mut self.sender,
            End::Receiver => &mut self.receiver,
        }
    }

    /// Defers a send opportunity. If one is already deferred, its time applies to both.
    pub(crate) fn defer_send(&mut self, until: impl FnOnce() -> Instant) {
        if !self.send_deferred {
            (self.send_deferred, self.send_deferred_until) = (true, until());
        }
    }

    /// Returns true, once, if a deferred send opportunity is due.
    pub(crate) fn take_deferred(&mut self, now: Instant) -> bool {
        let come = self.next_deferred_send() <= now;
        self.send_deferred &= !come;
        come
    }

    /// The time of the deferred send opportunity; [`Instant::NEVER`] if there is none.
    fn next_deferred_send(&self) -> Instant {
        if self.send_deferred { self.deferred_until() } else { Instant::NEVER }
    }

    /// Out of line: inlined, a conditional move would read the cold cache line in every case.
    #[cold]
    #[inline(never)]
    fn deferred_until(&self) -> Instant {
        self.send_deferred_until
    }

    /// Returns true if this timer entry is current, not stale.
    pub(crate) fn is_current_timer(&self, timer: &Timer) -> bool {
        self.serial == timer.number && self.scheduled == timer.at
    }

    /// The time of the flow's next timeout.
    pub(crate) fn next_timeout(&self) -> Instant {
        self.sender.next_timeout().min(self.receiver.next_timeout()).min(self.next_deferred_send())
    }

    /// The next timeout, as far as an event at this end can have changed it.
    pub(crate) fn next_timeout_at(&mut self, end: End) -> Instant {
        self.end(end).next_timeout().min(self.next_deferred_send())
    }

    /// Returns true if the flow is finished: it is complete, its ends are idle and none of its
    /// packets is on the network.
    pub(crate) fn is_over(&self) -> bool {
        let at_rest = |end: &Connection| match end.state() {
            tcp::State::Closed | tcp::State::TimeWait => true,
            // Without a handshake there is no close either: an end is idle once it has no timer.
            _ => !self.closes && end.next_timeout() == Instant::NEVER,
        };
        let ended = || self.is_acknowledged() || self.sender.state() == tcp::State::Closed;
        self.in_network == 0 && ended() && at_rest(&self.sender) && at_rest(&self.receiver)
    }
}

/// The sender's buffer, in bytes: enough for any window.
const SEND_BUFFER: u32 = 1 << 30;

/// Initial sequence numbers are spread over the whole space, so that wrapping is common.
fn word(half: u64) -> SeqNum {
    SeqNum::new(u32::try_from(half & u64::from(u32::MAX)).unwrap_or(0))
}

fn config(tcp: &TcpSettings, sender: SenderPolicy) -> Config {
    // The plan has checked the order of the timeouts.
    let rto = tcp.rto().unwrap_or(RtoConfig::RFC);
    Config {
        sender,
        window: WindowRules {
            counting: tcp.growth.into(),
            halving: tcp.halving.into(),
            ssthresh: tcp.ssthresh_initial.map_or(MAX_WINDOW, Threshold::get),
        },
        mss: tcp.mss.get(),
        rto,
        rtt_samples: tcp.rtt_sample.into(),
        delayed_ack: DelayedAck { every: tcp.ack_every, timeout: tcp.ack_delay.0 },
        receive_buffer: tcp.receive_buffer.get(),
        send_buffer: SEND_BUFFER,
        window_scaling: tcp.receive_buffer.get() > u32::from(u16::MAX),
        timestamps: tcp.timestamps,
        sack: sender.wants_sack(),
        santa_cruz: sender.wants_santa_cruz(),
        ecn: tcp.ecn,
        nagle: tcp.nagle,
        // A simulated flow has all its data from the start and never idles.
        restart_after_idle: false,
        msl: Duration::from_secs(120),
        // A simulated flow never aborts: its duration is the result.
        max_timeouts: u8::MAX,
        max_syn_timeouts: u8::MAX,
        min_mss: Mss::LEAST,
        challenges: Challenges::DEFAULT,
        timeouts: Timeouts::NONE,
    }
}

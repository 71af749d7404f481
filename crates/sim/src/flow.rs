//! A simulated flow: the two ends of one connection, and what has been noted of it.

use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;

use policy::SenderPolicy;
use policy::congestion::{Counting, Halving, MAX_WINDOW, WindowRules};
use policy::rtt::RtoConfig;
use tcp::{Challenges, Config, Connection, DelayedAck, Negotiated, RttSamples, Timeouts};
use units::{Duration, Instant};
use wire::{Mss, SeqNum};

use crate::plan::PlannedWorkload;
use crate::scenario::{Growth, Opener, RttSample, TcpSettings};
use crate::timers::Timer;
use crate::workload::FlowStart;

/// The two ends of a connection.
///
/// Of many flows none is in the processor's cache when a packet of it arrives. So they are in whole
/// lines of it, in this order: a line of what every packet needs, the end that sends, what is
/// seldom asked for, and the end that receives, so that what data ask of that begins with a line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) identity: u64,
    /// Bytes not yet written to the sender.
    to_write: u64,
    /// Bytes that have not yet arrived in order.
    to_receive: u64,
    /// When the sender last heard or sent something.
    pub(crate) active_at: Instant,
    /// The time of the flow's entry among the timers; entries with other times are void.
    pub(crate) scheduled: Instant,
    /// Its number in the run, in order of starting.
    pub(crate) serial: u64,
    /// Packets put on the network so far, which number the next.
    pub(crate) packets: u32,
    /// Packets on the network: the flow can't be forgotten before they have arrived.
    pub(crate) in_network: u32,
    pub(crate) workload: u16,
    closes: bool,
    /// Everything has been acknowledged.
    acknowledged: bool,
    pub(crate) recorded: bool,
    /// It is over, and its place waits for another.
    pub(crate) forgotten: bool,
    /// Its receiver acts [ahead of time](crate::lookahead), and has always done so: nothing is on
    /// its way to it.
    pub(crate) is_ahead: bool,
    /// An opportunity to send has been put off until `puts_off_until`.
    puts_off: bool,
    /// The end that sends data.
    pub(crate) sender: Connection,
    /// Its number in its workload.
    pub(crate) index: u32,
    pub(crate) start: Start,
    /// When everything had arrived, and when it had been acknowledged; [`Instant::NEVER`] before.
    pub(crate) all_received: Instant,
    pub(crate) all_acknowledged: Instant,
    /// How long the sender was silent before its timer expired.
    waited: Duration,
    /// The end that receives data.
    pub(crate) receiver: Connection,
    puts_off_until: Instant,
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
    /// [`ENDLESS`](Self::ENDLESS) is `None`.
    size: u64,
    /// Zero is `None`.
    class: u32,
    /// Index in [`crate::Plan::senders`].
    pub(crate) sender: u32,
}

impl Start {
    /// What an endless flow has to send: more than any run takes.
    const ENDLESS: u64 = u64::MAX;

    fn new(start: &FlowStart) -> Self {
        Self {
            at: start.at,
            size: start.size.unwrap_or(Self::ENDLESS),
            class: start.class.unwrap_or(0),
            sender: u32::try_from(start.sender).unwrap_or(u32::MAX),
        }
    }

    /// Its bytes; `None` for an endless flow.
    pub(crate) fn size(&self) -> Option<u64> {
        (self.size != Self::ENDLESS).then_some(self.size)
    }

    /// The size's number from 1 among the workload's classes or transfers.
    pub(crate) fn class(&self) -> Option<u32> {
        (self.class != 0).then_some(self.class)
    }
}

/// What tells a flow from every other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name {
    pub(crate) serial: u64,
    pub(crate) index: u32,
    pub(crate) workload: u16,
    pub(crate) identity: u64,
}

/// What tells a packet from every other in the links' draws.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketName {
    pub(crate) identity: u64,
    pub(crate) serial: u32,
}

/// One of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Sender,
    Receiver,
}

/// How the flows of a workload that use one sender are configured.
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

    /// The end that opens if the opener is `role`.
    fn end(&self, iss: SeqNum, irs: SeqNum, role: Opener) -> Connection {
        let config = Arc::clone(&self.config);
        let Some(opener) = self.opener else {
            let (negotiated, window) = (Negotiated::between_equals(&config), config.receive_buffer);
            return Connection::established(config, iss, irs, negotiated, window);
        };
        let mut end = Connection::new(config, iss);
        // Both calls are valid for a connection that is new, so neither can fail.
        let _ = if opener == role { end.connect() } else { end.listen() };
        end
    }
}

/// Where things are.
impl Flow {
    /// What every packet needs.
    pub(crate) const USUAL: Range<usize> = 0..offset_of!(Self, sender);
    /// What a packet for the end that sends data needs beside that.
    pub(crate) const SENDING: Range<usize> = within(offset_of!(Self, sender), Connection::SENDING);
    /// What a packet for the end that receives them does.
    pub(crate) const RECEIVING: Range<usize> =
        within(offset_of!(Self, receiver), Connection::RECEIVING);
    /// What says when the flow next has something to do by itself.
    pub(crate) const DEADLINES: [Range<usize>; 2] = [
        within(offset_of!(Self, sender), Connection::DEADLINES),
        within(offset_of!(Self, receiver), Connection::DEADLINES),
    ];
    /// What is asked for when that has come, and what is sent then is told a receiver at once.
    pub(crate) const EXPIRING: [Range<usize>; 2] =
        [offset_of!(Self, sender)..offset_of!(Self, receiver), Self::RECEIVING];
}

/// How many lines these bytes are in.
const fn lines(bytes: &Range<usize>) -> usize {
    bytes.end.div_ceil(64) - bytes.start / 64
}

/// Bytes of a value that begins there, counted from where that is counted from.
const fn within(value: usize, bytes: Range<usize>) -> Range<usize> {
    value + bytes.start..value + bytes.end
}

impl Flow {
    /// A flow that begins at once, as soon as it [`write`](Self::write)s.
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
            forgotten: false,
            is_ahead: false,
            puts_off: false,
            sender: endpoints.sender(identity),
            index,
            start,
            all_received: Instant::NEVER,
            all_acknowledged: Instant::NEVER,
            waited: Duration::ZERO,
            receiver: endpoints.receiver(identity),
            puts_off_until: Instant::NEVER,
        }
    }

    /// Takes over the memory of the queues of a flow that is over.
    pub(crate) fn inherit(&mut self, old: &mut Self) {
        self.sender.inherit(&mut old.sender);
        self.receiver.inherit(&mut old.receiver);
    }

    /// The name of the packet that is sent now.
    #[inline]
    pub(crate) fn name_packet(&mut self) -> PacketName {
        let name = PacketName { identity: self.identity, serial: self.packets };
        self.packets = self.packets.wrapping_add(1);
        name
    }

    /// Keeps the sender supplied, and closes it behind the last byte.
    pub(crate) fn write(&mut self) {
        if self.to_write == 0 {
            return;
        }
        let room = self.sender.writable();
        // Topping up at every acknowledgment would be work without effect.
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

    /// The receiver's user takes what has arrived.
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

    /// A timer of the sender's has expired. If it is the one for retransmissions, it ends a
    /// silence.
    pub(crate) fn expire(&mut self, now: Instant) {
        let before = self.sender.statistics().timeouts;
        self.sender.on_timeout(now);
        if self.sender.statistics().timeouts != before {
            self.waited = self.waited + now.since(self.active_at);
        }
    }

    /// How long the sender has waited for its timer by `now`: an unfinished flow may be at it.
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

    /// Whether everything has been acknowledged.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.acknowledged
    }

    /// Notes the moment in which everything has been acknowledged.
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

    /// The initial sequence number of the end that receives them.
    pub(crate) fn irs(&self) -> SeqNum {
        word(self.identity >> 32)
    }

    pub(crate) fn end(&mut self, end: End) -> &mut Connection {
        match end {
            End::Sender => &mut self.sender,
            End::Receiver => &mut self.receiver,
        }
    }

    /// Puts off an opportunity to send, unless one has been put off before: then that will be for
    /// both.
    pub(crate) fn put_off(&mut self, until: impl FnOnce() -> Instant) {
        if !self.puts_off {
            (self.puts_off, self.puts_off_until) = (true, until());
        }
    }

    /// Whether an opportunity to send that was put off has come; it comes once.
    pub(crate) fn take_put_off(&mut self, now: Instant) -> bool {
        let come = self.sends_at() <= now;
        self.puts_off &= !come;
        come
    }

    /// When an opportunity to send that was put off comes.
    fn sends_at(&self) -> Instant {
        if self.puts_off { self.has_put_off_until() } else { Instant::NEVER }
    }

    /// Out of line, or its cold line would be read in any case, to be chosen from.
    #[cold]
    #[inline(never)]
    fn has_put_off_until(&self) -> Instant {
        self.puts_off_until
    }

    /// Whether this is the flow's entry among the timers, and not one that is void.
    pub(crate) fn awaits(&self, timer: &Timer) -> bool {
        self.serial == timer.number && self.scheduled == timer.at
    }

    /// When the flow next has something to do by itself.
    pub(crate) fn next_timeout(&self) -> Instant {
        self.sender.next_timeout().min(self.receiver.next_timeout()).min(self.sends_at())
    }

    /// When it has, as far as that can have changed by something that happened to this end.
    pub(crate) fn next_timeout_at(&mut self, end: End) -> Instant {
        self.end(end).next_timeout().min(self.sends_at())
    }

    /// Nothing more can come of the flow: it is complete, its ends are at rest and nothing of it is
    /// on the network.
    pub(crate) fn is_over(&self) -> bool {
        let at_rest = |end: &Connection| match end.state() {
            tcp::State::Closed | tcp::State::TimeWait => true,
            // Without a handshake there is no close either: an end rests once it has nothing to do.
            _ => !self.closes && end.next_timeout() == Instant::NEVER,
        };
        let ended = || self.is_acknowledged() || self.sender.state() == tcp::State::Closed;
        self.in_network == 0 && ended() && at_rest(&self.sender) && at_rest(&self.receiver)
    }
}

/// Enough for any window; what a sender is given at once.
const SEND_BUFFER: u32 = 1 << 30;

/// Initial sequence numbers lie all over the space, so that wrapping is nothing special.
fn word(half: u64) -> SeqNum {
    SeqNum::new(u32::try_from(half & u64::from(u32::MAX)).unwrap_or(0))
}

fn config(tcp: &TcpSettings, sender: SenderPolicy) -> Config {
    // The plan has checked the order of the timeouts.
    let rto = tcp.rto().unwrap_or(RtoConfig::RFC);
    Config {
        sender,
        window: WindowRules {
            counting: match tcp.growth {
                Growth::Ack => Counting::Acks,
                Growth::Bytes => Counting::Bytes,
            },
            halving: match tcp.halving {
                crate::scenario::Halving::Flight => Halving::Flight,
                crate::scenario::Halving::Window => Halving::Window,
            },
            ssthresh: tcp.ssthresh_initial.unwrap_or(MAX_WINDOW),
        },
        mss: tcp.mss,
        rto,
        rtt_samples: match tcp.rtt_sample {
            RttSample::Window => RttSamples::OnePerWindow,
            RttSample::Ack => RttSamples::EveryAck,
        },
        delayed_ack: DelayedAck { every: tcp.ack_every, timeout: tcp.ack_delay },
        receive_buffer: tcp.receive_buffer,
        send_buffer: SEND_BUFFER,
        window_scaling: tcp.receive_buffer > u32::from(u16::MAX),
        timestamps: tcp.timestamps,
        sack: sender.wants_sack(),
        santa_cruz: sender.wants_santa_cruz(),
        ecn: tcp.ecn,
        nagle: tcp.nagle,
        // A simulated flow has all its data from the start and never idles.
        restart_after_idle: false,
        msl: Duration::from_secs(120),
        // A simulated flow is never given up: how long it takes is what is asked.
        max_timeouts: u8::MAX,
        max_syn_timeouts: u8::MAX,
        min_mss: Mss::LEAST,
        challenges: Challenges::DEFAULT,
        timeouts: Timeouts::NONE,
    }
}

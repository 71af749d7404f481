//! A simulated flow: the two ends of a connection, and the flow's statistics.

use tcp::{Connection, WriteFlags};
use units::{Duration, Instant};
use wire::SeqNum;

use super::endpoints::{self, Endpoints, SEND_BUFFER};
use crate::network::End;
use crate::timers::Timer;
use crate::workload::FlowStart;

/// A simulated flow.
///
/// The order of the fields is part of the [layout](super::layout) in memory.
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
    /// State of [`crate::lookahead`]: the receiver acts ahead of time, and always has, so that no
    /// packet is on its way to it.
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

/// A [`FlowStart`] without the padding of its options.
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
            closes: endpoints.has_handshake(),
            acknowledged: false,
            recorded: false,
            is_free: false,
            is_ahead: false,
            send_deferred: false,
            sender: endpoints.sender(identity, start.at),
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

    /// Returns true if the application has not written all data.
    #[inline]
    pub(crate) fn has_to_write(&self) -> bool {
        self.to_write > 0
    }

    /// Writes data to the sender, as records of these lengths if there are any, and closes it after
    /// the last byte. Where memory limits writes, it is only the first write, and
    /// [`writes_on`](Self::writes_on) does the others.
    pub(crate) fn write(&mut self, records: &[u32]) {
        if !self.has_to_write() {
            return;
        }
        if self.sender.limits_writes() {
            if self.to_write == self.start.size {
                self.write_limited(records);
            }
            return;
        }
        let room = self.sender.writable();
        // Filling the buffer at every acknowledgment would be work without effect.
        if room == 0 || room < SEND_BUFFER / 2 && u64::from(room) < self.to_write {
            return;
        }
        if !records.is_empty() {
            self.write_records(records);
            return;
        }
        let wanted = u32::try_from(self.to_write).unwrap_or(u32::MAX);
        let taken = self.sender.write(wanted).unwrap_or(0);
        self.note_written(taken);
    }

    /// Writes data as records of these lengths, again and again, each with `MSG_EOR`: no segment
    /// has parts of two.
    #[cold]
    fn write_records(&mut self, lengths: &[u32]) {
        let flags = WriteFlags { end_of_record: true, more: false };
        for &length in lengths.iter().cycle() {
            let wanted = u32::try_from(self.to_write).unwrap_or(u32::MAX).min(length);
            let taken = self.sender.write_with(wanted, flags).unwrap_or(0);
            if taken == 0 {
                return;
            }
            self.note_written(taken);
        }
    }

    /// Writes data where memory limits writes, unless a deferred send opportunity comes first.
    /// Returns true if something was written.
    pub(crate) fn writes_on(&mut self, records: &[u32]) -> bool {
        !self.send_deferred && self.write_limited(records)
    }

    /// Writes as much of the current record, or of all data, as fits into one buffer. Returns true
    /// if something was written.
    #[cold]
    fn write_limited(&mut self, records: &[u32]) -> bool {
        let (wanted, end_of_record) = match self.left_of_record(records) {
            Some(left) => (u64::from(left).min(self.to_write), true),
            None => (self.to_write, false),
        };
        let mut wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        let mut flags = WriteFlags { end_of_record, more: false };
        let tail = wanted % self.sender.smss();
        let continues = self.to_write < self.start.size;
        if continues && self.closes && !end_of_record && tail > 0 && tail < wanted {
            // The end of the data leaves with the FIN, by the call that closes the connection.
            (wanted, flags.more) = (wanted - tail, true);
        }
        let taken = self.sender.write_with(wanted, flags).unwrap_or(0);
        self.note_written(taken);
        taken > 0
    }

    /// Returns true if the rest of the data leaves with the call that closes the connection.
    pub(crate) fn closes_next(&self) -> bool {
        self.closes && self.to_write > 0 && self.to_write < u64::from(self.sender.smss())
    }

    /// The rest of the record at the next byte to write; `None` if all data is one write.
    fn left_of_record(&self, records: &[u32]) -> Option<u32> {
        let all: u64 = records.iter().map(|&length| u64::from(length)).sum();
        let mut at = (self.start.size - self.to_write).checked_rem(all)?;
        for &length in records {
            match at.checked_sub(u64::from(length)) {
                Some(behind) => at = behind,
                None => return u32::try_from(u64::from(length) - at).ok(),
            }
        }
        None
    }

    /// Counts written bytes. The application closes the connection after the last one.
    fn note_written(&mut self, bytes: u32) {
        self.to_write -= u64::from(bytes);
        if self.to_write == 0 && self.closes {
            let _ = self.sender.close();
        }
    }

    /// Reads the data that has arrived at the receiver.
    #[inline]
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
        endpoints::iss(self.identity)
    }

    /// The initial sequence number of the end that receives data.
    pub(crate) fn irs(&self) -> SeqNum {
        endpoints::irs(self.identity)
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

    /// Out of line: inlined, a conditional move would read the field in every case.
    #[cold]
    #[inline(never)]
    fn deferred_until(&self) -> Instant {
        self.send_deferred_until
    }

    /// Returns true if this timer entry is current, not stale. Of several entries of the current
    /// time, whose number is not that of the flow, the first is current.
    pub(crate) fn is_current_timer(&self, timer: &Timer) -> bool {
        self.scheduled == timer.at && (self.serial == timer.number || timer.is_by_arming())
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

//! The sending half of a connection whose sender counts packets: connects
//! [`PacketSender`](super::packets::PacketSender) with the retransmission queue.

use policy::Segmenter;
use policy::segment::TailSegment;
use units::Instant;
use wire::SeqNum;

use super::packets::{AckArrival, Force, Half, Next, PacketExpiry};
use super::{PacketSender, Sender, TcpInfo, WriteFlags};
use crate::config::Config;
use crate::event::LossEvent;

/// Next segment of a sender that counts packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewPacket {
    pub(crate) seq: SeqNum,
    /// Number of sequence numbers.
    pub(crate) len: u32,
    /// Whether it is shorter than `MSS_c`.
    pub(crate) small: bool,
    /// Whether it is sent for the first time.
    pub(crate) new: bool,
}

/// Result of an expired timer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PacketTimeout {
    Nothing,
    Loss(LossEvent),
    GiveUp,
}

/// Reason for which no new data is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// There is none, or the congestion window is full.
    Quiet,
    /// The peer's window is too small. With nothing in flight a timer must end the wait.
    Window,
    /// The application holds a last segment that is not full, until the same timer expires.
    Held,
}

impl Sender {
    /// Returns the packet sender with the parts of the sending half that it works on.
    #[inline]
    pub(super) fn packet_half(&mut self, now: Instant) -> Option<(&mut PacketSender, Half<'_>)> {
        let unsent = self.end().distance_from(self.nxt);
        let packets = self.special.packets_mut()?;
        let half = Half {
            board: &mut self.board,
            ecn: &mut self.ecn,
            una: self.una,
            nxt: self.nxt,
            wnd: self.wnd,
            max_wnd: self.max_wnd,
            smss: self.smss,
            unsent,
            now,
        };
        Some((packets, half))
    }

    /// Handles an acknowledgment. Returns the recovery or reduction that begins.
    pub(crate) fn acknowledged_packets(
        &mut self,
        arrival: &AckArrival,
        now: Instant,
    ) -> Option<LossEvent> {
        self.repair.burst_ended = false;
        let (cwnd, flight) = (self.window(), self.flight());
        let (packets, mut half) = self.packet_half(now)?;
        let repair = packets.on_ack(&mut half, arrival);
        let una = half.una;
        if una.after(self.una) {
            self.una = una;
            self.nxt = self.nxt.latest(una);
            self.small_end = self.small_end.latest(una);
            self.app_limited_until = self.app_limited_until.latest(una);
            self.repair.recover = self.repair.recover.latest(una - 1);
            self.ecn.acknowledged(una);
        }
        if !self.policies.segmenter.is_plain() {
            let view = self.view();
            self.policies.segmenter.on_ack(&view);
        }
        let repair = repair?;
        self.note_repair(repair);
        Some(LossEvent { at: now, repair, cwnd, flight })
    }

    /// Takes the peer's window. Returns whether the segment updates it: it is newer, or the window
    /// grows, or it is zero. A window that shrinks does not, so that the segment may be a duplicate
    /// (Linux's `tcp_may_update_window`; unlike RFC 5681 §2).
    pub(crate) fn takes_window_of_packets(
        &mut self,
        seq: SeqNum,
        ack: SeqNum,
        window: u32,
    ) -> bool {
        let updates = ack.after(self.una)
            || seq.after(self.wl.0)
            || seq == self.wl.0 && (window > self.wnd || window == 0);
        if updates && !ack.before(self.una) {
            self.wl = (seq, ack);
            self.set_window(window);
        }
        updates
    }

    /// Returns whether the next segment waits for a larger window of the peer.
    pub(crate) fn waits_for_window(&self) -> bool {
        let left = self.end().distance_from(self.nxt);
        let len = left.min(self.mss_c());
        left > 0 && (self.nxt + len).after(self.una + self.wnd)
    }

    fn note_repair(&mut self, repair: crate::event::Repair) {
        use crate::event::Repair;
        match repair {
            Repair::FastRetransmit => self.statistics.fast_retransmits += 1,
            Repair::Timeout => self.statistics.timeouts += 1,
            Repair::Mark => self.statistics.ecn_reductions += 1,
            Repair::LossProbe | Repair::TailCopy | Repair::SynTimeout => {}
        }
        let view = self.view();
        match repair {
            Repair::Timeout => {
                // Linux's window has another packet for each one that is still in flight. The
                // framing of a slow start depends on the loss window alone.
                let cwnd0 = view.cwnd.min(self.loss_window());
                self.policies.segmenter.on_slow_start(cwnd0, &view);
            }
            Repair::FastRetransmit | Repair::Mark => self.policies.segmenter.on_reduction(&view),
            Repair::LossProbe | Repair::TailCopy | Repair::SynTimeout => {}
        }
    }

    /// Handles an expiry of the timer for retransmissions.
    pub(crate) fn on_packet_timer(&mut self, now: Instant, config: &Config) -> PacketTimeout {
        self.repair.burst_ended = false;
        let (cwnd, flight) = (self.window(), self.flight());
        let Some((packets, mut half)) = self.packet_half(now) else {
            return PacketTimeout::Nothing;
        };
        match packets.on_timer(&mut half, config.max_timeouts) {
            PacketExpiry::Nothing => PacketTimeout::Nothing,
            PacketExpiry::GiveUp => PacketTimeout::GiveUp,
            PacketExpiry::Repair(repair) => {
                self.note_repair(repair);
                PacketTimeout::Loss(LossEvent { at: now, repair, cwnd, flight })
            }
        }
    }

    /// Selects the next segment and records that it is sent. `stamp` is the value of the timestamp
    /// clock.
    pub(crate) fn next_packet(
        &mut self,
        now: Instant,
        stamp: u32,
        config: &Config,
    ) -> Option<NewPacket> {
        self.special.packets_mut()?.waits_for_pacing = false;
        self.repair.burst_ended = false;
        if self.has_nothing_to_send(now) {
            return None;
        }
        if !self.policies.segmenter.is_plain()
            && !self.may_add_segment(&self.view())
            && self.network_segments() > 0
        {
            // The segmenter limits the number of segments in flight, except for a probe.
            let (packets, half) = self.packet_half(now)?;
            if !packets.owes_probe() {
                packets.finish_burst(&half);
                return None;
            }
        }
        let asks_for_more = self.special.packets().is_some_and(PacketSender::has_output);
        if asks_for_more {
            self.send_as_asked(now, stamp, config)
        } else {
            self.send_new_data(now, config)
        }
    }

    /// Sends what the last input asks for: a retransmission, a probe, or new data.
    #[inline(never)]
    fn send_as_asked(&mut self, now: Instant, stamp: u32, config: &Config) -> Option<NewPacket> {
        let (packets, mut half) = self.packet_half(now)?;
        let mut next = packets.next(&mut half);
        loop {
            match next {
                Next::Again(segment) | Next::Probe(segment) => {
                    let probe = matches!(next, Next::Probe(_));
                    return Some(self.send_again(segment.range(), probe, now, stamp));
                }
                Next::ForcedNewData(force) => {
                    if let Ok(packet) = self.forced_packet(force, config, now) {
                        return Some(self.send_new(packet, false, now));
                    }
                    let (packets, mut half) = self.packet_half(now)?;
                    next = packets.instead_of_new_data(&mut half);
                }
                Next::NewData => return self.send_new_data_rarely(now, config),
            }
        }
    }

    /// [`send_new_data`](Self::send_new_data) on paths that are rare: not inlined.
    #[inline(never)]
    fn send_new_data_rarely(&mut self, now: Instant, config: &Config) -> Option<NewPacket> {
        self.send_new_data(now, config)
    }

    /// [`new_packet`](Self::new_packet) with rules left out, which is rare: not inlined.
    #[inline(never)]
    fn forced_packet(
        &mut self,
        force: Force,
        config: &Config,
        now: Instant,
    ) -> Result<NewPacket, Hold> {
        self.new_packet(force, config, now)
    }

    /// Sends new data if the windows and Nagle's rule allow it. Otherwise ends the burst.
    #[expect(clippy::inline_always, reason = "2 % of the instructions of such a sender")]
    #[inline(always)]
    fn send_new_data(&mut self, now: Instant, config: &Config) -> Option<NewPacket> {
        let idle = self.board.is_empty();
        let packets = self.special.packets_mut()?;
        if packets.writes.take_wrote() && idle {
            packets.begin_write();
            // RFC 5681 §4.1. Linux asks when the application writes.
            packets.restart_if_idle(now);
        }
        let result = self.new_packet(Force::Nothing, config, now);
        match result {
            Ok(packet) => Some(self.send_new(packet, true, now)),
            Err(hold) => {
                let mss_c = self.mss_c();
                self.finish_packet_burst(now);
                if self.mss_c() < mss_c {
                    // RFC 7661: the window has decayed, so that framing sends shorter segments.
                    // Such a segment may fit into the peer's window.
                    return self.send_new_data_rarely(now, config);
                }
                let (packets, half) = self.packet_half(now)?;
                packets.note_blocked(&half, hold == Hold::Window);
                packets.waits_for_timer = hold != Hold::Quiet && half.board.is_empty();
                None
            }
        }
    }

    /// Returns the segment of new data that may be sent, without the rules that `force` names.
    #[expect(clippy::inline_always, reason = "2 % of the instructions of such a sender")]
    #[inline(always)]
    fn new_packet(
        &mut self,
        force: Force,
        config: &Config,
        now: Instant,
    ) -> Result<NewPacket, Hold> {
        let (mss_c, may_add) = self.segmentation();
        let left = self.data_end.distance_from(self.nxt);
        let (una, nxt, small_end, closes) = (self.una, self.nxt, self.small_end, self.fin);
        let usable = (una + self.wnd).distance_from(nxt);
        let usable = if (una + self.wnd).before(nxt) { 0 } else { usable };
        let idle = self.board.is_empty();
        let tail = if self.cuts_tails() { self.next_packet_of_tail(left) } else { None };
        let Some((packets, half)) = self.packet_half(now) else {
            return Err(Hold::Quiet);
        };
        let probes = matches!(force, Force::Probe | Force::Window);
        if half.unsent == 0 || !probes && !packets.pacing_allows(now) {
            return Err(Hold::Quiet);
        }
        let record_end = packets.writes.record_end_after(nxt);
        let in_record = record_end.map_or(left, |end| left.min(end.distance_from(nxt)));
        let wanted = in_record.min(tail.map_or(mss_c, |tail| tail.payload));
        let mut payload = wanted;
        let mut fin = closes && payload == left;
        if payload + u32::from(fin) > usable {
            if force != Force::Window || usable == 0 {
                return Err(Hold::Window);
            }
            payload = payload.min(usable);
            fin = false;
        }
        if !probes && (!packets.has_room(&half) || !may_add && !idle) {
            return Err(Hold::Quiet);
        }
        let small = tail.map_or(payload < mss_c, |tail| tail.small || payload < wanted);
        // Nagle's rule with Minshall's modification, for the last segment of the queue only.
        // A tail that is cut is one segment for it.
        let is_last = match tail {
            None => payload == left && !fin,
            Some(tail) => !tail.continues && !closes,
        };
        let is_last = is_last && record_end.is_none_or(|end| nxt + payload != end);
        if small && is_last && force == Force::Nothing {
            let nagle = packets.writes.no_delay.map_or(config.nagle, |no_delay| !no_delay);
            if packets.writes.holds_last() {
                return Err(Hold::Held);
            }
            if nagle && !idle && small_end.after(una) {
                return Err(Hold::Quiet);
            }
        }
        let is_final = record_end.is_some() || closes;
        if !probes && payload == half.smss && packets.defers_group(&half, in_record, is_final) {
            return Err(Hold::Quiet);
        }
        Ok(NewPacket { seq: nxt, len: payload + u32::from(fin), small, new: true })
    }

    /// Returns the current segment size, and whether the segmenter admits another segment.
    #[inline]
    fn segmentation(&self) -> (u32, bool) {
        if self.policies.segmenter.is_plain() {
            return (self.smss, true);
        }
        let view = self.view();
        (self.mss_c_at(&view), self.may_add_segment(&view))
    }

    /// Next packet of a framing that cuts the end of a write, with `left` bytes in the queue. There
    /// is no such end while the application holds the last segment back.
    fn next_packet_of_tail(&mut self, left: u32) -> Option<TailSegment> {
        let packets = self.special.packets()?;
        if left == 0 || packets.writes.holds_last() || packets.is_amid_write() {
            return None;
        }
        let room = packets.room(&self.board);
        self.next_of_tail(left, room)
    }

    /// Records that new data is sent. Ends the burst if `may_end`, and if the congestion window is
    /// then full.
    fn send_new(&mut self, packet: NewPacket, may_end: bool, now: Instant) -> NewPacket {
        let payload = packet.len - u32::from((packet.seq + packet.len).after(self.data_end));
        let may_end = may_end && self.is_plain();
        let Some((packets, mut half)) = self.packet_half(now) else { return packet };
        let was_empty = half.board.is_empty();
        let stamp = packets.note_group(&half, packet.len, payload);
        if was_empty {
            packets.on_transmit_start(now);
        }
        half.board.push(half.nxt, packet.len, stamp, false);
        half.nxt += packet.len;
        half.unsent -= packet.len;
        packets.on_sent(&half, packet.len, was_empty);
        let (nxt, ended) = (half.nxt, may_end && packets.end_if_full(&half));
        self.repair.burst_ended = ended;
        (self.nxt, self.max) = (nxt, nxt);
        self.last_sent = now;
        if packet.small {
            self.small_end = nxt;
        }
        packet
    }

    /// Records that a segment is sent again, or as much of it as a segment now holds.
    fn send_again(
        &mut self,
        (seq, len): (SeqNum, u32),
        probe: bool,
        now: Instant,
        stamp: u32,
    ) -> NewPacket {
        let len = if probe { len } else { self.resent_len(seq, len) };
        if probe {
            self.board.resend_as_probe(seq, now);
        } else {
            self.board.resend(seq, len, now);
        }
        self.last_sent = now;
        let segment = self.board.segment_at(seq);
        if let (Some((packets, half)), Some(segment)) = (self.packet_half(now), segment) {
            if probe {
                packets.on_probe_resent(&half);
            } else {
                packets.on_resent(&half, &segment, stamp);
            }
        }
        NewPacket { seq, len, small: false, new: false }
    }

    /// Length of the retransmission that begins with the segment at `seq`. Small lost segments that
    /// follow join it (Linux's `tcp_retrans_try_collapse`, draft §6), but no later record. A
    /// segment is divided where the segmenter now makes smaller ones.
    fn resent_len(&self, seq: SeqNum, len: u32) -> u32 {
        let limit = self.mss_c();
        let is_next = self.board.next_lost().is_some_and(|lost| lost.range().0 == seq);
        let record_end = self.special.packets().and_then(|p| p.writes.record_end_after(seq));
        let mut run = len;
        if is_next {
            // The FIN has a sequence number but no payload.
            let room = limit + u32::from(self.fin && (seq + limit + 1).at_or_after(self.end()));
            run = if self.may_resegment(limit) {
                self.board.lost_run(room)
            } else {
                self.board.whole_lost_run(room)
            };
            if let Some(end) = record_end {
                run = run.min(end.distance_from(seq)).max(len);
            }
        }
        let fin = u32::from(self.fin && seq + run == self.end());
        if run - fin > limit { limit } else { run }
    }

    /// Ends a burst of new data, if the driver stops to ask for segments.
    pub(crate) fn finish_packet_burst(&mut self, now: Instant) {
        if let Some((packets, half)) = self.packet_half(now) {
            packets.finish_burst(&half);
        }
    }

    /// Notes a write that ends before `data_end`, with its flags.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_write(&mut self, flags: WriteFlags) {
        let (nxt, end) = (self.nxt, self.data_end);
        if let Some(packets) = self.special.packets_mut() {
            self.repair.burst_ended = false;
            packets.blocks.on_write(nxt, end, self.max_wnd, self.smss);
            packets.writes.on_write(end, flags);
            if flags.end_of_record {
                packets.end_buffer();
            }
        }
    }

    /// Returns whether writes are limited by memory.
    #[inline]
    pub(crate) fn limits_writes(&self) -> bool {
        self.special.packets().is_some_and(PacketSender::limits_writes)
    }

    /// Takes up to `bytes` of a write into limited memory.
    #[cold]
    #[inline(never)]
    pub(crate) fn write_into_memory(&mut self, bytes: u32, flags: WriteFlags) -> u32 {
        let written = (self.unacknowledged(), self.data_end);
        let closed = self.fin;
        let Some((packets, half)) = self.packet_half(Instant::ZERO) else { return 0 };
        let taken =
            if closed { 0 } else { packets.take_write(&half, (bytes, flags.more), written) };
        if taken == 0 {
            return 0;
        }
        self.data_end += taken;
        let ends = taken == bytes;
        let end_of_record = flags.end_of_record && ends;
        self.note_write(WriteFlags { more: flags.more || !ends, end_of_record });
        taken
    }

    /// Returns whether an application that waits for memory is woken.
    pub(crate) fn wakes_writer(&mut self, now: Instant) -> bool {
        let written = self.unacknowledged();
        self.packet_half(now).is_some_and(|(packets, half)| packets.wakes_writer(&half, written))
    }

    /// State of the sender as `TCP_INFO` shows it; `None` if it counts bytes.
    pub(crate) fn tcp_info(&self, now: Instant) -> Option<TcpInfo> {
        self.special.packets().map(|packets| packets.info(&self.board, self.smss, now))
    }

    /// Handles a reduction of the path MTU: longer segments are lost, without a reduction of the
    /// window. Returns whether there was one.
    pub(super) fn shorten_packets(&mut self, now: Instant) -> bool {
        let smss = self.smss;
        self.repair.burst_ended = false;
        self.packet_half(now)
            .is_some_and(|(packets, mut half)| packets.on_smaller_segments(&mut half, smss))
    }
}

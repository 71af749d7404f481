//! Selection of the next segment to send.

use policy::Feedback;
use policy::loss::SentSegment;
use units::Instant;
use wire::{AckWindow, Control, Ecn, Flags, Segment, SeqNum};

use crate::connection::Connection;
use crate::rules::{AllRules, Common, RuleSet, Rules, WithReports};
use crate::state::State;

mod copies;
mod packets;

/// A range of sequence numbers to send as one segment.
#[derive(Debug, Clone, Copy)]
struct NextSegment {
    seq: SeqNum,
    len: u32,
    /// Whether it is shorter than `MSS_c`.
    small: bool,
    /// Whether all of it is sent for the first time.
    new: bool,
}

impl Connection {
    /// Returns the next segment to send; `None` if there is none at present.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if self.is_special() || self.owes_reset() || !self.state.is_synchronized() {
            return self.poll_transmit_by_more_rules(now);
        }
        let next = if self.rcv.owes_duplicate() { None } else { self.next_segment::<Common>(now) };
        match next {
            Some(next) => Some(self.data::<Common>(now, next)),
            None if self.rcv.ack_is_due() => Some(self.pure_ack(now)),
            None => None,
        }
    }

    /// Selects the variant of [`poll_transmit`](Self::poll_transmit) for other connections.
    // Out of line: a test beside that of `poll_transmit` costs 0.4 % of all instructions. So are
    // both variants, so that this function only jumps to one of them.
    #[inline(never)]
    fn poll_transmit_by_more_rules(&mut self, now: Instant) -> Option<Segment> {
        if self.rules == Rules::Reports && !self.owes_reset() && self.state.is_synchronized() {
            self.poll_transmit_with_reports(now)
        } else {
            self.poll_transmit_by_all_rules(now)
        }
    }

    /// Variant of [`poll_transmit`](Self::poll_transmit) with the reports of TCP Santa Cruz.
    #[inline(never)]
    fn poll_transmit_with_reports(&mut self, now: Instant) -> Option<Segment> {
        self.transmit::<WithReports>(now)
    }

    /// Variant of [`poll_transmit`](Self::poll_transmit) for all states, with the rules that few
    /// connections have.
    // Out of line: in one function, the tests cost 2.7 % of all instructions of the others.
    #[inline(never)]
    fn poll_transmit_by_all_rules(&mut self, now: Instant) -> Option<Segment> {
        // A test before the take avoids a write at every call.
        if self.owes_reset() {
            return self.take_reset(now);
        }
        match self.state {
            State::Closed | State::Listen => return None,
            State::SynSent | State::SynReceived if self.snd.nxt == self.snd.iss => {
                self.snd.syn_sent(now);
                self.start_retransmit_timer(now);
                return Some(self.syn(now));
            }
            _ => {}
        }
        if self.has_copies()
            && let Some(copy) = self.take_copy(now)
        {
            return Some(copy);
        }
        if self.takes_window_probe() {
            return Some(self.window_probe(now));
        }
        self.transmit::<AllRules>(now)
    }

    /// Returns the next segment to send of a connection whose SYN was sent, with the reports of TCP
    /// Santa Cruz.
    #[expect(clippy::inline_always, reason = "in two variants of `poll_transmit`")]
    #[inline(always)]
    fn transmit<R: RuleSet>(&mut self, now: Instant) -> Option<Segment> {
        let next = if self.rcv.owes_duplicate() { None } else { self.next_segment::<R>(now) };
        let mut segment = match next {
            Some(next) => self.data::<R>(now, next),
            None if self.rcv.ack_is_due() => self.pure_ack(now),
            None => return None,
        };
        if self.negotiated.santa_cruz_negotiated() {
            self.write_santa_cruz_option(next.map(|next| next.seq));
            if let Some(option) = self.rcv.santa_cruz_option() {
                segment.options.reports = *option;
            }
        }
        if R::ALL && self.has_copies() && next.is_some_and(|next| next.new) {
            self.copy_end_of_write(segment, now);
        }
        Some(segment)
    }

    /// Variant of [`poll_transmit`](Self::poll_transmit) for an end that only receives. It returns
    /// the next segment if that is a plain acknowledgment, and is faster.
    #[inline]
    pub fn poll_acknowledgment(&mut self, now: Instant) -> Option<Segment> {
        let alone = self.rcv.ack_is_due()
            && self.snd.una == self.snd.end()
            && self.state.is_synchronized()
            && !self.owes_reset()
            && !(self.is_special() && self.negotiated.santa_cruz_negotiated());
        alone.then(|| self.pure_ack(now))
    }

    /// Tests whether the segment that [`poll_transmit`](Self::poll_transmit) has just returned
    /// emptied the send queue. If so, it records an application-limited sender. A driver can then
    /// omit the call that would return `None`.
    pub fn note_if_drained(&mut self, now: Instant) -> bool {
        let drained = self.state.can_send()
            && self.snd.nxt == self.snd.end()
            && !self.snd.repair.in_recovery
            && !self.rcv.ack_is_due()
            && !self.owes_reset();
        if !drained || self.is_special() && self.snd.special.has_output(now) {
            return false;
        }
        self.note_app_limited();
        if self.is_special() && self.snd.special.packets().is_some() {
            self.snd.finish_packet_burst(now);
            self.take_packet_timer();
        }
        true
    }

    fn pure_ack(&mut self, now: Instant) -> Segment {
        let keepalive = self.host_timers.is_some() && self.take_keepalive();
        // RFC 9293 §3.8.4: the peer must answer a segment below its window.
        let mut segment =
            self.segment(now, self.snd.pure_seq() - u32::from(keepalive), 0, Control::None);
        if self.rcv.has_reports() {
            // 40 bytes of options hold three blocks with timestamps, four without.
            let room = if self.negotiated.timestamps { 3 } else { 4 };
            let blocks = self.rcv.sack_blocks(room);
            if self.negotiated.feedback == Feedback::Sack {
                segment.options.reports = blocks.into();
            }
        }
        segment
    }

    fn data<R: RuleSet>(&mut self, now: Instant, next: NextSegment) -> Segment {
        let end = next.seq + next.len;
        let fin = end.after(self.snd.data_end);
        let payload_len = next.len - u32::from(fin);
        let control = if fin { Control::Fin } else { Control::None };
        self.start_retransmit_timer(now);
        let mut segment = self.segment(now, next.seq, payload_len, control);
        // RFC 9293 §3.9.1: PSH on the segment that empties the queue, because no data follows.
        // A sender that counts packets sets it at the end of each write and of each group of new
        // segments, as Linux does.
        let push = payload_len > 0
            && match self.snd.special.packets().filter(|_| R::ALL) {
                Some(packets) => {
                    next.new && packets.ends_group() || packets.pushes_at(next.seq + payload_len)
                }
                None => end.at_or_after(self.snd.data_end),
            };
        segment.flags = segment.flags.with(Flags::PSH, push);
        // RFC 3168 §6.1.2, §6.1.5, §6.1.6: only new data is ECN-capable, not retransmissions or
        // window probes.
        if self.negotiated.ecn && next.new && payload_len > 0 && !self.snd.is_probing() {
            let reduced = self.snd.ecn.take_cwr();
            segment.flags = segment.flags.with_ecn(Ecn::Ect0).with(Flags::CWR, reduced);
        }
        segment
    }

    /// Prepares the option of TCP Santa Cruz for data that begins at `data`, or for a pure
    /// acknowledgment. The receiver stores it, and the caller copies it. If this function wrote
    /// into the segment, every segment would have to be in memory instead of registers.
    #[cold]
    #[inline(never)]
    fn write_santa_cruz_option(&mut self, data: Option<SeqNum>) {
        let room = match data {
            // Out-of-order data is reported in a pure acknowledgment.
            Some(_) => 0,
            // Bytes of the ACK window that fit into 40 bytes of options.
            None if self.negotiated.timestamps => 14,
            None => AckWindow::MAX_LEN,
        };
        let copy = data.map(|seq| self.snd.copy_of(seq));
        self.rcv.write_santa_cruz_option(copy, room);
    }

    pub(crate) fn start_retransmit_timer(&mut self, now: Instant) {
        // RFC 6298 §5.1.
        if self.timers.retransmit == Instant::NEVER {
            self.restart_retransmit_timer(now);
            if self.host_timers.is_some() {
                self.start_user_timeout(now);
            }
        }
    }

    pub(crate) fn restart_retransmit_timer(&mut self, now: Instant) {
        let config = &self.config.rto;
        self.timers.retransmit = (now + self.snd.rtt.rto(config)).ceil_to(config.expiry_tick());
    }

    /// Selects the next segment with sequence numbers, and records that it is sent.
    fn next_segment<R: RuleSet>(&mut self, now: Instant) -> Option<NextSegment> {
        if !self.state.can_send() {
            return None;
        }
        if R::ALL && self.snd.special.packets().is_some() {
            return self.next_packet(now);
        }
        if self.snd.repair.in_recovery
            && let Some(next) = self.next_retransmission()
        {
            return Some(self.resent(next, now));
        }
        let is_drained = self.snd.nxt == self.snd.end();
        if !is_drained && self.config.restart_after_idle {
            self.snd.restart_if_idle(now, &self.config);
        }
        let fresh = if is_drained {
            None
        } else if R::ALL && self.snd.cuts_tails() {
            self.next_new_segment_of_tail(now)
        } else {
            self.next_new_segment::<false>(now)
        };
        let Some(next) = fresh else {
            if self.snd.repair.in_recovery
                && let Some(segment) = self.snd.next_repair_without_new_data()
            {
                let next = self.retransmission_of(segment);
                return Some(self.resent(next, now));
            }
            if is_drained {
                self.note_app_limited();
            }
            return None;
        };
        self.timers.persist = Instant::NEVER;
        self.count(next, !next.new);
        self.snd.sent(next.len, now);
        if next.small {
            self.snd.small_end = self.snd.nxt;
        }
        Some(next)
    }

    /// Records a retransmission that is sent now.
    fn resent(&mut self, next: NextSegment, now: Instant) -> NextSegment {
        self.count(next, true);
        self.snd.resent(next.seq, next.len, now);
        next
    }

    fn count(&mut self, next: NextSegment, again: bool) {
        let fin = (next.seq + next.len).after(self.snd.data_end);
        let payload = next.len - u32::from(fin);
        if payload == 0 {
            return;
        }
        let statistics = &mut self.snd.statistics;
        statistics.segments += 1;
        statistics.bytes += u64::from(payload);
        if again {
            statistics.retransmitted_segments += 1;
            statistics.retransmitted_bytes += u64::from(payload);
            if let Some(copies) = self.snd.special.copies_mut() {
                copies.drop_waiting();
            }
        }
    }

    /// Returns the segment, or its beginning, that recovery retransmits before new data.
    fn next_retransmission(&mut self) -> Option<NextSegment> {
        if std::mem::take(&mut self.snd.repair.resend_first) {
            // RFC 5681 §3.2 step 3, RFC 6675 §5 step (4.3): the first segment is retransmitted
            // regardless of the window.
            let first = self.snd.board.next_lost().or(self.snd.board.first())?;
            return Some(self.retransmission_of(first));
        }
        let segment = if self.snd.pipe().is_none() {
            // Draft §6: the rest of a segment that is divided waits until the segmenter allows
            // another segment in flight. Vegas detects losses while much is in flight.
            self.snd.board.next_lost().filter(|_| self.snd.may_add_segment(&self.snd.view()))
        } else if self.snd.has_room_for_repair() {
            self.snd.next_repair()
        } else {
            None
        };
        segment.map(|segment| self.retransmission_of(segment))
    }

    /// Returns the retransmission of a segment, or of its beginning.
    fn retransmission_of(&self, segment: SentSegment) -> NextSegment {
        let (seq, len) = segment.range();
        // A full-sized segment is divided when the window has become small (draft §6).
        let limit = self.snd.mss_c();
        let fin = |len: u32| u32::from(self.snd.fin && seq + len == self.snd.data_end);
        // SACK1 retransmits holes that are not marked lost. What follows them may have arrived.
        let is_lost = self.snd.board.next_lost().is_some_and(|lost| lost.range().0 == seq);
        let len = if is_lost && self.snd.may_resegment(limit) {
            self.snd.board.lost_run(limit + fin(limit))
        } else {
            len
        };
        let len = len.min(limit + fin(limit));
        NextSegment { seq, len, small: false, new: false }
    }

    /// Returns the next segment if the framing cuts the end of a write.
    #[cold]
    #[inline(never)]
    fn next_new_segment_of_tail(&mut self, now: Instant) -> Option<NextSegment> {
        self.next_new_segment::<true>(now)
    }

    /// Returns the segment that the windows allow at SND.NXT: new data, or data to repeat after a
    /// timeout. `TAIL` says that the framing cuts the end of a write.
    #[expect(
        clippy::inline_always,
        reason = "5 % of all instructions where most packets are new data"
    )]
    #[inline(always)]
    fn next_new_segment<const TAIL: bool>(&mut self, now: Instant) -> Option<NextSegment> {
        if self.snd.ecn.is_blocked_until_rto() {
            return None;
        }
        let left = self.snd.data_end.distance_from(self.snd.nxt);
        let tail = if TAIL && left > 0 { self.snd.next_of_tail(left, u32::MAX) } else { None };
        let snd = &self.snd;
        let view = snd.view_in_bytes();
        let mss_c = snd.mss_c_at(&view);
        let flight = view.flight;
        let probe = snd.probe && flight == 0;
        let usable = snd.wnd.saturating_sub(flight).max(u32::from(probe));
        let wanted = tail.map_or(left.min(mss_c), |tail| tail.payload);
        let len = wanted.min(usable);
        let last = snd.fin && len == left;
        // The FIN has a sequence number, which must be in the peer's window.
        let fin = last && usable > len;
        let in_network = snd.pipe().unwrap_or(flight);
        let window = view.cwnd + snd.limited_transmit(mss_c);
        if flight > 0 && in_network.saturating_add(len) > window || !snd.may_add_segment(&view) {
            return None;
        }
        let nothing = len == 0 && !fin;
        // RFC 9293 §3.8.6.2.1, (3): a small window of the peer is filled in steps of half its
        // maximum.
        let silly = len < wanted && len < snd.max_wnd / 2;
        if !probe && (nothing || silly) {
            if flight > 0 && usable < wanted && in_network + mss_c <= view.cwnd {
                // RFC 7661 §4.3, RFC 9002 §7.8: a congestion window that the peer's window leaves
                // unused does not grow.
                self.snd.set_app_limited();
            } else if flight == 0 && self.timers.persist == Instant::NEVER {
                self.timers.persist = now + snd.rtt.rto(&self.config.rto);
                if self.host_timers.is_some() {
                    self.start_user_timeout(now);
                }
            }
            return None;
        }
        // The journal, §III, changes Nagle's rule: at most one segment shorter than MSS_c, instead
        // of MSS, may be unacknowledged.
        // A tail that is cut is one segment for it.
        let small = len > 0
            && match tail {
                None => len < mss_c && !last,
                Some(tail) => (tail.small || len < wanted) && !tail.continues && !snd.fin,
            };
        if self.config.nagle && small && snd.una.before(snd.small_end) {
            return None;
        }
        let len = len + u32::from(fin);
        let small = tail.map_or(len < mss_c, |tail| tail.small || len < wanted);
        Some(NextSegment { seq: snd.nxt, len, small, new: !snd.nxt.before(snd.max) })
    }

    #[inline]
    fn note_app_limited(&mut self) {
        // Without data in flight no acknowledgment would use the record.
        if self.snd.flight() == 0 {
            return;
        }
        let view = self.snd.view();
        if view.flight + self.snd.mss_c_at(&view) <= view.cwnd {
            self.snd.set_app_limited();
        }
    }
}

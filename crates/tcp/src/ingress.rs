//! An arriving segment (RFC 9293 §3.10.7).
//!
//! In the synchronized states it passes the steps of §3.10.7.4 in order. Each step is a module,
//! which decides whether the next step follows.

mod ack;
mod ack_of_packets;
mod copies;
mod fin;
mod linux;
mod listen;
mod reset;
mod sequence;
mod syn;
mod syn_sent;
mod text;

use units::Instant;
use wire::{Control, Flags, Segment, UnscaledWindow, WindowScale};

use crate::connection::Connection;
use crate::connection::Opening;
use crate::event::{Accepted, PackedAccepted};
use crate::rules::{AllRules, Common, RuleSet, Rules, WithReports};
use crate::state::State;

/// Next step for a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Continue,
    /// Only the fifth step, which handles the acknowledgment.
    OnlyAck,
    Stop,
}

impl Connection {
    /// Handles an arriving segment. Returns the accepted part of its payload, if any.
    pub fn on_segment(&mut self, segment: &Segment, now: Instant) -> Option<Accepted> {
        if self.is_special() || self.host_timers.is_some() || !self.state.is_synchronized() {
            return self.on_segment_by_more_rules(segment, now).unpacked();
        }
        self.segment_otherwise::<Common>(segment, now)
    }

    /// Selects the variant of [`on_segment`](Self::on_segment) for other connections.
    // Out of line: a test beside that of `on_segment` costs 0.4 % of all instructions. So are both
    // variants, so that this function only jumps to one of them.
    #[inline(never)]
    fn on_segment_by_more_rules(&mut self, segment: &Segment, now: Instant) -> PackedAccepted {
        let is_usual = self.host_timers.is_none() && self.state.is_synchronized();
        if self.rules == Rules::Reports && is_usual {
            self.on_segment_with_reports(segment, now)
        } else {
            self.on_segment_by_all_rules(segment, now)
        }
    }

    /// Variant of [`on_segment`](Self::on_segment) with the reports of TCP Santa Cruz.
    #[inline(never)]
    fn on_segment_with_reports(&mut self, segment: &Segment, now: Instant) -> PackedAccepted {
        let accepted = self.segment_otherwise::<WithReports>(segment, now);
        self.finish_reports(segment, now);
        accepted.into()
    }

    /// Variant of [`on_segment`](Self::on_segment) for all states, with the rules that few
    /// connections have.
    // Out of line: in one function, the tests cost 3.5 % of all instructions of the others.
    #[inline(never)]
    fn on_segment_by_all_rules(&mut self, segment: &Segment, now: Instant) -> PackedAccepted {
        if self.state == State::SynReceived
            && segment.control == Control::Syn
            && let Some(trimmed) = self.trim_known_syn(segment)
        {
            return self.on_segment_by_all_rules(&trimmed, now);
        }
        let guarded = self.host_timers.is_some().then(|| self.before_segment(segment, now));
        let mut accepted = None;
        match self.state {
            State::Closed | State::Listen | State::SynSent => {
                self.segment_before_open(segment, now);
            }
            _ => accepted = self.segment_otherwise::<AllRules>(segment, now),
        }
        if self.is_special() {
            self.finish_reports(segment, now);
        }
        if let Some(before) = guarded {
            self.note_handled(before, now);
        }
        accepted.into()
    }

    /// RFC 9293 §3.10.7.1 to §3.10.7.3: the states in which nothing of the peer has arrived.
    #[cold]
    #[inline(never)]
    fn segment_before_open(&mut self, segment: &Segment, now: Instant) {
        match self.state {
            State::Listen => self.segment_in_listen(segment, now),
            State::SynSent => self.segment_in_syn_sent(segment, now),
            _ => self.refuse(segment),
        }
    }

    /// RFC 9293 §3.10.7.4: SYN-RECEIVED and the synchronized states. Except with all rules, the
    /// state is synchronized.
    fn segment_otherwise<R: RuleSet>(
        &mut self,
        segment: &Segment,
        now: Instant,
    ) -> Option<Accepted> {
        let step = self.check_sequence::<R>(segment, now);
        if step == Step::Stop
            || step == Step::Continue
                && (self.check_reset(segment, now) == Step::Stop
                    || self.check_syn(segment, now) == Step::Stop)
            || self.check_ack::<R>(segment, now) == Step::Stop
            || step == Step::OnlyAck
        {
            return None;
        }
        if R::ALL && self.is_special() {
            if self.refuses_data && self.refuses(segment) {
                return None;
            }
            if self.rcv.is_linux() {
                return self.finish_segment_as_linux(segment, now);
            }
        }
        let accepted = self.take_text(segment, now);
        self.check_fin(segment, now);
        accepted
    }

    /// Handles the report and the arrival of a segment by TCP Santa Cruz, if it is negotiated,
    /// after the other steps.
    #[inline]
    fn finish_reports(&mut self, segment: &Segment, now: Instant) {
        if self.negotiated.santa_cruz_negotiated() {
            self.detect_reported_loss(now);
            self.note_arrival(segment, now);
        }
    }

    /// Runs loss detection on the report in the segment, after the segment was handled.
    #[cold]
    #[inline(never)]
    fn detect_reported_loss(&mut self, now: Instant) {
        if let Some(loss) = self.snd.detect_loss(now, &mut self.timers.retransmit) {
            self.begin_repair(loss);
        }
    }

    /// TCP Santa Cruz, section 3.2.1: the next acknowledgment reports the transmission that arrived
    /// last, even if its data had arrived before.
    #[cold]
    #[inline(never)]
    fn note_arrival(&mut self, segment: &Segment, now: Instant) {
        if self.state.is_synchronized()
            && segment.seq_len() > 0
            && let Some(copy) = segment.options.santa_cruz().and_then(|option| option.data_copy())
        {
            self.rcv.note_arrival(segment.seq, segment.payload_len, copy, now);
        }
    }

    /// SYN-RECEIVED: handles a SYN in part. Returns the rest, if the SYN was received before.
    #[cold]
    #[inline(never)]
    fn trim_known_syn(&mut self, segment: &Segment) -> Option<Segment> {
        if segment.seq + 1 == self.rcv.nxt && !segment.is_ecn_setup() {
            // RFC 3168 §6.1.1.1: the peer has fallen back to a plain SYN, so neither end may set
            // ECT.
            self.negotiated.ecn = false;
        }
        self.repeats_known_syn(segment).then(|| self.without_syn(segment))
    }

    /// In a simultaneous open, the peer's SYN-ACK repeats the SYN that was received.
    fn repeats_known_syn(&self, segment: &Segment) -> bool {
        self.opening == Opening::Active && segment.ack.is_some() && segment.seq + 1 == self.rcv.nxt
    }

    /// RFC 9293 §3.10.7.4: the part before the window, here the SYN, is trimmed off. The
    /// acknowledgment after it then completes the handshake (§3.5, figure 7).
    fn without_syn(&self, segment: &Segment) -> Segment {
        // RFC 7323 §2.2: the window of a SYN is not scaled; that of the trimmed segment would be.
        let window = segment.window.bytes(WindowScale::NONE);
        Segment {
            seq: segment.seq + 1,
            control: Control::None,
            // RFC 3168 §6.1.1: on a SYN the bits are an offer of ECN, not an echo.
            flags: Flags::NONE,
            window: UnscaledWindow::from_bytes(window, self.negotiated.send_scale),
            ..*segment
        }
    }

    /// RFC 9293 §3.10.7.1: a segment without a connection is answered with a reset, unless it is a
    /// reset.
    pub(crate) fn refuse(&mut self, segment: &Segment) {
        if segment.control == Control::Rst {
            return;
        }
        match segment.ack {
            Some(ack) => self.owe_reset(ack, None),
            None => self.owe_reset(wire::SeqNum::new(0), Some(segment.seq_end())),
        }
    }
}

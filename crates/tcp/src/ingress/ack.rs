//! Fifth step: the acknowledgment (RFC 9293 §3.10.7.4).

use policy::loss::Duplicate;
use units::{Duration, Instant};
use wire::{Control, Flags, Segment, SeqNum};

use super::Step;
use crate::connection::Connection;
use crate::event::{CloseReason, Event, LossEvent};
use crate::rules::RuleSet;
use crate::state::State;

impl Connection {
    #[inline]
    pub(super) fn check_ack<R: RuleSet>(&mut self, segment: &Segment, now: Instant) -> Step {
        let Some(ack) = segment.ack else { return Step::Stop };
        if R::ALL
            && self.state == State::SynReceived
            && self.complete_handshake(segment, ack, now) == Step::Stop
        {
            return Step::Stop;
        }
        // RFC 5961 §5.2: an acknowledgment that is too old, or of data never sent, may be a guess.
        if ack.after(self.snd.max) || ack.before(self.snd.una) && self.snd.is_too_old(ack) {
            if self.config.acceptance.answers_unsent || ack.before(self.snd.una) {
                self.challenge(now);
            }
            return Step::Stop;
        }
        if R::ALL && self.snd.special.packets().is_some() {
            return self.check_ack_of_packets(segment, ack, now);
        }
        let window = segment.window.bytes(self.negotiated.send_scale);
        let advances = ack.after(self.snd.una);
        let window_changed = self.take_window(segment, ack, window);
        let is_of_copy = !advances && R::ALL && self.is_of_copy(segment, ack, window_changed, now);
        let reports = &segment.options.reports;
        let newly_sacked = if reports.is_none() {
            0
        } else {
            self.snd.take_reports(reports, ack, now, &self.config)
        };
        let ece =
            self.negotiated.ecn && segment.flags.has(Flags::ECE) && segment.control != Control::Syn;
        if ece {
            self.take_echo(ack, now);
        }
        if advances {
            self.acknowledge::<R>(segment, ack, now, ece);
        }
        // RFC 6675 §5: outside recovery an ACK with new SACK information counts as a duplicate even
        // if it also advances SND.UNA. So does the one that ends recovery.
        if ack == self.snd.una
            && self.snd.flight() > 0
            && (!advances || newly_sacked > 0 && !self.snd.repair.in_recovery)
        {
            let exact = !advances
                && segment.payload_len == 0
                && segment.control == Control::None
                && !window_changed
                && !is_of_copy
                // Answers to a window probe repeat without a loss.
                && !self.snd.is_probing();
            let duplicate = Duplicate { exact, newly_sacked, now };
            if let Some(loss) = self.snd.duplicate(&duplicate, &self.config) {
                self.begin_repair(loss);
            }
        }
        self.check_time_wait(segment, now)
    }

    /// RFC 9293 §3.10.7.4, TIME-WAIT: the peer sent its FIN again. Acknowledges it and restarts the
    /// wait.
    pub(super) fn check_time_wait(&mut self, segment: &Segment, now: Instant) -> Step {
        if self.state != State::TimeWait {
            return Step::Continue;
        }
        if segment.control == Control::Fin {
            self.enter_time_wait(now);
            self.rcv.ack_now();
        }
        Step::Stop
    }

    /// SYN-RECEIVED: checks that the segment acknowledges the local SYN.
    #[cold]
    #[inline(never)]
    fn complete_handshake(&mut self, segment: &Segment, ack: SeqNum, now: Instant) -> Step {
        if !ack.after(self.snd.una) || ack.after(self.snd.max) {
            self.owe_reset(ack, None);
            return Step::Stop;
        }
        self.enter(State::Established);
        self.snd.syn_acknowledged(now, &self.config, self.timestamp_rtt(segment, now));
        self.snd.negotiated(&self.config, &self.negotiated, now);
        self.timers.retransmit = Instant::NEVER;
        let window = segment.window.bytes(self.negotiated.send_scale);
        self.snd.take_window(segment.seq, ack, window);
        self.rcv.start_linux(true, now);
        self.emit(Event::Connected);
        if self.snd.fin {
            // The application closed before the handshake was complete.
            self.enter(State::FinWait1);
        }
        Step::Continue
    }

    /// Takes the peer's window. Returns whether it changed.
    #[expect(clippy::inline_always, reason = "in both variants of `on_segment`, every segment")]
    #[inline(always)]
    fn take_window(&mut self, segment: &Segment, ack: SeqNum, window: u32) -> bool {
        // If the local window is closed, segments outside it arrive here for their acknowledgment.
        // The peer can then only send at RCV.NXT or below. Higher sequence numbers would make its
        // own window updates old.
        if ack.before(self.snd.una)
            || segment.seq.after(self.rcv.nxt) && self.rcv.window() == 0
            || !self.snd.updates_window(segment.seq, ack)
        {
            return false;
        }
        let before = self.snd.wnd;
        let changed = window != before;
        self.snd.take_window(segment.seq, ack, window);
        if window > before {
            // RFC 9293 §3.8.6.2.1 (4): the override timeout continues while the window does not
            // change.
            self.timers.persist = Instant::NEVER;
        }
        if self.snd.flight() == 0 && !self.snd.ecn.is_blocked_until_rto() {
            // A probe that is sent again as data is timed from then on.
            self.timers.retransmit = Instant::NEVER;
        }
        changed
    }

    pub(crate) fn begin_repair(&mut self, loss: LossEvent) {
        self.emit(Event::Loss(loss));
        // RFC 6298 §5 does not specify this. RFC 6582 §3.2 and RFC 6675 §5 restart the timer with
        // the retransmission, whose acknowledgment is now expected.
        self.timers.retransmit = Instant::NEVER;
    }

    fn take_echo(&mut self, ack: SeqNum, now: Instant) {
        let Some(reduction) = self.snd.echoed(ack, now) else { return };
        self.emit(Event::Loss(reduction));
        if self.snd.ecn.is_blocked_until_rto() {
            // RFC 3168 §6.1.2: with a window of one segment the timer decides when the next may be
            // sent.
            self.restart_retransmit_timer(now);
        }
    }

    fn acknowledge<R: RuleSet>(&mut self, segment: &Segment, ack: SeqNum, now: Instant, ece: bool) {
        let stamped = self.timestamp_rtt(segment, now);
        let taken = self.snd.acknowledged::<R>(ack, now, stamped, ece, &self.config);
        if self.snd.flight() == 0 && !self.snd.ecn.is_blocked_until_rto() {
            // RFC 6298 §5.2.
            self.timers.retransmit = Instant::NEVER;
        } else if taken.restart_timer {
            // RFC 6298 §5.3.
            self.restart_retransmit_timer(now);
        }
        if let Some(loss) = self.snd.repair_lost(taken.lost, now) {
            self.begin_repair(loss);
        }
        self.note_fin_acknowledged(ack, now);
    }

    /// Round-trip time by the echoed timestamp (RFC 7323 §4), if the segment has a valid one.
    pub(super) fn timestamp_rtt(&self, segment: &Segment, now: Instant) -> Option<Duration> {
        let stamp = segment
            .options
            .timestamps
            .filter(|stamp| self.negotiated.timestamps && stamp.ecr != 0)?;
        let ticks = self.timestamp_clock(now).wrapping_sub(stamp.ecr);
        // An echo of a future timestamp is invalid.
        (ticks <= u32::MAX / 2).then(|| Duration::from_millis(u64::from(ticks)))
    }

    /// Changes the state if `ack` acknowledges the local FIN.
    pub(super) fn note_fin_acknowledged(&mut self, ack: SeqNum, now: Instant) {
        let fin_acknowledged = self.snd.fin && ack == self.snd.end();
        if !fin_acknowledged {
            return;
        }
        match self.state.fin_acknowledged() {
            State::TimeWait => self.enter_time_wait(now),
            State::Closed => self.enter_closed(CloseReason::Finished),
            next => self.enter(next),
        }
    }
}

//! An arriving segment (RFC 9293 §3.10.7).
//!
//! In the synchronized states it passes the steps of §3.10.7.4 in their order; each step is a
//! module and says whether the segment goes on to the next.

mod ack;
mod fin;
mod listen;
mod reset;
mod sequence;
mod syn;
mod syn_sent;
mod text;

use units::Instant;
use wire::{Control, Flags, Segment, UnscaledWindow, WindowScale};

use crate::connection::Connection;
use crate::event::Accepted;
use crate::opening::Opening;
use crate::state::State;

/// Whether a segment goes on to the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Continue,
    /// Only to the fifth, where its acknowledgment is taken.
    OnlyAck,
    Stop,
}

impl Connection {
    /// Handles an arriving segment and returns which part of its payload was taken, if any.
    pub fn on_segment(&mut self, segment: &Segment, now: Instant) -> Option<Accepted> {
        let guarded = self.host_timers.is_some().then(|| self.before_segment(segment, now));
        let mut accepted = None;
        match self.state {
            State::Closed => self.refuse(segment),
            State::Listen => self.segment_in_listen(segment, now),
            State::SynSent => self.segment_in_syn_sent(segment, now),
            _ => accepted = self.segment_otherwise(segment, now),
        }
        if self.negotiated.santa_cruz_negotiated() {
            self.detect_reported_loss(now);
            self.note_arrival(segment, now);
        }
        if let Some(before) = guarded {
            self.note_handled(before, now);
        }
        accepted
    }

    /// RFC 9293 §3.10.7.4: SYN-RECEIVED and the synchronized states.
    fn segment_otherwise(&mut self, segment: &Segment, now: Instant) -> Option<Accepted> {
        let trimmed: Segment;
        let mut segment = segment;
        if self.state == State::SynReceived && segment.control == Control::Syn {
            if segment.seq + 1 == self.rcv.nxt && !segment.is_ecn_setup() {
                // RFC 3168 §6.1.1.1: the peer has fallen back to a plain SYN, and no end may set
                // ECT.
                self.negotiated.ecn = false;
            }
            if self.repeats_known_syn(segment) {
                trimmed = self.without_syn(segment);
                segment = &trimmed;
            }
        }
        let step = self.check_sequence(segment, now);
        if step == Step::Stop
            || step == Step::Continue
                && (self.check_reset(segment, now) == Step::Stop
                    || self.check_syn(segment, now) == Step::Stop)
            || self.check_ack(segment, now) == Step::Stop
            || step == Step::OnlyAck
        {
            return None;
        }
        let accepted = self.take_text(segment, now);
        self.check_fin(segment, now);
        accepted
    }

    /// What the segment said of the transmission that caused it has been handled: does it give a
    /// loss away?
    #[cold]
    #[inline(never)]
    fn detect_reported_loss(&mut self, now: Instant) {
        if let Some(loss) = self.snd.detect_loss(now, &mut self.timers.retransmit) {
            self.begin_repair(loss);
        }
    }

    /// TCP Santa Cruz, section 3.2.1: the next acknowledgment names the transmission that has
    /// arrived last, of what had arrived before, too.
    #[cold]
    #[inline(never)]
    fn note_arrival(&mut self, segment: &Segment, now: Instant) {
        if self.state.is_synchronized()
            && segment.seq_len() > 0
            && let Some(copy) =
                segment.options.reports.santa_cruz().and_then(|option| option.data_copy())
        {
            self.rcv.note_arrival(segment.seq, segment.payload_len, copy, now);
        }
    }

    /// When both ends open at once, the peer's SYN-ACK begins with the SYN that has been received.
    fn repeats_known_syn(&self, segment: &Segment) -> bool {
        self.opening == Opening::Active && segment.ack.is_some() && segment.seq + 1 == self.rcv.nxt
    }

    /// RFC 9293 §3.10.7.4: what lies before the window is trimmed off, here the SYN, so that the
    /// acknowledgment behind it completes the handshake (§3.5, figure 7).
    fn without_syn(&self, segment: &Segment) -> Segment {
        // RFC 7323 §2.2: the window of a SYN isn't scaled; that of what is left would be.
        let window = segment.window.bytes(WindowScale::NONE);
        Segment {
            seq: segment.seq + 1,
            control: Control::None,
            // RFC 3168 §6.1.1: with a SYN the bits say what the peer can do, not what it has seen.
            flags: Flags::NONE,
            window: UnscaledWindow::from_bytes(window, self.negotiated.send_scale),
            ..*segment
        }
    }

    /// RFC 9293 §3.10.7.1: what arrives without a connection is reset, unless it is a reset.
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

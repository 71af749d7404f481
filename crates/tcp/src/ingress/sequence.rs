//! First step: whether any of the segment lies in the window (RFC 9293 §3.10.7.4, RFC 7323 §5.3).

use units::Instant;
use wire::{Control, Segment};

use super::Step;
use crate::connection::Connection;
use crate::rules::RuleSet;
use crate::state::State;

impl Connection {
    pub(super) fn check_sequence<R: RuleSet>(&mut self, segment: &Segment, now: Instant) -> Step {
        let is_reset = segment.control == Control::Rst;
        if self.negotiated.timestamps && !is_reset {
            match segment.options.timestamps {
                // RFC 7323 §5.3, R1: PAWS.
                Some(stamp) if self.rcv.is_stale(stamp.val, now) => {
                    self.challenge(now);
                    return Step::Stop;
                }
                Some(_) => {}
                None if self.config.acceptance.missing_timestamps => {}
                // RFC 7323 §3.2: once negotiated, a segment without timestamps is dropped silently.
                None => return Step::Stop,
            }
        }
        if self.rcv.accepts(segment.seq, segment.seq_len())
            && !(R::ALL && self.is_beyond_window(segment))
        {
            self.note_timestamp(segment, now);
            return Step::Continue;
        }
        if !is_reset {
            return self.answer_unacceptable(segment, now);
        }
        // The second step answers a reset that is acceptable to Linux.
        let is_acceptable = R::ALL && self.is_special() && self.is_recent_duplicate(segment);
        if is_acceptable { Step::Continue } else { Step::Stop }
    }

    #[inline]
    fn note_timestamp(&mut self, segment: &Segment, now: Instant) {
        // RFC 5961 §5.2: an acknowledgment of data never sent may be a guess, and would make a
        // later segment of the peer look old (RFC 7323 §5.3, R1).
        if let Some(stamp) = segment.options.timestamps.filter(|_| self.negotiated.timestamps)
            && segment.ack.is_none_or(|ack| !ack.after(self.snd.max))
        {
            self.rcv.note_timestamp(stamp.val, segment.seq, now);
        }
    }

    /// Answers a segment outside the window that is not a reset. Returns what else is done with it.
    #[cold]
    #[inline(never)]
    fn answer_unacceptable(&mut self, segment: &Segment, now: Instant) -> Step {
        if self.is_special() && self.config.receiver.is_linux() && self.is_bare_fin(segment) {
            return Step::Continue;
        }
        if self.is_special() && self.is_recent_duplicate(segment) {
            return self.take_recent_duplicate(segment, now);
        }
        // RFC 9293 §3.10.7.4: an answer reveals a half-open connection or a lost acknowledgment.
        if segment.seq_len() == 0 || segment.control == Control::Syn {
            // RFC 5961 §4.2, and §7 for segments without sequence numbers: two desynchronized ends
            // would otherwise answer each other's answers endlessly.
            self.challenge(now);
        } else {
            self.rcv.ack_now();
        }
        if self.is_special() && self.rcv.is_linux() {
            // In TIME-WAIT Linux sends no SACK blocks.
            if self.state != State::TimeWait {
                let fin = u32::from(segment.control == Control::Fin);
                self.rcv.note_unacceptable(segment.seq, segment.payload_len + fin);
            }
        } else {
            self.rcv.note_duplicate(segment.seq, segment.payload_len);
        }
        // RFC 9293 §3.10.7.4: with a zero window acknowledgments are still processed. In TIME-WAIT
        // a repeated FIN restarts the wait.
        if self.rcv.window() == 0
            || self.state == State::TimeWait
            || self.acknowledges_crossed_probe(segment)
        {
            return Step::OnlyAck;
        }
        Step::Stop
    }

    /// Returns whether the segment begins before RCV.NXT and has no new data, but is acceptable to
    /// Linux because it ends at the last acknowledgment sent, or after it (`tcp_sequence`).
    fn is_recent_duplicate(&self, segment: &Segment) -> bool {
        self.rcv.is_linux()
            && self.state.is_synchronized()
            && self.state != State::TimeWait
            && segment.control != Control::Syn
            && self.rcv.has_just_arrived(segment.seq, segment.seq_len())
    }

    /// Reports the data of a recent duplicate. Its acknowledgment is processed next.
    fn take_recent_duplicate(&mut self, segment: &Segment, now: Instant) -> Step {
        self.note_timestamp(segment, now);
        if segment.seq_len() > 0 {
            self.rcv.ack_now();
            self.rcv.note_unacceptable(segment.seq, segment.seq_len());
        }
        Step::OnlyAck
    }

    /// Returns whether the segment is dropped because it ends beyond the window, as Linux does.
    fn is_beyond_window(&self, segment: &Segment) -> bool {
        self.config.receiver.is_linux()
            && self.rcv.drops_beyond_window(segment.seq, segment.seq_len())
    }

    /// Returns whether the segment is only a FIN, which Linux accepts also in a closed window,
    /// because it needs no room in the buffer.
    #[cold]
    fn is_bare_fin(&self, segment: &Segment) -> bool {
        segment.control == Control::Fin && segment.payload_len == 0 && segment.seq == self.rcv.nxt
    }

    /// Returns whether the segment is one byte old and acknowledges new data while the local end
    /// probes.
    ///
    /// Unlike RFC 9293 §3.10.7.4, its acknowledgment is processed. If two ends probe each other's
    /// closed windows at the same time and both accept the byte, each acknowledges with the
    /// sequence number before its probe (`Sender::pure_seq`). If both ignored this, no
    /// acknowledgment would ever be processed again.
    fn acknowledges_crossed_probe(&self, segment: &Segment) -> bool {
        self.snd.is_probing()
            && segment.seq + 1 == self.rcv.nxt
            && segment.ack.is_some_and(|ack| ack.after(self.snd.una))
    }
}

//! Steps seven and eight for a receiver with the rules of Linux, and its acknowledgment.

use units::Instant;
use wire::{Control, Segment};

use crate::connection::Connection;
use crate::event::Accepted;
use crate::receive::Text;
use crate::state::State;

impl Connection {
    /// Handles the payload and the FIN of an acceptable segment, and decides when it is
    /// acknowledged.
    #[inline(never)]
    pub(super) fn finish_segment_as_linux(
        &mut self,
        segment: &Segment,
        now: Instant,
    ) -> Option<Accepted> {
        self.measure_round_trip(segment, now);
        let accepted = self.take_text_as_linux(segment, now);
        self.check_fin_as_linux(segment, now);
        if segment.seq_len() > 0 {
            let facts = self.receiver_facts(now);
            self.rcv.settle_acknowledgment(&facts, &mut self.timers.delayed_ack);
        }
        accepted
    }

    fn take_text_as_linux(&mut self, segment: &Segment, now: Instant) -> Option<Accepted> {
        if !self.takes_text(segment) {
            return None;
        }
        let text = Text::of(segment, self.negotiated.ecn, self.rcv.echoes_mark());
        let facts = self.receiver_facts(now);
        let accepted = self.rcv.text_as_linux(&text, &facts, &mut self.timers.delayed_ack);
        if self.negotiated.ecn {
            self.rcv.note_marks(segment.flags);
        }
        accepted
    }

    fn check_fin_as_linux(&mut self, segment: &Segment, now: Instant) {
        if segment.control == Control::Fin && self.state.can_receive() {
            let fin = segment.seq + segment.payload_len;
            if !self.rcv.note_fin(fin) {
                let alone = segment.payload_len == 0;
                self.rcv.early_fin(fin, alone, &mut self.timers.delayed_ack);
            }
        }
        if self.rcv.fin == Some(self.rcv.nxt) {
            // RFC 9293 §3.10.7.4 acknowledges every FIN at once. Linux does so only if this end has
            // closed too.
            let closes = matches!(self.state, State::FinWait1 | State::FinWait2);
            self.rcv.finish_as_linux(closes);
            self.note_peer_closed(now);
        }
    }

    /// Measures the round-trip time of the receiver.
    fn measure_round_trip(&mut self, segment: &Segment, now: Instant) {
        let stamp = segment.options.timestamps.filter(|_| self.negotiated.timestamps);
        if let Some(stamp) = stamp {
            let rtt = self.timestamp_rtt(segment, now);
            self.rcv.measure_echo(stamp.ecr, rtt, segment.seq_len());
        }
    }
}

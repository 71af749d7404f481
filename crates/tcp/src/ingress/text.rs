//! Seventh step: the payload (RFC 9293 §3.10.7.4).

use policy::Feedback;
use units::Instant;
use wire::{Mss, Segment};

use crate::connection::Connection;
use crate::event::{Accepted, CloseReason};
use crate::state::State;

impl Connection {
    #[expect(clippy::inline_always, reason = "in both variants of `on_segment`, every segment")]
    #[inline(always)]
    pub(super) fn take_text(&mut self, segment: &Segment, now: Instant) -> Option<Accepted> {
        if !self.takes_text(segment) {
            return None;
        }
        if self.negotiated.ecn {
            self.rcv.note_marks(segment.flags);
        }
        let due = self.rcv.ack_is_due();
        let delayed_ack = &self.config.delayed_ack;
        let timer = &mut self.timers.delayed_ack;
        let segments = segments_in(segment.payload_len, self.config.mss);
        let accepted =
            self.rcv.text(segment.seq, segment.payload_len, segments, now, delayed_ack, timer);
        if due
            && self.negotiated.feedback == Feedback::Cumulative
            && segment.seq.after(self.rcv.nxt)
        {
            self.rcv.owe_separate_ack(delayed_ack);
        }
        accepted
    }

    /// Returns whether the payload is handled. In the states that are left out the peer has sent
    /// its FIN, and data after it is ignored.
    #[inline]
    pub(super) fn takes_text(&self, segment: &Segment) -> bool {
        segment.payload_len > 0 && self.state.can_receive()
    }

    /// RFC 9293 §3.6.1: after a close of both directions, new data is lost, and a reset shows it.
    /// Returns whether that has happened.
    #[cold]
    #[inline(never)]
    pub(super) fn refuses(&mut self, segment: &Segment) -> bool {
        let closed = matches!(self.state, State::FinWait1 | State::FinWait2);
        let end = segment.seq + segment.payload_len;
        let is_new = segment.payload_len > 0 && end.after(self.rcv.nxt);
        if closed && is_new {
            self.refuse(segment);
            self.enter_closed(CloseReason::Aborted);
        }
        closed && is_new
    }
}

/// Number of segments sent with `len` bytes of payload: one, unless the network device has merged
/// several (receive offload). RFC 9293 §3.8.6.3 requires an acknowledgment for 2·RMSS bytes of new
/// data.
#[inline]
fn segments_in(len: u32, mss: Mss) -> u8 {
    let mss = mss.bytes();
    if len <= mss { 1 } else { u8::try_from(len.div_ceil(mss)).unwrap_or(u8::MAX) }
}

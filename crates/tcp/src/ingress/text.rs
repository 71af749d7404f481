//! Seventh step: the payload (RFC 9293 §3.10.7.4).

use policy::Feedback;
use units::Instant;
use wire::{Mss, Segment};

use crate::connection::Connection;
use crate::event::Accepted;

impl Connection {
    pub(super) fn take_text(&mut self, segment: &Segment, now: Instant) -> Option<Accepted> {
        // In the other states the peer has sent its FIN. Data after it is ignored.
        if segment.payload_len == 0 || !self.state.can_receive() {
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
}

/// Number of segments sent with `len` bytes of payload: one, unless the network device has merged
/// several (receive offload). RFC 9293 §3.8.6.3 requires an acknowledgment for 2·RMSS bytes of new
/// data.
#[inline]
fn segments_in(len: u32, mss: Mss) -> u8 {
    let mss = mss.bytes();
    if len <= mss { 1 } else { u8::try_from(len.div_ceil(mss)).unwrap_or(u8::MAX) }
}

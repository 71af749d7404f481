//! Eighth step: the FIN bit (RFC 9293 §3.10.7.4).

use units::Instant;
use wire::{Control, Segment};

use crate::connection::Connection;
use crate::event::Event;
use crate::state::State;

impl Connection {
    #[expect(clippy::inline_always, reason = "in both variants of `on_segment`, every segment")]
    #[inline(always)]
    pub(super) fn check_fin(&mut self, segment: &Segment, now: Instant) {
        if segment.control == Control::Fin && self.state.can_receive() {
            // The end of the stream is known even with gaps before it.
            if !self.rcv.note_fin(segment.seq + segment.payload_len) {
                // RFC 5681 §4.2: a FIN out of order causes a duplicate, as data does.
                self.rcv.ack_now();
            }
        }
        if self.rcv.fin != Some(self.rcv.nxt) {
            return;
        }
        self.rcv.finish();
        self.note_peer_closed(now);
    }

    /// Changes the state after the peer's FIN was consumed.
    pub(super) fn note_peer_closed(&mut self, now: Instant) {
        self.emit(Event::PeerClosed);
        match self.state.fin_received() {
            State::TimeWait => self.enter_time_wait(now),
            next => self.enter(next),
        }
    }
}

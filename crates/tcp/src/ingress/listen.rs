//! LISTEN (RFC 9293 §3.10.7.2).

use units::Instant;
use wire::{Control, Segment};

use crate::connection::Connection;

impl Connection {
    pub(super) fn segment_in_listen(&mut self, segment: &Segment, now: Instant) {
        if segment.control == Control::Rst {
            return;
        }
        if let Some(ack) = segment.ack {
            // Nothing has been sent that could be acknowledged.
            self.owe_reset(ack, None);
            return;
        }
        if segment.control == Control::Syn {
            self.answer_syn(segment, now);
        }
    }
}

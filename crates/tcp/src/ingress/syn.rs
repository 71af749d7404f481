//! Fourth step: the SYN bit (RFC 9293 §3.10.7.4, RFC 5961 §4).

use wire::{Control, Segment};

use super::Step;
use crate::connection::Connection;

impl Connection {
    pub(super) fn check_syn(&mut self, segment: &Segment) -> Step {
        if segment.control != Control::Syn {
            return Step::Continue;
        }
        // RFC 5961 §4.2: whatever its sequence number, a SYN is answered with a challenge and goes no further.
        self.rcv.ack_now();
        Step::Stop
    }
}

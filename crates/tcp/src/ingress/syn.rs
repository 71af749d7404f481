//! Fourth step: the SYN bit (RFC 9293 §3.10.7.4, RFC 5961 §4).

use units::Instant;
use wire::{Control, Segment};

use super::Step;
use crate::connection::Connection;
use crate::connection::Opening;
use crate::state::State;

impl Connection {
    pub(super) fn check_syn(&mut self, segment: &Segment, now: Instant) -> Step {
        if segment.control != Control::Syn {
            return Step::Continue;
        }
        if self.state == State::SynReceived && self.opening == Opening::Listening && !self.snd.fin {
            // RFC 9293 §3.10.7.4: this is not the SYN that is being answered, which lies below the
            // window.
            self.listen_again();
            return Step::Stop;
        }
        // RFC 5961 §4.2: a SYN with any sequence number is answered with a challenge and not
        // processed further.
        self.challenge(now);
        Step::Stop
    }
}

//! Second step: the RST bit (RFC 9293 §3.10.7.4, RFC 5961 §3).

use units::Instant;
use wire::{Control, Segment};

use super::Step;
use crate::connection::Connection;
use crate::connection::Opening;
use crate::event::CloseReason;
use crate::state::State;

impl Connection {
    #[inline]
    pub(super) fn check_reset(&mut self, segment: &Segment, now: Instant) -> Step {
        if segment.control == Control::Rst {
            self.take_peer_reset(segment, now)
        } else {
            Step::Continue
        }
    }

    #[cold]
    #[inline(never)]
    fn take_peer_reset(&mut self, segment: &Segment, now: Instant) -> Step {
        if segment.seq != self.rcv.nxt {
            // RFC 5961 §3.2: a reset in the window but not at RCV.NXT may be a guess. The real peer
            // answers the challenge with an exact one.
            self.challenge(now);
            return Step::Stop;
        }
        match self.state {
            State::SynReceived if self.opening == Opening::Listening && !self.snd.fin => {
                self.listen_again();
            }
            State::SynReceived => self.enter_closed(CloseReason::Refused),
            State::Closing | State::LastAck | State::TimeWait => {
                self.enter_closed(CloseReason::Finished);
            }
            _ => self.enter_closed(CloseReason::ResetByPeer),
        }
        Step::Stop
    }
}

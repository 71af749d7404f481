//! Expired timers (RFC 9293 §3.10.8, RFC 6298 §5).

use units::Instant;

use crate::connection::Connection;
use crate::event::{CloseReason, Event, Repair};
use crate::send::Expiry;
use crate::state::State;

impl Connection {
    /// Handles every timer that is due at `now`. Without a due timer it has no effect.
    pub fn on_timeout(&mut self, now: Instant) {
        if self.timers.delayed_ack <= now {
            self.timers.delayed_ack = Instant::NEVER;
            self.rcv.ack_now();
        }
        if self.timers.retransmit <= now {
            let due = std::mem::replace(&mut self.timers.retransmit, Instant::NEVER);
            self.retransmit_timer_expired(due, now);
        }
        if self.timers.persist <= now {
            self.timers.persist = Instant::NEVER;
            // RFC 9293 §3.8.6.1: probe the window with the data that fits, or with one byte. The
            // probe is an ordinary segment, and the retransmission timer with its back-off repeats
            // it.
            self.snd.probe = true;
        }
        if self.timers.state <= now {
            self.on_host_timer(now);
        }
    }

    fn retransmit_timer_expired(&mut self, due: Instant, now: Instant) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            let mut event = self.snd.event(now, Repair::SynTimeout);
            event.flight = 0;
            if self.snd.on_syn_rto(&self.config) {
                self.emit(Event::Loss(event));
            } else {
                self.enter_closed(CloseReason::TimedOut);
            }
            return;
        }
        if let Some((loss, deadline)) = self.snd.recheck_loss(due, now) {
            if let Some(loss) = loss {
                self.begin_repair(loss);
                return;
            }
            if deadline > now {
                self.timers.retransmit = deadline;
                return;
            }
        }
        if self.snd.ecn.unblock() && self.snd.flight() == 0 {
            return;
        }
        match self.snd.on_rto(now, &self.config) {
            Expiry::Loss(event) => self.emit(Event::Loss(event)),
            Expiry::Probe => {}
            Expiry::GiveUp => self.enter_closed(CloseReason::TimedOut),
        }
    }
}

//! Expired timers (RFC 9293 §3.10.8, RFC 6298 §5).

use units::Instant;

use crate::connection::Connection;
use crate::event::{CloseReason, Event, Repair};
use crate::send::{Expiry, PacketTimeout};
use crate::state::State;

impl Connection {
    /// Handles every timer that is due at `now`. Without a due timer it has no effect.
    pub fn on_timeout(&mut self, now: Instant) {
        if self.timers.delayed_ack <= now {
            self.timers.delayed_ack = Instant::NEVER;
            if self.config.receiver.is_linux() && self.rcv.is_linux() {
                self.receiver_timer_expired();
            } else {
                self.rcv.ack_now();
            }
        }
        if self.timers.retransmit <= now {
            let due = std::mem::replace(&mut self.timers.retransmit, Instant::NEVER);
            self.retransmit_timer_expired(due, now);
        }
        if self.timers.persist <= now {
            self.timers.persist = Instant::NEVER;
            if self.snd.special.packets().is_some() {
                self.window_probe_timer_expired(now);
                return self.handle_state_timer(now);
            }
            // RFC 9293 §3.8.6.1: probe the window with the data that fits, or with one byte. The
            // probe is an ordinary segment, and the retransmission timer with its back-off repeats
            // it.
            self.snd.probe = true;
        }
        self.handle_state_timer(now);
    }

    fn handle_state_timer(&mut self, now: Instant) {
        if self.timers.state <= now {
            self.on_host_timer(now);
        }
    }

    fn packet_timer_expired(&mut self, now: Instant) {
        match self.snd.on_packet_timer(now, &self.config) {
            PacketTimeout::Loss(event) => self.emit(Event::Loss(event)),
            PacketTimeout::Nothing => {}
            PacketTimeout::GiveUp => return self.enter_closed(CloseReason::TimedOut),
        }
        self.take_packet_timer();
    }

    fn retransmit_timer_expired(&mut self, due: Instant, now: Instant) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            let mut event = self.snd.event(now, Repair::SynTimeout);
            event.flight = 0;
            if self.snd.on_syn_rto(&self.config, self.state == State::SynSent) {
                self.emit(Event::Loss(event));
            } else {
                self.enter_closed(CloseReason::TimedOut);
            }
            return;
        }
        if self.snd.special.packets().is_some() {
            return self.packet_timer_expired(now);
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

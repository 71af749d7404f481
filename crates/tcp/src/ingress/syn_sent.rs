//! SYN-SENT (RFC 9293 §3.10.7.3), and the negotiation of options with a SYN.

use units::Instant;
use wire::{Control, Mss, Segment, WindowScale};

use crate::config::Negotiated;
use crate::connection::Connection;
use crate::event::{CloseReason, Event};
use crate::state::State;

impl Connection {
    pub(super) fn segment_in_syn_sent(&mut self, segment: &Segment, now: Instant) {
        let acknowledges = match segment.ack {
            Some(ack) if !ack.after(self.snd.iss) || ack.after(self.snd.max) => {
                if segment.control != Control::Rst {
                    self.owe_reset(ack, None);
                }
                return;
            }
            ack => ack,
        };
        if segment.control == Control::Rst {
            if acknowledges.is_some() {
                self.enter_closed(CloseReason::Refused);
            }
            return;
        }
        if segment.control != Control::Syn {
            return;
        }
        self.take_peer_options(segment, now);
        self.rcv.synchronize(segment.seq);
        if self.config.receiver.is_linux() {
            self.begin_receiving(false);
        }
        let Some(ack) = acknowledges else {
            // Simultaneous open: answer with a SYN that acknowledges the peer's SYN.
            self.enter(State::SynReceived);
            self.snd.nxt = self.snd.iss;
            self.timers.retransmit = Instant::NEVER;
            return;
        };
        self.enter(State::Established);
        if self.snd.fin {
            // The application closed before the handshake was complete.
            self.enter(State::FinWait1);
        }
        self.snd.syn_acknowledged(now, &self.config, self.timestamp_rtt(segment, now));
        self.snd.negotiated(&self.config, &self.negotiated, now);
        self.timers.retransmit = Instant::NEVER;
        // RFC 7323 §2.2: the window of a SYN is never scaled.
        self.snd.take_window(segment.seq, ack, segment.window.bytes(WindowScale::NONE));
        self.rcv.ack_now();
        self.rcv.start_linux(false, now);
        self.emit(Event::Connected);
    }

    /// Negotiates the options of the peer's SYN.
    pub(crate) fn take_peer_options(&mut self, syn: &Segment, now: Instant) {
        let options = &syn.options;
        let negotiated = &mut self.negotiated;
        // RFC 9293 §3.7.1: without the option the peer accepts 536 bytes.
        negotiated.peer_mss = options.mss.unwrap_or(Mss::DEFAULT_IPV4);
        negotiated.feedback = Negotiated::feedback_of(
            options.santa_cruz_permitted && self.config.santa_cruz,
            options.sack_permitted && self.config.sack,
        );
        negotiated.ecn = self.config.ecn && syn.is_ecn_setup();
        negotiated.timestamps = options.timestamps.is_some() && self.config.timestamps;
        self.rcv.note_peer_scales(options.window_scale.is_some());
        // RFC 7323 §2.2: both ends scale or neither does.
        if let Some(scale) = options.window_scale.filter(|_| self.config.window_scaling) {
            negotiated.send_scale = scale;
        } else {
            negotiated.send_scale = WindowScale::NONE;
            negotiated.receive_scale = WindowScale::NONE;
        }
        if let Some(stamp) = options.timestamps {
            self.rcv.first_timestamp(stamp.val, now);
        }
    }
}

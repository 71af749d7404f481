//! Fifth step for a sender that counts packets: the acknowledgment (RFC 9293 §3.10.7.4).

use units::Instant;
use wire::{Control, Flags, Segment, SeqNum};

use super::Step;
use crate::connection::Connection;
use crate::event::Event;
use crate::send::AckArrival;

impl Connection {
    #[inline(never)]
    pub(super) fn check_ack_of_packets(
        &mut self,
        segment: &Segment,
        ack: SeqNum,
        now: Instant,
    ) -> Step {
        let window = segment.window.bytes(self.negotiated.send_scale);
        let updates_window = self.snd.takes_window_of_packets(segment.seq, ack, window);
        if segment.options.reports.is_none() && self.snd.acknowledges_nothing(ack) {
            self.take_packet_timer();
            if self.timers.persist != Instant::NEVER {
                self.settle_window_probe(now);
            }
            return self.check_time_wait(segment, now);
        }
        let stamp = segment.options.timestamps.filter(|_| self.negotiated.timestamps);
        let acknowledges_copy = self.is_of_copy(segment, ack, updates_window, now);
        let arrival = AckArrival {
            ack,
            reports: segment.options.reports,
            acknowledges_copy,
            echo: stamp.map(|stamp| stamp.ecr).filter(|&echo| echo != 0),
            timestamp_rtt: self.timestamp_rtt(segment, now),
            ece: self.negotiated.ecn
                && segment.flags.has(Flags::ECE)
                && segment.control != Control::Syn,
            carries_data: segment.payload_len > 0 || segment.control != Control::None,
            updates_window,
        };
        let advances = ack.after(self.snd.una);
        if let Some(loss) = self.snd.acknowledged_packets(&arrival, now) {
            self.emit(Event::Loss(loss));
        }
        self.take_packet_timer();
        if self.timers.persist != Instant::NEVER {
            self.settle_window_probe(now);
        }
        if advances {
            self.note_fin_acknowledged(ack, now);
        }
        self.check_time_wait(segment, now)
    }

    /// Ends probing if the window admits the next segment. Otherwise the next probe counts from
    /// now, with the back-off of the probes before.
    fn settle_window_probe(&mut self, now: Instant) {
        let waits = self.snd.waits_for_window();
        let Some(packets) = self.snd.special.packets_mut() else { return };
        if waits {
            self.start_window_probe_timer(now);
        } else {
            packets.window_probes = 0;
            self.timers.persist = Instant::NEVER;
        }
    }
}

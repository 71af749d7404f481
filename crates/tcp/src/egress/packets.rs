//! Segments of a sender that counts packets.

use units::Instant;
use wire::{Control, Segment};

use super::NextSegment;
use crate::connection::Connection;

impl Connection {
    /// Selects the next segment with sequence numbers, and records that it is sent.
    #[inline(never)]
    pub(super) fn next_packet(&mut self, now: Instant) -> Option<NextSegment> {
        let starts = self.timers.retransmit == Instant::NEVER && self.host_timers.is_some();
        let stamp = self.timestamp_clock(now);
        let packet = self.snd.next_packet(now, stamp, &self.config);
        self.take_packet_timer();
        let Some(packet) = packet else {
            if self.snd.special.packets().is_some_and(|packets| packets.waits_for_timer)
                && self.timers.persist == Instant::NEVER
            {
                self.start_window_probe_timer(now);
            }
            return None;
        };
        if starts {
            self.start_user_timeout(now);
        }
        if packet.new {
            self.timers.persist = Instant::NEVER;
        }
        let next =
            NextSegment { seq: packet.seq, len: packet.len, small: packet.small, new: packet.new };
        self.count(next, !packet.new);
        Some(next)
    }

    /// Applies the deadline of the packet sender.
    pub(crate) fn take_packet_timer(&mut self) {
        if let Some(packets) = self.snd.special.packets() {
            self.timers.retransmit = packets.deadline();
        }
    }

    /// Starts the timer for probes of a window that is too small, or for data that the application
    /// holds back.
    pub(crate) fn start_window_probe_timer(&mut self, now: Instant) {
        let Some(packets) = self.snd.special.packets() else { return };
        self.timers.persist = packets.window_probe_at(now, packets.window_probes);
        if self.host_timers.is_some() {
            self.start_user_timeout(now);
        }
    }

    /// RFC 9293 §3.8.6.1: the timer for window probes has expired. Data that the application held
    /// back is sent, otherwise a probe.
    pub(crate) fn window_probe_timer_expired(&mut self, now: Instant) {
        let Some(packets) = self.snd.special.packets_mut() else { return };
        if !packets.waits_for_timer {
            return;
        }
        packets.window_probes = packets.window_probes.saturating_add(1);
        if packets.writes.holds_last() {
            packets.writes.release();
        } else if self.snd.wnd > 0 {
            packets.output.window_data = true;
        } else {
            packets.output.window_probe = true;
        }
        self.start_window_probe_timer(now);
    }

    /// Returns whether a window probe is due, once for each.
    #[inline]
    pub(super) fn takes_window_probe(&mut self) -> bool {
        let packets = self.snd.special.packets_mut();
        packets.is_some_and(|packets| std::mem::take(&mut packets.output.window_probe))
    }

    /// Returns a window probe. Unlike RFC 9293 §3.8.6.1, it carries no data: Linux
    /// sends an old sequence number, which the peer must answer.
    #[cold]
    #[inline(never)]
    pub(super) fn window_probe(&mut self, now: Instant) -> Segment {
        self.segment(now, self.snd.una - 1, 0, Control::None)
    }
}

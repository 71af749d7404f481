//! The window of RFC 5681 in packets.

use units::Instant;
use wire::SeqNum;

use super::slow_start::SlowStart;
use super::{PacketAck, PacketRtt, PacketWindow, SlowStartExit};

/// Additive increase and multiplicative decrease (RFC 5681) in packets, as Linux's `reno`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketReno {
    slow_start: SlowStart,
}

impl PacketReno {
    /// Creates the state when the connection is established. `nxt` is SND.NXT. Linux's `reno` has
    /// [`SlowStartExit::None`].
    pub fn new(exit: SlowStartExit, now: Instant, nxt: SeqNum) -> Self {
        Self { slow_start: SlowStart::new(exit, now, nxt) }
    }

    /// Takes a measurement of the round-trip time.
    pub fn on_rtt(&mut self, window: &mut PacketWindow, sample: &PacketRtt) {
        self.slow_start.on_rtt(window, sample);
    }

    /// Grows the window for an acknowledgment. RFC 5681 §3.1: slow start, then one packet per
    /// window.
    pub fn on_ack(&mut self, window: &mut PacketWindow, ack: &PacketAck) {
        if !ack.cwnd_limited {
            return;
        }
        let acked = self.slow_start.grow(window, ack.acked);
        if acked > 0 {
            window.additive_increase(window.cwnd, acked);
        }
    }

    /// Threshold after a loss, in packets. RFC 5681 §3.1, eq. (4): half, and at least two packets.
    /// Unlike the RFC, half of the window and not of the packets in flight.
    pub fn ssthresh_after_loss(window: &PacketWindow) -> u32 {
        (window.cwnd / 2).max(2)
    }

    /// Forgets the samples of the round-trip time after a timeout. `nxt` is SND.NXT.
    pub fn on_timeout(&mut self, now: Instant, nxt: SeqNum) {
        self.slow_start.reset(now, nxt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reno() -> PacketReno {
        PacketReno::new(SlowStartExit::None, Instant::ZERO, SeqNum::new(1))
    }

    fn ack(acked: u32, cwnd_limited: bool) -> PacketAck {
        let una = SeqNum::new(1);
        PacketAck { now: Instant::ZERO, acked, una, nxt: una, cwnd_limited }
    }

    /// RFC 5681 §3.1, eq. (4), with the window instead of `FlightSize`.
    #[test]
    fn a_loss_halves_down_to_two() {
        for (cwnd, ssthresh) in [(1, 2), (2, 2), (4, 2), (5, 2), (6, 3), (10, 5), (11, 5)] {
            assert_eq!(PacketReno::ssthresh_after_loss(&PacketWindow::new(cwnd)), ssthresh);
        }
    }

    /// Slow start up to the threshold; the rest of the acknowledgment counts for the first packet
    /// of congestion avoidance.
    #[test]
    fn one_packet_per_window_after_the_threshold() {
        let mut window = PacketWindow::new(6).with_ssthresh(8);
        let mut reno = reno();
        let grown: Vec<u32> = [3, 6, 1, 8]
            .map(|acked| {
                reno.on_ack(&mut window, &ack(acked, true));
                window.cwnd
            })
            .into();
        assert_eq!(grown, [8, 8, 9, 9]);
    }

    /// RFC 7661 §4.3: a window that does not limit the sender does not grow.
    #[test]
    fn an_unused_window_does_not_grow() {
        for ssthresh in [5, 20] {
            let mut window = PacketWindow::new(10).with_ssthresh(ssthresh);
            reno().on_ack(&mut window, &ack(10, false));
            assert_eq!(window.cwnd, 10);
        }
    }
}

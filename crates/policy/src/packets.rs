//! Congestion control that counts packets, as Linux does.
//!
//! The controllers in [`crate::congestion`] count bytes (RFC 5681). Linux counts segments of any
//! size. The rules of this module are those of Linux 6.12 to 6.18 (`net/ipv4/tcp_cong.c`,
//! `tcp_cubic.c`, `tcp_output.c`). Each departure from an RFC is stated where it is implemented.
//!
//! The window ([`PacketWindow`]) is separate from the controller, because recovery and validation
//! change it too.

mod cubic;
mod hystart;
mod hystart_pp;
mod pacing;
mod reno;
mod slow_start;
mod usage;
mod window;

pub use cubic::{Cubic, CubicConfig};
pub use pacing::{Pacing, RateFacts};
pub use reno::PacketReno;
pub use slow_start::SlowStartExit;
pub use usage::{SendFacts, Validation, WindowUsage};
pub use window::PacketWindow;

use units::{Duration, Instant};
use wire::SeqNum;

/// Facts of an acknowledgment for the growth of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketAck {
    /// Arrival time of the acknowledgment.
    pub now: Instant,
    /// Number of packets newly delivered: acknowledged cumulatively or by SACK for the first time.
    pub acked: u32,
    /// SND.UNA, equal to the acknowledgment number.
    pub una: SeqNum,
    /// SND.NXT before anything is sent in response.
    pub nxt: SeqNum,
    /// Answer of [`WindowUsage::is_cwnd_limited`]. The window grows only if it limits the sender.
    pub cwnd_limited: bool,
}

/// A measurement of the round-trip time, before the window grows for the same acknowledgment.
/// Linux measures it with the last packet that the acknowledgment newly covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRtt {
    /// Arrival time of the acknowledgment.
    pub now: Instant,
    /// Round-trip time. The caller applies Karn's rule (RFC 6298 §3).
    pub rtt: Duration,
    /// SND.UNA, equal to the acknowledgment number.
    pub una: SeqNum,
    /// SND.NXT before anything is sent in response.
    pub nxt: SeqNum,
    /// Whether the sender paces its packets.
    pub paced: bool,
    /// Pacing rate in bytes per second; zero if unknown. Linux computes it without pacing too.
    pub pacing_rate: u64,
}

/// A congestion controller that counts packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketController {
    /// Additive increase and multiplicative decrease (RFC 5681).
    Reno(PacketReno),
    /// CUBIC (RFC 9438).
    Cubic(Cubic),
}

impl PacketController {
    /// Takes a measurement of the round-trip time. HyStart and HyStart++ may end slow start by
    /// setting `ssthresh` to the window.
    pub fn on_rtt(&mut self, window: &mut PacketWindow, sample: &PacketRtt) {
        match self {
            Self::Reno(reno) => reno.on_rtt(window, sample),
            Self::Cubic(cubic) => cubic.on_rtt(window, sample),
        }
    }

    /// Grows the window for an acknowledgment: slow start, then congestion avoidance.
    pub fn on_ack(&mut self, window: &mut PacketWindow, ack: &PacketAck) {
        match self {
            Self::Reno(reno) => reno.on_ack(window, ack),
            Self::Cubic(cubic) => cubic.on_ack(window, ack),
        }
    }

    /// Slow start threshold after a loss or mark, in packets, at least two. The caller sets it,
    /// once per window of data.
    pub fn ssthresh_after_loss(&mut self, window: &PacketWindow, now: Instant) -> u32 {
        match self {
            Self::Reno(_) => PacketReno::ssthresh_after_loss(window),
            Self::Cubic(cubic) => cubic.ssthresh_after_loss(window, now),
        }
    }

    /// Forgets the path after a timeout, as Linux does in the state Loss. The caller asks for
    /// [`ssthresh_after_loss`](Self::ssthresh_after_loss) before it. `nxt` is SND.NXT.
    pub fn on_timeout(&mut self, now: Instant, nxt: SeqNum) {
        match self {
            Self::Reno(reno) => reno.on_timeout(now, nxt),
            Self::Cubic(cubic) => cubic.on_timeout(now, nxt),
        }
    }

    /// Handles a transmission while nothing is in flight. `last_sent` is the time of the
    /// transmission before.
    pub fn on_transmit_start(&mut self, now: Instant, last_sent: Instant) {
        if let Self::Cubic(cubic) = self {
            cubic.on_transmit_start(now, last_sent);
        }
    }

    /// Window in packets after a reduction has proved unnecessary. `prior_cwnd` is the window
    /// before the reduction.
    ///
    /// Unlike RFC 9438 §4.9, only the window is restored: `W_max` and the epoch remain those after
    /// the reduction.
    pub fn window_after_undo(&self, window: &PacketWindow, prior_cwnd: u32) -> u32 {
        match self {
            Self::Reno(_) | Self::Cubic(_) => window.cwnd.max(prior_cwnd),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every connection has a controller and a window.
    #[test]
    fn the_state_is_small() {
        assert!(size_of::<PacketController>() + size_of::<PacketWindow>() <= 120);
    }

    /// An undo restores the window before the reduction, unless it has grown beyond that since.
    #[test]
    fn undo_restores_the_larger_window() {
        let now = Instant::ZERO;
        let nxt = SeqNum::new(1);
        let controllers = [
            PacketController::Reno(PacketReno::new(SlowStartExit::None, now, nxt)),
            PacketController::Cubic(Cubic::new(&CubicConfig::HZ_1000, now, nxt)),
        ];
        for controller in controllers {
            for (cwnd, prior, after) in [(7, 10, 10), (10, 10, 10), (12, 10, 12)] {
                let window = PacketWindow::new(cwnd);
                assert_eq!(controller.window_after_undo(&window, prior), after);
            }
        }
    }
}

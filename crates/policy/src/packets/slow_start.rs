//! The end of slow start before a loss.

use units::{Duration, Instant};
use wire::SeqNum;

use super::hystart::HyStart;
use super::hystart_pp::HyStartPlusPlus;
use super::{PacketRtt, PacketWindow};

/// Algorithm that ends slow start before a loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SlowStartExit {
    /// Slow start ends at `ssthresh` only.
    None,
    /// HyStart of Linux 6.14, with both detections: ACK train and delay. Stable branches have it
    /// too.
    #[default]
    HyStart,
    /// HyStart of Linux 5.17 to 6.13. A round begins only once the window has 16 packets.
    HyStartLateRounds,
    /// HyStart++ (RFC 9406).
    HyStartPlusPlus,
}

/// Minimum round-trip time, and the state of the algorithm that ends slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlowStart {
    /// Minimum round-trip time in microseconds; zero before the first sample.
    delay_min: u32,
    exit: Exit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    None,
    HyStart(HyStart),
    PlusPlus(HyStartPlusPlus),
}

impl SlowStart {
    /// Creates the state when the connection is established. `nxt` is SND.NXT.
    pub(super) fn new(exit: SlowStartExit, now: Instant, nxt: SeqNum) -> Self {
        let exit = match exit {
            SlowStartExit::None => Exit::None,
            SlowStartExit::HyStart => Exit::HyStart(HyStart::new(now, nxt, false)),
            SlowStartExit::HyStartLateRounds => Exit::HyStart(HyStart::new(now, nxt, true)),
            SlowStartExit::HyStartPlusPlus => Exit::PlusPlus(HyStartPlusPlus::new(nxt)),
        };
        Self { delay_min: 0, exit }
    }

    /// Forgets every sample, as Linux does after a timeout.
    pub(super) fn reset(&mut self, now: Instant, nxt: SeqNum) {
        self.delay_min = 0;
        match &mut self.exit {
            Exit::None => {}
            Exit::HyStart(exit) => exit.reset(now, nxt),
            Exit::PlusPlus(exit) => *exit = HyStartPlusPlus::new(nxt),
        }
    }

    /// Takes a sample. May end slow start by setting `ssthresh` to the window.
    pub(super) fn on_rtt(&mut self, window: &mut PacketWindow, sample: &PacketRtt) {
        let micros = u32::try_from(sample.rtt.as_nanos() / 1000).unwrap_or(u32::MAX).max(1);
        if self.delay_min == 0 || self.delay_min > micros {
            self.delay_min = micros;
        }
        match &mut self.exit {
            Exit::None => {}
            Exit::HyStart(exit) => exit.on_rtt(window, sample, micros, self.delay_min),
            Exit::PlusPlus(exit) => exit.on_rtt(window, sample, micros),
        }
    }

    /// Grows the window in slow start. Returns the packets that remain for congestion avoidance.
    pub(super) fn grow(&mut self, window: &mut PacketWindow, acked: u32) -> u32 {
        if !window.is_in_slow_start() {
            return acked;
        }
        match &mut self.exit {
            Exit::PlusPlus(exit) => {
                let growth = exit.growth(window, acked);
                window.slow_start(growth)
            }
            _ => window.slow_start(acked),
        }
    }

    /// Minimum round-trip time; zero before the first sample.
    pub(super) const fn delay_min(&self) -> Duration {
        Duration::from_micros(self.delay_min as u64)
    }
}

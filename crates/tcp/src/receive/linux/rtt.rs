//! Round-trip time as the receiver of data measures it (`tcp_rcv_rtt_update`).

use units::{Duration, Instant};
use wire::SeqNum;

/// Estimate from echoed timestamps, or from the time in which a window of data arrives.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReceiverRtt {
    /// Eight times the estimate in microseconds; zero before the first measurement.
    estimate_8: u64,
    /// Data beyond this sequence number ends the measurement of a window, and its begin.
    window: Option<(SeqNum, Instant)>,
    /// Timestamp that was echoed last.
    last_echo: u32,
}

impl ReceiverRtt {
    pub(super) fn get(&self) -> Option<Duration> {
        (self.estimate_8 > 0).then(|| Duration::from_micros(self.estimate_8 / 8))
    }

    /// A window of data takes at least a round trip to arrive, so only the minimum counts.
    pub(super) fn measure_window(&mut self, nxt: SeqNum, offered: u32, now: Instant) {
        if let Some((end, since)) = self.window {
            if nxt.before(end) {
                return;
            }
            let micros = (now.since(since).as_nanos() / 1000).max(1);
            if self.estimate_8 == 0 || micros * 8 < self.estimate_8 {
                self.estimate_8 = micros * 8;
            }
        }
        self.window = Some((nxt + offered, now));
    }

    /// Takes the echo of a segment. `is_long` says that the segment is full-sized; another may have
    /// waited for the application.
    pub(super) fn measure_echo(&mut self, echo: u32, rtt: Option<Duration>, is_long: bool) {
        if echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        let micros = rtt.map_or(0, |rtt| rtt.as_nanos() / 1000);
        if !is_long || micros == 0 {
            return;
        }
        if self.estimate_8 == 0 || micros * 8 < self.estimate_8 {
            self.estimate_8 = micros * 8;
        } else {
            self.estimate_8 = self.estimate_8 - self.estimate_8 / 8 + micros;
        }
    }
}

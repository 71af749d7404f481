//! The SYN in the sending half: its transmission, its acknowledgment, and its timeouts.

use units::{Duration, Instant};
use wire::SeqNum;

use super::Sender;
use crate::config::Config;

impl Sender {
    /// Starts as if the SYN had been acknowledged, by a peer with this initial sequence number and
    /// this window in bytes.
    pub(crate) fn syn_skipped(&mut self, config: &Config, irs: SeqNum, window: u32) {
        self.policies.customize(config, self.smss);
        self.begin_slow_start(self.window());
        self.una = self.iss + 1;
        self.nxt = self.una;
        self.max = self.una;
        self.small_end = self.una;
        self.wl = (irs, self.una);
        self.set_window(window);
    }

    /// Records that a SYN is sent.
    pub(crate) fn syn_sent(&mut self, now: Instant) {
        // Karn's rule: in a simultaneous open the SYN is sent a second time, with an
        // acknowledgment.
        if self.max == self.iss {
            self.start_timing(self.iss + 1, now);
        } else {
            self.stop_timing();
        }
        self.nxt = self.iss + 1;
        self.max = self.nxt;
        self.last_sent = now;
    }

    /// Handles the acknowledgment of the SYN. `timestamp_rtt` is its round-trip time by timestamps.
    pub(crate) fn syn_acknowledged(
        &mut self,
        now: Instant,
        config: &Config,
        timestamp_rtt: Option<Duration>,
    ) {
        self.una = self.iss + 1;
        self.nxt = self.una;
        self.max = self.max.latest(self.una);
        self.small_end = self.una;
        self.timeouts_in_a_row = 0;
        let timed = self.timed();
        self.stop_timing();
        let sample =
            timed.map(|(_, at)| now.since(at)).filter(|_| self.statistics.syn_timeouts == 0);
        if let Some(packets) = self.special.packets_mut() {
            // Linux's `tcp_synack_rtt_meas`: timestamps measure a repeated SYN, too (RFC 7323 §4).
            let rtt = sample.or(timestamp_rtt);
            packets.handshake_done(rtt, self.smss, self.una, self.nxt, now);
        }
        match sample {
            Some(rtt) => self.rtt.sample(rtt, &config.rto),
            None if self.statistics.syn_timeouts > 0 => self.rtt.after_syn_timeout(&config.rto),
            None => {}
        }
    }

    /// Takes a round-trip time that was measured before the first data of this connection.
    pub(crate) fn assume_rtt(&mut self, rtt: Duration, now: Instant, config: &Config) {
        if let Some(packets) = self.special.packets_mut() {
            packets.handshake_done(Some(rtt), self.smss, self.una, self.nxt, now);
        }
        self.rtt.sample(rtt, &config.rto);
    }

    /// Handles an expiry of the retransmission timer for the SYN. `active` says that it has no
    /// acknowledgment. Returns `false` after too many expiries.
    pub(crate) fn on_syn_rto(&mut self, config: &Config, active: bool) -> bool {
        let linear = if active { config.linear_syn_timeouts } else { 0 };
        // The limit is the time that exponential back-off would take, as in Linux.
        let expiries = self.timeouts_in_a_row.saturating_add(1);
        let limit = units_until(config.max_syn_timeouts.saturating_add(1), 0);
        if self.timeouts_in_a_row >= config.max_syn_timeouts
            && (linear == 0 || units_until(expiries, linear) >= limit)
        {
            return false;
        }
        self.timeouts_in_a_row = self.timeouts_in_a_row.saturating_add(1);
        self.statistics.syn_timeouts += 1;
        if self.timeouts_in_a_row > linear {
            self.rtt.back_off();
        }
        self.stop_timing();
        self.nxt = self.iss;
        true
    }

    /// Resets the state after a failed handshake, for the next one.
    pub(crate) fn listen_again(&mut self) {
        self.nxt = self.iss;
        self.stop_timing();
        self.timeouts_in_a_row = 0;
    }
}

/// Time until a number of expiries of the timer for a SYN, in initial timeouts. After the first
/// `linear` ones the timeout doubles with each.
fn units_until(expiries: u8, linear: u8) -> u64 {
    let even = expiries.min(linear);
    let doubled = u32::from(expiries - even).min(62);
    u64::from(even) + (1_u64 << doubled) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux, with 4 linear timeouts: 1, 2, 3, 4, 5, 7 and 11 s. RFC 6298 §5.5: 1, 3 and 7 s.
    #[test]
    fn expiries_of_the_timer_for_a_syn() {
        let linux: Vec<u64> = (0..=7).map(|expiries| units_until(expiries, 4)).collect();
        assert_eq!(linux, [0, 1, 2, 3, 4, 5, 7, 11]);
        let doubled: Vec<u64> = (0..=3).map(|expiries| units_until(expiries, 0)).collect();
        assert_eq!(doubled, [0, 1, 3, 7]);
    }
}

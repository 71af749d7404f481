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

    /// Handles the acknowledgment of the SYN.
    pub(crate) fn syn_acknowledged(&mut self, now: Instant, config: &Config) {
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
            packets.handshake_done(sample, self.smss, self.una, self.nxt, now);
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

    /// Handles an expiry of the retransmission timer for the SYN. Returns `false` after too many
    /// expiries.
    pub(crate) fn on_syn_rto(&mut self, config: &Config) -> bool {
        if self.timeouts_in_a_row >= config.max_syn_timeouts {
            return false;
        }
        self.timeouts_in_a_row += 1;
        self.statistics.syn_timeouts += 1;
        self.rtt.back_off();
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

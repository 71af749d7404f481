//! What routers report (RFC 1191, RFC 8201, RFC 5927): a path that carries less, a peer that can't
//! be reached.
//!
//! Anyone can write such a report. It is believed if it quotes a sequence number that is in flight
//! (RFC 5927 §4.1), which a stranger must guess; and what it then can do is little.

use units::Instant;
use wire::{Mss, SeqNum};

use crate::connection::Connection;
use crate::event::CloseReason;
use crate::state::State;

/// An ICMP error (RFC 1122 §4.2.3.9, RFC 4443 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IcmpError {
    /// It may pass: network or host unreachable, source route failed, time exceeded, parameter
    /// problem; in IPv6 also address unreachable.
    Soft,
    /// It looks final: protocol or port unreachable, fragmentation needed where none is done,
    /// administratively prohibited.
    Hard,
}

impl Connection {
    /// A packet was too big for the path. `mss` is what fits: the reported MTU without the headers
    /// of IP and TCP, options included as in the MSS option; `seq` the sequence number of the
    /// packet that is quoted. Returns whether the report is believed and segments are smaller
    /// now.
    ///
    /// They become no smaller than [`Config::min_mss`](crate::Config::min_mss), never larger again,
    /// and smaller four times in a retransmission timeout at most: each time all that is in
    /// flight may leave again, and whoever knows of one number in flight could go down byte by
    /// byte. What is in flight and too long is sent again at once, in smaller segments and
    /// without a smaller window: a packet's size says nothing of congestion.
    pub fn on_packet_too_big(&mut self, mss: Mss, seq: SeqNum, now: Instant) -> bool {
        // A SYN that is too long for a path would find no path at all.
        if !self.state.is_synchronized() || !self.is_in_flight(seq) {
            return false;
        }
        let smss = self.negotiated.payload_of(mss.max(self.config.min_mss));
        // RFC 5927 §7.1: never more than before.
        if smss >= self.snd.smss {
            return false;
        }
        let period = self.rto();
        if !self.host_timers_at(now).may_reduce_pmtu(period, now) {
            return false;
        }
        let unsent = self.snd.reduce_smss(smss);
        if unsent && self.snd.flight() == 0 && !self.snd.ecn.is_blocked_until_rto() {
            // RFC 6298 §5.1: it runs again from what leaves now.
            self.timers.retransmit = Instant::NEVER;
        }
        true
    }

    /// An ICMP error other than a packet that was too big; `seq` is the sequence number of the
    /// packet that is quoted. Returns whether the report is believed. It is then to be had from
    /// [`icmp_error`](Self::icmp_error), for a user who wonders why nothing moves; and a hard
    /// one ends a connection in SYN-SENT, but none that is further (RFC 5927 §5.2): a peer that
    /// has answered exists.
    pub fn on_icmp_error(&mut self, error: IcmpError, seq: SeqNum, now: Instant) -> bool {
        if !self.is_in_flight(seq) {
            return false;
        }
        self.host_timers_at(now).icmp = Some(error);
        if error == IcmpError::Hard && self.state == State::SynSent {
            self.enter_closed(CloseReason::Unreachable);
        }
        true
    }

    /// The last ICMP error that was believed.
    pub fn icmp_error(&self) -> Option<IcmpError> {
        self.host_timers.as_ref()?.icmp
    }

    /// RFC 5927 §4.1: SND.UNA ≤ SEG.SEQ < SND.NXT, where a timeout may have pulled SND.NXT back.
    fn is_in_flight(&self, seq: SeqNum) -> bool {
        let snd = self.send_state();
        self.state != State::Closed && seq.at_or_after(snd.una) && seq.before(snd.max)
    }
}

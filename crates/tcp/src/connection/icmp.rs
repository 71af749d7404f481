//! ICMP errors (RFC 1191, RFC 8201, RFC 5927): a smaller path MTU, or an unreachable peer.
//!
//! Anyone can forge such a report. It is accepted if it quotes a sequence number in flight (RFC
//! 5927 §4.1), which an attacker must guess. Its effect is limited even then.

use units::Instant;
use wire::{Mss, SeqNum};

use crate::connection::Connection;
use crate::event::CloseReason;
use crate::state::State;

/// Kind of an ICMP error (RFC 1122 §4.2.3.9, RFC 4443 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IcmpError {
    /// Transient error: network or host unreachable, source route failed, time exceeded, parameter
    /// problem; in IPv6 also address unreachable.
    Soft,
    /// Permanent error: protocol or port unreachable, fragmentation needed but not performed,
    /// administratively prohibited.
    Hard,
}

impl Connection {
    /// Handles a report that a packet was too big for the path. `mss` is the reported MTU minus the
    /// headers of IP and TCP, with options counted as in the MSS option. `seq` is the sequence
    /// number of the quoted packet. Returns whether the report is accepted and segments are now
    /// smaller.
    ///
    /// The segment size never falls below [`Config::min_mss`](crate::Config::min_mss) and never
    /// grows again. It is reduced at most four times per retransmission timeout, because each
    /// reduction may repeat everything in flight. An attacker who knows one number in flight could
    /// otherwise reduce it byte by byte. Segments in flight that are too long are sent again at
    /// once in smaller segments. The window stays, because a packet's size is no sign of
    /// congestion.
    pub fn on_packet_too_big(&mut self, mss: Mss, seq: SeqNum, now: Instant) -> bool {
        // A path with a smaller MTU than a SYN needs cannot carry a connection.
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
        let unsent = self.snd.reduce_smss(smss, now);
        if unsent && self.snd.flight() == 0 && !self.snd.ecn.is_blocked_until_rto() {
            // RFC 6298 §5.1: the timer restarts with the next segment.
            self.timers.retransmit = Instant::NEVER;
        }
        true
    }

    /// Handles an ICMP error other than "packet too big". `seq` is the sequence number of the
    /// quoted packet. Returns whether the report is accepted. [`icmp_error`](Self::icmp_error) then
    /// returns it, as an explanation for a stalled connection. A hard error ends a connection in
    /// SYN-SENT but in no later state (RFC 5927 §5.2), because a peer that has answered exists.
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

    /// Returns the last accepted ICMP error.
    pub fn icmp_error(&self) -> Option<IcmpError> {
        self.host_timers.as_ref()?.icmp
    }

    /// RFC 5927 §4.1: SND.UNA ≤ SEG.SEQ < SND.NXT. After a timeout the highest number sent replaces
    /// SND.NXT.
    fn is_in_flight(&self, seq: SeqNum) -> bool {
        let snd = self.send_state();
        self.state != State::Closed && seq.at_or_after(snd.una) && seq.before(snd.max)
    }
}

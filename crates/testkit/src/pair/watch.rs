//! Invariants of an endpoint that hold on any network.

use policy::{Congestion, Framing, LossResponse, SenderPolicy};
use tcp::{Config, Connection, SendState, State};
use units::Instant;
use wire::{Control, Ecn, Flags, Segment, SeqNum, WindowScale};

/// Checks everything that one end sends.
#[derive(Debug)]
pub(super) struct Watch {
    policy: SenderPolicy,
    nagle: bool,
    ecn: bool,
    /// Scale of the windows that this end advertises.
    scale: WindowScale,
    /// Right edge of the advertised window.
    edge: Option<SeqNum>,
    ack: Option<SeqNum>,
    una: SeqNum,
    max: SeqNum,
    /// Sequence number after the last new segment shorter than `MSS_c`.
    small_end: SeqNum,
    /// End and length of a lost segment, if it was retransmitted last since the last drain.
    retransmitted: Option<(SeqNum, u32)>,
    /// Maximum of the sender maximum segment size so far, in bytes.
    largest_smss: u32,
    /// Number of copies that were sent as a precaution.
    copied_segments: u32,
}

impl Watch {
    pub(super) fn new(config: &Config, scale: WindowScale, iss: SeqNum) -> Self {
        Self {
            policy: config.sender,
            nagle: config.nagle,
            ecn: config.ecn,
            scale,
            edge: None,
            ack: None,
            una: iss,
            max: iss,
            small_end: iss,
            retransmitted: None,
            largest_smss: 0,
            copied_segments: 0,
        }
    }

    /// Checks a sent segment. `before` is the state of the sender before it.
    pub(super) fn sent(
        &mut self,
        connection: &Connection,
        before: &SendState,
        segment: &Segment,
    ) -> Result<(), String> {
        let copied = connection.copied_segments();
        if std::mem::replace(&mut self.copied_segments, copied) != copied {
            return self.check_copy(connection, before, segment);
        }
        self.check_ecn(before, segment)?;
        match segment.control {
            Control::Rst => return Ok(()),
            Control::Syn => {
                self.small_end = before.una + 1;
                return Ok(());
            }
            Control::None | Control::Fin => {}
        }
        self.check_window(segment)?;
        if segment.seq_len() > 0 { self.check_data(connection, before, segment) } else { Ok(()) }
    }

    /// A copy repeats the end of the data that has been sent and not acknowledged, and changes
    /// nothing. It has the header of the original.
    fn check_copy(
        &self,
        connection: &Connection,
        before: &SendState,
        segment: &Segment,
    ) -> Result<(), String> {
        if self.policy.tail_copy.is_none() {
            return Err("the policy has no copies".to_owned());
        }
        let sent = segment.seq.at_or_after(before.una) && !segment.seq_end().after(before.max);
        if !sent || segment.payload_len == 0 || !segment.flags.has(Flags::PSH) {
            return Err("a copy of something else than the end of a write in flight".to_owned());
        }
        if connection.send_state() != *before {
            return Err("a copy changed the state of the sender".to_owned());
        }
        Ok(())
    }

    /// Checks the state after a drain.
    pub(super) fn drained(&mut self, connection: &Connection, now: Instant) -> Result<(), String> {
        let snd = connection.send_state();
        let ordered = snd.una.at_or_before(snd.nxt) && snd.nxt.at_or_before(snd.max);
        if !ordered || snd.una.before(self.una) || snd.max.before(self.max) {
            return Err("una <= nxt <= max, and neither end goes back".to_owned());
        }
        (self.una, self.max) = (snd.una, snd.max);
        self.small_end = self.small_end.latest(snd.una);
        self.retransmitted = None;
        if connection.next_timeout() < now {
            return Err(format!("a timer was due at {}", connection.next_timeout()));
        }
        if connection.state() != State::Closed
            && connection.flight() > 0
            && connection.next_timeout() == Instant::NEVER
        {
            return Err("something is in flight and no timer runs".to_owned());
        }
        if connection.state().is_synchronized()
            && !snd.recovering
            && connection.cwnd() < connection.smss()
        {
            return Err(format!("cwnd {} is less than a segment", connection.cwnd()));
        }
        Ok(())
    }

    /// RFC 3168 §6.1.1, §6.1.4, §6.1.5: only new data is ECN-capable or has CWR. Without ECN no
    /// segment has either.
    fn check_ecn(&self, before: &SendState, segment: &Segment) -> Result<(), String> {
        let flags = segment.flags;
        let capable = flags.ecn() != Ecn::NotEct;
        if !self.ecn && (capable || flags.has(Flags::ECE) || flags.has(Flags::CWR)) {
            return Err("ECN is off".to_owned());
        }
        let syn = segment.control == Control::Syn;
        let fresh = !syn && segment.payload_len > 0 && !segment.seq.before(before.max);
        if (capable || flags.has(Flags::CWR) && !syn) && !fresh {
            return Err("neither ECT nor CWR belongs on this".to_owned());
        }
        Ok(())
    }

    /// The advertised window never moves left (RFC 9293 §3.8.6), except for the fraction of a step
    /// that scaling omits (RFC 7323 §2.4). The acknowledgment never decreases.
    fn check_window(&mut self, segment: &Segment) -> Result<(), String> {
        let Some(ack) = segment.ack else {
            return Err("a segment without acknowledgment".to_owned());
        };
        let edge = ack + segment.window.bytes(self.scale);
        let step = 1 << self.scale.shift();
        if self.edge.is_some_and(|old| (edge + step).at_or_before(old)) {
            return Err("the advertised window moved left".to_owned());
        }
        if self.ack.is_some_and(|old| ack.before(old)) {
            return Err("the acknowledgment went back".to_owned());
        }
        self.edge = Some(self.edge.map_or(edge, |old| old.latest(edge)));
        self.ack = Some(ack);
        Ok(())
    }

    fn check_data(
        &mut self,
        connection: &Connection,
        before: &SendState,
        segment: &Segment,
    ) -> Result<(), String> {
        let after = connection.send_state();
        let end = segment.seq_end();
        let len = segment.payload_len;
        self.largest_smss = self.largest_smss.max(connection.smss());
        // A tail loss probe repeats a segment that was sent with the `MSS_c` of its time.
        let may_probe =
            self.policy.rack().is_some_and(|options| options.tlp) && segment.seq.before(before.max);
        let most = if may_probe { connection.smss() } else { after.mss_c };
        if segment.seq.before(before.una) || len > most {
            return Err(format!("{len} bytes with MSS_c {}", after.mss_c));
        }
        if end.after(before.max) {
            let probe = segment.seq_len() == 1 && before.nxt == before.una;
            if end.after(before.una + before.wnd) && !probe {
                return Err(format!("data beyond the peer's window of {}", before.wnd));
            }
        }
        let fresh = segment.seq == before.nxt && after.nxt == end;
        if !fresh {
            self.check_segments_in_flight(connection, before)?;
            self.check_retransmission(connection, before, segment)?;
        }
        if fresh {
            if segment.seq.before(self.small_end) {
                // Everything counts as unsent again, so the small segment does too.
                self.small_end = before.una;
            }
            self.check_congestion_window(connection, before, &after, segment)?;
            // The last segment of a closed stream is sent at once. It has the FIN, or precedes it
            // if the FIN does not fit into the peer's window.
            let ends = !connection.state().accepts_writes()
                && segment.seq + len == after.una + connection.unacknowledged();
            // F-RTO and probes of a sender that counts packets override Nagle's rule.
            // The pieces of a tail are one segment for it.
            let cut = matches!(self.policy.framing, Framing::Tail(_));
            let applies = self.nagle && self.policy.rack().is_none() && !cut;
            if applies && len > 0 && len < after.mss_c && !ends {
                if before.una.before(self.small_end) {
                    return Err("a second segment shorter than MSS_c is in flight".to_owned());
                }
                self.small_end = end;
            }
        }
        Ok(())
    }

    fn check_congestion_window(
        &self,
        connection: &Connection,
        before: &SendState,
        after: &SendState,
        segment: &Segment,
    ) -> Result<(), String> {
        // SACK1 counts acknowledgments instead of using a scoreboard, and may be wrong.
        let counts = after.recovering && self.policy.loss == LossResponse::Sack1;
        let limited = if self.policy.limited_transmit { 2 * after.mss_c } else { 0 };
        let fin = u32::from(segment.control == Control::Fin);
        let most = u64::from(connection.cwnd()) + u64::from(limited + fin);
        // A sender that counts packets sends the segment with the FIN in any case, and a tail loss
        // probe (RFC 8985 §7.3).
        let exempt = self.policy.rack().is_some_and(|options| fin > 0 || options.tlp);
        let first = segment.seq == after.una;
        if !counts && !first && !exempt && u64::from(after.in_network) > most {
            return Err(format!(
                "{} bytes in the network exceed cwnd {}",
                after.in_network,
                connection.cwnd()
            ));
        }
        let (Framing::VariableSize(regime, _) | Framing::FixedSize(regime, _)) =
            self.policy.framing
        else {
            return Ok(());
        };
        let smss = connection.smss();
        let small = connection.cwnd() < regime.cwnd_min(smss);
        if matches!(self.policy.framing, Framing::FixedSize(..)) {
            // Draft, section 6: a slow start begins with the initial window or with the loss
            // window. Both may have been wider before a reduction of the path MTU.
            let smss = self.largest_smss;
            let fixed = match self.policy.congestion {
                Congestion::Fixed(segments) => u32::from(segments) * smss,
                _ => 0,
            };
            let initial = self.policy.initial_window.bytes(smss).max(fixed);
            let cwnd0 = initial.max(u32::from(self.policy.loss_window) * smss);
            let reduced = (cwnd0 / regime.segments()).max(1);
            let wrong = small && segment.payload_len > reduced;
            return if wrong {
                Err(format!("more than {reduced} bytes in a small window"))
            } else {
                Ok(())
            };
        }
        self.check_segments_in_flight(connection, before)
    }

    /// Draft, section 6: not more than `n` segments in flight while the window is small. The first
    /// lost segment is retransmitted regardless (RFC 5681 §3.2, step 3; RFC 6675 §5, step (4.3)).
    fn check_segments_in_flight(
        &self,
        connection: &Connection,
        before: &SendState,
    ) -> Result<(), String> {
        let Framing::VariableSize(regime, _) = self.policy.framing else { return Ok(()) };
        let smss = connection.smss();
        // Variable-size framing leaves the regime with the maximum number of full-sized segments in
        // flight.
        let threshold = regime.cwnd_min(smss).min(regime.segments() * smss);
        let small = connection.cwnd() < threshold;
        // The state before the segment counts. If the segment is the beginning of a longer one that
        // may not be lost, the state after it has the rest of that as one more segment.
        let in_flight = before.network_segments + 1;
        let first = before.resend_first;
        // RFC 8985 §7.3: a tail loss probe is sent in any case.
        let probe = u32::from(self.policy.rack().is_some_and(|options| options.tlp));
        if small && !first && in_flight > regime.segments() + probe {
            return Err(format!("{in_flight} segments in flight in the small-window regime"));
        }
        Ok(())
    }

    /// Draft, section 6: full-sized segments above the threshold. Two adjacent lost segments that
    /// are retransmitted one after the other do not fit into one. TCP Santa Cruz numbers the
    /// transmissions of each segment, and keeps them.
    fn check_retransmission(
        &mut self,
        connection: &Connection,
        before: &SendState,
        segment: &Segment,
    ) -> Result<(), String> {
        let (Framing::VariableSize(regime, _) | Framing::FixedSize(regime, _)) =
            self.policy.framing
        else {
            return Ok(());
        };
        let keeps = segment.options.santa_cruz().is_some();
        let is_lost = before.next_lost == Some(segment.seq) && segment.payload_len > 0;
        let previous = std::mem::take(&mut self.retransmitted);
        if keeps || !is_lost || connection.cwnd() < regime.cwnd_min(connection.smss()) {
            return Ok(());
        }
        self.retransmitted = Some((segment.seq_end(), segment.payload_len));
        match previous {
            Some((end, len))
                if end == segment.seq && len + segment.payload_len <= connection.smss() =>
            {
                let lengths = format!("{len} and {} bytes", segment.payload_len);
                Err(format!("{lengths} that are lost are retransmitted separately"))
            }
            _ => Ok(()),
        }
    }
}

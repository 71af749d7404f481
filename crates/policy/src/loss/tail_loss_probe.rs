//! Tail loss probe (RFC 8985 §7): a segment that is sent when acknowledgments are overdue, so that
//! its acknowledgment reveals a loss at the end of a flight.

use units::Duration;
use wire::SeqNum;

/// State of the tail loss probe (RFC 8985 §7.1): at most one probe is outstanding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TailLossProbe {
    /// `TLP.end_seq`: SND.NXT when the probe was sent.
    end: Option<SeqNum>,
    /// `TLP.is_retrans`: whether the probe is a retransmission.
    resent: bool,
}

/// Facts of an acknowledgment for an outstanding probe.
#[derive(Debug, Clone, Copy)]
pub struct ProbeAck {
    /// Acknowledgment number.
    pub ack: SeqNum,
    /// Whether a DSACK reports the probe.
    pub dsack: bool,
    /// Whether the acknowledgment has no effect other than being a duplicate: it does not advance
    /// SND.UNA, has no new SACK information, no data and no window update.
    pub is_pure_duplicate: bool,
}

/// Conclusion from an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeVerdict {
    /// No probe is outstanding, or the acknowledgment says nothing about it.
    Open,
    /// Nothing was lost.
    NothingLost,
    /// The probe repaired a loss, so the window must be reduced (RFC 8985 §7.4.2).
    Repaired,
}

impl TailLossProbe {
    /// Minimum allowance of the probe timeout for timers: Linux's `TCP_TIMEOUT_MIN_US`.
    const MIN_ALLOWANCE: Duration = Duration::from_millis(2);
    /// Probe timeout before the first RTT measurement (RFC 8985 §7.2).
    const WITHOUT_RTT: Duration = Duration::from_secs(1);

    /// RFC 8985 §7.2: probe timeout. It is `2·SRTT`, plus an allowance for a delayed
    /// acknowledgment if a single segment is outstanding. Unlike there, that allowance is the
    /// minimum of the retransmission timeout (Linux) instead of `TLP.max_ack_delay`.
    pub fn timeout(srtt: Option<Duration>, outstanding: u32, rto_min: Duration) -> Duration {
        let Some(srtt) = srtt else { return Self::WITHOUT_RTT };
        srtt * 2 + if outstanding == 1 { rto_min } else { Self::MIN_ALLOWANCE }
    }

    /// Returns whether a probe is outstanding.
    pub fn is_outstanding(&self) -> bool {
        self.end.is_some()
    }

    /// `TLP.end_seq`, if a probe is outstanding.
    pub fn end(&self) -> Option<SeqNum> {
        self.end
    }

    /// Returns whether the outstanding probe is a retransmission.
    pub fn is_resent(&self) -> bool {
        self.end.is_some() && self.resent
    }

    /// RFC 8985 §7.3: notes that a probe was sent. `nxt` is SND.NXT after it.
    pub fn on_sent(&mut self, nxt: SeqNum, resent: bool) {
        *self = Self { end: Some(nxt), resent };
    }

    /// RFC 8985 §7.3: forgets the probe when recovery begins.
    pub fn cancel(&mut self) {
        self.end = None;
    }

    /// RFC 8985 §7.4.2: handles an acknowledgment after it was applied.
    pub fn on_ack(&mut self, ack: &ProbeAck) -> ProbeVerdict {
        let Some(end) = self.end.filter(|&end| ack.ack.at_or_after(end)) else {
            return ProbeVerdict::Open;
        };
        let verdict = if !self.resent || ack.dsack {
            ProbeVerdict::NothingLost
        } else if ack.ack.after(end) {
            ProbeVerdict::Repaired
        } else if ack.is_pure_duplicate {
            ProbeVerdict::NothingLost
        } else {
            return ProbeVerdict::Open;
        };
        self.end = None;
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// RFC 8985 §7.2, with Linux's allowances.
    #[test]
    fn probe_timeouts() {
        let table = [(Some(ms(100)), 2, ms(202)), (Some(ms(100)), 1, ms(400)), (None, 5, ms(1000))];
        for (srtt, outstanding, timeout) in table {
            assert_eq!(TailLossProbe::timeout(srtt, outstanding, ms(200)), timeout);
        }
    }

    /// RFC 8985 §7.4.2, row by row: acknowledgment relative to the end of the probe.
    #[test]
    fn conclusions_from_an_acknowledgment() {
        use ProbeVerdict::{NothingLost, Open, Repaired};
        let end = SeqNum::new(5000);
        let before = SeqNum::new(4999);
        let beyond = SeqNum::new(5001);
        // Is the probe a retransmission, acknowledgment, DSACK, pure duplicate.
        let table = [
            (false, before, false, false, Open),
            (false, end, false, false, NothingLost),
            (true, before, true, false, Open),
            (true, end, false, false, Open),
            (true, end, true, false, NothingLost),
            (true, end, false, true, NothingLost),
            (true, beyond, false, false, Repaired),
            (true, beyond, true, false, NothingLost),
        ];
        for (resent, ack, dsack, is_pure_duplicate, expected) in table {
            let mut probe = TailLossProbe::default();
            probe.on_sent(end, resent);
            let verdict = probe.on_ack(&ProbeAck { ack, dsack, is_pure_duplicate });
            assert_eq!(verdict, expected, "{resent} {ack:?} {dsack} {is_pure_duplicate}");
            assert_eq!(probe.is_outstanding(), expected == Open);
        }
    }
}

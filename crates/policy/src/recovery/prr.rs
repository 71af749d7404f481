//! Proportional Rate Reduction (RFC 9937): how much is sent for each acknowledgment of a recovery,
//! so that the window shrinks evenly to the slow start threshold.

/// State of PRR, in packets (RFC 9937 §5).
///
/// Unlike there, quantities are packets instead of bytes, as in Linux.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prr {
    /// `RecoverFS`: window before the reduction. Unlike RFC 9937 §6.1, this is the congestion
    /// window and not the data in flight.
    prior_cwnd: u32,
    /// `prr_delivered`: packets delivered since the reduction began.
    delivered: u32,
    /// `prr_out`: packets sent since the reduction began.
    sent: u32,
}

/// Facts of an acknowledgment during a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrrAck {
    /// `DeliveredData`: packets newly acknowledged or reported.
    pub delivered: u32,
    /// Packets that this acknowledgment showed to be lost.
    pub newly_lost: u32,
    /// Packets in flight after the acknowledgment was applied.
    pub in_flight: u32,
    /// Slow start threshold in packets.
    pub ssthresh: u32,
    /// Whether SND.UNA advanced.
    pub advances: bool,
}

impl Prr {
    /// RFC 9937 §6.1: begins a reduction of a window of `prior_cwnd` packets.
    pub fn begin(prior_cwnd: u32) -> Self {
        Self { prior_cwnd, delivered: 0, sent: 0 }
    }

    /// Window before the reduction, in packets.
    pub fn prior_cwnd(&self) -> u32 {
        self.prior_cwnd
    }

    /// RFC 9937 §6.2: returns the congestion window after an acknowledgment, in packets; `None` if
    /// nothing was delivered, and the window does not change.
    pub fn on_ack(&mut self, ack: &PrrAck) -> Option<u32> {
        if ack.delivered == 0 || self.prior_cwnd == 0 {
            return None;
        }
        self.delivered = self.delivered.saturating_add(ack.delivered);
        let mut send = if ack.in_flight > ack.ssthresh {
            // Proportional rate reduction.
            let target = u64::from(ack.ssthresh) * u64::from(self.delivered);
            let target = u32::try_from(target.div_ceil(u64::from(self.prior_cwnd)));
            target.unwrap_or(u32::MAX).saturating_sub(self.sent)
        } else {
            // Packet conservation bound (PRR-CRB), or slow start (PRR-SSRB) after an
            // acknowledgment that advances SND.UNA and reveals no further loss.
            let mut send = self.delivered.saturating_sub(self.sent).max(ack.delivered);
            if ack.advances && ack.newly_lost == 0 {
                send += 1;
            }
            send.min(ack.ssthresh - ack.in_flight)
        };
        if self.sent == 0 {
            // RFC 9937 §6.2: the first retransmission is always sent.
            send = send.max(1);
        }
        Some(ack.in_flight + send)
    }

    /// Notes that packets were sent during the reduction.
    pub fn on_sent(&mut self, packets: u32) {
        self.sent = self.sent.saturating_add(packets);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ack(delivered: u32, in_flight: u32, ssthresh: u32, advances: bool) -> PrrAck {
        PrrAck { delivered, newly_lost: 0, in_flight, ssthresh, advances }
    }

    /// RFC 9937 §6.2, branch by branch.
    #[test]
    fn windows_after_an_acknowledgment() {
        // Window of ten, threshold seven, one loss: the first acknowledgments send seven packets
        // for ten delivered.
        let mut prr = Prr::begin(10);
        let mut sent = 0;
        for (delivered, in_flight) in [(3, 8), (1, 8), (1, 8), (1, 8)] {
            let window = prr.on_ack(&ack(delivered, in_flight, 7, false)).unwrap();
            let now = window - in_flight;
            prr.on_sent(now);
            sent += now;
        }
        // ⌈7 · 6 / 10⌉ = 5.
        assert_eq!(sent, 5);
    }

    #[test]
    fn below_the_threshold_packets_are_conserved() {
        let mut prr = Prr::begin(10);
        prr.on_sent(4);
        assert_eq!(prr.on_ack(&ack(1, 2, 7, false)), Some(3));
        assert_eq!(prr.on_ack(&ack(2, 2, 7, true)), Some(5), "and one more in slow start");
        let lost = PrrAck { newly_lost: 1, ..ack(2, 2, 7, true) };
        assert_eq!(prr.on_ack(&lost), Some(4));
        assert_eq!(prr.on_ack(&ack(9, 5, 7, true)), Some(7), "at most the threshold");
    }

    #[test]
    fn the_first_retransmission_is_always_sent() {
        let mut prr = Prr::begin(10);
        assert_eq!(prr.on_ack(&ack(1, 7, 7, false)), Some(8));
        prr.on_sent(1);
        assert_eq!(prr.on_ack(&ack(0, 7, 7, false)), None);
        assert_eq!(prr.on_ack(&ack(1, 7, 7, false)), Some(7));
    }

    proptest! {
        /// RFC 9937 §3: while more than ssthresh is in flight, no more is sent than arrives in the
        /// proportion of the reduction.
        #[test]
        fn the_proportion_is_kept(
            prior in 2..500u32,
            deliveries in prop::collection::vec(1..10u32, 1..50),
        ) {
            let ssthresh = (prior * 7 / 10).max(1);
            let (mut prr, mut delivered, mut sent) = (Prr::begin(prior), 0, 0);
            for count in deliveries {
                let window = prr.on_ack(&ack(count, ssthresh + 1, ssthresh, true)).unwrap();
                let now = window - ssthresh - 1;
                prr.on_sent(now);
                delivered += count;
                sent += now;
                prop_assert!(sent <= (ssthresh * delivered).div_ceil(prior).max(1));
            }
        }
    }
}

//! Measured reordering of a connection.

use wire::SeqNum;

use super::DUP_THRESH;

/// Degree of reordering that the sender has observed: RFC 8985 §6.2, step 4, and Linux's
/// `tcp_check_sack_reordering`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reordering {
    degree: u32,
    seen: u32,
}

impl Default for Reordering {
    fn default() -> Self {
        Self { degree: DUP_THRESH, seen: 0 }
    }
}

impl Reordering {
    /// Maximum degree: Linux's `tcp_max_reordering`.
    const MAX: u32 = 300;

    /// Notes that data at `low` that was never retransmitted was delivered after data up to
    /// `highest`, the sequence number after the highest reported segment. `mss` is the segment
    /// size in bytes. Has no effect if `low` is not below `highest`.
    pub fn observe(&mut self, low: SeqNum, highest: SeqNum, mss: u32) {
        if !low.before(highest) {
            return;
        }
        let distance = highest.distance_from(low);
        if mss > 0 && distance > self.degree.saturating_mul(mss) {
            self.degree = distance.div_ceil(mss).min(Self::MAX);
        }
        self.seen = self.seen.saturating_add(1);
    }

    /// Notes, without SACK, more duplicates than a hole can cause. `packets` is the number of
    /// packets that they displace.
    pub fn observe_packets(&mut self, packets: u32) {
        self.degree = self.degree.max(packets.min(Self::MAX));
        self.seen = self.seen.saturating_add(1);
    }

    /// Number of packets by which the network displaces a packet: initially three, and never less.
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// Number of times that reordering was observed.
    pub fn seen(&self) -> u32 {
        self.seen
    }

    /// Returns whether the observed degree exceeds the duplicate threshold.
    pub fn is_high(&self) -> bool {
        self.degree > DUP_THRESH
    }

    /// Notes a timeout although many segments had been reported: the degree was overestimated.
    /// `reported` is the number of reported segments.
    pub fn limit_after_timeout(&mut self, reported: u32) {
        if reported >= DUP_THRESH {
            self.degree = self.degree.min(DUP_THRESH);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Degrees measured with segments of 1000 bytes: `high` is the end of the highest reported
    /// segment, `low` the beginning of the late one.
    #[test]
    fn the_degree_is_the_distance_in_segments() {
        let table = [(9001, 3001, 6), (8001, 3001, 5), (8001, 5001, 3), (9001, 9001, 3)];
        for (high, low, degree) in table {
            let mut reordering = Reordering::default();
            reordering.observe(SeqNum::new(low), SeqNum::new(high), 1000);
            assert_eq!(reordering.degree(), degree, "{low} after {high}");
            assert_eq!(reordering.seen(), u32::from(low != high));
        }
    }

    #[test]
    fn the_degree_is_limited() {
        let mut reordering = Reordering::default();
        reordering.observe(SeqNum::new(0), SeqNum::new(5_000_000), 1000);
        assert_eq!(reordering.degree(), 300);
        reordering.limit_after_timeout(2);
        assert!(reordering.is_high());
        reordering.limit_after_timeout(3);
        assert_eq!(reordering.degree(), DUP_THRESH);
    }
}

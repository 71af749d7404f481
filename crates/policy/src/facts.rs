//! Facts that a policy receives, one struct per kind of fact.

use units::{Duration, Instant};
use wire::SeqNum;

/// State of the sender. Sizes are in bytes unless the field says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendView {
    /// Sender maximum segment size (RFC 5681 §2): the payload of a full-sized segment, in bytes.
    pub smss: u32,
    /// Congestion window in force, in bytes, with the inflation during fast recovery.
    pub cwnd: u32,
    /// `FlightSize` (RFC 5681 §2): number of sequence numbers in flight.
    pub flight: u32,
    /// Number of segments sent and not yet acknowledged.
    pub flight_segments: u32,
}

/// Growth that an acknowledgment allows the window. The segmenter decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// Slow start adds `step` per ACK. Congestion avoidance adds `step · per_rtt / cwnd`, which
    /// sums to `per_rtt` in a round trip. RFC 5681 has `SMSS` for both.
    Standard {
        /// Bytes that an ACK adds in slow start: the paper's `MSS_c`.
        step: u32,
        /// Bytes that a round trip adds in congestion avoidance.
        per_rtt: u32,
    },
    /// The window becomes at least this wide, in bytes. Variable-size framing uses this while the
    /// window is small.
    Window(u32),
}

/// An acknowledgment of new data, with the state of the sender before it sends anything in
/// response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckSample {
    /// Number of bytes newly acknowledged.
    pub acked: u32,
    /// Sender maximum segment size in bytes.
    pub smss: u32,
    /// Whether the sender was application-limited when it sent the acknowledged data: something
    /// other than the window limited it.
    pub app_limited: bool,
    /// Arrival time of the acknowledgment.
    pub now: Instant,
    /// Round-trip time of the newest segment that the acknowledgment covers, to the nanosecond.
    /// `None` where Karn's rule (RFC 6298 §3) forbids the measurement.
    pub rtt: Option<Duration>,
    /// SND.UNA, equal to the acknowledgment number.
    pub una: SeqNum,
    /// SND.NXT. A window has passed once a sequence number beyond it is acknowledged.
    pub nxt: SeqNum,
    /// Forward-path sample of the transmission that caused the acknowledgment, with TCP Santa Cruz.
    pub forward: Option<ForwardSample>,
}

impl AckSample {
    /// Number of bytes in flight: SND.NXT − SND.UNA.
    pub fn flight(&self) -> u32 {
        self.nxt.distance_from(self.una)
    }
}

/// Report in an acknowledgment about the transmission that caused it. It measures the forward path
/// without the return path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForwardSample {
    /// Arrival time of the acknowledgment.
    pub now: Instant,
    /// Sequence number of the transmission.
    pub seq: SeqNum,
    /// Time at which the transmission was sent.
    pub sent_at: Instant,
    /// Arrival time at the peer, in microseconds of the peer's clock. The counter wraps.
    pub arrived_us: u32,
    /// Bytes known to have arrived by then, since the connection began.
    pub delivered: u64,
    /// Round-trip time smoothed over every acknowledged transmission including this one, to the
    /// nanosecond.
    pub srtt: Duration,
}

impl ForwardSample {
    /// The reported transmission.
    pub fn transmission(&self) -> Transmission {
        Transmission { sent_at: self.sent_at, seq: self.seq }
    }
}

/// A transmission of a segment. Transmissions are ordered by time; of those at the same time, the
/// lower sequence number counts as earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// Time at which it was sent.
    pub sent_at: Instant,
    /// First sequence number of the segment.
    pub seq: SeqNum,
}

impl Transmission {
    /// Returns whether this transmission was sent later than `other`.
    pub fn is_after(&self, other: &Self) -> bool {
        self.sent_at > other.sent_at || self.sent_at == other.sent_at && self.seq.after(other.seq)
    }
}

/// A loss, detected in any way, or a congestion mark of a router instead of a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossSample {
    /// Sender maximum segment size in bytes.
    pub smss: u32,
    /// `FlightSize` (RFC 5681 §2) in bytes at the time of detection.
    pub flight: u32,
    /// Size of the first unacknowledged segment, in bytes.
    pub segment: u32,
    /// Number of duplicate acknowledgments counted.
    pub duplicates: u32,
    /// Loss window in bytes (RFC 5681 §3.1): the window with which slow start begins after a
    /// timeout.
    pub loss_window: u32,
    /// Time of detection.
    pub now: Instant,
    /// Time of the last transmission of the first unacknowledged segment; `None` if nothing is in
    /// flight.
    pub sent_at: Option<Instant>,
    /// Whether the first unacknowledged segment had been retransmitted.
    pub resent: bool,
    /// Whether the retransmission timer detected the loss.
    pub timer_expired: bool,
    /// Whether the window has already been reduced for this data: the retransmission timer has
    /// expired for it before, or a mark of a router preceded the loss.
    pub already_reduced: bool,
}

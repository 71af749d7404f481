//! What a policy is told: one struct per fact.

use units::{Duration, Instant};
use wire::SeqNum;

/// The sender as it stands, in bytes where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendView {
    /// The sender maximum segment size (RFC 5681 §2): what a full-sized segment carries.
    pub smss: u32,
    /// The congestion window in force, inflation during fast recovery included.
    pub cwnd: u32,
    /// Sequence space sent and not acknowledged.
    pub flight: u32,
    /// Segments sent and not acknowledged.
    pub flight_segments: u32,
}

/// How an acknowledgment may widen the window; the segmenter decides which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// Slow start adds `step` an ACK; congestion avoidance adds `step · per_rtt / cwnd`, which sums
    /// to `per_rtt` in a round trip. RFC 5681 has `SMSS` for both.
    Standard {
        /// Bytes an ACK adds in slow start: the paper's `MSS_c`.
        step: u32,
        /// Bytes a round trip adds in congestion avoidance.
        per_rtt: u32,
    },
    /// The window becomes at least this wide: variable-size framing says so while the window is
    /// small.
    Window(u32),
}

/// An acknowledgment of new data, as the sender stands before anything is sent for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckSample {
    /// Bytes newly acknowledged.
    pub acked: u32,
    /// The sender maximum segment size.
    pub smss: u32,
    /// The window wasn't what held the sender back when the acknowledged data were sent.
    pub app_limited: bool,
    /// When it came.
    pub now: Instant,
    /// The round-trip time it measures, to the nanosecond: of the newest segment that it
    /// acknowledges. `None` where Karn's rule (RFC 6298 §3) forbids to say.
    pub rtt: Option<Duration>,
    /// SND.UNA, which is what it acknowledges.
    pub una: SeqNum,
    /// SND.NXT: once something beyond it is acknowledged, a window has passed.
    pub nxt: SeqNum,
    /// What it says of the transmission that caused it, with a peer that says so.
    pub forward: Option<ForwardSample>,
}

impl AckSample {
    /// Bytes in flight.
    pub fn flight(&self) -> u32 {
        self.nxt.distance_from(self.una)
    }
}

/// What an acknowledgment says of the transmission that caused it: the way there, without the way
/// back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForwardSample {
    /// When the acknowledgment came.
    pub now: Instant,
    /// The sequence number of the transmission.
    pub seq: SeqNum,
    /// When it was sent.
    pub sent_at: Instant,
    /// When it arrived: microseconds by the peer's clock, which wrap.
    pub arrived_us: u32,
    /// The bytes known to have arrived by then, since the connection began.
    pub delivered: u64,
    /// The round-trip time, smoothed over every transmission that was acknowledged, this one
    /// included, to the nanosecond.
    pub srtt: Duration,
}

/// A loss, however it was noticed, or a router's mark in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossSample {
    /// The sender maximum segment size.
    pub smss: u32,
    /// `FlightSize` (RFC 5681 §2) when the loss was noticed.
    pub flight: u32,
    /// The size of the first unacknowledged segment.
    pub segment: u32,
    /// Duplicate acknowledgments counted.
    pub duplicates: u32,
    /// The loss window in bytes: what a restarted slow start begins with.
    pub loss_window: u32,
    /// When it was noticed.
    pub now: Instant,
    /// When the first unacknowledged segment last left; `None` if nothing is in flight.
    pub sent_at: Option<Instant>,
    /// That one had been sent before.
    pub resent: bool,
}

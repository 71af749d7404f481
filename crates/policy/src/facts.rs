//! What a policy is told: one struct per fact.

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
    /// Slow start adds `step` an ACK; congestion avoidance adds `step · per_rtt / cwnd`, which sums to
    /// `per_rtt` in a round trip. RFC 5681 has `SMSS` for both.
    Standard {
        /// Bytes an ACK adds in slow start: the paper's `MSS_c`.
        step: u32,
        /// Bytes a round trip adds in congestion avoidance.
        per_rtt: u32,
    },
    /// The window becomes at least this wide: variable-size framing says so while the window is small.
    Window(u32),
}

/// An acknowledgment of new data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckSample {
    /// Bytes newly acknowledged.
    pub acked: u32,
    /// How the window may grow.
    pub growth: Growth,
    /// The window wasn't what held the sender back when the acknowledged data were sent.
    pub app_limited: bool,
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
}

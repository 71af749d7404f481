//! Values of the columns that have a fixed list of names: events of packets, causes of recoveries,
//! and sampled quantities.

/// The kind of a packet's event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketEvent {
    /// An end sent the packet.
    Sent,
    /// The other end received the packet.
    Arrived,
    /// A link had no room for the packet.
    DroppedBuffer,
    /// A link lost the packet.
    DroppedLoss,
    /// A link's discipline dropped the packet although there was room.
    DroppedEarly,
    /// A link's discipline marked the packet.
    Marked,
}

impl PacketEvent {
    pub(super) const NAMES: [&str; 6] =
        ["sent", "arrived", "dropped-buffer", "dropped-loss", "dropped-early", "marked"];

    /// The code in the column `event`.
    pub const fn code(self) -> u32 {
        self as u32
    }
}

/// The way in which a loss was detected, or the mark that had the same response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Duplicate acknowledgments or SACK.
    FastRetransmit,
    /// The retransmission timer, with data outstanding.
    Timeout,
    /// The retransmission timer, during the handshake.
    SynTimeout,
    /// No loss: a router's mark, echoed by the receiver.
    Ecn,
    /// A tail loss probe. Whether a loss occurred is not known.
    LossProbe,
    /// No loss is known: the last segment of a write is sent a second time (`dup-tail`).
    TailCopy,
}

impl Cause {
    pub(super) const NAMES: [&str; 6] =
        ["fast-retransmit", "timeout", "syn-timeout", "ecn", "loss-probe", "tail-copy"];

    /// The code in the column `cause`.
    pub const fn code(self) -> u32 {
        self as u32
    }
}

/// The quantity that a sample measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A flow's congestion window, in bytes.
    CwndBytes,
    /// A flow's slow start threshold, in bytes.
    SsthreshBytes,
    /// A flow's `FlightSize` (RFC 5681 §2), in bytes.
    FlightBytes,
    /// Bytes in a link's queue.
    QueueBytes,
    /// Packets in a link's queue.
    QueuePackets,
    /// The relative delay on the forward path since the flow's first packet, in seconds (TCP Santa
    /// Cruz).
    ForwardDelay,
    /// The relative delay of acknowledgments on the return path, in seconds.
    ReturnDelay,
    /// A flow's estimate of its packets queued at the bottleneck.
    WaitingPackets,
    /// Reports of packets that overtook earlier ones on the forward path, so far.
    ForwardReordered,
    /// Reports that arrived after a report of a later arrival, so far.
    ReturnReordered,
}

impl Quantity {
    pub(super) const NAMES: [&str; 10] = [
        "cwnd_bytes",
        "ssthresh_bytes",
        "flight_bytes",
        "queue_bytes",
        "queue_packets",
        "forward_delay_s",
        "return_delay_s",
        "waiting_packets",
        "forward_reordered",
        "return_reordered",
    ];

    /// The code in the column `quantity`.
    pub const fn code(self) -> u32 {
        self as u32
    }
}

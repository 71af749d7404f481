//! Names of what a classified retransmission has.

/// Cause of a retransmission: the rule or the timer that made the sender transmit again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Three duplicate acknowledgments without SACK (RFC 5681 §3.2).
    ThreeDuplicates,
    /// Three segments above the lost one are sacked (RFC 6675 §3).
    Sack,
    /// The highest sacked byte is more than three segments above the lost one (FACK).
    Fack,
    /// Fewer than four segments in flight, and all but the lost one are acknowledged (RFC 5827).
    EarlyRetransmit,
    /// An acknowledgment of later data, without a timer (RFC 8985 §6.2).
    Rack,
    /// The timer of RACK's reordering window (RFC 8985 §6.3).
    RackTimer,
    /// A tail loss probe that repeats the last segment (RFC 8985 §7.3).
    TailLossProbe,
    /// The acknowledgment of a tail loss probe with new data.
    ProbeOfNewData,
    /// The retransmission timeout (RFC 6298 §5).
    Timeout,
    /// A further repair of the same fast recovery.
    Recovery,
    /// A further repair after a retransmission timeout.
    SlowStart,
    /// A repair was lost, and acknowledgments of later data reveal it.
    LostRetransmission,
    /// The timeout of a SYN.
    SynTimeout,
    /// The timeout of a SYN-ACK.
    SynAckTimeout,
    /// Smaller segments in place of one that exceeds the path MTU (RFC 1191).
    PathMtu,
    /// None of these agrees with the capture.
    Unknown,
}

impl Cause {
    /// All causes, in the order of their numbers.
    pub const ALL: [Self; 16] = [
        Self::ThreeDuplicates,
        Self::Sack,
        Self::Fack,
        Self::EarlyRetransmit,
        Self::Rack,
        Self::RackTimer,
        Self::TailLossProbe,
        Self::ProbeOfNewData,
        Self::Timeout,
        Self::Recovery,
        Self::SlowStart,
        Self::LostRetransmission,
        Self::SynTimeout,
        Self::SynAckTimeout,
        Self::PathMtu,
        Self::Unknown,
    ];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ThreeDuplicates => "three_duplicates",
            Self::Sack => "sack",
            Self::Fack => "fack",
            Self::EarlyRetransmit => "early_retransmit",
            Self::Rack => "rack",
            Self::RackTimer => "rack_timer",
            Self::TailLossProbe => "tail_loss_probe",
            Self::ProbeOfNewData => "probe_of_new_data",
            Self::Timeout => "timeout",
            Self::Recovery => "recovery",
            Self::SlowStart => "slow_start",
            Self::LostRetransmission => "lost_retransmission",
            Self::SynTimeout => "syn_timeout",
            Self::SynAckTimeout => "syn_ack_timeout",
            Self::PathMtu => "path_mtu",
            Self::Unknown => "unknown",
        }
    }
}

/// Degree to which the capture supports a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Another cause agrees with the capture as well.
    Low,
    /// The rule is fulfilled, but a fact is estimated.
    Medium,
    /// The rule is fulfilled by observed facts, and no other is.
    High,
}

impl Confidence {
    /// All degrees, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Evidence that a retransmission was not necessary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spurious {
    /// No evidence.
    No,
    /// The receiver reports a duplicate (DSACK, RFC 2883).
    Dsack,
    /// An acknowledgment echoes the timestamp of the original (Eifel, RFC 3522).
    Eifel,
    /// An acknowledgment arrives too early for the retransmission.
    Early,
    /// After a timeout, an acknowledgment of data that was not sent again (F-RTO, RFC 5682).
    ForwardRto,
    /// The data had been acknowledged before.
    Acknowledged,
}

impl Spurious {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::No, Self::Dsack, Self::Eifel, Self::Early, Self::ForwardRto, Self::Acknowledged];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Dsack => "dsack",
            Self::Eifel => "eifel",
            Self::Early => "early_ack",
            Self::ForwardRto => "f_rto",
            Self::Acknowledged => "acknowledged",
        }
    }
}

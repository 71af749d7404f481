//! The states of a connection (RFC 9293 §3.3.2).

use std::fmt;

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a peer to open.
    Listen,
    /// A SYN was sent.
    SynSent,
    /// A SYN was received and answered.
    SynReceived,
    /// Data flows both ways.
    Established,
    /// Closed here, not yet acknowledged.
    FinWait1,
    /// Closed here, the peer may still send.
    FinWait2,
    /// Closed by the peer, not yet here.
    CloseWait,
    /// Both closed at once; ours isn't acknowledged yet.
    Closing,
    /// Closed by the peer and then here; ours isn't acknowledged yet.
    LastAck,
    /// Both closed; waiting until no old segment can be left.
    TimeWait,
}

impl State {
    /// Both ends know each other's initial sequence number (RFC 9293 §3.5.2).
    pub const fn is_synchronized(self) -> bool {
        !matches!(self, Self::Closed | Self::Listen | Self::SynSent | Self::SynReceived)
    }

    /// The peer may still send data.
    pub const fn can_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Data and a FIN may leave: the connection is open, or closing with something yet to be
    /// acknowledged.
    pub const fn can_send(self) -> bool {
        matches!(
            self,
            Self::Established | Self::CloseWait | Self::FinWait1 | Self::Closing | Self::LastAck
        )
    }

    /// The user may still write.
    pub const fn accepts_writes(self) -> bool {
        matches!(self, Self::SynSent | Self::SynReceived | Self::Established | Self::CloseWait)
    }

    /// RFC 9293 §3.10.4, CLOSE: the next state, `None` where the call has no effect.
    pub(crate) const fn closed_by_user(self) -> Option<Self> {
        match self {
            Self::Listen | Self::SynSent => Some(Self::Closed),
            Self::Established => Some(Self::FinWait1),
            Self::CloseWait => Some(Self::LastAck),
            _ => None,
        }
    }

    /// RFC 9293 §3.10.5, ABORT: the peer is told. After both have closed there is nothing to abort.
    pub(crate) const fn is_reset_by_abort(self) -> bool {
        matches!(
            self,
            Self::SynReceived
                | Self::Established
                | Self::FinWait1
                | Self::FinWait2
                | Self::CloseWait
        )
    }

    /// The peer acknowledged our FIN (RFC 9293 §3.10.7.4, fifth step).
    pub(crate) const fn fin_acknowledged(self) -> Self {
        match self {
            Self::FinWait1 => Self::FinWait2,
            Self::Closing => Self::TimeWait,
            Self::LastAck => Self::Closed,
            other => other,
        }
    }

    /// The peer's FIN arrived in order (RFC 9293 §3.10.7.4, eighth step).
    pub(crate) const fn fin_received(self) -> Self {
        match self {
            Self::SynReceived | Self::Established => Self::CloseWait,
            Self::FinWait1 => Self::Closing,
            Self::FinWait2 => Self::TimeWait,
            other => other,
        }
    }
}

/// Prints the RFC's name, e.g. `FIN-WAIT-1`.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Closed => "CLOSED",
            Self::Listen => "LISTEN",
            Self::SynSent => "SYN-SENT",
            Self::SynReceived => "SYN-RECEIVED",
            Self::Established => "ESTABLISHED",
            Self::FinWait1 => "FIN-WAIT-1",
            Self::FinWait2 => "FIN-WAIT-2",
            Self::CloseWait => "CLOSE-WAIT",
            Self::Closing => "CLOSING",
            Self::LastAck => "LAST-ACK",
            Self::TimeWait => "TIME-WAIT",
        })
    }
}

//! States of a connection (RFC 9293 §3.3.2).

use std::fmt;

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// No connection.
    Closed,
    /// The connection waits for a SYN.
    Listen,
    /// A SYN was sent.
    SynSent,
    /// A SYN was received and answered.
    SynReceived,
    /// Data flows in both directions.
    Established,
    /// The local end closed; its FIN is not acknowledged yet.
    FinWait1,
    /// The local end closed and its FIN is acknowledged; the peer may still send.
    FinWait2,
    /// The peer closed; the local end has not.
    CloseWait,
    /// Both ends closed simultaneously; the local FIN is not acknowledged yet.
    Closing,
    /// The peer closed first, then the local end; the local FIN is not acknowledged yet.
    LastAck,
    /// Both ends closed; the connection waits until all old segments have left the network.
    TimeWait,
}

impl State {
    /// Returns whether both ends know each other's initial sequence number (RFC 9293 §3.5.2).
    pub const fn is_synchronized(self) -> bool {
        !matches!(self, Self::Closed | Self::Listen | Self::SynSent | Self::SynReceived)
    }

    /// Returns whether the peer may still send data.
    pub const fn can_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Returns whether data or a FIN may be sent: the connection is open, or closing with data or a
    /// FIN unacknowledged.
    pub const fn can_send(self) -> bool {
        matches!(
            self,
            Self::Established | Self::CloseWait | Self::FinWait1 | Self::Closing | Self::LastAck
        )
    }

    /// Returns whether the application may still write.
    pub const fn accepts_writes(self) -> bool {
        matches!(self, Self::SynSent | Self::SynReceived | Self::Established | Self::CloseWait)
    }

    /// Returns whether RFC 9293 has the transition from this state to `next`, in Figure 5 or in the
    /// text of §3.10. Every state may become CLOSED: by a user call, a reset or a timeout.
    /// TIME-WAIT begins again when the peer's FIN arrives again.
    pub(crate) const fn may_become(self, next: Self) -> bool {
        match next {
            Self::Closed => true,
            Self::Listen => matches!(self, Self::Closed | Self::SynReceived),
            Self::SynSent => matches!(self, Self::Closed | Self::Listen),
            Self::SynReceived => matches!(self, Self::Listen | Self::SynSent),
            Self::Established => matches!(self, Self::SynSent | Self::SynReceived),
            Self::FinWait1 | Self::CloseWait => matches!(self, Self::Established),
            Self::FinWait2 | Self::Closing => matches!(self, Self::FinWait1),
            Self::LastAck => matches!(self, Self::CloseWait),
            Self::TimeWait => matches!(self, Self::FinWait2 | Self::Closing | Self::TimeWait),
        }
    }

    /// RFC 9293 §3.10.4, CLOSE: returns the next state; `None` if the call has no effect.
    pub(crate) const fn closed_by_user(self) -> Option<Self> {
        match self {
            Self::Listen | Self::SynSent => Some(Self::Closed),
            Self::Established => Some(Self::FinWait1),
            Self::CloseWait => Some(Self::LastAck),
            _ => None,
        }
    }

    /// RFC 9293 §3.10.5, ABORT: returns whether a reset is sent. After both ends have closed, there
    /// is nothing to abort.
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

    /// RFC 9293 §3.10.7.4, fifth step: returns the next state after the peer acknowledged the local
    /// FIN.
    pub(crate) const fn fin_acknowledged(self) -> Self {
        match self {
            Self::FinWait1 => Self::FinWait2,
            Self::Closing => Self::TimeWait,
            Self::LastAck => Self::Closed,
            other => other,
        }
    }

    /// RFC 9293 §3.10.7.4, eighth step: returns the next state after the peer's FIN arrived in
    /// order.
    pub(crate) const fn fin_received(self) -> Self {
        match self {
            Self::SynReceived | Self::Established => Self::CloseWait,
            Self::FinWait1 => Self::Closing,
            Self::FinWait2 => Self::TimeWait,
            other => other,
        }
    }
}

/// Prints the name in the RFC, e.g. `FIN-WAIT-1`.
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

//! Position of the capture on the path.

use units::Duration;

/// Position of the capture with respect to a sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vantage {
    /// Unknown, because the capture has no handshake.
    #[default]
    Unknown,
    /// At the sender.
    Sender,
    /// Between both ends.
    Middle,
    /// At the receiver.
    Receiver,
}

impl Vantage {
    /// All positions, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Unknown, Self::Sender, Self::Middle, Self::Receiver];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Sender => "sender",
            Self::Middle => "middle",
            Self::Receiver => "receiver",
        }
    }

    /// Position with respect to the other end.
    pub(crate) const fn of_other_end(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
            other => other,
        }
    }

    /// Position of a capture, by the round-trip times from it to the sender (`lag`) and to the
    /// receiver. An end answers within a tenth of the whole, or within a millisecond.
    pub fn of(lag: Duration, rest: Duration) -> Self {
        let near = |one: Duration, other: Duration| {
            one <= Duration::from_millis(1) && one < other || one * 10 <= one + other
        };
        match (near(lag, rest), near(rest, lag)) {
            (true, _) => Self::Sender,
            (_, true) => Self::Receiver,
            _ => Self::Middle,
        }
    }
}

//! Packets as a sender's model sees them, and what they do.

use units::Instant;
use wire::{SackBlocks, SeqNum};

/// A packet with data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Data {
    pub(crate) at: Instant,
    pub(crate) frame: u64,
    pub(crate) seq: SeqNum,
    /// Length in sequence numbers, with FIN.
    pub(crate) len: u32,
    /// Length of the payload in bytes.
    pub(crate) payload: u32,
    /// Length of the headers of IP and TCP in bytes.
    pub(crate) header: u16,
    pub(crate) tsval: Option<u32>,
    /// Timestamp of the latest acknowledgment that the sender had received.
    pub(crate) tsecr: Option<u32>,
    pub(crate) identification: u16,
}

/// An acknowledgment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ack {
    pub(crate) at: Instant,
    pub(crate) number: SeqNum,
    /// Window in bytes.
    pub(crate) window: u32,
    pub(crate) tsval: Option<u32>,
    pub(crate) tsecr: Option<u32>,
    pub(crate) sack: SackBlocks,
    /// Whether the packet may count as a duplicate: no data, SYN or FIN (RFC 5681 §2).
    pub(crate) is_pure: bool,
}

/// Role of a packet with data in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// New data.
    New,
    /// Data that was sent again.
    Retransmission,
    /// Data that overtook later data.
    Reordered,
    /// A keep-alive (RFC 9293 §3.8.4).
    KeepAlive,
    /// A probe of a closed window (RFC 9293 §3.8.6.1).
    WindowProbe,
}

/// Effect of an acknowledgment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, counted one by one")]
pub struct Effect {
    /// Whether it is a duplicate (RFC 5681 §2).
    pub duplicate: bool,
    /// Whether it reports data that arrived twice (RFC 2883).
    pub dsack: bool,
    /// Whether it acknowledges data that the capture does not have.
    pub unseen: bool,
    /// Whether it acknowledges data for the first time.
    pub advances: bool,
    /// Bytes that it acknowledges for the first time.
    pub acked: u64,
    /// Window in bytes.
    pub window: u32,
    /// Whether the window differs from that of the acknowledgment before.
    pub updates_window: bool,
}

impl Role {
    /// All roles, in the order of their numbers.
    pub const ALL: [Self; 5] =
        [Self::New, Self::Retransmission, Self::Reordered, Self::KeepAlive, Self::WindowProbe];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Retransmission => "retransmission",
            Self::Reordered => "reordered",
            Self::KeepAlive => "keep_alive",
            Self::WindowProbe => "window_probe",
        }
    }

    /// Whether the packet carries data for the first time.
    pub(crate) fn is_original(self) -> bool {
        matches!(self, Self::New | Self::Reordered)
    }
}

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
pub(crate) enum Role {
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
pub(crate) struct Effect {
    /// Whether it is a duplicate (RFC 5681 §2).
    pub(crate) duplicate: bool,
    /// Whether it reports data that arrived twice (RFC 2883).
    pub(crate) dsack: bool,
    /// Whether it acknowledges data that the capture does not have.
    pub(crate) unseen: bool,
    /// Whether it acknowledges data for the first time.
    pub(crate) advances: bool,
}

//! Packets as a sender's model sees them, and what they do.

use units::{Duration, Instant};
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
    /// PSH, which systems set at the end of a write.
    pub(crate) push: bool,
}

impl Data {
    /// Whether this has the last bytes of an earlier packet, and no others.
    pub(super) fn ends_with(&self, earlier: &Self) -> bool {
        let end = |data: &Self| data.seq.value().wrapping_add(data.len);
        end(self) == end(earlier) && self.len <= earlier.len
    }

    /// Whether this is a copy of the end of an earlier packet, and not a new transmission. It
    /// [ends with](Self::ends_with) the same bytes.
    ///
    /// Systems that number their packets give a new one another identification, and it has another
    /// timestamp if the sender's clock has ticked (RFC 7323 §4.1). `ticks` is the period of that
    /// clock if it is known. Otherwise the time decides: no rule transmits data twice within
    /// `reaction`, unless the sender has `news`. A sender may also make copies itself.
    pub(super) fn copies(
        &self,
        earlier: &Self,
        ticks: Option<Duration>,
        reaction: Duration,
        news: bool,
    ) -> bool {
        if (self.tsval, self.tsecr) != (earlier.tsval, earlier.tsecr) {
            return false;
        }
        let waited = self.at.since(earlier.at);
        let is_numbered = self.identification != 0 && self.len == earlier.len;
        is_numbered && self.identification == earlier.identification
            || self.tsval.is_some() && ticks.is_some_and(|ticks| waited >= ticks)
            || waited <= reaction && !news
    }
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
    /// A copy of the packet before, with its header.
    Duplicate,
    /// A copy of the packet before, with a header of its own: the sender repeated its latest data
    /// before it could know of a loss.
    SenderCopy,
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
    pub const ALL: [Self; 7] = [
        Self::New,
        Self::Retransmission,
        Self::Reordered,
        Self::Duplicate,
        Self::SenderCopy,
        Self::KeepAlive,
        Self::WindowProbe,
    ];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Retransmission => "retransmission",
            Self::Reordered => "reordered",
            Self::Duplicate => "duplicate",
            Self::SenderCopy => "sender_copy",
            Self::KeepAlive => "keep_alive",
            Self::WindowProbe => "window_probe",
        }
    }

    /// Whether the packet carries data for the first time.
    pub(crate) fn is_original(self) -> bool {
        matches!(self, Self::New | Self::Reordered)
    }
}

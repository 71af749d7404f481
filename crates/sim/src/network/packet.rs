//! A packet on the network.

use wire::{Ecn, Segment};

/// A segment on the network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    pub(crate) segment: Segment,
    /// The size on the wire, in bytes.
    pub(crate) bytes: u32,
    /// The flow's slot in the flow table.
    pub(crate) slot: u32,
    /// The flow's identity in the links' random draws.
    pub(crate) identity: u64,
    /// The packet's number in its flow.
    pub(crate) serial: u32,
    /// The packet's path, and the number of its links that the packet has passed.
    pub(crate) path_id: PathId,
    pub(crate) hop: u16,
    /// The packet's current or next link is the last of its path. Stored, so that an arrival needs
    /// no look-up.
    pub(crate) at_last: bool,
}

impl Packet {
    /// The end of the flow that receives the packet.
    #[inline]
    pub(crate) fn end(&self) -> End {
        if self.path_id.back { End::Sender } else { End::Receiver }
    }

    /// RFC 3168 §5: sets Congestion Experienced.
    pub(super) fn mark(&mut self) {
        self.segment.flags = self.segment.flags.with_ecn(Ecn::Ce);
    }
}

/// The path of a workload's data, or of its acknowledgments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathId {
    pub(crate) workload: u16,
    pub(crate) back: bool,
}

/// One of a flow's two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The end that sends data.
    Sender,
    /// The end that receives data.
    Receiver,
}

/// The size of a segment's packet in bytes: with headers of a fixed size, or with those that its
/// options need.
pub(crate) fn wire_bytes(segment: &Segment, header: Option<u16>) -> u32 {
    let Some(bytes) = header else {
        // A copy: the address of the original would force it into memory wherever it is used.
        let segment = *segment;
        return segment.ipv4_len();
    };
    u32::from(bytes) + segment.payload_len
}

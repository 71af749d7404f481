//! The packet that an ICMP error is about.

use std::net::IpAddr;

use crate::ip;
use crate::seq::SeqNum;
use crate::tcp::Ports;

/// The start of a packet that an error quotes: its headers, and eight bytes behind them at least
/// (RFC 792), unless somebody made it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote<'a> {
    bytes: &'a [u8],
}

/// What identifies a segment: enough to find its connection and to see whether that has sent it
/// (RFC 5927 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QuotedSegment {
    /// Where the segment came from.
    pub source: IpAddr,
    /// Where it went to.
    pub destination: IpAddr,
    /// Its ports.
    pub ports: Ports,
    /// Its sequence number.
    pub seq: SeqNum,
    /// The bytes of its packet, headers included.
    pub packet_len: usize,
}

impl<'a> Quote<'a> {
    /// The start of a packet, as long as it is; an error takes what it may carry.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// What is quoted.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn first(self, most: usize) -> Self {
        Self { bytes: self.bytes.get(..most).unwrap_or(self.bytes) }
    }

    /// The packet, of which the end is missing.
    ///
    /// # Errors
    /// When there is no whole IP header.
    pub fn packet(&self) -> Result<ip::View<'a>, ip::ViewError> {
        ip::View::cut_short(self.bytes)
    }

    /// The segment, when it is one and as much of it is there as RFC 792 asks for.
    pub fn segment(&self) -> Option<QuotedSegment> {
        let packet = self.packet().ok()?;
        // The checksum of a quoted IPv4 header may be wrong by what routers changed, so it is not
        // asked.
        if packet.protocol() != ip::TCP || packet.is_fragment() {
            return None;
        }
        let start = packet.payload().first_chunk::<8>()?;
        let word = |at: usize| u16::from_be_bytes([start[at], start[at + 1]]);
        Some(QuotedSegment {
            source: packet.source(),
            destination: packet.destination(),
            ports: Ports { source: word(0), destination: word(2) },
            seq: SeqNum::new(u32::from(word(4)) << 16 | u32::from(word(6))),
            packet_len: packet.packet_len(),
        })
    }
}

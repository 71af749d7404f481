//! Quoted packet of an ICMP error.

use std::net::IpAddr;

use crate::ip;
use crate::seq::SeqNum;
use crate::tcp::Ports;

/// Beginning of a packet, quoted in an error: its headers and at least eight bytes after them (RFC
/// 792). It may be forged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote<'a> {
    bytes: &'a [u8],
}

/// Identity of a quoted segment: enough to find its connection and to check that it is in flight
/// (RFC 5927 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QuotedSegment {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Ports.
    pub ports: Ports,
    /// Sequence number.
    pub seq: SeqNum,
    /// Length of its packet in bytes, with headers.
    pub packet_len: usize,
}

impl<'a> Quote<'a> {
    /// Creates a quote. An error truncates it as necessary.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Quoted bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn first(self, most: usize) -> Self {
        Self { bytes: self.bytes.get(..most).unwrap_or(self.bytes) }
    }

    /// Reads the truncated packet.
    ///
    /// # Errors
    /// Returns an error if there is no complete IP header.
    pub fn packet(&self) -> Result<ip::View<'a>, ip::ViewError> {
        ip::View::cut_short(self.bytes)
    }

    /// Returns the segment if the packet is TCP and the quote has the bytes that RFC 792 requires.
    pub fn segment(&self) -> Option<QuotedSegment> {
        let packet = self.packet().ok()?;
        // Routers change IPv4 headers, so the checksum of a quoted one may be wrong. It is not
        // checked.
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

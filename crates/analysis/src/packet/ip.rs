//! IP headers as an observer reads them.
//!
//! Unlike the views of `wire`, which serve a host, this module accepts a total length of zero
//! (segmentation offload), and it skips every extension header.

use wire::Ecn;

use super::{Datagram, Other};

/// Protocol number of TCP.
const TCP: u8 = 6;

// Extension headers of IPv6 (RFC 8200 §4, RFC 4302, RFC 6275, RFC 7401, RFC 5533).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HIP: u8 = 139;
const SHIM6: u8 = 140;

/// Maximum number of extension headers that are skipped.
const MAX_EXTENSIONS: usize = 16;

/// Reads the IP header of a packet that has `wire_len` bytes on the wire, with padding.
#[inline]
pub(super) fn datagram(bytes: &[u8], wire_len: u32) -> Result<Datagram<'_>, Other> {
    match bytes.first().ok_or(Other::CutShort)? >> 4 {
        4 => version_4(bytes, wire_len),
        6 => version_6(bytes, wire_len),
        _ => Err(Other::NotIp),
    }
}

#[inline]
fn version_4(bytes: &[u8], wire_len: u32) -> Result<Datagram<'_>, Other> {
    let fixed = bytes.first_chunk::<20>().ok_or(Other::CutShort)?;
    let header = usize::from(fixed[0] & 0xf) * 4;
    if header < fixed.len() {
        return Err(Other::Malformed);
    }
    let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    if fixed[9] != TCP {
        return Err(Other::NotTcp);
    }
    // RFC 791 §3.1: more fragments, and the offset.
    if half(6) & 0x3fff != 0 {
        return Err(Other::Fragment);
    }
    let total = match u32::from(half(2)) {
        // The kernel completes the length later, or the packet has more than 65 535 bytes.
        0 => wire_len,
        total => total,
    };
    let len = u32::try_from(header).unwrap_or(u32::MAX);
    let payload_len = total.checked_sub(len).ok_or(Other::Malformed)?;
    let mapped =
        |at: usize| 0xffff_0000_0000 | u128::from(half(at)) << 16 | u128::from(half(at + 2));
    Ok(Datagram {
        source: mapped(12),
        destination: mapped(16),
        identification: half(4),
        hops: fixed[8],
        ecn: Ecn::from_bits(fixed[1]),
        header_len: len,
        payload: payload(bytes, header, payload_len)?,
        payload_len,
    })
}

fn version_6(bytes: &[u8], wire_len: u32) -> Result<Datagram<'_>, Other> {
    let fixed = bytes.first_chunk::<40>().ok_or(Other::CutShort)?;
    let address = |at: usize| {
        let octets = fixed[at..].first_chunk::<16>();
        octets.map_or(0, |octets| u128::from_be_bytes(*octets))
    };
    let total = match u32::from(u16::from_be_bytes([fixed[4], fixed[5]])) {
        // RFC 2675 §3: a jumbogram; its length is also that of the packet on the wire.
        0 => wire_len,
        len => len + 40,
    };
    let start = after_extensions(bytes, fixed[6])?;
    let header_len = u32::try_from(start).unwrap_or(u32::MAX);
    let payload_len = total.checked_sub(header_len).ok_or(Other::Malformed)?;
    Ok(Datagram {
        source: address(8),
        destination: address(24),
        identification: 0,
        hops: fixed[7],
        ecn: Ecn::from_bits(fixed[1] >> 4),
        header_len,
        payload: payload(bytes, start, payload_len)?,
        payload_len,
    })
}

/// Position of the TCP header.
fn after_extensions(bytes: &[u8], mut kind: u8) -> Result<usize, Other> {
    let mut at = 40;
    for _ in 0..MAX_EXTENSIONS {
        let words = |len: u8| match kind {
            FRAGMENT => 8,
            // RFC 4302 §2.2: in units of four bytes, minus two.
            AUTHENTICATION => (usize::from(len) + 2) * 4,
            _ => (usize::from(len) + 1) * 8,
        };
        match kind {
            TCP => return Ok(at),
            HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION | MOBILITY | HIP
            | SHIM6 => {}
            _ => return Err(Other::NotTcp),
        }
        let header = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
        let header = header.ok_or(Other::CutShort)?;
        // RFC 8200 §4.5: the offset and M. A packet without both is complete (RFC 6946).
        if kind == FRAGMENT && u16::from_be_bytes([header[2], header[3]]) & 0xfff9 != 0 {
            return Err(Other::Fragment);
        }
        at += words(header[1]);
        kind = header[0];
    }
    Err(Other::Malformed)
}

/// Captured bytes of the payload, without the padding of the link layer.
#[inline]
fn payload(bytes: &[u8], start: usize, len: u32) -> Result<&[u8], Other> {
    let rest = bytes.get(start..).ok_or(Other::CutShort)?;
    Ok(&rest[..rest.len().min(len as usize)])
}

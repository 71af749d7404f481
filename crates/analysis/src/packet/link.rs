//! Headers of the link layer: Ethernet, VLAN tags (IEEE 802.1Q), `PPPoE` (RFC 2516), Linux cooked
//! captures of both versions, loopback headers of BSD, and raw IP.

use super::Other;
use crate::records::{LinkType, Record};

// Numbers of the registry of link types, and those of BSD for raw IP.
const NULL: u16 = 0;
const ETHERNET: u16 = 1;
const RAW_BSD: u16 = 12;
const RAW_OPENBSD: u16 = 14;
const RAW: u16 = 101;
const LOOP: u16 = 108;
const COOKED: u16 = 113;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const COOKED_2: u16 = 276;

// Ethertypes.
const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;
const TYPE_PPPOE: u16 = 0x8864;
/// VLAN tags: IEEE 802.1Q, 802.1ad, and a common older value.
const TYPE_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];

// Protocols of PPP (RFC 1332, RFC 5072).
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;

/// Maximum number of tags before an IP header.
const MAX_TAGS: usize = 8;

/// Returns the IP packet of a record, and its length on the wire with what follows it.
#[inline]
pub(super) fn network_layer<'a>(record: &Record<'a>) -> Result<(&'a [u8], u32), Other> {
    let bytes = record.bytes;
    let start = match record.link_type {
        LinkType(ETHERNET) => after_type(bytes, 12)?,
        LinkType(COOKED) => after_type(bytes, 14)?,
        LinkType(COOKED_2) => match half(bytes, 0)? {
            TYPE_IPV4 | TYPE_IPV6 => 20,
            tag if TYPE_VLAN.contains(&tag) => after_type(bytes, 22)?,
            _ => return Err(Other::NotIp),
        },
        // A family of four bytes, in the byte order of the capturing machine. The version of the
        // IP header says more.
        LinkType(NULL | LOOP) => 4,
        LinkType(RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6) => 0,
        LinkType(_) => return Err(Other::LinkType),
    };
    let packet = bytes.get(start..).ok_or(Other::CutShort)?;
    let wire_len = record.wire_len.saturating_sub(u32::try_from(start).unwrap_or(u32::MAX));
    Ok((packet, wire_len))
}

/// Position after an ethertype at `at`, and after the tags that it announces.
#[inline]
fn after_type(bytes: &[u8], mut at: usize) -> Result<usize, Other> {
    for _ in 0..MAX_TAGS {
        match half(bytes, at)? {
            TYPE_IPV4 | TYPE_IPV6 => return Ok(at + 2),
            TYPE_PPPOE => {
                // RFC 2516 §4: version, code, session and length, then the protocol of PPP.
                return match half(bytes, at + 8)? {
                    PPP_IPV4 | PPP_IPV6 => Ok(at + 10),
                    _ => Err(Other::NotIp),
                };
            }
            tag if TYPE_VLAN.contains(&tag) => at += 4,
            _ => return Err(Other::NotIp),
        }
    }
    Err(Other::NotIp)
}

#[inline]
fn half(bytes: &[u8], at: usize) -> Result<u16, Other> {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Other::CutShort)?;
    Ok(u16::from_be_bytes(*field))
}

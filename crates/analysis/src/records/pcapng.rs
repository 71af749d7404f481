//! Blocks of a pcapng file (`draft-ietf-opsawg-pcapng`).

use std::io::Read;

use pcap_parser::pcapng::{
    InterfaceDescriptionBlock, parse_interfacedescriptionblock_be,
    parse_interfacedescriptionblock_le,
};
use units::Instant;

use super::window::Window;
use super::{Found, LinkType, MAX_RECORD, SECTION, Search, read_u32};

const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Byte-order magic of a section header, and with the bytes in the other order.
const MAGIC: u32 = 0x1a2b_3c4d;

/// Maximum number of interfaces of a section. A file with more is treated as damaged.
const MAX_INTERFACES: usize = 1 << 16;

/// State of a section: its byte order and its interfaces.
#[derive(Debug, Default)]
pub(super) struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    link_type: LinkType,
    /// Maximum captured length of a packet; zero means no limit.
    snap_len: u32,
    clock: Clock,
    /// Seconds to add to each timestamp.
    offset: i64,
}

/// Unit of timestamps.
#[derive(Debug, Clone, Copy)]
enum Clock {
    /// Whole nanoseconds in a unit.
    Nanos(u64),
    /// Units in a second, if a unit is not a whole number of nanoseconds.
    PerSecond(u64),
}

impl Section {
    /// Looks for the next packet. Consumes the blocks before it.
    pub(super) fn search<R: Read>(&mut self, window: &mut Window<R>) -> Search {
        loop {
            window.begin_record();
            if !window.has(12)? {
                return window.at_end("a block header");
            }
            let kind = read_u32(window.bytes(), 0, self.big_endian);
            // The type of a section header is the same in both byte orders.
            if kind == SECTION {
                self.begin(window)?;
                continue;
            }
            let len = self.len_of(window.bytes())?;
            match kind {
                ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET | INTERFACE => {
                    if len > MAX_RECORD {
                        return Err(format!(
                            "a block of {len} bytes: expected at most {MAX_RECORD}"
                        ));
                    }
                    if !window.has(len)? {
                        return window.at_end("a block");
                    }
                    if kind != INTERFACE {
                        return self.packet(kind, &window.bytes()[..len]).map(Some);
                    }
                    self.interface(&window.bytes()[..len])?;
                    window.consume(len);
                }
                _ if window.skip(len as u64)? => {}
                _ => return Err("the file ends within a block".to_owned()),
            }
        }
    }

    /// Length of the block at the start of `bytes`, which has at least eight bytes.
    fn len_of(&self, bytes: &[u8]) -> Result<usize, String> {
        let len = read_u32(bytes, 4, self.big_endian);
        if len < 12 || !len.is_multiple_of(4) {
            return Err(format!("a block of {len} bytes: expected a multiple of 4 from 12"));
        }
        usize::try_from(len).map_err(|error| error.to_string())
    }

    /// Begins a section: its byte order is that of its header.
    fn begin<R: Read>(&mut self, window: &mut Window<R>) -> Result<(), String> {
        let bytes = window.bytes();
        self.big_endian = match read_u32(bytes, 8, false) {
            MAGIC => false,
            magic if magic == MAGIC.swap_bytes() => true,
            magic => return Err(format!("a section with the byte order {magic:#010x}")),
        };
        let len = self.len_of(bytes)?;
        self.interfaces.clear();
        if window.skip(len as u64)? {
            Ok(())
        } else {
            Err("the file ends within a section header".to_owned())
        }
    }

    fn interface(&mut self, bytes: &[u8]) -> Result<(), String> {
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(format!("more than {MAX_INTERFACES} interfaces"));
        }
        let parsed = if self.big_endian {
            parse_interfacedescriptionblock_be(bytes)
        } else {
            parse_interfacedescriptionblock_le(bytes)
        };
        let Ok((_, block)) = parsed else {
            return Err("a description of an interface that cannot be parsed".to_owned());
        };
        self.interfaces.push(Interface::new(&block));
        Ok(())
    }

    #[inline]
    fn packet(&self, kind: u32, block: &[u8]) -> Result<Found, String> {
        let number = |at: usize| read_u32(block, at, self.big_endian);
        let header = if kind == SIMPLE_PACKET { 12 } else { 28 };
        let Some(room) = block.len().checked_sub(header + 4) else { return Err(short(block)) };
        let id = match kind {
            SIMPLE_PACKET => 0,
            ENHANCED_PACKET => number(8),
            _ if self.big_endian => number(8) >> 16,
            _ => number(8) & 0xffff,
        };
        let Some(interface) = self.interfaces.get(id as usize) else {
            return Err(undescribed(id));
        };
        let (ticks, len, wire_len) = if kind == SIMPLE_PACKET {
            let wire_len = number(8);
            let snap_len = if interface.snap_len == 0 { u32::MAX } else { interface.snap_len };
            (0, wire_len.min(snap_len), wire_len)
        } else {
            (u64::from(number(12)) << 32 | u64::from(number(16)), number(20), number(24))
        };
        let len = len as usize;
        if len > room {
            return Err(crowded(len, room));
        }
        Ok(Found {
            consumed: block.len(),
            start: header,
            len,
            at: interface.time(ticks),
            interface: id,
            link_type: interface.link_type,
            wire_len,
        })
    }
}

// Texts of errors, apart from the code that runs for each packet.

#[cold]
fn short(block: &[u8]) -> String {
    format!("a packet block of {} bytes", block.len())
}

#[cold]
fn undescribed(id: u32) -> String {
    format!("a packet of interface {id}, which is not described")
}

#[cold]
fn crowded(len: usize, room: usize) -> String {
    format!("a packet of {len} bytes in a block with room for {room}")
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock<'_>) -> Self {
        let per_second = block.ts_resolution().filter(|units| *units > 0).unwrap_or(1_000_000);
        Self {
            link_type: LinkType(u16::try_from(block.linktype.0).unwrap_or(u16::MAX)),
            snap_len: block.snaplen,
            clock: match 1_000_000_000 % per_second {
                0 => Clock::Nanos(1_000_000_000 / per_second),
                _ => Clock::PerSecond(per_second),
            },
            offset: block.ts_offset(),
        }
    }

    #[inline]
    fn time(&self, ticks: u64) -> Instant {
        let nanos = match self.clock {
            Clock::Nanos(unit) => ticks.saturating_mul(unit),
            Clock::PerSecond(units) => {
                let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(units);
                u64::try_from(nanos).unwrap_or(u64::MAX)
            }
        };
        let offset = self.offset.unsigned_abs().saturating_mul(1_000_000_000);
        Instant::from_nanos(if self.offset < 0 {
            nanos.saturating_sub(offset)
        } else {
            nanos.saturating_add(offset)
        })
    }
}

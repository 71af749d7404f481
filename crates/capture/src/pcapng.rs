//! Writing pcapng (`draft-ietf-opsawg-pcapng`): blocks in the order in which they are asked for,
//! one section a file.
//!
//! A [`Writer`] holds one block and what it must know of each interface: memory does not grow with
//! the file. It writes little-endian on every machine, so the same packets give the same bytes.

mod block;

use std::io::{self, Write};
use std::net::Ipv4Addr;

use units::Instant;

use self::block::Block;

/// What stands at the head of a file: who wrote it, and where the packets are from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Section<'a> {
    /// The program that writes.
    pub application: Option<&'a str>,
    /// The operating system of the capturing host.
    pub os: Option<&'a str>,
    /// Its hardware.
    pub hardware: Option<&'a str>,
    /// Anything else.
    pub comment: Option<&'a str>,
}

/// A place where packets are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interface<'a> {
    /// Its name, as `eth0` would be.
    pub name: &'a str,
    /// More about it.
    pub description: Option<&'a str>,
    /// Its address.
    pub address: Option<Ipv4Addr>,
    /// What a packet begins with.
    pub link_type: LinkType,
    /// How many bytes of a packet are kept.
    pub snap_len: u32,
}

/// What a packet begins with, by the registry of link types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkType {
    /// An IPv4 or IPv6 header.
    Raw,
}

impl LinkType {
    const fn code(self) -> u16 {
        match self {
            Self::Raw => 101,
        }
    }
}

/// An interface of one writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceId(u32);

/// The way a packet went, as the capturing host sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// It arrived.
    Inbound,
    /// It was sent.
    Outbound,
}

/// A packet seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Where.
    pub interface: InterfaceId,
    /// When: nanoseconds since the run began, which stand in the file as nanoseconds since 1970.
    pub at: Instant,
    /// Which way.
    pub direction: Direction,
    /// Its bytes from the first on; what is beyond the interface's `snap_len` is not written.
    pub bytes: &'a [u8],
    /// How many bytes it had on the wire, never fewer than `bytes` has.
    pub wire_len: u32,
    /// What there is to say of it.
    pub comments: &'a [String],
}

/// Writes one section.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    block: Block,
    /// The `snap_len` of each interface.
    snap_lens: Vec<u32>,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn new(out: W, section: &Section<'_>) -> io::Result<Self> {
        let mut writer = Self { out, block: Block::default(), snap_lens: Vec::new() };
        let block = writer.block.begin(block::SECTION_HEADER);
        // The byte order, version 1.0, and a length that is not known yet.
        block.number(0x1a2b_3c4d);
        block.half(1);
        block.half(0);
        block.number(u32::MAX);
        block.number(u32::MAX);
        for (code, text) in [
            (block::COMMENT, section.comment),
            (block::HARDWARE, section.hardware),
            (block::OS, section.os),
            (block::APPLICATION, section.application),
        ] {
            if let Some(text) = text {
                block.text(code, text);
            }
        }
        writer.end()?;
        Ok(writer)
    }

    /// Adds a place of capture.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn interface(&mut self, interface: &Interface<'_>) -> io::Result<InterfaceId> {
        let block = self.block.begin(block::INTERFACE);
        block.half(interface.link_type.code());
        block.half(0);
        block.number(interface.snap_len);
        block.text(block::INTERFACE_NAME, interface.name);
        if let Some(description) = interface.description {
            block.text(block::INTERFACE_DESCRIPTION, description);
        }
        if let Some(address) = interface.address {
            let mut value = [u8::MAX; 8];
            value[..4].copy_from_slice(&address.octets());
            block.option(block::INTERFACE_IPV4, &value);
        }
        // Times count in units of 10⁻⁹ s.
        block.option(block::RESOLUTION, &[9]);
        self.end()?;
        // As many as nodes of a scenario.
        let id = u32::try_from(self.snap_lens.len())
            .map_err(|_| io::Error::other("too many interfaces"))?;
        self.snap_lens.push(interface.snap_len);
        Ok(InterfaceId(id))
    }

    /// Adds names of hosts. A name ends before a zero byte, which the format puts behind it.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn names<'a>(
        &mut self,
        names: impl IntoIterator<Item = (Ipv4Addr, &'a str)>,
    ) -> io::Result<()> {
        let block = self.block.begin(block::NAMES);
        for (address, name) in names {
            block.record(address, name);
        }
        block.end_of_options();
        self.end()
    }

    /// Adds a packet.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let snap_len = self.snap_lens.get(packet.interface.0 as usize).copied().unwrap_or(u32::MAX);
        let kept = packet.bytes.len().min(usize::try_from(snap_len).unwrap_or(usize::MAX));
        let bytes = &packet.bytes[..kept];
        let block = self.block.begin(block::ENHANCED_PACKET);
        let nanos = packet.at.as_nanos();
        block.number(packet.interface.0);
        block.number(u32::try_from(nanos >> 32).unwrap_or(u32::MAX));
        block.number(u32::try_from(nanos & u64::from(u32::MAX)).unwrap_or(u32::MAX));
        let kept = u32::try_from(kept).map_err(|_| io::Error::other("a packet of 4 GiB"))?;
        block.number(kept);
        block.number(packet.wire_len.max(kept));
        block.padded(bytes);
        for comment in packet.comments {
            block.text(block::COMMENT, comment);
        }
        let direction: u32 = match packet.direction {
            Direction::Inbound => 1,
            Direction::Outbound => 2,
        };
        block.option(block::PACKET_FLAGS, &direction.to_le_bytes());
        self.end()
    }

    /// Ends the file and gives back what it was written to, flushed.
    ///
    /// # Errors
    /// When the last bytes cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.write_all(self.block.end())
    }
}

#[cfg(test)]
mod tests;

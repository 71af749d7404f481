//! A writer for pcapng (`draft-ietf-opsawg-pcapng`): one section per file, with blocks in the order
//! of the calls.
//!
//! A [`Writer`] keeps one block and the `snap_len` of each interface, so memory does not grow with
//! the file. It writes little-endian on every machine: the same packets give the same bytes.

mod block;

use std::io::{self, Write};
use std::net::Ipv4Addr;

use units::Instant;

use self::block::Block;

/// The metadata of a file: the writing program and the capturing host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Section<'a> {
    /// The program that writes the file.
    pub application: Option<&'a str>,
    /// The operating system of the capturing host.
    pub os: Option<&'a str>,
    /// The hardware of the capturing host.
    pub hardware: Option<&'a str>,
    /// A comment on the section.
    pub comment: Option<&'a str>,
}

/// An interface at which packets are captured: a vantage point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interface<'a> {
    /// The interface's name, such as `eth0`.
    pub name: &'a str,
    /// A description of the interface.
    pub description: Option<&'a str>,
    /// The interface's IPv4 address.
    pub address: Option<Ipv4Addr>,
    /// The first header of each packet.
    pub link_type: LinkType,
    /// The number of bytes stored of each packet.
    pub snap_len: u32,
}

/// The first header of a packet, from the registry of link types.
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

/// The direction of a packet, as seen by the capturing host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The packet arrived.
    Inbound,
    /// The packet was sent.
    Outbound,
}

/// A captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The interface.
    pub interface: InterfaceId,
    /// The time in nanoseconds since the start of the run, written as nanoseconds since 1970.
    pub at: Instant,
    /// The direction of the packet.
    pub direction: Direction,
    /// The first bytes of the packet. Bytes beyond the interface's `snap_len` are not written.
    pub bytes: &'a [u8],
    /// The packet's length on the wire, in bytes; at least the length of `bytes`.
    pub wire_len: u32,
    /// Comments on the packet.
    pub comments: &'a [String],
}

/// A writer of one section.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    block: Block,
    /// The `snap_len` of each interface, in bytes.
    snap_lens: Vec<u32>,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn new(out: W, section: &Section<'_>) -> io::Result<Self> {
        let mut writer = Self { out, block: Block::default(), snap_lens: Vec::new() };
        let block = writer.block.begin(block::SECTION_HEADER);
        // The byte order, version 1.0, and an unknown section length.
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

    /// Adds an interface.
    ///
    /// # Errors
    /// If the file cannot be written.
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
        // Timestamps are in units of 10⁻⁹ s.
        block.option(block::RESOLUTION, &[9]);
        self.end()?;
        // As many as the nodes of a scenario.
        let id = u32::try_from(self.snap_lens.len())
            .map_err(|_| io::Error::other("too many interfaces"))?;
        self.snap_lens.push(interface.snap_len);
        Ok(InterfaceId(id))
    }

    /// Adds names of hosts. A name is cut at its first zero byte, which terminates names in the
    /// format.
    ///
    /// # Errors
    /// If the file cannot be written.
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
    /// If the file cannot be written.
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

    /// Ends the file and returns the flushed output.
    ///
    /// # Errors
    /// If the last bytes cannot be written.
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

//! A pcapng block: a type, the length at both ends, and contents padded to 32 bits.

use std::net::Ipv4Addr;

pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE: u32 = 1;
pub(super) const NAMES: u32 = 4;
pub(super) const ENHANCED_PACKET: u32 = 6;

const END_OF_OPTIONS: u16 = 0;
/// Options of all blocks.
pub(super) const COMMENT: u16 = 1;
/// Options of the section header.
pub(super) const HARDWARE: u16 = 2;
pub(super) const OS: u16 = 3;
pub(super) const APPLICATION: u16 = 4;
/// Options of an interface.
pub(super) const INTERFACE_NAME: u16 = 2;
pub(super) const INTERFACE_DESCRIPTION: u16 = 3;
pub(super) const INTERFACE_IPV4: u16 = 4;
pub(super) const RESOLUTION: u16 = 9;
/// Options of a packet.
pub(super) const PACKET_FLAGS: u16 = 2;

/// Record types of a name resolution block.
const IPV4_RECORD: u16 = 1;

/// The block being written. Its memory is reused for the next block.
#[derive(Debug, Default)]
pub(super) struct Block {
    bytes: Vec<u8>,
    has_options: bool,
}

impl Block {
    pub(super) fn begin(&mut self, kind: u32) -> &mut Self {
        self.bytes.clear();
        self.has_options = false;
        self.number(kind);
        // The length, which is set at the end.
        self.number(0);
        self
    }

    pub(super) fn number(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn half(&mut self, value: u16) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Adds bytes, and zeros up to the next multiple of four.
    pub(super) fn padded(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Adds an option. A value of more than 65535 bytes is cut.
    pub(super) fn option(&mut self, code: u16, value: &[u8]) {
        self.has_options = true;
        self.item(code, value);
    }

    /// Adds a text option. A text that is too long is cut between two characters.
    pub(super) fn text(&mut self, code: u16, text: &str) {
        let len = text.floor_char_boundary(usize::from(u16::MAX));
        self.option(code, &text.as_bytes()[..len]);
    }

    /// Adds the name of an address.
    pub(super) fn record(&mut self, address: Ipv4Addr, name: &str) {
        let name = name.split('\0').next().unwrap_or_default();
        // The record also holds the address before the name and the zero after it.
        let name = &name[..name.floor_char_boundary(usize::from(u16::MAX) - 5)];
        let mut value = address.octets().to_vec();
        value.extend_from_slice(name.as_bytes());
        value.push(0);
        self.item(IPV4_RECORD, &value);
    }

    /// Terminates a list of options or of names.
    pub(super) fn end_of_options(&mut self) {
        self.item(END_OF_OPTIONS, &[]);
    }

    /// Finishes the block and returns its bytes.
    pub(super) fn end(&mut self) -> &[u8] {
        if self.has_options {
            self.end_of_options();
        }
        // A block is a packet and a few texts, each far below 4 GiB.
        let len = u32::try_from(self.bytes.len() + 4).unwrap_or(u32::MAX);
        self.number(len);
        self.bytes[4..8].copy_from_slice(&len.to_le_bytes());
        &self.bytes
    }

    fn item(&mut self, code: u16, value: &[u8]) {
        let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
        self.half(code);
        self.half(len);
        self.padded(&value[..usize::from(len)]);
    }
}

//! A capture of one packet with a comment, for Wireshark.
//!
//! `cargo run -p capture --example write > one.pcapng` writes it to standard output.

use std::io::{self, Write};

use capture::pcapng::{Direction, Interface, LinkType, Packet, Section, Writer};
use units::{Duration, Instant};

/// An IPv4 header of a packet of 20 bytes from 10.0.0.1 to 10.0.0.2, with protocol 59 (no next
/// header) and its checksum.
const HEADER: [u8; 20] = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 59, 0x66, 0xac, 10, 0, 0, 1, 10, 0, 0, 2];

/// Writes the capture.
fn write<W: Write>(out: W) -> io::Result<W> {
    let section = Section { application: Some("example"), ..Section::default() };
    let mut writer = Writer::new(out, &section)?;
    let interface = writer.interface(&Interface {
        name: "server",
        description: None,
        address: None,
        link_type: LinkType::Raw,
        snap_len: 65_535,
    })?;
    writer.packet(&Packet {
        interface,
        at: Instant::ZERO + Duration::from_millis(20),
        direction: Direction::Outbound,
        bytes: &HEADER,
        wire_len: 20,
        comments: &["sent after 20 ms".to_owned()],
    })?;
    writer.finish()
}

fn main() -> io::Result<()> {
    write(io::stdout().lock()).map(|_| ())
}

/// The file consists of blocks whose length is at both ends of each, and has the packet.
#[test]
fn the_file_consists_of_blocks() -> io::Result<()> {
    let file = write(Vec::new())?;
    let mut rest = file.as_slice();
    let mut kinds = Vec::new();
    while let Some((block, after)) = split(rest) {
        kinds.push(number(block));
        assert_eq!(number(&block[4..]), number(&block[block.len() - 4..]));
        rest = after;
    }
    // Section header, interface description, enhanced packet.
    assert_eq!((kinds, rest.len()), (vec![0x0a0d_0d0a, 1, 6], 0));
    assert!(file.windows(HEADER.len()).any(|bytes| bytes == HEADER));
    assert!(file.windows(5).any(|bytes| bytes == b"20 ms"));
    Ok(())
}

#[cfg(test)]
fn number(bytes: &[u8]) -> usize {
    bytes.iter().take(4).rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte))
}

#[cfg(test)]
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    (bytes.len() >= 12).then(|| bytes.split_at(number(&bytes[4..])))
}

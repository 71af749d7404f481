//! Records of pcap and pcapng files, read with bounded memory.
//!
//! [`Records`] borrows each packet from one buffer, which it fills again. The buffer grows to the
//! largest record, up to [`MAX_RECORD`]. A file that is damaged is read up to the damage, and
//! [`Ending`] has the place and the reason. The headers of files and interfaces are parsed by
//! `pcap-parser`.

mod pcapng;
mod window;

use std::io::{self, Read};

use pcap_parser::{PcapHeader, parse_pcap_header};
use thiserror::Error;
use units::Instant;

use self::pcapng::Section;
use self::window::Window;

/// Maximum length of a record in bytes. A longer one is treated as a false length.
pub const MAX_RECORD: usize = 16 << 20;

/// First bytes of a pcapng file, in either byte order.
const SECTION: u32 = 0x0a0d_0d0a;

/// Type of the first header of a packet, from the registry of link types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkType(pub u16);

/// A captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Number of the packet in the file, counted from 1 as in Wireshark.
    pub frame: u64,
    /// Time of the capture, in nanoseconds since 1970.
    pub at: Instant,
    /// Number of the interface in the file; zero in a pcap file.
    pub interface: u32,
    /// Type of the first header.
    pub link_type: LinkType,
    /// Captured bytes.
    pub bytes: &'a [u8],
    /// Length of the packet on the wire in bytes, at least that of `bytes`.
    pub wire_len: u32,
}

/// Position and reason of the end of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The file was read to its end.
    Complete,
    /// The file is damaged. What follows was not read.
    Damaged {
        /// Position of the record that cannot be read, in bytes of the decompressed file.
        offset: u64,
        /// The reason.
        reason: String,
    },
}

/// Error for a source that is not a capture.
#[derive(Debug, Error)]
pub enum NotACapture {
    /// The source cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// The source has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The first bytes are those of no known format.
    #[error("neither pcap nor pcapng: the file begins with the bytes {start}")]
    Unknown {
        /// The first bytes in hexadecimal notation.
        start: String,
    },
}

/// Reader of the records of a file.
#[derive(Debug)]
pub struct Records<R> {
    window: Window<R>,
    format: Format,
    frames: u64,
    ending: Option<Ending>,
}

#[derive(Debug)]
enum Format {
    Pcap(Pcap),
    Pcapng(Section),
}

/// Properties of a pcap file.
#[derive(Debug, Clone, Copy)]
struct Pcap {
    big_endian: bool,
    /// Length of a record's header in bytes.
    header: usize,
    /// Nanoseconds in the unit of the second half of a timestamp.
    unit: u64,
    link_type: LinkType,
}

/// Position of a packet in the buffer.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// Bytes of the whole record.
    consumed: usize,
    /// Position and length of the packet in the record.
    start: usize,
    len: usize,
    at: Instant,
    interface: u32,
    link_type: LinkType,
    wire_len: u32,
}

/// Result of looking for a packet. The error is the reason why reading ends.
type Search = Result<Option<Found>, String>;

impl<R: Read> Records<R> {
    /// Begins to read a file.
    ///
    /// # Errors
    /// Returns an error if the first bytes cannot be read or are not those of a capture.
    pub fn new(source: R) -> Result<Self, NotACapture> {
        let mut window = Window::new(source);
        window.fill(24)?;
        let start = window.bytes();
        if start.is_empty() {
            return Err(NotACapture::Empty);
        }
        let format = if start.starts_with(&SECTION.to_le_bytes()) {
            Format::Pcapng(Section::default())
        } else if let Ok((_, header)) = parse_pcap_header(start) {
            window.consume(header.size());
            Format::Pcap(Pcap::new(&header))
        } else {
            let shown = start.iter().take(8).map(|byte| format!("{byte:02x}"));
            return Err(NotACapture::Unknown { start: shown.collect::<Vec<_>>().join(" ") });
        };
        Ok(Self { window, format, frames: 0, ending: None })
    }

    /// Returns the next packet; `None` at the end, which [`ending`](Self::ending) describes.
    #[expect(clippy::should_implement_trait, reason = "a record borrows from the reader")]
    pub fn next(&mut self) -> Option<Record<'_>> {
        if self.ending.is_some() {
            return None;
        }
        let search = match &mut self.format {
            Format::Pcap(pcap) => pcap.search(&mut self.window),
            Format::Pcapng(section) => section.search(&mut self.window),
        };
        let found = match search {
            Ok(Some(found)) => found,
            Ok(None) => {
                self.ending = Some(Ending::Complete);
                return None;
            }
            Err(reason) => {
                self.ending = Some(Ending::Damaged { offset: self.window.record(), reason });
                return None;
            }
        };
        self.frames += 1;
        Some(Record {
            frame: self.frames,
            at: found.at,
            interface: found.interface,
            link_type: found.link_type,
            bytes: self.window.take(found.consumed, found.start, found.len),
            wire_len: found.wire_len.max(u32::try_from(found.len).unwrap_or(u32::MAX)),
        })
    }

    /// Number of packets that have been read.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Position in the decompressed file, in bytes.
    pub fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// Place and reason of the end; `None` while there may be more packets.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }
}

impl Pcap {
    fn new(header: &PcapHeader) -> Self {
        Self {
            big_endian: header.is_bigendian(),
            header: if header.is_modified_format() { 24 } else { 16 },
            unit: if header.is_nanosecond_precision() { 1 } else { 1_000 },
            // The upper bits of the field describe a frame check sequence.
            link_type: LinkType(u16::try_from(header.network.0 & 0xffff).unwrap_or(u16::MAX)),
        }
    }

    fn search<R: Read>(&self, window: &mut Window<R>) -> Search {
        window.begin_record();
        if !window.has(self.header)? {
            return window.at_end("a packet header");
        }
        let fields = window.bytes();
        let number = |at: usize| read_u32(fields, at, self.big_endian);
        let (seconds, fraction) = (number(0), number(4));
        let (len, wire_len) = (number(8) as usize, number(12));
        if len > MAX_RECORD {
            return Err(format!("a packet of {len} bytes: expected at most {MAX_RECORD}"));
        }
        let consumed = self.header + len;
        if !window.has(consumed)? {
            return window.at_end("a packet");
        }
        let nanos = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit;
        Ok(Some(Found {
            consumed,
            start: self.header,
            len,
            at: Instant::from_nanos(nanos),
            interface: 0,
            link_type: self.link_type,
            wire_len,
        }))
    }
}

/// Reads a number of 32 bits; the caller has checked that it exists.
#[inline]
fn read_u32(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
    if big_endian { u32::from_be_bytes(field) } else { u32::from_le_bytes(field) }
}

#[cfg(test)]
mod tests;

//! TCP headers (RFC 9293 §3.1): [`Repr`] is a validated segment, [`View`] reads received bytes.

mod option;

use thiserror::Error;

pub use self::option::{KnownOption, OptionError, RawOption, RawOptions};
use crate::checksum::Checksum;
use crate::header::Header;
use crate::segment::{Control, Ecn, Flags as Marks, Segment};
use crate::seq::SeqNum;
use crate::window::UnscaledWindow;

/// Length of a header without options, in bytes.
pub const HEADER_LEN: usize = 20;

/// Maximum header length in bytes: the number of words that four bits count.
pub const MAX_HEADER_LEN: usize = 60;

/// Offset of the checksum field in bytes.
pub(crate) const CHECKSUM_OFFSET: u16 = 16;
pub(crate) const CHECKSUM_AT: usize = CHECKSUM_OFFSET as usize;

/// Source and destination port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ports {
    /// Port of the sender.
    pub source: u16,
    /// Port of the receiver.
    pub destination: u16,
}

/// Control bits of the header (RFC 9293 §3.1; RFC 3168 for the last two).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// The sender has no more data.
    pub const FIN: Self = Self(1);
    /// Opens the connection.
    pub const SYN: Self = Self(1 << 1);
    /// Aborts the connection.
    pub const RST: Self = Self(1 << 2);
    /// Requests prompt delivery.
    pub const PSH: Self = Self(1 << 3);
    /// The acknowledgment number is valid.
    pub const ACK: Self = Self(1 << 4);
    /// The urgent pointer is valid.
    pub const URG: Self = Self(1 << 5);
    /// ECN-Echo.
    pub const ECE: Self = Self(1 << 6);
    /// Congestion window reduced.
    pub const CWR: Self = Self(1 << 7);

    /// Returns whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Bits as a byte of the header.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the union of these bits and `other`.
    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn of(segment: &Segment) -> Self {
        let flags = match segment.control {
            Control::None => Self::default(),
            Control::Syn => Self::SYN,
            Control::Fin => Self::FIN,
            Control::Rst => Self::RST,
        };
        let mut flags = if segment.ack.is_some() { flags.and(Self::ACK) } else { flags };
        for (bit, mark) in Self::MARKS {
            flags = if segment.flags.has(mark) { flags.and(bit) } else { flags };
        }
        flags
    }

    /// Bits that a segment keeps as flags.
    const MARKS: [(Self, Marks); 3] =
        [(Self::PSH, Marks::PSH), (Self::ECE, Marks::ECE), (Self::CWR, Marks::CWR)];

    fn marks(self) -> Marks {
        Self::MARKS
            .into_iter()
            .fold(Marks::NONE, |marks, (bit, mark)| marks.with(mark, self.has(bit)))
    }

    /// Returns the control bit; `None` for two that exclude each other.
    fn control(self) -> Option<Control> {
        match (self.has(Self::SYN), self.has(Self::FIN), self.has(Self::RST)) {
            (false, false, false) => Some(Control::None),
            (true, false, false) => Some(Control::Syn),
            (false, true, false) => Some(Control::Fin),
            (false, false, true) => Some(Control::Rst),
            _ => None,
        }
    }
}

/// A segment between two ports that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    ports: Ports,
    segment: Segment,
}

/// Error for a segment that cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unwritable {
    /// More bytes of options than a header holds.
    #[error("cannot write a TCP header with {len} bytes of options: it holds 40")]
    Options {
        /// Length of the options in bytes.
        len: u32,
    },
    /// An option of a SYN on another segment.
    #[error("cannot write a TCP header with options of a SYN and no SYN")]
    SynOptions,
}

impl Repr {
    /// Creates the header of a segment.
    ///
    /// # Errors
    /// Returns an error if the options do not fit, or belong to a SYN on another segment.
    pub fn new(ports: Ports, segment: Segment) -> Result<Self, Unwritable> {
        let options = &segment.options;
        let len = options.wire_len();
        if len > 40 {
            return Err(Unwritable::Options { len });
        }
        let of_syn = options.mss.is_some()
            || options.window_scale.is_some()
            || options.sack_permitted
            || options.santa_cruz_permitted;
        if of_syn && segment.control != Control::Syn {
            return Err(Unwritable::SynOptions);
        }
        Ok(Self { ports, segment })
    }

    /// Source and destination port.
    pub fn ports(&self) -> Ports {
        self.ports
    }

    /// Segment.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Length of header and payload in bytes.
    pub fn len(&self) -> usize {
        // At most 60 + 2³² − 1.
        usize::try_from(Segment::TCP_HEADER + self.segment.options.wire_len())
            .unwrap_or(MAX_HEADER_LEN)
            + usize::try_from(self.segment.payload_len).unwrap_or(usize::MAX - MAX_HEADER_LEN)
    }

    /// Always false: there is a header.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Appends the header. `pseudo_header` is that of the IP header. `payload` is the sum over the
    /// payload that the caller appends; [`Checksum::EMPTY`] for zeros.
    pub fn write(&self, pseudo_header: Checksum, payload: Checksum, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.header(pseudo_header, payload));
    }

    /// Bytes of the header, with the checksum of these sums, as in [`write`](Self::write).
    pub fn header(&self, pseudo_header: Checksum, payload: Checksum) -> Header {
        let mut header = self.unsummed();
        let checksum = pseudo_header.and(header.sum()).and(payload).field();
        header.set_word(CHECKSUM_AT, checksum);
        header
    }

    /// Bytes of the header for a device that completes the checksum, and divides the segment if it
    /// is longer than the path MTU: see [`gso`](crate::gso).
    pub fn partial_header(&self, pseudo_header: Checksum) -> Header {
        let mut header = self.unsummed();
        header.set_word(CHECKSUM_AT, pseudo_header.partial_field());
        header
    }

    /// Header with a checksum of zero.
    fn unsummed(&self) -> Header {
        let segment = &self.segment;
        // The constructor has checked that there are at most ten words of options.
        let words =
            u8::try_from((Segment::TCP_HEADER + segment.options.wire_len()) / 4).unwrap_or(15);
        // The checksum is filled in later. The urgent pointer is not used and stays zero.
        let mut fixed = [0; HEADER_LEN];
        fixed[..2].copy_from_slice(&self.ports.source.to_be_bytes());
        fixed[2..4].copy_from_slice(&self.ports.destination.to_be_bytes());
        fixed[4..8].copy_from_slice(&segment.seq.value().to_be_bytes());
        fixed[8..12].copy_from_slice(&segment.ack.map_or(0, SeqNum::value).to_be_bytes());
        fixed[12..14].copy_from_slice(&[words << 4, Flags::of(segment).0]);
        fixed[14..16].copy_from_slice(&segment.window.value().to_be_bytes());
        let mut header = Header::from(fixed.as_slice());
        option::write(&segment.options, &mut header);
        header
    }
}

/// Bytes of a received segment with a complete header. Nothing else is validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View<'a> {
    bytes: &'a [u8],
    fixed: &'a [u8; HEADER_LEN],
    options: &'a [u8],
    payload: &'a [u8],
}

/// Error for bytes that are not a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ViewError {
    /// Fewer bytes than a header.
    #[error("cannot read a TCP header: {len} bytes are too few")]
    Truncated {
        /// Number of bytes.
        len: usize,
    },
    /// A data offset into the fixed header, or past the end.
    #[error("cannot read a TCP header: its data offset is {offset} bytes of {len}")]
    Offset {
        /// Data offset in bytes.
        offset: usize,
        /// Number of bytes.
        len: usize,
    },
}

impl<'a> View<'a> {
    /// Reads the payload of an IP packet.
    ///
    /// # Errors
    /// Returns an error if there is no complete header. A wrong checksum is no error: call
    /// [`checksum_is_good`](Self::checksum_is_good).
    pub fn new(bytes: &'a [u8]) -> Result<Self, ViewError> {
        let len = bytes.len();
        let Some((fixed, rest)) = bytes.split_first_chunk::<HEADER_LEN>() else {
            return Err(ViewError::Truncated { len });
        };
        let offset = usize::from(fixed[12] >> 4) * 4;
        let split =
            offset.checked_sub(HEADER_LEN).and_then(|options| rest.split_at_checked(options));
        let Some((options, payload)) = split else { return Err(ViewError::Offset { offset, len }) };
        Ok(Self { bytes, fixed, options, payload })
    }

    /// Reads a segment that may be truncated, in a capture: its options and payload are those that
    /// exist.
    ///
    /// # Errors
    /// Returns an error if the first 20 bytes are incomplete, or if the data offset points into
    /// them.
    pub fn cut_short(bytes: &'a [u8]) -> Result<Self, ViewError> {
        let len = bytes.len();
        let Some((fixed, rest)) = bytes.split_first_chunk::<HEADER_LEN>() else {
            return Err(ViewError::Truncated { len });
        };
        let offset = usize::from(fixed[12] >> 4) * 4;
        let Some(options) = offset.checked_sub(HEADER_LEN) else {
            return Err(ViewError::Offset { offset, len });
        };
        let (options, payload) = rest.split_at(options.min(rest.len()));
        Ok(Self { bytes, fixed, options, payload })
    }

    /// Length of the header in bytes, by its data offset.
    pub fn header_len(&self) -> usize {
        usize::from(self.fixed[12] >> 4) * 4
    }

    /// Source and destination port.
    pub fn ports(&self) -> Ports {
        Ports { source: self.word(0), destination: self.word(2) }
    }

    /// Sequence number.
    pub fn seq(&self) -> SeqNum {
        self.number(4)
    }

    /// Acknowledgment number, valid only with [`Flags::ACK`].
    pub fn ack(&self) -> SeqNum {
        self.number(8)
    }

    /// Control bits.
    pub fn flags(&self) -> Flags {
        Flags(self.fixed[13])
    }

    /// Window field.
    pub fn window(&self) -> UnscaledWindow {
        UnscaledWindow::new(self.word(14))
    }

    /// Four bits between data offset and control bits. The last is AE of accurate ECN (RFC 9768),
    /// formerly NS.
    pub fn reserved(&self) -> u8 {
        self.fixed[12] & 0xf
    }

    /// Checksum field.
    pub fn checksum(&self) -> u16 {
        self.word(CHECKSUM_AT)
    }

    /// Urgent pointer, valid only with [`Flags::URG`].
    pub fn urgent(&self) -> u16 {
        self.word(18)
    }

    /// Iterates over the options.
    pub fn options(&self) -> RawOptions<'a> {
        RawOptions::new(self.options)
    }

    /// Bytes after the header.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Returns whether the checksum is correct, given the sum over the pseudo-header.
    pub fn checksum_is_good(&self, pseudo_header: Checksum) -> bool {
        pseudo_header.with(self.bytes).is_good()
    }

    /// Returns the validated segment of a packet with this ECN field; `None` if the control bits
    /// exclude each other.
    ///
    /// Invalid options are ignored. So are all options after one of wrong length (RFC 9293 §3.1: no
    /// option may harm its receiver), and options of a SYN on another segment. Urgent data is
    /// treated as ordinary data.
    pub fn repr(&self, ecn: Ecn) -> Option<Repr> {
        let flags = self.flags();
        let control = flags.control()?;
        let segment = Segment {
            seq: self.seq(),
            ack: flags.has(Flags::ACK).then(|| self.ack()),
            control,
            flags: flags.marks().with_ecn(ecn),
            window: self.window(),
            payload_len: u32::try_from(self.payload.len()).ok()?,
            options: option::validated(self.options, control == Control::Syn),
        };
        // Validated options fit, and options of a SYN occur only on a SYN.
        Some(Repr { ports: self.ports(), segment })
    }

    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.fixed[at], self.fixed[at + 1]])
    }

    fn number(&self, at: usize) -> SeqNum {
        SeqNum::new(u32::from(self.word(at)) << 16 | u32::from(self.word(at + 2)))
    }
}

#[cfg(test)]
mod tests;

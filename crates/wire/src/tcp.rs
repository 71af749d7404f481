//! TCP headers (RFC 9293 §3.1): [`Repr`] is what the stack believes, [`View`] is bytes as they
//! came.

mod option;

use thiserror::Error;

pub use self::option::{KnownOption, OptionError, RawOption, RawOptions};
use crate::checksum::Checksum;
use crate::header::Header;
use crate::segment::{Control, Ecn, Flags as Marks, Segment};
use crate::seq::SeqNum;
use crate::window::UnscaledWindow;

/// The bytes of a header without options.
pub const HEADER_LEN: usize = 20;

/// The longest header: as many words as four bits count.
pub const MAX_HEADER_LEN: usize = 60;

/// Where the checksum's field begins, in bytes.
pub(crate) const CHECKSUM_OFFSET: u16 = 16;
pub(crate) const CHECKSUM_AT: usize = CHECKSUM_OFFSET as usize;

/// Where a segment comes from and goes to, within the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ports {
    /// Of the end that sends the segment.
    pub source: u16,
    /// Of the end that it is for.
    pub destination: u16,
}

/// The control bits as they stand in the header (RFC 9293 §3.1; RFC 3168 for the last two).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// The sender has no more to send.
    pub const FIN: Self = Self(1);
    /// Opens.
    pub const SYN: Self = Self(1 << 1);
    /// Aborts.
    pub const RST: Self = Self(1 << 2);
    /// Asks for prompt delivery.
    pub const PSH: Self = Self(1 << 3);
    /// The acknowledgment number counts.
    pub const ACK: Self = Self(1 << 4);
    /// The urgent pointer counts.
    pub const URG: Self = Self(1 << 5);
    /// Echoes congestion.
    pub const ECE: Self = Self(1 << 6);
    /// The window was reduced.
    pub const CWR: Self = Self(1 << 7);

    /// Whether all of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The byte of the header.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// These and `other`.
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

    /// Those bits that a segment keeps as marks.
    const MARKS: [(Self, Marks); 3] =
        [(Self::PSH, Marks::PSH), (Self::ECE, Marks::ECE), (Self::CWR, Marks::CWR)];

    fn marks(self) -> Marks {
        Self::MARKS
            .into_iter()
            .fold(Marks::NONE, |marks, (bit, mark)| marks.with(mark, self.has(bit)))
    }

    /// The bit that says what the segment does; `None` for two that exclude each other.
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

/// A segment between two ports, which can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    ports: Ports,
    segment: Segment,
}

/// Why a segment cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unwritable {
    /// More options than a header holds.
    #[error("cannot write a TCP header with {len} bytes of options: it holds 40")]
    Options {
        /// Their bytes.
        len: u32,
    },
    /// An option of the handshake on another segment.
    #[error("cannot write a TCP header with options of a SYN and no SYN")]
    SynOptions,
}

impl Repr {
    /// The header of this segment.
    ///
    /// # Errors
    /// When its options do not fit, or belong to a SYN that it is not.
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

    /// The ports.
    pub fn ports(&self) -> Ports {
        self.ports
    }

    /// The segment.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// The bytes of header and payload.
    pub fn len(&self) -> usize {
        // At most 60 + 2³² − 1.
        usize::try_from(Segment::TCP_HEADER + self.segment.options.wire_len())
            .unwrap_or(MAX_HEADER_LEN)
            + usize::try_from(self.segment.payload_len).unwrap_or(usize::MAX - MAX_HEADER_LEN)
    }

    /// Never: there is a header.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Appends the header. `pseudo_header` is the IP header's; `payload` is the sum over the bytes
    /// that the caller lets follow, as many as the segment says: [`Checksum::EMPTY`] for zeros.
    pub fn write(&self, pseudo_header: Checksum, payload: Checksum, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.header(pseudo_header, payload));
    }

    /// The bytes of the header, with the checksum that belongs to these sums, as for
    /// [`write`](Self::write).
    pub fn header(&self, pseudo_header: Checksum, payload: Checksum) -> Header {
        let mut header = self.unsummed();
        let checksum = pseudo_header.and(header.sum()).and(payload).field();
        header.set_word(CHECKSUM_AT, checksum);
        header
    }

    /// The bytes of the header of a segment whose checksum, and segmentation if it is longer than
    /// the path carries, are left to a device: see [`gso`](crate::gso).
    pub fn partial_header(&self, pseudo_header: Checksum) -> Header {
        let mut header = self.unsummed();
        header.set_word(CHECKSUM_AT, pseudo_header.partial_field());
        header
    }

    /// The header with a checksum of zero.
    fn unsummed(&self) -> Header {
        let segment = &self.segment;
        // The constructor has checked that there are at most ten words of options.
        let words =
            u8::try_from((Segment::TCP_HEADER + segment.options.wire_len()) / 4).unwrap_or(15);
        // Checksum, to be filled in, and an urgent pointer that means nothing, stay zero.
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

/// A segment's bytes, of which the header is known to be there. Everything else is as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View<'a> {
    bytes: &'a [u8],
    fixed: &'a [u8; HEADER_LEN],
    options: &'a [u8],
    payload: &'a [u8],
}

/// Why bytes are no TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ViewError {
    /// Less than a header.
    #[error("cannot read a TCP header: {len} bytes are too few")]
    Truncated {
        /// The bytes there are.
        len: usize,
    },
    /// The data offset points into the fixed header, or past the end.
    #[error("cannot read a TCP header: its data offset is {offset} bytes of {len}")]
    Offset {
        /// The offset in bytes.
        offset: usize,
        /// The bytes there are.
        len: usize,
    },
}

impl<'a> View<'a> {
    /// Looks at the payload of an IP packet.
    ///
    /// # Errors
    /// When there is no whole header. A wrong checksum is none: ask
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

    /// The ports.
    pub fn ports(&self) -> Ports {
        Ports { source: self.word(0), destination: self.word(2) }
    }

    /// The sequence number.
    pub fn seq(&self) -> SeqNum {
        self.number(4)
    }

    /// The acknowledgment number, which counts only with [`Flags::ACK`].
    pub fn ack(&self) -> SeqNum {
        self.number(8)
    }

    /// The control bits.
    pub fn flags(&self) -> Flags {
        Flags(self.fixed[13])
    }

    /// The window field.
    pub fn window(&self) -> UnscaledWindow {
        UnscaledWindow::new(self.word(14))
    }

    /// The four bits between data offset and control bits. The last is AE of accurate ECN (RFC
    /// 9768), once NS.
    pub fn reserved(&self) -> u8 {
        self.fixed[12] & 0xf
    }

    /// The checksum's field.
    pub fn checksum(&self) -> u16 {
        self.word(CHECKSUM_AT)
    }

    /// The urgent pointer, which counts only with [`Flags::URG`].
    pub fn urgent(&self) -> u16 {
        self.word(18)
    }

    /// The options, one by one.
    pub fn options(&self) -> RawOptions<'a> {
        RawOptions::new(self.options)
    }

    /// What follows the header.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether the segment is intact, given the sum over its pseudo-header.
    pub fn checksum_is_good(&self, pseudo_header: Checksum) -> bool {
        pseudo_header.with(self.bytes).is_good()
    }

    /// What the stack believes of it, in a packet with this ECN field; `None` when the control bits
    /// exclude each other.
    ///
    /// Options that make no sense are left out, and so are those behind one whose length is wrong
    /// (RFC 9293 §3.1: no option may harm who reads it) and those of a SYN on another segment.
    /// Urgent data is ordinary data.
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
            options: option::believed(self.options, control == Control::Syn),
        };
        // What is believed of the options fits, and those of a SYN stand on one.
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

//! A TCP segment as the stack believes it.

use crate::sack::SackBlocks;
use crate::seq::SeqNum;
use crate::window::{Mss, UnscaledWindow, WindowScale};

/// The control bits that exclude each other: no segment both opens and resets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Control {
    /// None of them.
    #[default]
    None,
    /// Opens the connection; takes one sequence number before the payload.
    Syn,
    /// Ends the stream; takes one sequence number after the payload.
    Fin,
    /// Aborts the connection.
    Rst,
}

impl Control {
    /// How many sequence numbers the bit itself takes.
    pub const fn seq_len(self) -> u32 {
        match self {
            Self::Syn | Self::Fin => 1,
            Self::None | Self::Rst => 0,
        }
    }
}

/// The timestamps option (RFC 7323 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timestamps {
    /// `TSval`: the sender's clock.
    pub val: u32,
    /// `TSecr`: the peer's clock, echoed.
    pub ecr: u32,
}

/// The options in use. Those of a SYN are `None` on every other segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size (SYN only).
    pub mss: Option<Mss>,
    /// Window scale (SYN only, RFC 7323 §2).
    pub window_scale: Option<WindowScale>,
    /// SACK permitted (SYN only, RFC 2018 §2).
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018 §3).
    pub sack: SackBlocks,
}

impl Options {
    /// The bytes the options take in the header, padded to whole words as stacks lay them out.
    pub const fn wire_len(&self) -> u32 {
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let scale = if self.window_scale.is_some() { 4 } else { 0 };
        let permitted = if self.sack_permitted { 4 } else { 0 };
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        let sack = if self.sack.is_empty() { 0 } else { 4 + 8 * self.sack.count() };
        mss + scale + permitted + timestamps + sack
    }
}

/// A TCP segment. The payload is a length: the bytes stay with whoever keeps the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The sequence number of the first payload byte, or of the SYN.
    pub seq: SeqNum,
    /// The acknowledgment number, when the ACK bit is set.
    pub ack: Option<SeqNum>,
    /// SYN, FIN or RST.
    pub control: Control,
    /// Whether the sender asked for prompt delivery.
    pub psh: bool,
    /// The advertised window, unscaled.
    pub window: UnscaledWindow,
    /// Payload bytes.
    pub payload_len: u32,
    /// The options.
    pub options: Options,
}

impl Segment {
    /// The bytes of an IPv4 header without options.
    pub const IPV4_HEADER: u32 = 20;
    /// The bytes of a TCP header without options.
    pub const TCP_HEADER: u32 = 20;

    /// SEG.LEN of RFC 9293: payload plus what SYN or FIN take.
    pub const fn seq_len(&self) -> u32 {
        self.payload_len + self.control.seq_len()
    }

    /// The sequence number past the segment.
    pub fn seq_end(&self) -> SeqNum {
        self.seq + self.seq_len()
    }

    /// The size of the IPv4 packet that carries the segment, in bytes.
    pub const fn ipv4_len(&self) -> u32 {
        Self::IPV4_HEADER + Self::TCP_HEADER + self.options.wire_len() + self.payload_len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sack::SeqRange;

    fn data(payload_len: u32) -> Segment {
        Segment {
            seq: SeqNum::new(1),
            ack: Some(SeqNum::new(1)),
            control: Control::None,
            psh: false,
            window: UnscaledWindow::new(1000),
            payload_len,
            options: Options::default(),
        }
    }

    #[test]
    fn headers_take_forty_bytes_and_options_more() {
        assert_eq!(data(1460).ipv4_len(), 1500);
        let mut ack = data(0);
        ack.options.timestamps = Some(Timestamps { val: 1, ecr: 2 });
        ack.options.sack.push(SeqRange::new(SeqNum::new(5), SeqNum::new(9)).unwrap());
        assert_eq!(ack.ipv4_len(), 40 + 12 + 12);
    }

    #[test]
    fn syn_and_fin_take_a_sequence_number() {
        let fin = Segment { control: Control::Fin, ..data(10) };
        assert_eq!(fin.seq_end(), SeqNum::new(12));
    }

    #[test]
    fn a_segment_is_small() {
        assert!(size_of::<Segment>() <= 80, "{} bytes", size_of::<Segment>());
    }
}

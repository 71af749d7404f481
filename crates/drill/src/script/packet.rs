//! Packets: what arrives, and what must leave.

mod options;

use crate::cursor::{Cursor, Read};

pub use options::TcpOption;

/// A packet of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Packet {
    /// A TCP segment.
    Tcp(TcpPacket),
    /// An ICMP error that arrives.
    Icmp(Icmp),
}

/// Direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `<`: it arrives.
    Inbound,
    /// `>`: it must leave.
    Outbound,
}

/// Sequence numbers of a packet, `first:last(length)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    /// First sequence number.
    pub first: u32,
    /// Number of payload bytes.
    pub len: u32,
}

/// ECN field that a packet has, or must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnField {
    /// Exactly this value of the two bits.
    Is(wire::Ecn),
    /// ECT(0) or ECT(1).
    Capable,
}

/// A TCP segment of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpPacket {
    /// Direction.
    pub direction: Direction,
    /// ECN field, if written.
    pub ecn: Option<EcnField>,
    /// Another field of the IP header that the player doesn't have, with its name.
    pub foreign: Option<String>,
    /// Flags without accurate ECN, as letters.
    pub flags: String,
    /// Counter of accurate ECN, if written.
    pub counter: Option<u8>,
    /// Sequence numbers.
    pub seq: Sequence,
    /// Acknowledgment number, if written.
    pub ack: Option<u32>,
    /// Window field, if written.
    pub window: Option<u16>,
    /// Options; `None` for `<...>`, which is not compared.
    pub options: Option<Vec<TcpOption>>,
}

impl TcpPacket {
    /// Returns whether a flag is set.
    pub fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }
}

/// An ICMP error of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icmp {
    /// Direction.
    pub direction: Direction,
    /// Type, such as `unreachable`.
    pub kind: String,
    /// Code, such as `frag_needed`.
    pub code: Option<String>,
    /// MTU of the next hop in bytes.
    pub mtu: Option<u32>,
    /// Sequence numbers of the quoted segment.
    pub quote: Option<Sequence>,
}

/// Protocols and encapsulations of the language that occur in no script for TCP.
const FOREIGN: [&str; 7] = ["udp", "gre", "mpls", "ipv4", "ipv6", "encap", "psp"];

/// Reads a packet after `<` or `>`.
pub(super) fn packet(cursor: &mut Cursor, direction: Direction) -> Read<Packet> {
    let (ecn, foreign) = header(cursor)?;
    cursor.skip_blank()?;
    if cursor.eat_word("icmp")? {
        return icmp(cursor, direction).map(Packet::Icmp);
    }
    if let Some(word) = FOREIGN.iter().find(|&&word| cursor.peek_word() == word) {
        return cursor.problem(format!("`{word}` packets are not supported"));
    }
    let (flags, counter) = flags(cursor)?;
    let seq = sequence(cursor)?;
    let ack = if cursor.eat_word("ack")? { Some(cursor.small("a 32-bit number")?) } else { None };
    let window =
        if cursor.eat_word("win")? { Some(cursor.small("a 16-bit window")?) } else { None };
    let mut foreign = foreign;
    if cursor.eat_word("urg")? {
        cursor.small::<u16>("a 16-bit pointer")?;
        foreign = Some("urgent pointer".to_owned());
    }
    let options = options::options(cursor)?;
    let tcp = TcpPacket { direction, ecn, foreign, flags, counter, seq, ack, window, options };
    Ok(Packet::Tcp(tcp))
}

/// Reads fields of the IP header such as `[ect0]` or `(tos 0x4)`.
fn header(cursor: &mut Cursor) -> Read<(Option<EcnField>, Option<String>)> {
    let (mut ecn, mut foreign) = (None, None);
    loop {
        let end = if cursor.eat("[")? {
            "]"
        } else if cursor.eat("(")? {
            ")"
        } else {
            return Ok((ecn, foreign));
        };
        loop {
            cursor.skip_blank()?;
            let start = cursor.clone();
            let name = cursor.word("a field of the IP header such as `ect0`")?;
            match name {
                "noecn" => ecn = Some(EcnField::Is(wire::Ecn::NotEct)),
                "ect0" => ecn = Some(EcnField::Is(wire::Ecn::Ect0)),
                "ect1" => ecn = Some(EcnField::Is(wire::Ecn::Ect1)),
                "ce" => ecn = Some(EcnField::Is(wire::Ecn::Ce)),
                "ect01" => ecn = Some(EcnField::Capable),
                "tos" | "ttl" | "flowlabel" => {
                    cursor.integer("a number")?;
                    foreign = Some(name.to_owned());
                }
                other => {
                    return start.problem(format!(
                        "expected noecn, ect0, ect1, ect01, ce, tos, ttl or flowlabel, got \
                         `{other}`"
                    ));
                }
            }
            if cursor.eat(end)? {
                break;
            }
            cursor.expect(",")?;
        }
    }
}

/// Reads letters of flags, and a counter of accurate ECN.
fn flags(cursor: &mut Cursor) -> Read<(String, Option<u8>)> {
    cursor.skip_blank()?;
    let start = cursor.clone();
    let text = cursor.take_while(|c| !c.is_whitespace());
    if text == "-" {
        return Ok((String::new(), None));
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) && cursor.sees(">")? {
        return start.problem("packets with ports are not supported");
    }
    let (mut letters, mut counter) = (String::new(), None);
    for letter in text.chars() {
        match letter {
            'S' | 'F' | 'R' | 'P' | '.' | 'U' | 'E' | 'W' | 'A' if !letters.contains(letter) => {
                letters.push(letter);
            }
            '0'..='7' if counter.is_none() => {
                counter = letter.to_digit(8).and_then(|digit| u8::try_from(digit).ok());
            }
            _ => return start.expected("flags of `SFRP.UEWA`, each at most once, or `-`"),
        }
    }
    if letters.is_empty() { start.expected("flags such as `S.`") } else { Ok((letters, counter)) }
}

/// Reads `first:last(length)`.
fn sequence(cursor: &mut Cursor) -> Read<Sequence> {
    cursor.skip_blank()?;
    let start = cursor.clone();
    let first: u32 = cursor.small("sequence numbers such as `1:1001(1000)`")?;
    cursor.expect(":")?;
    let last: u32 = cursor.small("the last sequence number")?;
    cursor.expect("(")?;
    let len: u32 = cursor.small("the payload length")?;
    cursor.expect(")")?;
    if first.wrapping_add(len) != last {
        return start.problem(format!("{first} + {len} is not {last}"));
    }
    // An IP packet has at most this length.
    if len > 65_535 {
        return start.problem(format!("a packet has at most 65535 bytes, got {len}"));
    }
    Ok(Sequence { first, len })
}

fn icmp(cursor: &mut Cursor, direction: Direction) -> Read<Icmp> {
    let kind = cursor.word("a type of ICMP such as `unreachable`")?.to_owned();
    cursor.skip_blank()?;
    let named = cursor.rest().starts_with(|c: char| c.is_ascii_alphabetic());
    let code = if named && cursor.peek_word() != "mtu" {
        let word = cursor.word("a code")?;
        Some(cursor.definition(word).unwrap_or(word).to_owned())
    } else {
        None
    };
    let mtu = if cursor.eat_word("mtu")? { Some(cursor.small("an MTU")?) } else { None };
    let quote = if cursor.eat("[")? {
        let seq = sequence(cursor)?;
        cursor.expect("]")?;
        Some(seq)
    } else {
        None
    };
    Ok(Icmp { direction, kind, code, mtu, quote })
}

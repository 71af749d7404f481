use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::segment::{Control, Flags, Options, Segment};
use crate::seq::SeqNum;
use crate::tcp::{self, Ports};
use crate::window::UnscaledWindow;

const VERSIONS: [Version; 2] = [Version::V4, Version::V6];

fn addresses(version: Version) -> (IpAddr, IpAddr) {
    match version {
        Version::V4 => (Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(10, 0, 0, 2).into()),
        Version::V6 => {
            let host = |number| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number).into();
            (host(1), host(2))
        }
    }
}

/// Returns a packet with a message.
fn packet(repr: &Repr<'_>) -> Vec<u8> {
    let (source, destination) = addresses(repr.version());
    let ip = ip::Repr::new(source, destination, repr.version().icmp(), repr.len()).unwrap();
    let mut bytes = Vec::new();
    ip.write(&mut bytes);
    repr.write(ip.pseudo_header(), &mut bytes);
    assert_eq!(bytes.len(), ip.packet_len());
    bytes
}

fn view(bytes: &[u8]) -> Result<View<'_>, ViewError> {
    View::new(&ip::View::new(bytes).unwrap())
}

fn any_reason() -> BoxedStrategy<Unreachable> {
    let all = |version| (0..16).filter_map(move |code| Unreachable::from_code(version, code));
    select(VERSIONS.into_iter().flat_map(all).collect::<Vec<_>>()).boxed()
}

/// A message, and the bytes that it quotes or echoes.
fn any_message() -> BoxedStrategy<(usize, [u32; 2], Unreachable, Vec<u8>)> {
    (0..6usize, any::<[u32; 2]>(), any_reason(), proptest::collection::vec(any::<u8>(), 0..1500))
        .boxed()
}

fn message((kind, [a, b], reason, data): &(usize, [u32; 2], Unreachable, Vec<u8>)) -> Message<'_> {
    let quote = Quote::new(data);
    let [_, code, high, low] = a.to_be_bytes();
    let echo =
        Echo { identifier: u16::from_be_bytes([high, low]), sequence: u16::from(code), data };
    match kind {
        0 => Message::EchoRequest(echo),
        1 => Message::EchoReply(echo),
        2 => Message::Unreachable { reason: *reason, quote },
        3 => Message::TooBig { mtu: if a % 2 == 0 { *b } else { b & 0xffff }, quote },
        4 if a % 2 == 0 => Message::TimeExceeded { reason: TimeExceeded::Transit, quote },
        4 => Message::TimeExceeded { reason: TimeExceeded::Reassembly, quote },
        _ => Message::ParameterProblem {
            code,
            pointer: if a % 2 == 0 { *b } else { b & 0xff },
            quote,
        },
    }
}

proptest! {
    #[test]
    fn messages_round_trip(version in select(VERSIONS.to_vec()), parts in any_message()) {
        let Ok(repr) = Repr::new(version, message(&parts)) else {
            // Some contents can be represented in one version only.
            prop_assert!(version == Version::V4 || parts.0 == 2);
            return Ok(());
        };
        let bytes = packet(&repr);
        let read = view(&bytes).unwrap();
        prop_assert!(read.checksum_is_good());
        prop_assert_eq!(read.repr(), Some(repr));
        prop_assert_eq!(read.is_error(), repr.message().quote().is_some());
        if read.is_error() {
            let most = if version == Version::V4 { 576 } else { 1280 };
            prop_assert_eq!(bytes.len(), most.min(version.header_len() + HEADER_LEN + parts.3.len()));
        }
    }

    #[test]
    fn flipped_bit_is_detected(
        version in select(VERSIONS.to_vec()),
        parts in any_message(),
        bit in any::<proptest::sample::Index>(),
    ) {
        let Ok(repr) = Repr::new(version, message(&parts)) else { return Ok(()) };
        let mut bytes = packet(&repr);
        let from = version.header_len() * 8;
        let bit = from + bit.index(bytes.len() * 8 - from);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(view(&bytes).unwrap().repr(), None);
    }

    #[test]
    fn parsing_arbitrary_bytes_does_not_panic(
        version in select(VERSIONS.to_vec()),
        mut rest in proptest::collection::vec(prop_oneof![any::<u8>(), 0..5u8, Just(0x45), Just(0x60)], 0..120),
        intact in any::<bool>(),
    ) {
        let (source, destination) = addresses(version);
        let ip = ip::Repr::new(source, destination, version.icmp(), rest.len()).unwrap();
        if intact && rest.len() >= HEADER_LEN {
            rest[2..4].fill(0);
            let sum = of([Checksum::EMPTY, ip.pseudo_header()], version).with(&rest).field();
            rest[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        let mut bytes = Vec::new();
        ip.write(&mut bytes);
        bytes.extend(&rest);
        let Ok(read) = view(&bytes) else {
            prop_assert!(rest.len() < HEADER_LEN);
            return Ok(());
        };
        prop_assert!(!intact || read.checksum_is_good());
        if let Some(repr) = read.repr() {
            let again = packet(&repr);
            prop_assert_eq!(view(&again).unwrap().repr(), Some(repr));
            if let Some(quote) = repr.message().quote() {
                let _ = (quote.packet(), quote.segment());
            }
        }
    }
}

/// Returns a segment in a packet, with zeros as payload.
fn segment(version: Version, payload_len: u32) -> Vec<u8> {
    let segment = Segment {
        seq: SeqNum::new(0xdead_beef),
        ack: None,
        control: Control::None,
        flags: Flags::NONE,
        window: UnscaledWindow::new(1),
        payload_len,
        options: Options::default(),
    };
    let tcp = tcp::Repr::new(PORTS, segment).unwrap();
    let (source, destination) = addresses(version);
    let ip = ip::Repr::new(source, destination, ip::TCP, tcp.len()).unwrap();
    let mut bytes = Vec::new();
    ip.write(&mut bytes);
    tcp.write(ip.pseudo_header(), Checksum::EMPTY, &mut bytes);
    bytes.resize(ip.packet_len(), 0);
    bytes
}

const PORTS: Ports = Ports { source: 443, destination: 50_000 };

/// RFC 5927 §4: the fields that identify the connection of a segment.
#[test]
fn quote_identifies_its_segment() {
    for version in VERSIONS {
        let bytes = segment(version, 3000);
        let (source, destination) = addresses(version);
        let packet_len = version.header_len() + 3020;
        let expected = QuotedSegment {
            source,
            destination,
            ports: PORTS,
            seq: SeqNum::new(0xdead_beef),
            packet_len,
        };
        let enough = version.header_len() + 8;
        for keep in [enough, enough + 1, bytes.len()] {
            assert_eq!(Quote::new(&bytes[..keep]).segment(), Some(expected));
        }
        for keep in [0, 1, version.header_len(), enough - 1] {
            assert_eq!(Quote::new(&bytes[..keep]).segment(), None);
        }
        let mut other = bytes.clone();
        other[if version == Version::V4 { 9 } else { 6 }] = 17;
        assert_eq!(Quote::new(&other).segment(), None, "UDP");
    }
    let mut fragment = segment(Version::V4, 0);
    fragment[7] = 1;
    assert_eq!(Quote::new(&fragment).segment(), None, "the middle of a packet");
}

/// RFC 792, and RFC 1191 §4 for the MTU.
#[test]
fn ipv4_message_bytes() {
    let bytes = segment(Version::V4, 0);
    let quote = Quote::new(&bytes[..28]);
    let header = |message| {
        let bytes = packet(&Repr::new(Version::V4, message).unwrap());
        assert!(Checksum::of(&bytes[20..]).is_good());
        [&bytes[20..22], &bytes[24..28]].concat()
    };
    assert_eq!(header(Message::TooBig { mtu: 1400, quote }), [3, 4, 0, 0, 0x05, 0x78]);
    assert_eq!(
        header(Message::Unreachable { reason: Unreachable::Port, quote }),
        [3, 3, 0, 0, 0, 0]
    );
    assert_eq!(
        header(Message::TimeExceeded { reason: TimeExceeded::Reassembly, quote }),
        [11, 1, 0, 0, 0, 0]
    );
    assert_eq!(
        header(Message::ParameterProblem { code: 0, pointer: 20, quote }),
        [12, 0, 20, 0, 0, 0]
    );
    let echo = Echo { identifier: 0x0102, sequence: 0x0304, data: b"ping" };
    assert_eq!(header(Message::EchoRequest(echo)), [8, 0, 1, 2, 3, 4]);
    assert_eq!(header(Message::EchoReply(echo)), [0, 0, 1, 2, 3, 4]);
}

/// RFC 4443 §3 and §4; the checksum includes the pseudo-header (§2.3).
#[test]
fn ipv6_message_bytes() {
    let bytes = segment(Version::V6, 0);
    let quote = Quote::new(&bytes);
    let header = |message| {
        let bytes = packet(&Repr::new(Version::V6, message).unwrap());
        let mut covered = bytes[8..40].to_vec();
        covered.extend([0, 0, 0, u8::try_from(bytes.len() - 40).unwrap(), 0, 0, 0, 58]);
        assert!(Checksum::of(&covered).with(&bytes[40..]).is_good());
        [&bytes[40..42], &bytes[44..48]].concat()
    };
    assert_eq!(header(Message::TooBig { mtu: 0x0001_0500, quote }), [2, 0, 0, 1, 5, 0]);
    assert_eq!(
        header(Message::Unreachable { reason: Unreachable::Port, quote }),
        [1, 4, 0, 0, 0, 0]
    );
    assert_eq!(
        header(Message::TimeExceeded { reason: TimeExceeded::Transit, quote }),
        [3, 0, 0, 0, 0, 0]
    );
    assert_eq!(
        header(Message::ParameterProblem { code: 1, pointer: 40, quote }),
        [4, 1, 0, 0, 0, 40]
    );
    let echo = Echo { identifier: 0x0102, sequence: 0x0304, data: b"ping" };
    assert_eq!(header(Message::EchoRequest(echo)), [128, 0, 1, 2, 3, 4]);
    assert_eq!(header(Message::EchoReply(echo)), [129, 0, 1, 2, 3, 4]);
}

#[test]
fn codes_are_unique() {
    // Code 4 of RFC 1191 is a separate message.
    let known = |version| -> Vec<u8> {
        (0..=u8::MAX).filter(|code| Unreachable::from_code(version, *code).is_some()).collect()
    };
    assert_eq!(known(Version::V4), [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    assert_eq!(known(Version::V6), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    for version in VERSIONS {
        for code in known(version) {
            let reason = Unreachable::from_code(version, code).unwrap();
            assert_eq!(reason.code(version), Some(code));
        }
    }
}

/// RFC 9293 §3.9.2.2: hard errors of both versions.
#[test]
fn hard_errors_have_these_codes() {
    let quote = Quote::new(&[]);
    let hard = |version| -> Vec<u8> {
        let repr = |code| {
            Repr::new(
                version,
                Message::Unreachable { reason: Unreachable::from_code(version, code)?, quote },
            )
            .ok()
        };
        (0..16).filter(|code| repr(*code).is_some_and(|repr| repr.is_hard_error())).collect()
    };
    // Code 4, too big, is no reason to abort (RFC 1191 §6.1).
    assert_eq!(hard(Version::V4), [2, 3]);
    assert_eq!(hard(Version::V6), [1, 4]);
}

#[test]
fn unrepresentable_messages_are_errors() {
    let quote = Quote::new(&[]);
    let unreachable = |version, reason| Repr::new(version, Message::Unreachable { reason, quote });
    let error = unreachable(Version::V6, Unreachable::Protocol).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write an ICMP message over V6: it has no code for Protocol"
    );
    assert!(unreachable(Version::V4, Unreachable::BeyondScope).is_err());
    let too_big = |version, mtu| Repr::new(version, Message::TooBig { mtu, quote });
    assert_eq!(too_big(Version::V4, 65_536), Err(Unwritable::TooLarge { value: 65_536, bits: 16 }));
    assert!(too_big(Version::V6, 65_536).is_ok());
}

#[test]
fn invalid_messages_have_reasons() {
    assert_eq!(view(&segment(Version::V4, 0)), Err(ViewError::Protocol { protocol: 6 }));
    let echo = Message::EchoRequest(Echo { identifier: 0, sequence: 0, data: b"" });
    // The ICMP of the other version.
    let mut bytes = packet(&Repr::new(Version::V4, echo).unwrap());
    bytes[9] = 58;
    assert_eq!(view(&bytes), Err(ViewError::Protocol { protocol: 58 }));
    (bytes[9], bytes[6]) = (1, 0x20);
    assert_eq!(view(&bytes), Err(ViewError::Fragment));
    (bytes[6], bytes[3]) = (0, 27);
    assert_eq!(view(&bytes), Err(ViewError::Truncated { len: 7 }));
}

/// RFC 4884 §4: extensions after the quoted packet are not part of it.
#[test]
fn quote_ends_before_extensions() {
    let bytes = segment(Version::V4, 200);
    for (version, at, unit) in [(Version::V4, 5, 4), (Version::V6, 4, 8)] {
        let bytes = if version == Version::V4 { bytes.clone() } else { segment(version, 200) };
        let message =
            Message::Unreachable { reason: Unreachable::Network, quote: Quote::new(&bytes[..200]) };
        let mut sent = packet(&Repr::new(version, message).unwrap());
        let icmp = version.header_len();
        sent[icmp + at] = 128 / unit;
        sent[icmp + 2..icmp + 4].fill(0);
        let (source, destination) = addresses(version);
        let ip = ip::Repr::new(source, destination, version.icmp(), sent.len() - icmp).unwrap();
        let sum = of([Checksum::EMPTY, ip.pseudo_header()], version).with(&sent[icmp..]).field();
        sent[icmp + 2..icmp + 4].copy_from_slice(&sum.to_be_bytes());
        let quote = view(&sent).unwrap().repr().unwrap().message().quote().unwrap();
        assert_eq!(quote.bytes(), &bytes[..128]);
    }
}

use etherparse::PacketBuilder;
use proptest::prelude::*;
use units::Instant;
use wire::SeqNum;

use super::*;
use crate::records::LinkType;

fn record(link_type: u16, bytes: &[u8], wire_len: usize) -> Record<'_> {
    Record {
        frame: 1,
        at: Instant::ZERO,
        interface: 0,
        link_type: LinkType(link_type),
        bytes,
        wire_len: u32::try_from(wire_len).expect("a short packet"),
    }
}

fn read_tcp(link_type: u16, bytes: &[u8]) -> Packet {
    match decode(&record(link_type, bytes, bytes.len())) {
        Ok(packet) => packet,
        Err(other) => panic!("not TCP but {other:?}"),
    }
}

fn other(link_type: u16, bytes: &[u8]) -> Other {
    match decode(&record(link_type, bytes, bytes.len())) {
        Ok(packet) => panic!("not another packet but {packet:?}"),
        Err(other) => other,
    }
}

/// An IPv4 packet with a segment of 100 bytes, written by etherparse.
fn version_4() -> Vec<u8> {
    let builder = PacketBuilder::ipv4([10, 1, 2, 3], [10, 4, 5, 6], 63).tcp(1234, 80, 77, 500);
    let mut bytes = Vec::new();
    builder.ack(99).psh().write(&mut bytes, &[7; 100]).expect("memory");
    bytes
}

fn check(packet: &Packet) {
    let ports = (packet.source.port, packet.destination.port);
    let numbers = (packet.seq.value(), packet.ack.value());
    assert_eq!((ports, numbers, packet.payload_len), ((1234, 80), (77, 99), 100));
    assert!(packet.has(Flags::ACK) && packet.has(Flags::PSH) && !packet.has(Flags::SYN));
}

#[test]
fn link_layers() {
    let ip = version_4();
    let with = |header: &[u8]| [header, ip.as_slice()].concat();
    let ethernet = [&[1; 12][..], &[8, 0]].concat();
    let vlan = [&[1; 12][..], &[0x81, 0, 0, 5, 8, 0]].concat();
    let double = [&[1; 12][..], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0]].concat();
    let pppoe = [&[1; 12][..], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 160, 0, 0x21]].concat();
    let cooked = [&[0; 14][..], &[8, 0]].concat();
    let cooked_2 = [&[8, 0][..], &[0; 18]].concat();
    for (link_type, header) in [
        (1, ethernet.as_slice()),
        (1, &vlan),
        (1, &double),
        (1, &pppoe),
        (113, &cooked),
        (276, &cooked_2),
        (101, &[]),
        (228, &[]),
        (0, &[2, 0, 0, 0]),
        (108, &[0, 0, 0, 2]),
    ] {
        let packet = read_tcp(link_type, &with(header));
        check(&packet);
        assert_eq!(packet.source.ip().to_string(), "10.1.2.3");
        assert_eq!(packet.hops, 63);
    }
    assert_eq!(other(1, &[&[1; 12][..], &[8, 6], &[0; 28]].concat()), Other::NotIp);
    assert_eq!(other(105, &ip), Other::LinkType);
}

#[test]
fn padding_of_the_link_layer_is_no_payload() {
    let padded = [version_4(), vec![0; 6]].concat();
    check(&read_tcp(101, &padded));
}

#[test]
fn version_6_with_extension_headers() {
    let builder = PacketBuilder::ipv6([1; 16], [2; 16], 60).tcp(1234, 80, 77, 500);
    let mut plain = Vec::new();
    builder.ack(99).psh().write(&mut plain, &[7; 100]).expect("memory");
    check(&read_tcp(101, &plain));
    // Hop-by-hop options with an option that a host must not skip, then an atomic fragment.
    let mut long = plain.clone();
    long[6] = 0;
    let extensions = [44, 0, 0xc2, 4, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 1];
    long.splice(40..40, extensions);
    let len = u16::try_from(long.len() - 40).expect("short");
    long[4..6].copy_from_slice(&len.to_be_bytes());
    check(&read_tcp(101, &long));
    // With an offset it is a fragment.
    long[40 + 8 + 3] = 8;
    assert_eq!(other(101, &long), Other::Fragment);
}

#[test]
fn fragments_and_other_protocols_of_version_4() {
    let mut fragment = version_4();
    fragment[6] = 0x20;
    assert_eq!(other(101, &fragment), Other::Fragment);
    let mut udp = version_4();
    udp[9] = 17;
    assert_eq!(other(101, &udp), Other::NotTcp);
}

#[test]
fn groups_of_segments_have_their_length_on_the_wire() {
    let mut group = version_4();
    // Segmentation offload: the total length is zero, and only the headers were captured.
    group[2..4].fill(0);
    let record = record(101, &group[..40], 150_000);
    let Ok(packet) = decode(&record) else { panic!("a segment") };
    assert_eq!(packet.payload_len, 150_000 - 40);
}

#[test]
fn snap_lengths_cut_payload_and_options_but_not_the_fixed_header() {
    let whole = version_4();
    for len in 0..whole.len() {
        match decode(&record(101, &whole[..len], whole.len())) {
            Ok(packet) => {
                check(&packet);
                assert!(len >= 40);
            }
            Err(reason) => {
                assert!(len < 40);
                assert_eq!(reason, Other::CutShort);
            }
        }
    }
}

#[test]
fn options_of_a_syn_and_their_order() {
    use etherparse::TcpOptionElement::{
        MaximumSegmentSize, SelectiveAcknowledgementPermitted, Timestamp, WindowScale,
    };
    let elements = [
        MaximumSegmentSize(1460),
        SelectiveAcknowledgementPermitted,
        Timestamp(5, 0),
        etherparse::TcpOptionElement::Noop,
        WindowScale(7),
    ];
    let builder = PacketBuilder::ipv4([10, 1, 2, 3], [10, 4, 5, 6], 64).tcp(1234, 80, 77, 64_240);
    let builder = builder.syn().options(&elements).expect("they fit");
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &[]).expect("memory");
    let packet = read_tcp(101, &bytes);
    let expected =
        SynOptions { mss: Some(1460), window_scale: Some(7), sack_permitted: true, order: 0x3842 };
    assert_eq!(packet.syn, expected);
    assert_eq!(packet.timestamps.map(|timestamps| timestamps.val), Some(5));
    assert_eq!(crate::SenderKind::of_syn(&packet.syn, packet.window), crate::SenderKind::Linux);
}

proptest! {
    #[test]
    fn any_bytes_are_accepted(
        link_type in proptest::sample::select(vec![0_u16, 1, 101, 113, 276, 108]),
        start in 0..40_usize,
        noise in proptest::collection::vec(any::<u8>(), 0..80),
        wire_len in 0..200_000_usize,
    ) {
        let mut bytes = version_4();
        bytes.splice(start..(start + noise.len()).min(140), noise);
        let _ = decode(&record(link_type, &bytes, wire_len.max(bytes.len())));
    }

    #[test]
    fn sack_blocks_are_those_of_the_option(edges in proptest::collection::vec(any::<(u32, u32)>(), 1..4)) {
        let mut option = vec![1, 1, 5, u8::try_from(2 + 8 * edges.len()).expect("short")];
        for (start, end) in &edges {
            option.extend(start.to_be_bytes());
            option.extend(end.to_be_bytes());
        }
        let mut bytes = version_4();
        bytes.truncate(40);
        bytes[32] = u8::try_from((20 + option.len()) / 4).expect("short") << 4;
        bytes.extend(&option);
        let total = u16::try_from(bytes.len()).expect("short");
        bytes[2..4].copy_from_slice(&total.to_be_bytes());
        let packet = read_tcp(101, &bytes);
        let expected: Vec<_> = edges
            .iter()
            .filter_map(|&(start, end)| SeqRange::new(SeqNum::new(start), SeqNum::new(end)))
            .collect();
        prop_assert_eq!(packet.sack.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_usual_options_are_those_that_a_search_finds(
        start in prop_oneof![Just([1, 1, 8, 10]), any::<[u8; 4]>()],
        rest in prop::collection::vec(any::<u8>(), 0..=12),
    ) {
        let bytes = [&start[..], &rest].concat();
        // Twenty bytes of a header whose data offset contains the options.
        let words = u8::try_from((20 + bytes.len()).div_ceil(4)).expect("at most 9");
        let mut header = vec![0; 20];
        header[12] = words << 4;
        header.extend(&bytes);
        if let Some(timestamps) = usual_options(&bytes) {
            let found = options(&View::cut_short(&header).expect("a header"), false);
            prop_assert_eq!(found.timestamps, Some(timestamps));
            prop_assert!(found.sack.is_empty());
            prop_assert_eq!(found.syn, SynOptions::default());
        } else {
            prop_assert!(start != [1, 1, 8, 10] || rest.len() != 8);
        }
    }
}

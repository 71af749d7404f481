use proptest::prelude::*;

use super::*;

/// The type and the body of each block.
fn blocks(mut bytes: &[u8]) -> Vec<(u32, &[u8])> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (kind, len) = (word(bytes, 0), word(bytes, 4) as usize);
        assert_eq!(len % 4, 0);
        assert_eq!(
            word(bytes, len - 4) as usize,
            len,
            "the length at the end of a block of type {kind}"
        );
        found.push((kind, &bytes[8..len - 4]));
        bytes = &bytes[len..];
    }
    found
}

/// The options at the end of a block's body.
fn options(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    loop {
        let (code, len) = (half(bytes, 0), usize::from(half(bytes, 2)));
        if code == 0 {
            assert_eq!(bytes.len(), 4, "something follows the end of the options");
            return found;
        }
        found.push((code, &bytes[4..4 + len]));
        bytes = &bytes[4 + len.next_multiple_of(4)..];
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn interface(snap_len: u32) -> Interface<'static> {
    Interface {
        name: "server",
        description: None,
        address: Some(ADDRESS),
        link_type: LinkType::Raw,
        snap_len,
    }
}

#[test]
fn a_file_begins_with_its_section() {
    let section =
        Section { application: Some("tcpsf 1"), hardware: Some("none"), ..Section::default() };
    let mut writer = Writer::new(Vec::new(), &section).unwrap();
    writer.interface(&interface(96)).unwrap();
    writer.names([(ADDRESS, "server"), (Ipv4Addr::new(10, 0, 0, 2), "client\0x")]).unwrap();
    let file = writer.finish().unwrap();
    let blocks = blocks(&file);
    let [(SECTION, section), (1, interface), (4, names)] = blocks[..] else { panic!("{blocks:?}") };
    assert_eq!(section[..8], [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0]);
    assert_eq!(options(&section[16..]), [(2, &b"none"[..]), (4, b"tcpsf 1")]);
    assert_eq!((half(interface, 0), word(interface, 4)), (101, 96));
    assert_eq!(
        options(&interface[8..]),
        [(2, &b"server"[..]), (4, &[10, 0, 0, 1, 255, 255, 255, 255]), (9, &[9])]
    );
    assert_eq!(options(names), [(1, &b"\x0a\0\0\x01server\0"[..]), (1, b"\x0a\0\0\x02client\0")]);
}

const SECTION: u32 = block::SECTION_HEADER;

proptest! {
    #[test]
    fn packets_read_back_equal(
        packets in proptest::collection::vec(
            (any::<u64>(), proptest::collection::vec(any::<u8>(), 0..200), any::<u16>(),
             proptest::collection::vec(".{0,20}", 0..3), any::<bool>()),
            0..20,
        ),
        snap_len in 0..250u32,
    ) {
        let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
        let id = writer.interface(&interface(snap_len)).unwrap();
        for (nanos, bytes, more, comments, sent) in &packets {
            let direction = if *sent { Direction::Outbound } else { Direction::Inbound };
            let wire_len = u32::try_from(bytes.len()).unwrap() + u32::from(*more);
            let at = Instant::from_nanos(*nanos);
            writer.packet(&Packet { interface: id, at, direction, bytes, wire_len, comments }).unwrap();
        }
        let file = writer.finish().unwrap();
        let blocks = blocks(&file);
        prop_assert_eq!(blocks.len(), 2 + packets.len());
        for ((kind, body), (nanos, bytes, more, comments, sent)) in blocks[2..].iter().zip(&packets) {
            prop_assert_eq!((*kind, word(body, 0)), (6, 0));
            prop_assert_eq!(u64::from(word(body, 4)) << 32 | u64::from(word(body, 8)), *nanos);
            let kept = word(body, 12) as usize;
            prop_assert_eq!(kept, bytes.len().min(snap_len as usize));
            prop_assert_eq!(word(body, 16) as usize, bytes.len() + usize::from(*more));
            prop_assert_eq!(&body[20..20 + kept], &bytes[..kept]);
            let flags = if *sent { [2, 0, 0, 0] } else { [1, 0, 0, 0] };
            let mut expected: Vec<(u16, &[u8])> = comments.iter().map(|text| (1, text.as_bytes())).collect();
            expected.push((2, &flags));
            prop_assert_eq!(options(&body[20 + kept.next_multiple_of(4)..]), expected);
        }
    }
}

#[test]
fn long_texts_are_cut_between_characters() {
    let comment = "é".repeat(40_000);
    let section = Section { comment: Some(&comment), ..Section::default() };
    let mut writer = Writer::new(Vec::new(), &section).unwrap();
    writer.names([(ADDRESS, comment.as_str())]).unwrap();
    let file = writer.finish().unwrap();
    let blocks = blocks(&file);
    let comment = options(&blocks[0].1[16..])[0].1;
    assert_eq!(std::str::from_utf8(comment).unwrap().chars().count(), 32_767);
    let name = options(blocks[1].1)[0].1;
    assert!(std::str::from_utf8(&name[4..name.len() - 1]).is_ok());
    assert_eq!(name.last(), Some(&0));
}

#[test]
fn a_full_disk_is_an_error() {
    let mut room = [0; 40];
    let mut writer = Writer::new(&mut room[..], &Section::default()).unwrap();
    assert!(writer.interface(&interface(96)).is_err());
}

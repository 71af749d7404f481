use std::io::{Cursor, Write};

use proptest::prelude::*;

use super::*;
use crate::input::decompressed;
use crate::testing;

/// A pcap file with this byte order and unit of time.
fn pcap(big_endian: bool, nanos: bool, packets: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let magic: u32 = if nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file = Vec::new();
    let mut number = |value: u32| {
        file.extend(if big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    };
    number(magic);
    number(if big_endian { 2 << 16 | 4 } else { 4 << 16 | 2 });
    for value in [0, 0, 65_535, 101] {
        number(value);
    }
    for (seconds, fraction, bytes) in packets {
        let number = |value: u32| {
            if big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
        };
        let len = u32::try_from(bytes.len()).expect("short");
        for value in [*seconds, *fraction, len, len + 7] {
            file.extend(number(value));
        }
        file.extend(*bytes);
    }
    file
}

/// Frame number, time and bytes of each packet, and the ending.
fn read(file: &[u8]) -> (Vec<(u64, u64, Vec<u8>)>, Ending) {
    let mut records = Records::new(Cursor::new(file.to_vec())).expect("a capture");
    let mut found = Vec::new();
    while let Some(record) = records.next() {
        found.push((record.frame, record.at.as_nanos(), record.bytes.to_vec()));
    }
    (found, records.ending().expect("read to the end").clone())
}

#[test]
fn both_byte_orders_and_units_of_pcap() {
    for (big_endian, nanos, unit) in
        [(false, false, 1000), (true, false, 1000), (false, true, 1), (true, true, 1)]
    {
        let file = pcap(big_endian, nanos, &[(1, 5, b"abc"), (2, 6, b"")]);
        let (found, ending) = read(&file);
        let second = 1_000_000_000;
        assert_eq!(
            found,
            [(1, second + 5 * unit, b"abc".to_vec()), (2, 2 * second + 6 * unit, vec![])]
        );
        assert_eq!(ending, Ending::Complete);
    }
}

#[test]
fn pcapng_of_our_own_writer() {
    let packets: [(f64, &[u8]); 3] = [(0.0, b"a"), (0.5, b"bcd"), (1000.0, b"efghi")];
    let (found, ending) = read(&testing::pcapng(packets.into_iter()));
    let bytes: Vec<_> = found.iter().map(|(_, _, bytes)| bytes.as_slice()).collect();
    assert_eq!(bytes, packets.map(|(_, bytes)| bytes));
    assert_eq!(found[2].1 - found[0].1, 1_000_000_000);
    assert_eq!(ending, Ending::Complete);
}

#[test]
fn unknown_blocks_are_skipped_and_sections_have_own_interfaces() {
    let one = testing::pcapng([(0.0, &b"a"[..])].into_iter());
    let unknown: Vec<u8> =
        [0x0bad_u32, 20, 1, 2, 20].iter().flat_map(|n| n.to_le_bytes()).collect();
    let file = [one.clone(), unknown, one].concat();
    let (found, ending) = read(&file);
    assert_eq!((found.len(), ending), (2, Ending::Complete));
}

#[test]
fn compressed_files_are_recognised() {
    let plain = testing::pcapng([(0.0, &b"abc"[..])].into_iter());
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&plain).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let zstd = ruzstd::encoding::compress_to_vec(
        plain.as_slice(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    // A skippable frame, and two frames of which the second is empty.
    let skippable = [&[0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9], zstd.as_slice()].concat();
    let members = [gzip.as_slice(), &gzip].concat();
    for (file, copies) in [(&plain, 1), (&gzip, 1), (&zstd, 1), (&skippable, 1), (&members, 2)] {
        let source = decompressed(Cursor::new(file.clone())).expect("readable");
        let mut records = Records::new(source).expect("a capture");
        for _ in 0..copies {
            assert_eq!(records.next().expect("a packet").bytes, b"abc");
        }
        assert_eq!(records.next(), None);
        assert_eq!(records.ending(), Some(&Ending::Complete));
    }
}

#[test]
fn other_files_are_refused_with_their_first_bytes() {
    let error = Records::new(&b"not a capture at all"[..]).expect_err("no capture");
    assert_eq!(
        error.to_string(),
        "neither pcap nor pcapng: the file begins with the bytes 6e 6f 74 20 61 20 63 61"
    );
    assert!(matches!(Records::new(&b""[..]), Err(NotACapture::Empty)));
}

#[test]
fn a_false_length_ends_the_reading_at_its_place() {
    let mut file = pcap(false, false, &[(1, 0, b"abc")]);
    let place = file.len() as u64;
    for value in [2_u32, 0, u32::MAX, 60] {
        file.extend(value.to_le_bytes());
    }
    let (found, ending) = read(&file);
    assert_eq!(found.len(), 1);
    let reason = "a packet of 4294967295 bytes: expected at most 16777216".to_owned();
    assert_eq!(ending, Ending::Damaged { offset: place, reason });
}

#[test]
fn a_large_false_length_costs_no_memory() {
    let mut file = pcap(false, false, &[]);
    for value in [2_u32, 0, 16 << 20, 60] {
        file.extend(value.to_le_bytes());
    }
    let mut records = Records::new(Cursor::new(file)).expect("a capture");
    assert_eq!(records.next(), None);
    assert!(records.window.capacity() <= 512 * 1024);
}

proptest! {
    /// A file that is cut has the packets before the cut, and the ending says where.
    #[test]
    fn a_cut_file_is_read_to_the_cut(cut in 0..400_usize, ng: bool) {
        let packets: [&[u8]; 4] = [b"first", b"", b"the third packet", b"4"];
        let file = if ng {
            testing::pcapng(packets.into_iter().map(|bytes| (1.0, bytes)))
        } else {
            pcap(true, true, &packets.map(|bytes| (1, 2, bytes)))
        };
        let part = &file[..cut.min(file.len())];
        let Ok(mut records) = Records::new(part) else {
            prop_assert!(part.len() < 24);
            return Ok(());
        };
        let mut count = 0;
        while let Some(record) = records.next() {
            prop_assert_eq!(record.bytes, packets[count]);
            count += 1;
        }
        match records.ending().expect("ended") {
            Ending::Complete => prop_assert!(records.offset() == part.len() as u64),
            Ending::Damaged { offset, .. } => prop_assert!(*offset < part.len() as u64),
        }
    }

    #[test]
    fn any_bytes_after_a_header_are_accepted(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        ng: bool,
        at in 0..200_usize,
    ) {
        let mut file = if ng {
            testing::pcapng([(1.0, &b"first packet"[..])].into_iter())
        } else {
            pcap(false, false, &[(1, 2, b"first packet")])
        };
        let at = 24 + at.min(file.len() - 24);
        file.splice(at.., bytes);
        if let Ok(mut records) = Records::new(Cursor::new(file)) {
            while records.next().is_some() {}
            prop_assert!(records.ending().is_some());
        }
    }
}

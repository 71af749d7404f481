use super::*;

/// Returns the segments of a packet.
fn cut(bytes: &[u8], mss: NonZeroU16) -> Vec<Vec<u8>> {
    let mut cutter = Cutter::new(bytes, mss).unwrap();
    let mut all = Vec::new();
    let mut segment = Vec::new();
    while cutter.write_next(&mut segment) {
        all.push(std::mem::take(&mut segment));
    }
    all
}

/// Merges packets as far as possible, in the format for a device.
fn joined(packets: &[Vec<u8>]) -> Vec<(Offload, Vec<u8>)> {
    let mut all = Vec::new();
    let mut rest = packets;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let Some(mut joiner) = Joiner::new(first) else {
            all.push((Offload::NONE, first.clone()));
            continue;
        };
        let headers_len = joiner.headers_len();
        let mut payload = first[headers_len..].to_vec();
        while let Some((next, after)) = rest.split_first() {
            if !joiner.push(next) {
                break;
            }
            payload.extend_from_slice(&next[headers_len..]);
            rest = after;
        }
        if joiner.segments() == 1 {
            all.push((Offload::NONE, first.clone()));
            continue;
        }
        let (offload, [ip, tcp]) = joiner.finish();
        let mut bytes = [&ip[..], &tcp[..]].concat();
        bytes.extend(payload);
        all.push((offload, bytes));
    }
    all
}

/// Divides merged packets as a device does.
fn divided(joined: &[(Offload, Vec<u8>)]) -> Vec<Vec<u8>> {
    let each = joined.iter().map(|(offload, bytes)| match offload.segmentation {
        Some(segmentation) => cut(bytes, segmentation.size),
        None => vec![bytes.clone()],
    });
    each.flatten().collect()
}

/// Updates the checksums of a packet that has a TCP header.
fn update_checksums(bytes: &mut [u8]) {
    let Ok(view) = ip::View::new(bytes) else { return };
    let (len, at) = (view.packet_len(), view.packet_len() - view.payload().len());
    if view.protocol() != ip::TCP || tcp::View::new(view.payload()).is_err() {
        return;
    }
    let (pseudo_header, four) = (view.pseudo_header(), view.version() == Version::V4);
    let segment = &mut bytes[at..len];
    segment[16..18].fill(0);
    let checksum = pseudo_header.with(segment).field();
    segment[16..18].copy_from_slice(&checksum.to_be_bytes());
    if four {
        bytes[10..12].fill(0);
        let checksum = Checksum::of(&bytes[..at]).field();
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
}

fn data(payload_len: u32) -> Segment {
    Segment {
        seq: SeqNum::new(u32::MAX - 2000),
        ack: Some(SeqNum::new(9)),
        control: Control::None,
        flags: Flags::PSH,
        window: UnscaledWindow::new(77),
        payload_len,
        options: Options { timestamps: Some(Timestamps { val: 1, ecr: 2 }), ..Options::default() },
    }
}

proptest! {
    /// Merging gives one packet, with the headers of a single large segment, unless its control
    /// bits forbid merging.
    #[test]
    fn joining_reverses_cutting(
        version in any_version(),
        segment in any_segment(20_000),
        mss in prop_oneof![20..1500u16, Just(1448)],
    ) {
        let (_, _, bytes) = packet(version, segment, true);
        let segments = cut(&bytes, size(mss));
        let joined = joined(&segments);
        prop_assert_eq!(&divided(&joined), &segments);
        // A segment with CWR is not merged, and the segment before the last may be short.
        let alone = usize::from(segment.flags.has(Flags::CWR)).min(segments.len() - 1);
        prop_assert_eq!(joined.len(), 1 + alone);
        if alone == 0 && segments.len() > 1 {
            prop_assert_eq!(&joined[0].1, &bytes);
            let (ip, tcp, _) = packet(version, segment, true);
            prop_assert_eq!(joined[0].0, Offload::of(&ip, &tcp, size(mss)));
        }
    }

    /// Division returns the original bytes, for any packets in any order with any changes.
    #[test]
    fn joined_packets_contain_all_bytes(
        version in any_version(),
        segments in proptest::collection::vec(any_segment(9000), 1..4),
        mss in prop_oneof![Just(100u16), Just(1448)],
        changes in proptest::collection::vec((any::<[proptest::sample::Index; 2]>(), any::<u8>(), any::<bool>()), 0..12),
        moves in proptest::collection::vec(any::<[proptest::sample::Index; 2]>(), 0..4),
    ) {
        let mut at = SeqNum::new(segments[0].seq.value());
        let mut packets = Vec::new();
        for segment in segments {
            // One stream, as a TCP sends it.
            let segment = Segment { seq: at, ..segment };
            at += segment.payload_len;
            packets.extend(cut(&packet(version, segment, true).2, size(mss)));
        }
        for [one, other] in moves {
            let (one, other) = (one.index(packets.len()), other.index(packets.len()));
            packets.swap(one, other);
        }
        for ([which, place], byte, in_the_headers) in changes {
            let which = which.index(packets.len());
            let packet = &mut packets[which];
            let place = place.index(if in_the_headers { packet.len().min(80) } else { packet.len() });
            packet[place] = byte;
            update_checksums(packet);
        }
        prop_assert_eq!(divided(&joined(&packets)), packets);
    }
}

#[test]
fn each_header_difference_prevents_joining() {
    // IPv4: TOS, identification, DF, TTL, checksum, address. TCP: ports, sequence, acknowledgment,
    // header length, bits, window, urgent pointer, timestamps.
    let headers = [1, 5, 6, 8, 10, 15, 20, 23, 27, 31, 32, 33, 35, 39, 47, 51];
    let (.., bytes) = packet(Version::V4, data(3000), true);
    let segments = cut(&bytes, size(1000));
    assert_eq!(joined(&segments).len(), 1);
    for at in headers {
        for bit in 0..8 {
            let mut changed = segments.clone();
            changed[1][at] ^= 1 << bit;
            let of_the_last = at == 33
                && [tcp::Flags::FIN, tcp::Flags::PSH].iter().any(|flag| flag.bits() == 1 << bit);
            let wanted = if of_the_last { 2 } else { 3 };
            assert_eq!(joined(&changed).len(), wanted, "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn unrelated_packets_are_not_joined() {
    let (.., whole) = packet(Version::V6, data(3000), true);
    let segments = cut(&whole, size(1000));
    assert!(Joiner::new(&segments[0]).is_some());
    assert!(Joiner::new(&segments[2]).is_none(), "PSH: none follows");
    let (.., bare) = packet(Version::V6, Segment { flags: Flags::NONE, ..data(0) }, false);
    assert!(Joiner::new(&bare).is_none(), "no data");
    assert!(Joiner::new(&segments[0][..900]).is_none(), "cut off");
    let longer = [&segments[0][..], &[0]].concat();
    assert!(Joiner::new(&longer).is_none(), "something behind it");
    let mut udp = segments[0].clone();
    udp[6] = 17;
    assert!(Joiner::new(&udp).is_none());
    assert!(Joiner::new(&[]).is_none());
    let mut joiner = Joiner::new(&segments[0]).unwrap();
    assert!(!joiner.push(&bare) && !joiner.push(&segments[2]) && !joiner.push(&segments[0]));
    assert!(joiner.push(&segments[1]) && joiner.push(&segments[2]));
    assert_eq!((joiner.segments(), joiner.headers_len()), (3, 72));
}

/// Two segments that are together longer than a packet can be.
#[test]
fn joined_packets_have_a_valid_length() {
    let (.., one) = packet(Version::V4, Segment { flags: Flags::NONE, ..data(65_000) }, true);
    let next = |len| {
        let (.., mut next) =
            packet(Version::V4, Segment { seq: data(0).seq + 65_000, ..data(len) }, false);
        next[5] = 1;
        update_checksums(&mut next);
        next
    };
    let mut joiner = Joiner::new(&one).unwrap();
    assert!(!joiner.push(&next(484)));
    assert!(joiner.push(&next(483)));
    let (offload, [ip, _]) = joiner.finish();
    assert_eq!(&ip[2..4], &[0xff, 0xff]);
    assert_eq!(offload.segmentation.map(|cut| cut.size.get()), Some(65_000));
}

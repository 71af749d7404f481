use std::net::IpAddr;

use proptest::prelude::*;

use super::*;
use crate::segment::{Control, Ecn, Options, Segment, Timestamps};
use crate::tcp::Ports;
use crate::window::UnscaledWindow;

mod join;

const PORTS: Ports = Ports { source: 443, destination: 50_000 };

fn size(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).unwrap()
}

fn ends(version: Version) -> (IpAddr, IpAddr) {
    match version {
        Version::V4 => ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()),
        Version::V6 => ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap()),
    }
}

prop_compose! {
    fn any_segment(most: u32)(
        seq in any::<u32>(),
        fin in any::<bool>(),
        psh in any::<bool>(),
        cwr in any::<bool>(),
        timestamps in proptest::option::of(any::<(u32, u32)>()),
        payload_len in 0..most,
    ) -> Segment {
        let options = Options { timestamps: timestamps.map(|(val, ecr)| Timestamps { val, ecr }), ..Options::default() };
        let flags = Flags::NONE.with(Flags::PSH, psh).with(Flags::CWR, cwr).with_ecn(Ecn::Ect0);
        let control = if fin { Control::Fin } else { Control::None };
        let (seq, ack, window) = (SeqNum::new(seq), Some(SeqNum::new(7)), UnscaledWindow::new(100));
        Segment { seq, ack, control, flags, window, payload_len, options }
    }
}

fn any_version() -> BoxedStrategy<Version> {
    prop_oneof![Just(Version::V4), Just(Version::V6)].boxed()
}

/// Returns the headers of a segment, and the packet with the payload 0, 1, 2 …. Its checksum is
/// complete or left to a device.
fn packet(version: Version, segment: Segment, partial: bool) -> (ip::Repr, tcp::Repr, Vec<u8>) {
    let payload: Vec<u8> = (0..=u8::MAX).cycle().take(segment.payload_len as usize).collect();
    let tcp = tcp::Repr::new(PORTS, segment).unwrap();
    let (source, destination) = ends(version);
    let ip = ip::Repr::new(source, destination, ip::TCP, tcp.len())
        .unwrap()
        .with_ecn(segment.flags.ecn());
    let mut bytes = Vec::new();
    ip.write(&mut bytes);
    if partial {
        bytes.extend_from_slice(&tcp.partial_header(ip.pseudo_header()));
    } else {
        tcp.write(ip.pseudo_header(), Checksum::of(&payload), &mut bytes);
    }
    bytes.extend(payload);
    (ip, tcp, bytes)
}

proptest! {
    #[test]
    fn completed_checksum_equals_written_one(version in any_version(), segment in any_segment(3000)) {
        let (ip, tcp, mut bytes) = packet(version, segment, true);
        let offload = Offload::of(&ip, &tcp, size(5000));
        prop_assert_eq!(offload.segmentation, None);
        complete(&mut bytes, offload.checksum.unwrap()).unwrap();
        let view = ip::View::new(&bytes).unwrap();
        prop_assert!(tcp::View::new(view.payload()).unwrap().checksum_is_good(view.pseudo_header()));
    }

    #[test]
    fn segments_equal_written_ones(
        version in any_version(),
        segment in any_segment(20_000),
        mss in prop_oneof![20..1500u16, Just(1448)],
        partial in any::<bool>(),
    ) {
        let (ip, tcp, bytes) = packet(version, segment, partial);
        let offload = Offload::of(&ip, &tcp, size(mss));
        prop_assert_eq!(offload.segmentation.is_some(), segment.payload_len > u32::from(mss));
        let mut cutter = Cutter::new(&bytes, size(mss)).unwrap();
        let expected = usize::max(1, (segment.payload_len as usize).div_ceil(mss.into()));
        let (mut number, mut rest) = (0u16, segment.payload_len);
        let mut payload = Vec::new();
        let mut out = Vec::new();
        loop {
            prop_assert_eq!(cutter.remaining(), expected - usize::from(number));
            out.clear();
            if !cutter.write_next(&mut out) {
                break;
            }
            let len = rest.min(mss.into());
            let (first, last) = (number == 0, len == rest);
            let flags = Flags::NONE
                .with(Flags::PSH, last && segment.flags.has(Flags::PSH))
                .with(Flags::CWR, first && segment.flags.has(Flags::CWR))
                .with_ecn(Ecn::Ect0);
            let control = if last { segment.control } else { Control::None };
            let seq = segment.seq + (segment.payload_len - rest);
            let mine = Segment { seq, control, flags, payload_len: len, ..segment };
            let ip = ip::View::new(&out).unwrap();
            let tcp = tcp::View::new(ip.payload()).unwrap();
            prop_assert_eq!(out.len(), ip.packet_len());
            prop_assert!(ip.checksum_is_good() && tcp.checksum_is_good(ip.pseudo_header()));
            prop_assert_eq!(tcp.repr(ip.ecn()), Some(tcp::Repr::new(PORTS, mine).unwrap()));
            if let ip::View::V4(ip) = ip {
                prop_assert_eq!(ip.identification(), number);
            }
            payload.extend_from_slice(tcp.payload());
            rest -= len;
            number += 1;
        }
        prop_assert_eq!(rest, 0);
        prop_assert!(bytes.ends_with(&payload));
        prop_assert_eq!(usize::from(number), expected);
    }

    #[test]
    fn offload_headers_round_trip(
        version in proptest::option::of(any_version()),
        numbers in any::<[u16; 4]>(),
        [checked, ecn, needs] in any::<[bool; 3]>(),
    ) {
        let [segment, header_len, start, offset] = numbers;
        let segmentation = version.map(|version| Segmentation { version, size: size(segment.max(1)), ecn, header_len });
        let checksum = needs.then_some(PartialChecksum { start, offset });
        let offload = Offload { checksum, segmentation, checked };
        prop_assert_eq!(Offload::from_bytes(&offload.to_bytes()), Ok(offload));
    }

    #[test]
    fn cutting_arbitrary_bytes_does_not_panic(
        version in any_version(),
        segment in any_segment(100),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..6),
        header in any::<[u8; Offload::LEN]>(),
        mss in 1..50u16,
    ) {
        let (.., mut bytes) = packet(version, segment, true);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(mut cutter) = Cutter::new(&bytes, size(mss)) {
            let mut out = Vec::new();
            while cutter.write_next(&mut out) {
                prop_assert!(tcp::View::new(ip::View::new(&out).unwrap().payload()).is_ok());
                out.clear();
            }
        }
        if let Ok(Offload { checksum: Some(checksum), .. }) = Offload::from_bytes(&header) {
            let _ = complete(&mut bytes, checksum);
        }
    }
}

/// Virtio 1.2 §5.1.6, in little-endian byte order.
#[test]
#[cfg(target_endian = "little")]
fn offload_header_bytes() {
    let segment = Segment {
        seq: SeqNum::new(1),
        ack: None,
        control: Control::None,
        flags: Flags::CWR,
        window: UnscaledWindow::new(1),
        payload_len: 4000,
        options: Options::default(),
    };
    let bytes = |version, segment, size| {
        let (ip, tcp, _) = packet(version, segment, true);
        Offload::of(&ip, &tcp, size).to_bytes()
    };
    assert_eq!(bytes(Version::V4, segment, size(1460)), [1, 0x81, 40, 0, 0xb4, 5, 20, 0, 16, 0]);
    let plain = Segment { flags: Flags::NONE, ..segment };
    assert_eq!(bytes(Version::V6, plain, size(1440)), [1, 4, 60, 0, 0xa0, 5, 40, 0, 16, 0]);
    assert_eq!(bytes(Version::V6, plain, size(4000)), [1, 0, 0, 0, 0, 0, 40, 0, 16, 0]);
    assert_eq!(Offload::NONE.to_bytes(), [0; 10]);
    assert_eq!(
        Offload::from_bytes(&[0, 5, 0, 0, 1, 0, 0, 0, 0, 0]),
        Err(OffloadError::Kind { kind: 5 })
    );
    assert_eq!(Offload::from_bytes(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), Err(OffloadError::Size));
}

#[test]
fn checksum_outside_the_packet_is_an_error() {
    let mut bytes = [7; 20];
    for (start, offset) in [(19, 0), (3, 16), (u16::MAX, u16::MAX)] {
        let place = PartialChecksum { start, offset };
        assert_eq!(
            complete(&mut bytes, place),
            Err(OffloadError::Place { start, offset, len: 20 })
        );
        assert_eq!(bytes, [7; 20]);
    }
    assert_eq!(complete(&mut bytes, PartialChecksum { start: 18, offset: 0 }), Ok(()));
}

/// RFC 768: in UDP a zero means "no checksum".
#[test]
fn completed_checksum_is_never_zero() {
    // With the sum of the pseudo-header in the field the result is all ones.
    let mut bytes = [0xab, 0xcd, 0x54, 0x32];
    complete(&mut bytes, PartialChecksum { start: 0, offset: 2 }).unwrap();
    assert_eq!(bytes, [0xab, 0xcd, 0xff, 0xff]);
}

#[test]
fn indivisible_packets_are_errors() {
    let syn = Segment {
        seq: SeqNum::new(1),
        ack: None,
        control: Control::Syn,
        flags: Flags::NONE,
        window: UnscaledWindow::new(1),
        payload_len: 100,
        options: Options::default(),
    };
    let cut = |bytes: &[u8]| Cutter::new(bytes, size(99)).map(|cutter| cutter.remaining());
    let (.., bytes) = packet(Version::V4, syn, false);
    assert_eq!(cut(&bytes), Err(CutError::Control));
    let (.., bytes) = packet(Version::V4, Segment { payload_len: 99, ..syn }, false);
    assert_eq!(cut(&bytes), Ok(1));
    let (.., mut bytes) = packet(Version::V4, Segment { control: Control::None, ..syn }, false);
    assert_eq!(cut(&bytes), Ok(2));
    assert_eq!(cut(&bytes[..30]).unwrap_err().to_string().lines().count(), 1);
    bytes[9] = 17;
    assert_eq!(cut(&bytes), Err(CutError::Protocol { protocol: 17 }));
    (bytes[9], bytes[7]) = (6, 1);
    assert_eq!(cut(&bytes), Err(CutError::Protocol { protocol: 6 }));
}

/// Every segment has the extension headers, and the packet's length includes them.
#[test]
fn extension_headers_are_kept() {
    let segment = Segment {
        seq: SeqNum::new(u32::MAX),
        ack: None,
        control: Control::None,
        flags: Flags::NONE,
        window: UnscaledWindow::new(1),
        payload_len: 2500,
        options: Options::default(),
    };
    let (.., mut bytes) = packet(Version::V6, segment, true);
    let extension = [ip::TCP, 0, 1, 4, 0, 0, 0, 0];
    bytes.splice(40..40, extension);
    bytes[6] = 60;
    let len = u16::try_from(bytes.len() - 40).unwrap();
    bytes[4..6].copy_from_slice(&len.to_be_bytes());
    let mut cutter = Cutter::new(&bytes, size(1000)).unwrap();
    let mut out = Vec::new();
    let mut seqs = Vec::new();
    while cutter.write_next(&mut out) {
        let ip = ip::View::new(&out).unwrap();
        let tcp = tcp::View::new(ip.payload()).unwrap();
        assert_eq!((ip.packet_len(), &out[40..48]), (out.len(), &extension[..]));
        assert!(tcp.checksum_is_good(ip.pseudo_header()));
        seqs.push((tcp.seq().value(), tcp.payload().len()));
        out.clear();
    }
    assert_eq!(seqs, [(u32::MAX, 1000), (999, 1000), (1999, 500)], "across the wrap");
}

use std::net::IpAddr;
use std::num::NonZeroU16;

use link::{Burst, LinkConfig, LossModel, Probability, Reorder};
use proptest::prelude::*;
use units::{Duration, Instant, Rate};
use wire::{
    Checksum, Control, Ecn, Flags, Options, Segment, SeqNum, Timestamps, UnscaledWindow, ip, tcp,
};

use super::*;
use crate::line::{Line, LineConfig};

const MS: Duration = Duration::from_millis(1);

/// A segment as passed by a kernel: the bytes of a stream from `offset` on, behind an offload
/// header, to be split into packets of `mss` bytes each.
fn handed(six: bool, offset: usize, len: usize, mss: u16) -> Vec<u8> {
    let ends: [IpAddr; 2] = if six {
        ["2001:db8::1", "2001:db8::2"].map(|end| end.parse().unwrap())
    } else {
        ["10.0.0.1", "10.0.0.2"].map(|end| end.parse().unwrap())
    };
    let segment = Segment {
        seq: SeqNum::new(u32::MAX - 5000) + u32::try_from(offset).unwrap(),
        ack: Some(SeqNum::new(7)),
        control: Control::None,
        flags: if len.is_multiple_of(3) { Flags::PSH } else { Flags::NONE },
        window: UnscaledWindow::new(100),
        payload_len: u32::try_from(len).unwrap(),
        options: Options { timestamps: Some(Timestamps { val: 1, ecr: 2 }), ..Options::default() },
    };
    let tcp = tcp::Repr::new(tcp::Ports { source: 80, destination: 5000 }, segment).unwrap();
    let ip = ip::Repr::new(ends[0], ends[1], ip::TCP, tcp.len()).unwrap().with_ecn(Ecn::Ect0);
    let mut packet = ip.header().to_vec();
    if !six {
        // The next sequence number is that of the next segment.
        let identification = u16::try_from(offset / usize::from(mss)).unwrap();
        packet[4..6].copy_from_slice(&identification.to_be_bytes());
        packet[10..12].fill(0);
        let checksum = Checksum::of(&packet).field();
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
    packet.extend_from_slice(&tcp.partial_header(ip.pseudo_header()));
    packet.extend((offset..offset + len).map(|at| u8::try_from(at % 251).unwrap()));
    let header = gso::Offload::of(&ip, &tcp, NonZeroU16::new(mss).unwrap()).to_bytes();
    [&header[..], &packet].concat()
}

fn packets(mut read: Vec<u8>) -> Vec<(Vec<u8>, bool)> {
    let mut all = Vec::new();
    let count = split_segments(&mut read, &mut Vec::new(), |bytes, is_part| {
        all.push((bytes.to_vec(), is_part));
    });
    assert_eq!(count, all.len());
    all
}

/// All due packets as written to the device.
fn written(line: &mut Line, now: Instant) -> Vec<Vec<u8>> {
    let (mut outlet, mut frames) = (Outlet::default(), Vec::new());
    let mut write = |outlet: &mut Outlet| {
        if !outlet.packets().is_empty() {
            let keep = |parts: &[IoSlice<'_>]| {
                frames.push(parts.iter().flat_map(|part| part.iter().copied()).collect());
                true
            };
            assert!(outlet.write_to(Offload::Segmentation, keep));
            outlet.drain().for_each(drop);
        }
    };
    while let Some(delivery) = line.deliver(now) {
        if let Err(delivery) = outlet.push(delivery) {
            write(&mut outlet);
            outlet.push(delivery).unwrap();
        }
    }
    write(&mut outlet);
    frames
}

fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn anything() -> BoxedStrategy<LineConfig> {
    let loss = prop_oneof![
        Just(LossModel::None),
        prop::collection::vec(any::<bool>(), 0..60).prop_map(LossModel::Mask),
        (0.0..0.5).prop_map(|x| LossModel::PerPacket(p(x))),
        Just(LossModel::Burst(Burst::new(p(0.2), 3.0).unwrap())),
    ];
    let rate =
        prop_oneof![Just(None), (1_000_000..5_000_000_000u64).prop_map(Rate::from_bits_per_sec)];
    (loss, rate, 0.0..0.2, 0.0..0.2, 0.0..0.2, 0..3u64)
        .prop_map(|(loss, rate, a, b, c, delay)| LineConfig {
            link: LinkConfig {
                rate,
                delay: MS * delay,
                loss,
                reorder: Some(Reorder { probability: p(c), by: MS }),
                ..LinkConfig::default()
            },
            duplicate: p(a),
            corrupt: p(b),
            path_mtu: None,
        })
        .boxed()
}

proptest! {
    /// A kernel that splits the joined segments gets the same packets as without joining.
    #[test]
    fn joined_output_has_the_same_packets(
        config in anything(),
        six: bool,
        mss in prop_oneof![Just(1448u16), 300..1448u16],
        stream in prop::collection::vec((1..30_000usize, 0..3u64), 1..6),
    ) {
        let mut lines = [Line::new(&config, 1, "up"), Line::new(&config, 1, "up")];
        let (mut now, mut offset) = (Instant::ZERO, 0);
        let mut arrived = [Vec::new(), Vec::new()];
        for (len, wait) in stream.into_iter().chain([(1, 50)]) {
            let segments = packets(handed(six, offset, len, mss));
            prop_assert_eq!(segments.len(), len.div_ceil(mss.into()));
            offset += len.next_multiple_of(mss.into());
            for (bytes, is_part) in segments {
                prop_assert!(bytes.len() <= 72 + usize::from(mss));
                let outcomes = lines[0].offer_part(now, &bytes, is_part);
                prop_assert_eq!(outcomes, lines[1].offer(now, &bytes));
            }
            now += MS * wait;
            for (line, arrived) in lines.iter_mut().zip(&mut arrived) {
                arrived.extend(written(line, now).into_iter().flat_map(packets).map(|(bytes, _)| bytes));
            }
        }
        prop_assert_eq!(&arrived[0], &arrived[1]);
    }
}

#[test]
fn packets_due_together_are_joined() {
    let mut line = Line::new(&LineConfig::default(), 1, "up");
    for six in [false, true] {
        for offset in [0, 14_480] {
            for (bytes, is_part) in packets(handed(six, offset, 14_480, 1448)) {
                line.offer_part(Instant::ZERO, &bytes, is_part);
            }
        }
        let frames = written(&mut line, Instant::ZERO);
        assert_eq!(frames.len(), 1, "ten segments and ten more");
        let whole = handed(six, 0, 28_960, 1448);
        assert_eq!(frames[0], whole);
    }
}

#[test]
fn a_write_has_at_most_max_packets() {
    let mut line = Line::new(&LineConfig::default(), 1, "up");
    for (bytes, is_part) in packets(handed(false, 0, 40_000, 400)) {
        line.offer_part(Instant::ZERO, &bytes, is_part);
    }
    let counts: Vec<usize> =
        written(&mut line, Instant::ZERO).into_iter().map(|frame| packets(frame).len()).collect();
    assert_eq!(counts, [MAX_PACKETS, 100 - MAX_PACKETS]);
}

#[test]
fn single_packets_are_not_joined() {
    let mut line = Line::new(&LineConfig::default(), 1, "up");
    for number in 0..3 {
        for (bytes, is_part) in packets(handed(true, number * 1000, 1000, 1000)) {
            assert!(!is_part);
            line.offer_part(Instant::ZERO, &bytes, is_part);
        }
    }
    assert_eq!(written(&mut line, Instant::ZERO).len(), 3);
}

/// A dropped packet separates its neighbours, and an inverted bit remains inverted in the output.
#[test]
fn changes_affect_one_packet_only() {
    let loss = LossModel::Mask((0..10).map(|number| number == 4).collect());
    let config = LinkConfig { loss, ..LinkConfig::default() };
    let mut line = Line::new(&LineConfig { link: config, ..LineConfig::default() }, 1, "up");
    let sent = packets(handed(false, 0, 14_480, 1448));
    for (bytes, is_part) in &sent {
        line.offer_part(Instant::ZERO, bytes, *is_part);
    }
    let frames = written(&mut line, Instant::ZERO);
    assert_eq!(frames.iter().map(|frame| packets(frame.clone()).len()).collect::<Vec<_>>(), [4, 5]);

    let corrupt = LineConfig { corrupt: Probability::ONE, ..LineConfig::default() };
    let mut line = Line::new(&corrupt, 1, "up");
    for (bytes, is_part) in &sent {
        line.offer_part(Instant::ZERO, bytes, *is_part);
    }
    let frames = written(&mut line, Instant::ZERO);
    assert_eq!(frames.len(), sent.len());
    for (frame, (bytes, _)) in frames.iter().zip(&sent) {
        let turned: u32 =
            frame[10..].iter().zip(bytes).map(|(one, other)| (one ^ other).count_ones()).sum();
        assert_eq!((turned, &frame[..10]), (1, &[0; 10][..]));
    }
}

#[test]
fn invalid_input_shows_no_packets() {
    let nothing =
        |mut read: Vec<u8>| split_segments(&mut read, &mut Vec::new(), |_, _| panic!("shown"));
    assert_eq!(nothing(vec![]), 0);
    assert_eq!(nothing(vec![0; 9]), 0);
    // Segmentation of UDP, which was not enabled, and of a missing TCP header.
    assert_eq!(nothing(vec![0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3]), 0);
    assert_eq!(nothing(vec![1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3]), 0);
    // A checksum outside the packet.
    let read = vec![1, 0, 0, 0, 0, 0, 9, 0, 9, 0, 1, 2, 3];
    assert_eq!(packets(read), [(vec![1, 2, 3], false)]);
}

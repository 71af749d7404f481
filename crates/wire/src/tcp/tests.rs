use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;
use crate::ipv4;
use crate::report::Report;
use crate::sack::SeqRange;
use crate::santa_cruz::{AckWindow, Arrival, CopyNumber, SantaCruz};
use crate::segment::{Options, Timestamps};
use crate::window::{Mss, WindowScale};

fn any_copy() -> BoxedStrategy<CopyNumber> {
    (1..=15u8).prop_map(|value| CopyNumber::new(value).unwrap()).boxed()
}

prop_compose! {
    /// An option with a window of up to `room` bytes.
    fn any_santa_cruz(room: usize)(
        data_copy in proptest::option::of(any_copy()),
        cause in proptest::option::of((any::<u32>(), any_copy(), any::<u32>())),
        window in (1..=u8::MAX, proptest::collection::vec(any::<u8>(), 0..=room)),
    ) -> SantaCruz {
        let option = SantaCruz::new(data_copy);
        let Some((seq, copy, at)) = cause else { return option };
        let window = AckWindow::new(window.0, &window.1).unwrap_or(AckWindow::EMPTY);
        option.answering(Arrival { seq: SeqNum::new(seq), copy, at }, window)
    }
}

prop_compose! {
    fn any_options(syn: bool, most_with_timestamps: usize)(
        mss in proptest::option::of(1..=u16::MAX),
        scale in proptest::option::of(0..=14u8),
        sack_permitted in any::<bool>(),
        timestamps in proptest::option::of(any::<(u32, u32)>()),
        santa_cruz_permitted in any::<bool>(),
        blocks in proptest::collection::vec((any::<u32>(), 1..1u32 << 31), 0..=4),
        // 40 bytes hold a window of 14 bytes with timestamps.
        santa_cruz in proptest::option::of(any_santa_cruz(14)),
    ) -> Options {
        // 40 bytes hold three blocks with timestamps.
        let room = if timestamps.is_some() { most_with_timestamps } else { 4 };
        let blocks = blocks.into_iter().take(room).map(|(start, len)| {
            let start = SeqNum::new(start);
            SeqRange::new(start, start + len).unwrap()
        });
        Options {
            mss: mss.filter(|_| syn).and_then(Mss::new),
            window_scale: scale.filter(|_| syn).map(WindowScale::clamped),
            sack_permitted: sack_permitted && syn,
            timestamps: timestamps.map(|(val, ecr)| Timestamps { val, ecr }),
            santa_cruz_permitted: santa_cruz_permitted && syn,
            is_compact: false,
            reports: match santa_cruz {
                _ if syn => Report::None.into(),
                Some(option) => option.into(),
                None => blocks.collect(),
            },
        }
    }
}

fn any_control() -> BoxedStrategy<Control> {
    prop_oneof![Just(Control::None), Just(Control::Syn), Just(Control::Fin), Just(Control::Rst)]
        .boxed()
}

fn any_segment() -> BoxedStrategy<Segment> {
    let fields =
        (any::<u32>(), proptest::option::of(any::<u32>()), 0..32u8, any::<u16>(), 0..1500u32);
    any_control()
        .prop_flat_map(move |control| {
            (Just(control), any_options(control == Control::Syn, 3), fields.clone())
        })
        .prop_map(|(control, options, (seq, ack, marks, window, payload_len))| Segment {
            seq: SeqNum::new(seq),
            ack: ack.map(SeqNum::new),
            control,
            flags: [Marks::PSH, Marks::ECE, Marks::CWR]
                .into_iter()
                .zip([4, 8, 16])
                .fold(Marks::NONE, |all, (mark, bit)| all.with(mark, marks & bit != 0))
                .with_ecn(Ecn::from_bits(marks)),
            window: UnscaledWindow::new(window),
            payload_len,
            options,
        })
        .boxed()
}

/// Returns a whole packet with this payload, as a driver writes it.
fn packet(ports: Ports, segment: Segment, payload: &[u8]) -> (Repr, Vec<u8>) {
    let repr = Repr::new(ports, segment).unwrap();
    let addresses = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut ip = ipv4::Repr::new(addresses.0, addresses.1, ipv4::TCP, repr.len()).unwrap();
    ip.ecn = segment.flags.ecn();
    let mut bytes = Vec::new();
    ip.write(&mut bytes);
    repr.write(ip.pseudo_header(), Checksum::of(payload), &mut bytes);
    bytes.extend_from_slice(payload);
    (repr, bytes)
}

proptest! {
    #[test]
    fn headers_round_trip(segment in any_segment(), source: u16, destination: u16, fill: u8) {
        let payload = vec![fill; segment.payload_len as usize];
        let (repr, bytes) = packet(Ports { source, destination }, segment, &payload);
        prop_assert_eq!(bytes.len(), segment.ipv4_len() as usize);
        let ip = ipv4::View::new(&bytes).unwrap();
        let view = View::new(ip.payload()).unwrap();
        prop_assert!(view.checksum_is_good(ip.pseudo_header()));
        prop_assert_eq!(view.payload(), &payload[..]);
        prop_assert_eq!(view.repr(ip.ecn()), Some(repr));
        prop_assert!(view.options().all(|option| option.is_ok()));
    }

    #[test]
    fn empty_checksum_stands_for_zeros(len in 0..3000usize) {
        prop_assert_eq!(Checksum::of(&vec![0; len]).field(), Checksum::EMPTY.field());
    }

    #[test]
    fn options_that_do_not_fit_are_errors(options in any_options(false, 4)) {
        let segment = Segment { options, ..bare() };
        let fits = options.wire_len() <= 40;
        prop_assert_eq!(Repr::new(PORTS, segment).is_ok(), fits);
    }

    #[test]
    fn parsing_arbitrary_bytes_does_not_panic(
        mut bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0..9u8], 0..90),
        plausible in any::<bool>(),
    ) {
        if plausible && bytes.len() >= HEADER_LEN {
            let words = bytes.len().min(MAX_HEADER_LEN) / 4;
            bytes[12] = u8::try_from(words << 4).unwrap();
        }
        if let Ok(view) = View::new(&bytes) {
            // Each option has at least one byte, so there are at most as many as bytes.
            prop_assert!(view.options().count() <= bytes.len() - HEADER_LEN);
            prop_assert!(view.payload().len() <= bytes.len() - HEADER_LEN);
            if let Some(repr) = view.repr(Ecn::NotEct) {
                // A validated segment can be written, and is validated again.
                let mut again = Vec::new();
                repr.write(Checksum::EMPTY, Checksum::EMPTY, &mut again);
                again.resize(repr.len(), 0);
                prop_assert_eq!(View::new(&again).unwrap().repr(Ecn::NotEct), Some(repr));
            } else {
                prop_assert_eq!(view.flags().control(), None);
            }
        }
    }
}

const PORTS: Ports = Ports { source: 57_344, destination: 49_152 };

fn bare() -> Segment {
    Segment {
        seq: SeqNum::new(1),
        ack: Some(SeqNum::new(2)),
        control: Control::None,
        flags: Marks::NONE,
        window: UnscaledWindow::new(3),
        payload_len: 0,
        options: Options::default(),
    }
}

/// The header of RFC 9293 §3.1, with the options of a SYN in the order and padding of RFC 7323
/// appendix A.
#[test]
fn syn_bytes() {
    let options = Options {
        mss: Mss::new(1460),
        window_scale: Some(WindowScale::clamped(7)),
        sack_permitted: true,
        timestamps: Some(Timestamps { val: 0x0102_0304, ecr: 0 }),
        ..Options::default()
    };
    let syn = Segment {
        ack: None,
        control: Control::Syn,
        seq: SeqNum::new(0x1122_3344),
        options,
        ..bare()
    };
    let mut bytes = Vec::new();
    Repr::new(PORTS, syn).unwrap().write(Checksum::EMPTY, Checksum::EMPTY, &mut bytes);
    let checksum = [bytes[16], bytes[17]];
    #[rustfmt::skip]
    let expected = [
        0xe0, 0x00, 0xc0, 0x00,
        0x11, 0x22, 0x33, 0x44,
        0, 0, 0, 0,
        0xb0, 0x02, 0, 3,
        checksum[0], checksum[1], 0, 0,
        2, 4, 0x05, 0xb4,
        1, 3, 3, 7,
        1, 1, 4, 2,
        1, 1, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0,
    ];
    assert_eq!(bytes, expected);
    assert!(Checksum::of(&bytes).is_good());
}

/// A SYN of Linux, with and without parts.
#[test]
fn compact_syn_bytes() {
    let all = Options {
        mss: Mss::new(1460),
        window_scale: Some(WindowScale::clamped(10)),
        sack_permitted: true,
        timestamps: Some(Timestamps { val: 0x0102_0304, ecr: 0 }),
        is_compact: true,
        ..Options::default()
    };
    let (mss, scale) = ([2, 4, 0x05, 0xb4], [1, 3, 3, 10]);
    let stamps = [8, 10, 1, 2, 3, 4, 0, 0, 0, 0];
    let table = [
        (all, [&mss[..], &[4, 2], &stamps, &scale].concat()),
        (Options { sack_permitted: false, ..all }, [&mss[..], &[1, 1], &stamps, &scale].concat()),
        (Options { timestamps: None, ..all }, [&mss[..], &[1, 1, 4, 2], &scale].concat()),
        (Options { window_scale: None, ..all }, [&mss[..], &[4, 2], &stamps].concat()),
    ];
    for (options, expected) in table {
        let syn = Segment { control: Control::Syn, options, ..bare() };
        let repr = Repr::new(PORTS, syn).unwrap();
        let bytes = repr.header(Checksum::EMPTY, Checksum::EMPTY);
        assert_eq!(&bytes[HEADER_LEN..], expected);
        let read = View::new(&bytes).unwrap().repr(Ecn::NotEct).unwrap();
        let segment = Segment { options: Options { is_compact: false, ..options }, ..syn };
        assert_eq!(Ok(read), Repr::new(PORTS, segment));
    }
}

#[test]
fn syn_options_need_a_syn() {
    let sack = Options { sack_permitted: true, ..Options::default() };
    let santa_cruz = Options { santa_cruz_permitted: true, ..Options::default() };
    for options in [sack, santa_cruz] {
        assert_eq!(Repr::new(PORTS, Segment { options, ..bare() }), Err(Unwritable::SynOptions));
    }
}

/// Table 1 of the paper after kind, length and experiment (RFC 6994 §3): copies, sequence number,
/// time, bytes per bit, window. Each of the four forms has its padding in front.
#[test]
fn santa_cruz_option_bytes() {
    let copy = |value| CopyNumber::new(value).unwrap();
    let data = SantaCruz::new(Some(copy(2)));
    let arrival = Arrival { seq: SeqNum::new(0x0a0b_0c0d), copy: copy(3), at: 0x0102_0304 };
    let answer = SantaCruz::new(None).answering(arrival, AckWindow::new(9, &[0x1f, 0x80]).unwrap());
    let permitted = Options { santa_cruz_permitted: true, ..Options::default() };
    let of = |option| Options { reports: Report::SantaCruz(option).into(), ..Options::default() };
    let (syn, none) = (Control::Syn, Control::None);
    let table: [(Control, Options, &[u8]); 4] = [
        (syn, permitted, &[253, 4, 0x53, 0x43]),
        (none, of(data), &[1, 1, 1, 253, 5, 0x53, 0x43, 0x20]),
        (
            none,
            of(data.answering(arrival, AckWindow::EMPTY)),
            &[1, 1, 1, 253, 13, 0x53, 0x43, 0x23, 10, 11, 12, 13, 1, 2, 3, 4],
        ),
        (none, of(answer), &[253, 16, 0x53, 0x43, 0x03, 10, 11, 12, 13, 1, 2, 3, 4, 9, 0x1f, 0x80]),
    ];
    for (control, options, expected) in table {
        let repr = Repr::new(PORTS, Segment { control, options, ..bare() }).unwrap();
        let bytes = repr.header(Checksum::EMPTY, Checksum::EMPTY);
        assert_eq!(&bytes[HEADER_LEN..], expected);
        assert_eq!(View::new(&bytes).unwrap().repr(Ecn::NotEct), Some(repr));
    }
    // The longest option fits with timestamps if its window has 14 bytes.
    let mut options = of(data.answering(arrival, AckWindow::new(1, &[1; 18]).unwrap()));
    assert_eq!(options.wire_len(), 32);
    options.timestamps = Some(Timestamps { val: 1, ecr: 2 });
    assert_eq!(
        Repr::new(PORTS, Segment { options, ..bare() }),
        Err(Unwritable::Options { len: 44 })
    );
    options = Options {
        timestamps: options.timestamps,
        ..of(data.answering(arrival, AckWindow::new(1, &[1; 14]).unwrap()))
    };
    assert!(Repr::new(PORTS, Segment { options, ..bare() }).is_ok_and(|repr| repr.len() == 60));
}

#[test]
fn exclusive_control_bits_have_no_repr() {
    let mut bytes = Vec::new();
    Repr::new(PORTS, bare()).unwrap().write(Checksum::EMPTY, Checksum::EMPTY, &mut bytes);
    // SYN and FIN; RST and FIN; all of them.
    for flags in [0b11, 0b101, 0b111] {
        bytes[13] = flags;
        let view = View::new(&bytes).unwrap();
        assert_eq!(view.flags(), Flags(flags));
        assert_eq!(view.repr(Ecn::NotEct), None);
    }
}

/// RFC 9293 §3.1: the length of an option may have any value, including zero.
#[test]
fn wrong_option_length_ends_the_options() {
    let kinds = |bytes: &[u8]| -> Vec<Result<u8, OptionError>> {
        RawOptions::new(bytes).map(|option| option.map(|option| option.kind)).collect()
    };
    assert_eq!(kinds(&[1, 1, 4, 2, 8, 0, 4, 2]), [Ok(4), Err(OptionError { kind: 8 })]);
    assert_eq!(kinds(&[2, 4, 5, 180, 5, 10]), [Ok(2), Err(OptionError { kind: 5 })]);
    assert_eq!(kinds(&[3]), [Err(OptionError { kind: 3 })]);
    assert_eq!(kinds(&[4, 2, 0, 4, 2]), [Ok(4)], "behind the end of the list is padding");
    assert_eq!(kinds(&[254, 3, 9, 1]), [Ok(254)], "a kind that nobody knows");
    assert_eq!(kinds(&[]), []);
}

#[test]
fn invalid_headers_have_reasons() {
    assert_eq!(View::new(&[0; 19]), Err(ViewError::Truncated { len: 19 }));
    let mut bytes = [0; 24];
    for (offset, len) in [(4u8, 16), (7, 28)] {
        bytes[12] = offset << 4;
        assert_eq!(View::new(&bytes), Err(ViewError::Offset { offset: len, len: 24 }));
    }
    bytes[12] = 6 << 4;
    assert!(View::new(&bytes).is_ok());
}

/// Returns the name and the value of the first option.
fn known(bytes: &[u8]) -> (Option<&'static str>, Option<KnownOption<'_>>) {
    let option = RawOptions::new(bytes).next().unwrap().unwrap();
    (option.name(), option.known())
}

/// Kinds and lengths of the RFCs above.
#[test]
fn known_options_are_parsed() {
    assert_eq!(known(&[2, 4, 5, 180]), (Some("MSS"), Some(KnownOption::Mss(1460))));
    assert_eq!(known(&[3, 3, 15]), (Some("window scale"), Some(KnownOption::WindowScale(15))));
    assert_eq!(known(&[4, 2]), (Some("SACK permitted"), Some(KnownOption::SackPermitted)));
    let edges = KnownOption::Sack(&[[0, 0, 0, 1, 0, 0, 0, 2]]);
    assert_eq!(known(&[5, 10, 0, 0, 0, 1, 0, 0, 0, 2]), (Some("SACK"), Some(edges)));
    let timestamps = KnownOption::Timestamps(Timestamps { val: 1, ecr: 2 });
    assert_eq!(known(&[8, 10, 0, 0, 0, 1, 0, 0, 0, 2]), (Some("timestamps"), Some(timestamps)));
    // RFC 2385 §3.0
    let digest = KnownOption::Md5(&[7; 16]);
    assert_eq!(
        known(&[19, 18, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]),
        (Some("MD5 signature"), Some(digest))
    );
    // RFC 5482 §3: the highest bit selects minutes.
    assert_eq!(
        known(&[28, 4, 0x01, 0x2c]),
        (Some("user timeout"), Some(KnownOption::UserTimeout { seconds: 300 }))
    );
    assert_eq!(known(&[28, 4, 0x80, 5]).1, Some(KnownOption::UserTimeout { seconds: 300 }));
    // RFC 5925 §2.2
    let authentication = KnownOption::Authentication { key_id: 1, next_key_id: 2, code: &[9; 3] };
    assert_eq!(known(&[29, 7, 1, 2, 9, 9, 9]), (Some("TCP-AO"), Some(authentication)));
    // RFC 8684 §3: the subtype is in the highest four bits.
    let multipath = KnownOption::Multipath { subtype: 2, data: &[0x20, 5] };
    assert_eq!(known(&[30, 4, 0x20, 5]), (Some("MPTCP"), Some(multipath)));
    // RFC 7413 §4.1.1
    let cookie = KnownOption::FastOpen { cookie: &[1, 2, 3, 4] };
    assert_eq!(known(&[34, 6, 1, 2, 3, 4]), (Some("Fast Open"), Some(cookie)));
    assert_eq!(known(&[34, 2]).1, Some(KnownOption::FastOpen { cookie: &[] }));
    // RFC 9768 §3.2.3
    let counters = KnownOption::AccurateEcn(&[0, 0, 1]);
    assert_eq!(known(&[172, 5, 0, 0, 1]), (Some("AccECN"), Some(counters)));
    // RFC 6994 §3
    let experiment = KnownOption::Experimental { exid: 0xf989, data: &[1] };
    assert_eq!(known(&[254, 5, 0xf9, 0x89, 1]), (Some("experimental"), Some(experiment)));
}

/// The option of TCP Santa Cruz, in the form of a SYN and with a transmission number. Then invalid
/// ones with its experiment identifier: an arrival without a transmission, an incomplete arrival, a
/// window without bits.
#[test]
fn santa_cruz_options_are_parsed() {
    assert_eq!(known(&[253, 4, 0x53, 0x43]).1, Some(KnownOption::SantaCruzPermitted));
    let first = SantaCruz::new(Some(CopyNumber::FIRST));
    assert_eq!(known(&[253, 5, 0x53, 0x43, 0x10]).1, Some(KnownOption::SantaCruz(first)));
    for bytes in [
        &[253, 5, 0x53, 0x43, 0x11][..],
        &[253, 8, 0x53, 0x43, 0x11, 1, 2, 3],
        &[253, 14, 0x53, 0x43, 0x11, 0, 0, 0, 1, 0, 0, 0, 2, 7],
        &[253, 15, 0x53, 0x43, 0x11, 0, 0, 0, 1, 0, 0, 0, 2, 0, 7],
    ] {
        assert!(
            matches!(known(bytes).1, Some(KnownOption::Experimental { exid: 0x5343, .. })),
            "{bytes:?}"
        );
    }
}

#[test]
fn invalid_lengths_and_unknown_kinds_have_no_value() {
    for (bytes, name) in [
        (&[2, 3, 1][..], "MSS"),
        (&[5, 2], "SACK"),
        (&[34, 3, 1], "Fast Open"),
        (&[34, 5, 1, 2, 3], "Fast Open"),
        (&[253, 3, 1], "experimental"),
        (&[30, 2], "MPTCP"),
    ] {
        assert_eq!(known(bytes), (Some(name), None));
    }
    assert_eq!(known(&[77, 2]), (None, None));
}

#[test]
fn options_after_unknown_ones_are_parsed() {
    let mut bytes = Vec::new();
    Repr::new(PORTS, bare()).unwrap().write(Checksum::EMPTY, Checksum::EMPTY, &mut bytes);
    // Fast Open, an experiment and an unknown kind, each with its own length; then timestamps.
    bytes.extend([34, 2, 254, 6, 1, 2, 3, 4, 77, 5, 0, 0, 0, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    bytes[12] = 11 << 4;
    let view = View::new(&bytes).unwrap();
    assert_eq!(view.options().flatten().count(), 4);
    let expected =
        Options { timestamps: Some(Timestamps { val: 1, ecr: 2 }), ..Options::default() };
    assert_eq!(view.repr(Ecn::NotEct).unwrap().segment().options, expected);
}

#[test]
fn invalid_values_are_visible_in_the_view() {
    let mut bytes = Vec::new();
    Repr::new(PORTS, bare()).unwrap().write(Checksum::EMPTY, Checksum::EMPTY, &mut bytes);
    bytes[12] |= 1;
    bytes[16..20].copy_from_slice(&[1, 2, 3, 4]);
    let view = View::new(&bytes).unwrap();
    assert_eq!((view.reserved(), view.checksum(), view.urgent()), (1, 0x0102, 0x0304));
    assert_eq!(view.repr(Ecn::NotEct).unwrap().segment(), &bare());
}

use proptest::prelude::*;

use super::*;
use crate::ip::TCP;

const SOURCE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const DESTINATION: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);

prop_compose! {
    fn any_repr()(
        source in any::<[u8; 16]>(),
        destination in any::<[u8; 16]>(),
        protocol in any::<u8>().prop_filter("extensions are none of a Repr", |number| !extension::is_extension(*number)),
        payload_len in 0..2000usize,
        hop_limit in any::<u8>(),
        ecn in prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)],
        flow_label in 0..1u32 << 20,
    ) -> Repr {
        let repr = Repr::new(source.into(), destination.into(), protocol, payload_len).unwrap();
        Repr { hop_limit, ecn, flow_label: FlowLabel::new(flow_label).unwrap(), ..repr }
    }
}

proptest! {
    #[test]
    fn headers_round_trip(repr in any_repr(), behind in 0..10usize) {
        let mut bytes = Vec::new();
        repr.write(&mut bytes);
        prop_assert_eq!(bytes.len(), HEADER_LEN);
        bytes.resize(repr.packet_len() + behind, 7);
        let view = View::new(&bytes).unwrap();
        prop_assert_eq!(view.repr(), Some(repr));
        prop_assert_eq!(view.payload().len(), repr.packet_len() - HEADER_LEN);
        prop_assert_eq!(view.pseudo_header(), repr.pseudo_header());
        prop_assert_eq!((view.protocol(), view.is_fragment()), (repr.protocol(), false));
    }

    #[test]
    fn parsing_arbitrary_bytes_does_not_panic(
        // Small numbers give valid lengths and kinds.
        mut bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0..3u8, Just(43), Just(44), Just(60)], 0..200),
        plausible in any::<bool>(),
    ) {
        if plausible && bytes.len() >= HEADER_LEN {
            bytes[0] = 0x60;
            (bytes[4], bytes[5]) = (0, u8::try_from(bytes.len() - HEADER_LEN).unwrap());
        }
        if let Ok(view) = View::new(&bytes) {
            let extensions: usize = view.extensions().map(|extension| extension.bytes.len()).sum();
            prop_assert_eq!(HEADER_LEN + extensions + view.payload().len(), view.packet_len());
            prop_assert!(view.is_fragment() || !view.is_later_fragment());
            prop_assert_eq!(view.repr().is_some(), extensions == 0 && !extension::is_extension(view.protocol()));
            let _ = (view.source(), view.destination(), view.hop_limit(), view.flow_label(), view.pseudo_header());
        }
    }
}

/// RFC 8200 §3, and the pseudo-header of §8.1 over the same fields.
#[test]
fn header_bytes() {
    let repr = Repr::new(SOURCE, DESTINATION, TCP, 24).unwrap();
    let repr =
        Repr { ecn: Ecn::Ce, flow_label: FlowLabel::new(0xabcde).unwrap(), hop_limit: 17, ..repr };
    #[rustfmt::skip]
    let expected = [
        0x60, 0x3a, 0xbc, 0xde,
        0, 24, 6, 17,
        0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
        0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
    ];
    assert_eq!(repr.header(), expected);
    let mut pseudo = expected[8..].to_vec();
    pseudo.extend([0, 0, 0, 24, 0, 0, 0, 6]);
    assert_eq!(repr.pseudo_header(), Checksum::of(&pseudo));
}

#[test]
fn flow_label_has_20_bits() {
    assert_eq!(FlowLabel::new(0xf_ffff).map(FlowLabel::value), Some(0xf_ffff));
    assert_eq!(FlowLabel::new(0x10_0000), None);
}

#[test]
fn payload_length_is_limited() {
    let repr = |len| Repr::new(SOURCE, DESTINATION, TCP, len);
    assert_eq!(repr(65_535).map(|repr| repr.packet_len()), Ok(65_575));
    assert_eq!(repr(65_536), Err(TooLong { len: 65_536 }));
}

#[test]
fn invalid_packets_have_reasons() {
    assert_eq!(View::new(&[0x60; 39]), Err(ViewError::Truncated { len: 39 }));
    assert_eq!(View::new(&[0x45; 40]), Err(ViewError::Version { version: 4 }));
    let mut bytes = [0; 50];
    (bytes[0], bytes[5]) = (0x60, 11);
    assert_eq!(View::new(&bytes), Err(ViewError::Length { packet: 51, len: 50 }));
    assert_eq!(View::cut_short(&bytes).map(|view| view.packet_len()), Ok(51));
}

/// Returns a packet with these bytes after its header.
fn packet(next_header: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes =
        Repr::new(SOURCE, DESTINATION, next_header, rest.len()).unwrap().header().to_vec();
    bytes.extend(rest);
    bytes
}

/// Returns extension headers followed by the payload `0xaa`.
fn chain(headers: &[&[u8]]) -> Vec<u8> {
    [&headers.concat()[..], &[0xaa]].concat()
}

/// Returns the result of a chain: the protocol, whether the payload is that at the end of the
/// chain, and the extensions.
fn walked(next_header: u8, rest: &[u8]) -> (u8, bool, Vec<u8>) {
    let bytes = packet(next_header, rest);
    let view = View::new(&bytes).unwrap();
    let kinds = view.extensions().map(|extension| extension.kind).collect();
    (view.protocol(), view.payload() == [0xaa], kinds)
}

/// RFC 8200 §4.1, in its recommended order.
#[test]
fn extensions_precede_the_payload() {
    let rest = chain(&[
        &[60, 0, 5, 2, 0, 0, 1, 0],
        &[43, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[44, 0, 4, 0, 0, 0, 0, 0],
        &[60, 9, 0, 0, 1, 2, 3, 4],
        &[6, 0, 0, 0, 0, 0, 0, 0],
    ]);
    assert_eq!(walked(0, &rest), (6, true, vec![0, 60, 43, 44, 60]));
    let bytes = packet(0, &rest);
    let view = View::new(&bytes).unwrap();
    assert_eq!((view.next_header(), view.repr()), (0, None));
    assert!(!view.is_fragment(), "RFC 6946: a packet in one fragment");
    // RFC 8200 §8.1: the length is that of the payload without extensions.
    assert_eq!(view.pseudo_header(), Repr::new(SOURCE, DESTINATION, 6, 1).unwrap().pseudo_header());
}

#[test]
fn iteration_ends_at_headers_not_to_be_skipped() {
    let destination = [6, 0, 1, 4, 0, 0, 0, 0];
    assert_eq!(walked(60, &chain(&[&destination])), (6, true, vec![60]));
    // RFC 8200 §4.1: hop-by-hop options come first.
    let rest = chain(&[&[0, 0, 1, 4, 0, 0, 0, 0], &destination]);
    assert_eq!(walked(60, &rest), (0, false, vec![60]));
    // RFC 8200 §4.2: an unknown option of each of the four kinds, and an incomplete one.
    for (option, passed) in [(0x1e, true), (0x5e, false), (0x9e, false), (0xde, false)] {
        let rest = chain(&[&[6, 0, option, 2, 0, 0, 0, 0]]);
        assert_eq!(
            walked(60, &rest),
            if passed { (6, true, vec![60]) } else { (60, false, vec![]) }
        );
    }
    assert_eq!(walked(60, &chain(&[&[6, 0, 1, 5, 0, 0, 0, 0]])), (60, false, vec![]));
    // RFC 8200 §4.4: a packet with further nodes to visit.
    assert_eq!(walked(43, &chain(&[&[6, 0, 0, 1, 0, 0, 0, 0]])), (43, false, vec![]));
    // Incomplete headers.
    assert_eq!(walked(43, &[6, 1, 0, 0, 0, 0, 0, 0]), (43, false, vec![]));
    assert_eq!(walked(44, &[6, 0, 0, 0, 0, 0, 0]), (44, false, vec![]));
    assert_eq!(walked(60, &[]), (60, false, vec![]));
    // RFC 8200 §4.7: no next header; and ESP, which hides the following headers.
    assert_eq!(walked(60, &chain(&[&[59, 0, 1, 4, 0, 0, 0, 0]])), (59, true, vec![60]));
    assert_eq!(walked(50, &[0xaa]), (50, true, vec![]));
}

#[test]
fn fragments_have_no_repr() {
    // First, middle and last fragment; the reserved bits have no meaning.
    for (offset_and_more, fragment, later) in
        [(1, true, false), (0x9, true, true), (0x8, true, true), (6, false, false)]
    {
        let [high, low] = u16::to_be_bytes(offset_and_more);
        let bytes = packet(44, &[60, 0, high, low, 0, 0, 0, 1, 6, 0, 1, 4, 0, 0, 0, 0, 0xaa]);
        let view = View::new(&bytes).unwrap();
        assert_eq!((view.is_fragment(), view.is_later_fragment()), (fragment, later));
        // The bytes after the header of a later fragment are not interpreted.
        assert_eq!(view.protocol(), if later { 60 } else { 6 });
        assert_eq!(view.repr(), None);
    }
}

/// The maximum number of headers in a packet.
#[test]
fn long_chains_are_parsed() {
    let rest = [60, 0, 1, 4, 0, 0, 0, 0].repeat(8191);
    assert_eq!(walked(60, &rest), (60, false, vec![60; 8191]));
}

use proptest::prelude::*;

use super::*;

prop_compose! {
    fn any_repr()(
        source in any::<[u8; 4]>(),
        destination in any::<[u8; 4]>(),
        protocol in any::<u8>(),
        payload_len in 0..2000usize,
        ttl in any::<u8>(),
        ecn in prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)],
        identification in any::<u16>(),
    ) -> Repr {
        let repr = Repr::new(source.into(), destination.into(), protocol, payload_len).unwrap();
        Repr { ttl, ecn, identification, ..repr }
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
        prop_assert!(view.checksum_is_good());
        prop_assert_eq!(view.repr(), Some(repr));
        prop_assert_eq!(view.payload().len(), repr.packet_len() - HEADER_LEN);
        prop_assert_eq!(view.pseudo_header(), repr.pseudo_header());
    }

    #[test]
    fn parsing_arbitrary_bytes_does_not_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..100), plausible in any::<bool>()) {
        if plausible && bytes.len() >= 4 {
            bytes[0] = 0x40 | bytes[0] & 0xf;
            bytes[2] = 0;
        }
        if let Ok(view) = View::new(&bytes) {
            prop_assert!(view.payload().len() <= bytes.len() - HEADER_LEN);
            let _ = (view.source(), view.destination(), view.protocol(), view.ttl(), view.identification());
            let _ = (view.pseudo_header(), view.repr());
        }
    }
}

#[test]
fn packet_length_is_limited() {
    let repr = |len| Repr::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, TCP, len);
    assert_eq!(repr(65_515).map(|repr| repr.packet_len()), Ok(65_535));
    assert_eq!(repr(65_516), Err(TooLong { len: 65_536 }));
    assert!(repr(usize::MAX).is_err());
}

#[test]
fn invalid_packets_have_reasons() {
    assert_eq!(View::new(&[0x45; 19]), Err(ViewError::Truncated { len: 19 }));
    assert_eq!(View::new(&[0x60; 40]), Err(ViewError::Version { version: 6 }));
    let mut bytes = [0; 30];
    (bytes[0], bytes[3]) = (0x44, 30);
    assert_eq!(View::new(&bytes), Err(ViewError::Length { header: 16, packet: 30, len: 30 }));
    (bytes[0], bytes[3]) = (0x45, 31);
    assert_eq!(View::new(&bytes), Err(ViewError::Length { header: 20, packet: 31, len: 30 }));
    (bytes[0], bytes[3]) = (0x46, 22);
    assert_eq!(View::new(&bytes), Err(ViewError::Length { header: 24, packet: 22, len: 30 }));
}

#[test]
fn fragments_have_no_repr() {
    let mut bytes = Vec::new();
    Repr::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, TCP, 0).unwrap().write(&mut bytes);
    // "More fragments" instead of "don't fragment".
    bytes[6] = 0x20;
    let view = View::new(&bytes).unwrap();
    assert!(view.is_fragment() && !view.checksum_is_good());
    assert_eq!(view.repr(), None);
}

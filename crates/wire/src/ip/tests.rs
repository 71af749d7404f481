use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

fn any_addresses() -> BoxedStrategy<(IpAddr, IpAddr)> {
    let v4 = any::<([u8; 4], [u8; 4])>().prop_map(|(a, b)| (a.into(), b.into()));
    let v6 = any::<([u8; 16], [u8; 16])>().prop_map(|(a, b)| (a.into(), b.into()));
    prop_oneof![v4, v6].boxed()
}

fn any_ecn() -> BoxedStrategy<Ecn> {
    prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)].boxed()
}

prop_compose! {
    fn any_repr()(addresses in any_addresses(), len in 0..200usize, ecn in any_ecn()) -> Repr {
        Repr::new(addresses.0, addresses.1, TCP, len).unwrap().with_ecn(ecn)
    }
}

fn written(repr: &Repr) -> Vec<u8> {
    let mut bytes = Vec::new();
    repr.write(&mut bytes);
    bytes.resize(repr.packet_len(), 7);
    bytes
}

proptest! {
    #[test]
    fn headers_round_trip(repr in any_repr()) {
        let bytes = written(&repr);
        prop_assert!(bytes.starts_with(&repr.header()));
        prop_assert_eq!(repr.header().len(), repr.version().header_len());
        let view = View::new(&bytes).unwrap();
        prop_assert_eq!(view.repr(), Some(repr));
        prop_assert_eq!(view.version(), repr.version());
        prop_assert_eq!((view.source(), view.destination()), (repr.source(), repr.destination()));
        prop_assert_eq!((view.protocol(), view.ecn(), view.hops()), (TCP, repr.ecn(), 64));
        prop_assert_eq!(view.pseudo_header(), repr.pseudo_header());
        prop_assert_eq!(view.payload(), &bytes[repr.header().len()..]);
        prop_assert!(view.checksum_is_good() && !view.is_fragment() && !view.is_later_fragment());
    }

    #[test]
    fn truncated_packet_has_the_same_header(repr in any_repr(), keep in 0..300usize) {
        let bytes = written(&repr);
        let start = &bytes[..keep.min(bytes.len())];
        prop_assert_eq!(View::new(start).is_ok(), start.len() == bytes.len());
        match View::cut_short(start) {
            Ok(view) => {
                prop_assert_eq!(view.repr(), Some(repr));
                prop_assert_eq!(view.packet_len(), bytes.len());
                prop_assert_eq!(view.pseudo_header(), repr.pseudo_header());
                prop_assert_eq!(view.payload(), &start[repr.header().len()..]);
            }
            Err(_) => prop_assert!(start.len() < repr.header().len()),
        }
    }

    #[test]
    fn set_ecn_updates_the_checksum(repr in any_repr(), ecn in any_ecn(), damage in any::<u16>()) {
        let mut bytes = written(&repr);
        set_ecn(&mut bytes, ecn).unwrap();
        prop_assert_eq!(&bytes, &written(&repr.with_ecn(ecn)));
        if repr.version() == Version::V4 {
            // The error in the checksum does not change.
            let wrong = u16::from_be_bytes([bytes[10], bytes[11]]) ^ damage;
            bytes[10..12].copy_from_slice(&wrong.to_be_bytes());
            let before = View::new(&bytes).unwrap().checksum_is_good();
            set_ecn(&mut bytes, repr.ecn()).unwrap();
            prop_assert_eq!(View::new(&bytes).unwrap().checksum_is_good(), before);
        }
    }

    #[test]
    fn parsing_arbitrary_bytes_does_not_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let _ = (View::new(&bytes), View::cut_short(&bytes));
        let before = bytes.clone();
        if set_ecn(&mut bytes, Ecn::Ce).is_err() {
            prop_assert_eq!(bytes, before);
        }
    }
}

#[test]
fn mixed_versions_are_an_error() {
    let (v4, v6) = (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST));
    let error = Repr::new(v4, v6, TCP, 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write an IP packet from 127.0.0.1 to ::1: they are of two versions of IP"
    );
    assert!(Repr::new(v6, v4, TCP, 0).is_err());
    assert_eq!(Repr::new(v4, v4, TCP, 65_516), Err(Unwritable::V4(ipv4::TooLong { len: 65_536 })));
    assert_eq!(Repr::new(v6, v6, TCP, 65_536), Err(Unwritable::V6(ipv6::TooLong { len: 65_536 })));
}

#[test]
fn invalid_packets_have_reasons() {
    assert_eq!(View::new(&[]), Err(ViewError::Empty));
    assert_eq!(View::new(&[0x50; 40]), Err(ViewError::Version { version: 5 }));
    assert_eq!(View::new(&[0x45]), Err(ViewError::V4(ipv4::ViewError::Truncated { len: 1 })));
    assert_eq!(View::new(&[0x60]), Err(ViewError::V6(ipv6::ViewError::Truncated { len: 1 })));
}

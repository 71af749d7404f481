//! What a link asks of a packet, and what it does to it. A packet that makes no sense is one without data.

use std::net::IpAddr;

use link::Offered;
use wire::icmp::answer::{self, Report};
use wire::{Ecn, ip, tcp};

/// What a link needs to know.
pub(crate) fn offered(packet: &[u8]) -> Offered {
    let bytes = u32::try_from(packet.len()).unwrap_or(u32::MAX);
    let Ok(view) = ip::View::new(packet) else {
        return Offered { bytes, data: false, ecn_capable: false };
    };
    Offered { bytes, data: carries_data(&view), ecn_capable: view.ecn().is_capable() }
}

/// Whether it is a TCP segment with data. A part of a packet is not looked into.
fn carries_data(packet: &ip::View<'_>) -> bool {
    packet.protocol() == ip::TCP
        && !packet.is_fragment()
        && tcp::View::new(packet.payload()).is_ok_and(|segment| !segment.payload().is_empty())
}

/// Whether a packet is too long for a link that carries `mtu` bytes. Then `message` is the packet that tells its source, in
/// the name of a router with the addresses `router`; empty if nothing may be said.
///
/// Unlike RFC 791 §3.2, an IPv4 packet that may be cut passes whole.
pub(crate) fn too_big(packet: &[u8], mtu: u32, router: &[IpAddr], message: &mut Vec<u8>) -> bool {
    message.clear();
    let Ok(view) = ip::View::new(packet) else { return false };
    let may_be_cut = matches!(&view, ip::View::V4(view) if !view.dont_fragment());
    if may_be_cut || u32::try_from(view.packet_len()).is_ok_and(|len| len <= mtu) {
        return false;
    }
    if let Some(&from) = router.iter().find(|address| address.is_ipv4() == view.source().is_ipv4()) {
        // Of some packets nothing may be said: RFC 1122 §3.2.2, RFC 4443 §2.4 (e).
        let _ = answer::report(Report::TooBig { mtu }, packet, from, message);
    }
    true
}

/// Marks a packet that was capable of it as having met congestion (RFC 3168 §5).
pub(crate) fn mark(packet: &mut [u8]) {
    // What is no packet is not capable of it either.
    let _ = ip::set_ecn(packet, Ecn::Ce);
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;

    fn packet(six: bool, ecn: Ecn, protocol: u8, payload: usize) -> Vec<u8> {
        // A header of 20 bytes and so many of data.
        let mut segment = vec![0; 20 + payload];
        segment[12] = 5 << 4;
        segment[13] = 0x10;
        let address = if six { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
        let repr = ip::Repr::new(address, address, protocol, segment.len()).unwrap().with_ecn(ecn);
        let mut packet = Vec::new();
        repr.write(&mut packet);
        packet.extend(segment);
        packet
    }

    #[test]
    fn data_is_what_a_tcp_segment_carries() {
        for (six, header) in [(false, 20), (true, 40)] {
            for payload in [0, 1, 1400] {
                let offered = offered(&packet(six, Ecn::NotEct, ip::TCP, payload));
                let bytes = u32::try_from(header + 20 + payload).unwrap();
                assert_eq!(offered, Offered { bytes, data: payload > 0, ecn_capable: false });
            }
            assert!(!offered(&packet(six, Ecn::NotEct, 17, 9)).data, "UDP");
        }
    }

    #[test]
    fn a_mark_is_seen() {
        for six in [false, true] {
            let mut packet = packet(six, Ecn::Ect0, ip::TCP, 9);
            assert!(offered(&packet).ecn_capable);
            mark(&mut packet);
            let view = ip::View::new(&packet).unwrap();
            assert_eq!((view.ecn(), view.checksum_is_good()), (Ecn::Ce, true));
        }
    }

    #[test]
    fn the_source_of_a_long_packet_is_told() {
        let router = [IpAddr::from([100, 64, 0, 1]), IpAddr::from(Ipv6Addr::from_bits(7))];
        for (six, header) in [(false, 20), (true, 40)] {
            let packet = packet(six, Ecn::NotEct, ip::TCP, 1400);
            let mut message = vec![1];
            assert!(!too_big(&packet, header + 1420, &router, &mut message) && message.is_empty());
            assert!(too_big(&packet, header + 1419, &router, &mut message));
            let view = ip::View::new(&message).unwrap();
            assert_eq!(view.source(), router[usize::from(six)]);
            let icmp = wire::icmp::View::new(&view).unwrap().repr().unwrap();
            assert!(
                matches!(icmp.message(), wire::icmp::Message::TooBig { mtu, .. } if mtu == header + 1419)
            );
        }
    }

    #[test]
    fn what_may_be_cut_passes() {
        let mut packet = packet(false, Ecn::NotEct, ip::TCP, 1400);
        packet[6] &= !0x40;
        assert!(!too_big(&packet, 576, &[], &mut Vec::new()));
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(offered(&bytes).bytes as usize, bytes.len());
            mark(&mut bytes);
            too_big(&bytes, 68, &[Ipv4Addr::LOCALHOST.into()], &mut Vec::new());
        }
    }
}

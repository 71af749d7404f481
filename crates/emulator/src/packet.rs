//! What a link asks of a packet, and what it does to it. A packet that makes no sense is one
//! without data.

use std::net::IpAddr;

use link::Offered;
use units::hash::mix;
use wire::icmp::answer::{self, Report};
use wire::{Ecn, ip, tcp};

/// What a link needs to know.
pub(crate) fn offered(packet: &[u8]) -> Offered {
    let bytes = u32::try_from(packet.len()).unwrap_or(u32::MAX);
    let Ok(view) = ip::View::new(packet) else {
        return Offered { bytes, ..Offered::default() };
    };
    let (data, ecn_capable) = (carries_data(&view), view.ecn().is_capable());
    Offered { bytes, data, ecn_capable, ..Offered::default() }
}

/// Its ports are where TCP's are.
const UDP: u8 = 17;

/// To which of so many flows a packet belongs: those of one pair of addresses and ports are
/// together, and others may be with them. Parts of a packet go by addresses alone.
pub(crate) fn flow(packet: &[u8], flows: u64) -> u64 {
    let Ok(view) = ip::View::new(packet) else { return 0 };
    let has_ports = [ip::TCP, UDP].contains(&view.protocol()) && !view.is_fragment();
    let ports = view.payload().first_chunk().filter(|_| has_ports).copied().unwrap_or_default();
    let mut hash = mix(u64::from(u32::from_be_bytes(ports)) | u64::from(view.protocol()) << 32);
    for address in [view.source(), view.destination()] {
        let bits = match address {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        };
        let halves = [bits >> 64, bits & u128::from(u64::MAX)];
        hash = halves.iter().fold(hash, |hash, &half| mix(hash ^ u64::try_from(half).unwrap_or(0)));
    }
    hash % flows.max(1)
}

/// Whether it is a TCP segment with data. A part of a packet is not looked into.
fn carries_data(packet: &ip::View<'_>) -> bool {
    packet.protocol() == ip::TCP
        && !packet.is_fragment()
        && tcp::View::new(packet.payload()).is_ok_and(|segment| !segment.payload().is_empty())
}

/// Whether a packet is too long for a link that carries `mtu` bytes. Then `message` is the packet
/// that tells its source, in the name of a router with the addresses `router`; empty if nothing may
/// be said.
///
/// Unlike RFC 791 §3.2, an IPv4 packet that may be cut passes whole.
pub(crate) fn too_big(packet: &[u8], mtu: u32, router: &[IpAddr], message: &mut Vec<u8>) -> bool {
    message.clear();
    let Ok(view) = ip::View::new(packet) else { return false };
    let may_be_cut = matches!(&view, ip::View::V4(view) if !view.dont_fragment());
    if may_be_cut || u32::try_from(view.packet_len()).is_ok_and(|len| len <= mtu) {
        return false;
    }
    if let Some(&from) = router.iter().find(|address| address.is_ipv4() == view.source().is_ipv4())
    {
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

    /// What is said of a packet is where its addresses and ports say, whatever else is in it.
    #[test]
    fn packets_of_one_connection_are_one_flow() {
        let mut one = packet(false, Ecn::NotEct, ip::TCP, 100);
        let home = flow(&one, 1024);
        let end = one.len() - 1;
        one[end] = 7;
        assert_eq!(flow(&one, 1024), home);
        assert_eq!(flow(&packet(false, Ecn::Ect0, ip::TCP, 5), 1024), home);
        let others: Vec<u64> = (1..200u8)
            .map(|port| {
                let mut other = one.clone();
                other[21] = port;
                flow(&other, 1024)
            })
            .collect();
        assert!(others.iter().all(|&flow| flow < 1024));
        assert!(others.iter().filter(|&&flow| flow == home).count() < 5);
        assert_ne!(flow(&packet(true, Ecn::NotEct, ip::TCP, 100), 1 << 40), flow(&one, 1 << 40));
        assert_eq!((flow(&[], 1024), flow(&one, 0)), (0, 0));
    }

    #[test]
    fn data_is_what_a_tcp_segment_carries() {
        for (six, header) in [(false, 20), (true, 40)] {
            for payload in [0, 1, 1400] {
                let offered = offered(&packet(six, Ecn::NotEct, ip::TCP, payload));
                let bytes = u32::try_from(header + 20 + payload).unwrap();
                assert_eq!(offered, Offered { bytes, data: payload > 0, ..Offered::default() });
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

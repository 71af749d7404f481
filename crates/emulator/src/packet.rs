//! The properties of a packet that a link uses, and the changes that it makes. An invalid packet
//! counts as one without data.

use std::net::IpAddr;

use link::Offered;
use units::hash::mix;
use wire::icmp::answer::{self, Report};
use wire::{Ecn, ip, tcp};

/// The properties of a packet for the link.
pub(crate) fn offered(packet: &[u8]) -> Offered {
    let bytes = u32::try_from(packet.len()).unwrap_or(u32::MAX);
    let Ok(view) = ip::View::new(packet) else {
        return Offered { bytes, ..Offered::default() };
    };
    let (data, ecn_capable) = (carries_data(&view), view.ecn().is_capable());
    Offered { bytes, data, ecn_capable, ..Offered::default() }
}

/// UDP, whose ports are at the same offset as TCP's.
const UDP: u8 = 17;

/// The hash class of a packet's flow, below `flows`. Packets with the same addresses and ports are
/// in one class. Fragments are classified by their addresses alone.
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

/// Returns true for a TCP segment with data. Fragments are not parsed.
fn carries_data(packet: &ip::View<'_>) -> bool {
    packet.protocol() == ip::TCP
        && !packet.is_fragment()
        && tcp::View::new(packet.payload()).is_ok_and(|segment| !segment.payload().is_empty())
}

/// Returns true if a packet exceeds `mtu` bytes and must be dropped.
///
/// `message` is then the ICMP report to its source, from a router with one of the addresses
/// `router`. It is empty if no report is allowed.
///
/// Unlike RFC 791 §3.2, an IPv4 packet that may be fragmented passes unfragmented.
pub(crate) fn too_big(packet: &[u8], mtu: u32, router: &[IpAddr], message: &mut Vec<u8>) -> bool {
    message.clear();
    let Ok(view) = ip::View::new(packet) else { return false };
    let may_be_cut = matches!(&view, ip::View::V4(view) if !view.dont_fragment());
    if may_be_cut || u32::try_from(view.packet_len()).is_ok_and(|len| len <= mtu) {
        return false;
    }
    if let Some(&from) = router.iter().find(|address| address.is_ipv4() == view.source().is_ipv4())
    {
        // No reports about some packets: RFC 1122 §3.2.2, RFC 4443 §2.4 (e).
        let _ = answer::report(Report::TooBig { mtu }, packet, from, message);
    }
    true
}

/// Sets Congestion Experienced in an ECN-capable packet (RFC 3168 §5).
pub(crate) fn mark(packet: &mut [u8]) {
    // An invalid packet is not ECN-capable either.
    let _ = ip::set_ecn(packet, Ecn::Ce);
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;

    fn packet(six: bool, ecn: Ecn, protocol: u8, payload: usize) -> Vec<u8> {
        // A header of 20 bytes, and the payload.
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

    /// The flow depends on addresses and ports only.
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
    fn only_tcp_segments_carry_data() {
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
    fn a_marked_packet_has_ce() {
        for six in [false, true] {
            let mut packet = packet(six, Ecn::Ect0, ip::TCP, 9);
            assert!(offered(&packet).ecn_capable);
            mark(&mut packet);
            let view = ip::View::new(&packet).unwrap();
            assert_eq!((view.ecn(), view.checksum_is_good()), (Ecn::Ce, true));
        }
    }

    #[test]
    fn too_big_reports_to_the_source() {
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
    fn packets_that_may_be_fragmented_pass() {
        let mut packet = packet(false, Ecn::NotEct, ip::TCP, 1400);
        packet[6] &= !0x40;
        assert!(!too_big(&packet, 576, &[], &mut Vec::new()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_accepted(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(offered(&bytes).bytes as usize, bytes.len());
            mark(&mut bytes);
            too_big(&bytes, 68, &[Ipv4Addr::LOCALHOST.into()], &mut Vec::new());
        }
    }
}

use std::net::Ipv6Addr;

use super::*;

/// What a Linux host says on joining a group (RFC 3810 §5.2): behind an option for routers (RFC 2711), from nobody yet.
fn multicast_report() -> Vec<u8> {
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 2);
    let option = [58, 0, 5, 2, 0, 0, 1, 0];
    let mut report = vec![143, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0];
    report.extend(group.octets());
    let routers = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16).into();
    let ip = |protocol, len| ip::Repr::new(Ipv6Addr::UNSPECIFIED.into(), routers, protocol, len).unwrap();
    let checksum = ip(58, report.len()).pseudo_header().with(&report).field();
    report[2..4].copy_from_slice(&checksum.to_be_bytes());
    // A packet has any number but an extension's; here that is the one.
    let mut packet = Vec::new();
    ip(59, option.len() + report.len()).write(&mut packet);
    packet[6] = 0;
    packet.extend(option);
    packet.extend(report);
    packet
}

#[test]
fn a_multicast_report_is_unknown_and_not_damaged() {
    let mut packet = multicast_report();
    assert_eq!(read(&packet, true).unwrap_err(), Ignored::Unknown);
    *packet.last_mut().unwrap() ^= 1;
    assert_eq!(read(&packet, true).unwrap_err(), Ignored::Damaged);
}

#[test]
fn another_protocol_is_unknown_and_half_a_segment_damaged() {
    let of = |protocol, payload: &[u8]| {
        let address = Ipv6Addr::LOCALHOST.into();
        let mut packet = Vec::new();
        ip::Repr::new(address, address, protocol, payload.len()).unwrap().write(&mut packet);
        packet.extend(payload);
        packet
    };
    assert_eq!(read(&of(17, &[0; 8]), true).unwrap_err(), Ignored::Unknown);
    assert_eq!(read(&of(ip::TCP, &[0; 19]), true).unwrap_err(), Ignored::Damaged);
    assert_eq!(read(&[0x60; 39], true).unwrap_err(), Ignored::Damaged);
}

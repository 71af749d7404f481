use std::net::Ipv6Addr;

use super::*;

/// A multicast listener report that a Linux host sends on joining a group (RFC 3810 §5.2): with a
/// router alert option (RFC 2711), from the unspecified address.
fn multicast_report() -> Vec<u8> {
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 2);
    let option = [58, 0, 5, 2, 0, 0, 1, 0];
    let mut report = vec![143, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0];
    report.extend(group.octets());
    let routers = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16).into();
    let ip = |protocol, len| {
        ip::Repr::new(Ipv6Addr::UNSPECIFIED.into(), routers, protocol, len).unwrap()
    };
    let checksum = ip(58, report.len()).pseudo_header().with(&report).field();
    report[2..4].copy_from_slice(&checksum.to_be_bytes());
    // The protocol number of the packet is replaced by that of the hop-by-hop extension header.
    let mut packet = Vec::new();
    ip(59, option.len() + report.len()).write(&mut packet);
    packet[6] = 0;
    packet.extend(option);
    packet.extend(report);
    packet
}

#[test]
fn multicast_listener_report_is_unknown_not_damaged() {
    let mut packet = multicast_report();
    assert_eq!(read(&packet, true).unwrap_err(), Ignored::Unknown);
    *packet.last_mut().unwrap() ^= 1;
    assert_eq!(read(&packet, true).unwrap_err(), Ignored::Damaged);
}

#[test]
fn other_protocols_are_unknown_and_truncated_segments_damaged() {
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

/// RFC 1191 §3, §5; RFC 8201 §4
#[test]
fn path_mtu_reports_have_a_lower_bound() {
    let v4 = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
    let v6 = [1, 2].map(|last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last).into());
    for ([ours, theirs], mtu, believed) in [
        (v4, 0, Some(536)),
        (v4, 28, Some(512)),
        (v4, 68, Some(512)),
        (v4, 551, Some(512)),
        (v4, 600, Some(560)),
        (v6, 0, None),
        (v6, 1279, None),
        (v6, 1280, Some(1220)),
        (v6, u32::MAX, Some(u16::MAX)),
    ] {
        let tuple = Tuple { local: ours, remote: theirs, local_port: 80, remote_port: 1000 };
        let segment = Segment {
            seq: SeqNum::new(5),
            ack: None,
            control: wire::Control::None,
            flags: wire::Flags::NONE,
            window: wire::UnscaledWindow::default(),
            payload_len: 0,
            options: wire::Options::default(),
        };
        let (mut about, mut report) = (Outgoing::default(), Vec::new());
        write(&tuple, &segment, [&[], &[]], false, &mut about).unwrap();
        let said = icmp::answer::Report::TooBig { mtu };
        icmp::answer::report(said, about.bytes(), theirs, &mut report).unwrap();
        let mss = match read(&report, true) {
            Ok(Arrived::Report(about, seq, IcmpReport::TooBig(mss))) => {
                assert_eq!((about, seq), (tuple, segment.seq));
                Some(mss.get())
            }
            other => {
                assert_eq!(other.unwrap_err(), Ignored::Damaged, "{mtu}");
                None
            }
        };
        assert_eq!(mss, believed, "{mtu}");
    }
}

/// Unlike RFC 1122 §3.3.2, fragments are not reassembled but dropped; RFC 8900 explains why TCP
/// needs none. An atomic fragment (RFC 6946) is a complete packet and is accepted.
#[test]
fn fragments_are_unknown_and_atomic_fragments_are_accepted() {
    let segment = |len: u32| Segment {
        seq: SeqNum::new(5),
        ack: Some(SeqNum::new(7)),
        control: wire::Control::None,
        flags: wire::Flags::NONE,
        window: wire::UnscaledWindow::default(),
        payload_len: len,
        options: wire::Options::default(),
    };
    let v4 = Tuple {
        local: [192, 0, 2, 1].into(),
        remote: [192, 0, 2, 2].into(),
        local_port: 80,
        remote_port: 1000,
    };
    let six = |last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last).into();
    let v6 = Tuple { local: six(1), remote: six(2), ..v4 };
    // The fragment offset in units of eight bytes, and the more-fragments flag.
    for (offset, more) in [(0, false), (0, true), (1, false), (1, true), (8191, false)] {
        let field = u16::to_be_bytes(offset << 3 | u16::from(more));
        let whole = (offset, more) == (0, false);
        let mut packet = Outgoing::default();
        write(&v6, &segment(4), [b"abcd", &[]], false, &mut packet).unwrap();
        let mut six = packet.bytes().to_vec();
        // A fragment header (RFC 8200 §4.5), and the payload length with it.
        let header = [six[6], 0, field[0], field[1], 0, 0, 0, 9];
        six.splice(40..40, header);
        six[6] = 44;
        six[5] += 8;
        write(&v4, &segment(4), [b"abcd", &[]], false, &mut packet).unwrap();
        let mut four = packet.bytes().to_vec();
        let field = u16::to_be_bytes(u16::from(more) << 13 | offset);
        four[6..8].copy_from_slice(&field);
        four[10..12].fill(0);
        let checksum = Checksum::of(&four[..20]).field();
        four[10..12].copy_from_slice(&checksum.to_be_bytes());
        for (packet, tuple) in [(four, v4), (six, v6)] {
            match read(&packet, true) {
                Ok(Arrived::Tcp(from, _, payload)) => {
                    assert!(whole, "{offset} {more}");
                    assert_eq!(
                        (from.remote, from.local, payload),
                        (tuple.local, tuple.remote, &b"abcd"[..])
                    );
                }
                other => {
                    assert_eq!(other.unwrap_err(), Ignored::Unknown, "{offset} {more}");
                    assert!(!whole);
                }
            }
        }
    }
}

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const ENDS: [[IpAddr; 2]; 2] = [
    [IpAddr::V4(Ipv4Addr::new(100, 64, 0, 2)), IpAddr::V4(Ipv4Addr::new(203, 0, 113, 9))],
    [
        IpAddr::V6(Ipv6Addr::new(0xfd74, 0, 0, 0, 0, 0, 0, 2)),
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9)),
    ],
];

fn segment(is_v6: bool, control: Control, ack: Option<u32>, payload: &[u8]) -> Vec<u8> {
    let [client, server] = ENDS[usize::from(is_v6)];
    let segment = Segment {
        seq: SeqNum::new(u32::MAX),
        ack: ack.map(SeqNum::new),
        control,
        flags: Flags::NONE,
        window: UnscaledWindow::new(1000),
        payload_len: u32::try_from(payload.len()).unwrap(),
        options: Options::default(),
    };
    let ports = tcp::Ports { source: 4000, destination: 80 };
    let repr = tcp::Repr::new(ports, segment).unwrap();
    let head = ip::Repr::new(client, server, ip::TCP, repr.len()).unwrap();
    let mut packet = Vec::new();
    head.write(&mut packet);
    repr.write(head.pseudo_header(), Checksum::of(payload), &mut packet);
    packet.extend_from_slice(payload);
    packet
}

#[test]
fn the_first_segment_of_a_connection_is_recognised() {
    for is_v6 in [false, true] {
        let [client, server] = ENDS[usize::from(is_v6)];
        let ends =
            Ends { client: SocketAddr::new(client, 4000), server: SocketAddr::new(server, 80) };
        let syn = segment(is_v6, Control::Syn, None, b"");
        assert_eq!(read(&syn), Arrived::Opening(ends));
        // With data (RFC 7413), too.
        assert_eq!(read(&segment(is_v6, Control::Syn, None, b"x")), Arrived::Opening(ends));
        for (control, ack) in
            [(Control::Syn, Some(1)), (Control::None, Some(1)), (Control::Rst, None)]
        {
            assert_eq!(read(&segment(is_v6, control, ack, b"")), Arrived::Other);
        }
        let mut damaged = syn.clone();
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(read(&damaged), Arrived::Other);
    }
}

/// RFC 9293 §3.10.7.1: `<SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>`.
#[test]
fn a_reset_acknowledges_the_first_segment() {
    for is_v6 in [false, true] {
        for payload in [&b""[..], b"data"] {
            let mut answer = Vec::new();
            write_reset(&segment(is_v6, Control::Syn, None, payload), &mut answer);
            let view = ip::View::new(&answer).unwrap();
            let [client, server] = ENDS[usize::from(is_v6)];
            assert_eq!((view.source(), view.destination()), (server, client));
            let reset = tcp::View::new(view.payload()).unwrap();
            assert!(reset.checksum_is_good(view.pseudo_header()));
            assert_eq!(reset.ports(), tcp::Ports { source: 80, destination: 4000 });
            assert!(reset.flags().has(tcp::Flags::RST) && reset.flags().has(tcp::Flags::ACK));
            // The first sequence number is 2³² − 1.
            let acknowledged = u32::try_from(payload.len()).unwrap();
            assert_eq!((reset.seq(), reset.ack()), (SeqNum::new(0), SeqNum::new(acknowledged)));
        }
    }
}

#[test]
fn errors_of_sockets_have_the_reasons_that_hosts_and_routers_give() {
    let of = |errno: Errno| reason(&errno.into());
    assert_eq!(of(Errno::CONNREFUSED), Some(Unreachable::Port));
    assert_eq!(of(Errno::NETUNREACH), Some(Unreachable::Network));
    assert_eq!(of(Errno::HOSTUNREACH), Some(Unreachable::Host));
    assert_eq!(of(Errno::ACCESS), Some(Unreachable::Prohibited));
    // A destination that is silent stays silent, and the client sends a lost segment again.
    for errno in [Errno::TIMEDOUT, Errno::MFILE, Errno::NOBUFS, Errno::AGAIN, Errno::MSGSIZE] {
        assert_eq!(of(errno), None, "{errno:?}");
    }
}

/// Puts the fragments of a packet together again: the payload of the whole packet.
fn reassembled(parts: &[Vec<u8>], mtu: usize) -> Vec<u8> {
    let mut whole = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        assert!(part.len() <= mtu);
        let view = ip::View::new(part).unwrap();
        assert!(view.checksum_is_good());
        assert_eq!(view.is_fragment(), parts.len() > 1);
        let is_last = number + 1 == parts.len();
        let word = |bytes: &[u8]| u16::from_be_bytes([bytes[0], bytes[1]]);
        let (offset, more, body) = if part[0] >> 4 == 4 {
            let word = word(&part[6..8]);
            assert_eq!(word & 0x4000 != 0, parts.len() == 1, "DF only on a whole packet");
            (usize::from(word & 0x1fff) * 8, word & 0x2000 != 0, &part[20..])
        } else if part[6] == FRAGMENT {
            let word = word(&part[42..44]);
            (usize::from(word & !7), word & 1 != 0, &part[48..])
        } else {
            (0, false, &part[40..])
        };
        assert_eq!((offset, more), (whole.len(), !is_last));
        whole.extend_from_slice(body);
    }
    whole
}

proptest! {
    /// A datagram arrives as it was, whatever the MTU is.
    #[test]
    fn datagrams_are_divided_for_the_link(
        is_v6 in any::<bool>(),
        data in vec(any::<u8>(), 0..9000),
        mtu in 1280_usize..4000,
    ) {
        let [client, server] = ENDS[usize::from(is_v6)];
        let (from, to) = (SocketAddr::new(server, 53), SocketAddr::new(client, 4000));
        let parts = datagram(from, to, &data, mtu, 77);
        let header = if is_v6 { 40 } else { 20 };
        prop_assert_eq!(parts.len() > 1, header + 8 + data.len() > mtu);
        let whole = reassembled(&parts, mtu);
        prop_assert_eq!(&whole[8..], &data[..]);
        prop_assert_eq!(&whole[..4], &[0, 53, 15, 160]);
        let head = ip::Repr::new(server, client, UDP, whole.len()).unwrap();
        prop_assert!(head.pseudo_header().with(&whole).is_good());
    }

    #[test]
    fn echo_replies_have_the_identifier_of_the_request(
        is_v6 in any::<bool>(),
        data in vec(any::<u8>(), 0..3000),
        identifier in any::<u16>(),
    ) {
        let [client, server] = ENDS[usize::from(is_v6)];
        let echo = Echo { identifier, sequence: 5, data: &data };
        let mut request = Vec::new();
        let version = Version::of(client);
        let repr = icmp::Repr::new(version, Message::EchoRequest(echo)).unwrap();
        let head = ip::Repr::new(client, server, version.icmp(), repr.len()).unwrap();
        head.write(&mut request);
        repr.write(head.pseudo_header(), &mut request);
        prop_assert_eq!(read(&request), Arrived::Echo { client, to: server, echo });
        let parts = echo_reply(server, client, echo, 1500, 7);
        let whole = reassembled(&parts, 1500);
        prop_assert_eq!(&whole[4..6], &identifier.to_be_bytes());
        prop_assert_eq!(&whole[8..], &data[..]);
    }

    #[test]
    fn any_bytes_are_read(bytes in vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
        let mut out = Vec::new();
        write_reset(&bytes, &mut out);
        write_unreachable(&bytes, Unreachable::Host, &mut out);
        let _ = quoted_echo(ENDS[0][0], ENDS[0][1], 1, &bytes);
    }

    /// Bytes that begin as a packet reach the readers of its payload.
    #[test]
    fn damaged_segments_are_read(is_v6 in any::<bool>(), at in 0_usize..80, value in any::<u8>()) {
        let mut packet = segment(is_v6, Control::Syn, None, b"data");
        let at = at % packet.len();
        packet[at] = value;
        let _ = read(&packet);
        let mut out = Vec::new();
        write_reset(&packet, &mut out);
        write_unreachable(&packet, Unreachable::Port, &mut out);
    }
}

use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;
use crate::icmp::Echo;
use crate::{ipv4, ipv6};

const ROUTER_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 254));
const ROUTER_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xfe));
const TOO_BIG: Report = Report::TooBig { mtu: 1280 };

/// Returns a packet of 1500 bytes.
fn packet(source: &str, destination: &str, protocol: u8) -> Vec<u8> {
    let (source, destination): (IpAddr, IpAddr) =
        (source.parse().unwrap(), destination.parse().unwrap());
    let len = 1500 - Version::of(source).header_len();
    let ip = ip::Repr::new(source, destination, protocol, len).unwrap();
    let mut bytes = Vec::new();
    ip.write(&mut bytes);
    bytes.resize(1500, 0x55);
    bytes
}

fn reported(report: Report, about: &[u8], from: IpAddr) -> Result<Vec<u8>, NotSent> {
    // Existing bytes are kept.
    let mut out = b"before".to_vec();
    let result = super::report(report, about, from, &mut out);
    let sent = out.strip_prefix(b"before").unwrap().to_vec();
    assert_eq!(result.is_err(), sent.is_empty());
    result.map(|()| sent)
}

#[test]
fn error_is_sent_to_the_source() {
    let packets = [
        (packet("10.0.0.1", "10.0.0.2", ip::TCP), ROUTER_V4),
        (packet("2001:db8::1", "2001:db8::2", ip::TCP), ROUTER_V6),
    ];
    for (mut about, router) in packets {
        // Bytes after the packet are not quoted.
        about.extend([0xee; 100]);
        for report in [
            TOO_BIG,
            Report::Unreachable(Unreachable::Port),
            Report::TimeExceeded(TimeExceeded::Transit),
        ] {
            let sent = reported(report, &about, router).unwrap();
            let ip = ip::View::new(&sent).unwrap();
            assert_eq!(
                (ip.source(), ip.destination()),
                (router, ip::View::new(&about).unwrap().source())
            );
            assert!(ip.checksum_is_good());
            let repr = View::new(&ip).unwrap().repr().unwrap();
            let quote = repr.message().quote().unwrap();
            assert_eq!(repr.message(), report.about(quote));
            assert_eq!(quote.bytes(), &about[..quote.bytes().len()]);
            assert_eq!(sent.len(), if ip.version() == Version::V4 { 576 } else { ipv6::MIN_MTU });
            assert_eq!(reported(report, &sent, router), Err(NotSent::AboutAnError));
        }
    }
    let short = packet("10.0.0.1", "10.0.0.2", ip::TCP)[..20].to_vec();
    let short = [&short[..2], &[0, 20], &short[4..]].concat();
    let sent = reported(TOO_BIG, &[short, vec![0xee; 9]].concat(), ROUTER_V4).unwrap();
    assert_eq!(sent.len(), 20 + 8 + 20);
}

/// RFC 1122 §3.2.2, RFC 4443 §2.4 (e): packets about which no error is sent.
#[test]
fn no_error_about_these_packets() {
    let not = |source, destination, router| {
        reported(TOO_BIG, &packet(source, destination, ip::TCP), router).unwrap_err()
    };
    for many in ["224.0.0.1", "255.255.255.255", "0.0.0.0"] {
        assert_eq!(not("10.0.0.1", many, ROUTER_V4), NotSent::ToMany(many.parse().unwrap()));
        assert_eq!(not(many, "10.0.0.1", ROUTER_V4), NotSent::FromNobody(many.parse().unwrap()));
    }
    for nobody in ["::", "ff02::1"] {
        assert_eq!(
            not(nobody, "2001:db8::1", ROUTER_V6),
            NotSent::FromNobody(nobody.parse().unwrap())
        );
    }
    // Except for the MTU of a multicast path.
    let about = packet("2001:db8::1", "ff0e::1", ip::TCP);
    assert!(reported(TOO_BIG, &about, ROUTER_V6).is_ok());
    let unreachable = Report::Unreachable(Unreachable::Network);
    assert!(matches!(reported(unreachable, &about, ROUTER_V6), Err(NotSent::ToMany(_))));
    let mut fragment = packet("10.0.0.1", "10.0.0.2", ip::TCP);
    fragment[7] = 1;
    assert_eq!(reported(TOO_BIG, &fragment, ROUTER_V4), Err(NotSent::LaterFragment));
    assert_eq!(reported(TOO_BIG, &[], ROUTER_V4), Err(NotSent::Packet(ip::ViewError::Empty)));
    let about = packet("10.0.0.1", "10.0.0.2", ip::TCP);
    assert!(matches!(reported(TOO_BIG, &about, ROUTER_V6), Err(NotSent::Ip(_))));
    let beyond = Report::Unreachable(Unreachable::BeyondScope);
    assert!(matches!(reported(beyond, &about, ROUTER_V4), Err(NotSent::Message(_))));
}

#[test]
fn echo_request_is_answered() {
    let ends = [("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")];
    for (source, destination) in ends {
        let (source, destination): (IpAddr, IpAddr) =
            (source.parse().unwrap(), destination.parse().unwrap());
        let echo = Echo { identifier: 7, sequence: 8, data: &[9; 1400] };
        let ping = Repr::new(Version::of(source), Message::EchoRequest(echo)).unwrap();
        let mut bytes = Vec::new();
        append(&ping, source, destination, &mut bytes).unwrap();
        let mut out = Vec::new();
        echo_reply(&ip::View::new(&bytes).unwrap(), &mut out).unwrap();
        let ip = ip::View::new(&out).unwrap();
        assert_eq!((ip.source(), ip.destination()), (destination, source));
        assert_eq!(View::new(&ip).unwrap().repr().unwrap().message(), Message::EchoReply(echo));
        // A reply is not answered, nor is a damaged packet.
        let mut more = Vec::new();
        assert_eq!(echo_reply(&ip, &mut more), Err(NotSent::NoRequest));
        *bytes.last_mut().unwrap() ^= 1;
        assert_eq!(echo_reply(&ip::View::new(&bytes).unwrap(), &mut more), Err(NotSent::NoRequest));
        assert!(more.is_empty());
    }
}

/// RFC 1122 §3.2.2.6 lets a host ignore a ping to many hosts, as RFC 4443 §4.2 does.
#[test]
fn multicast_echo_request_is_not_answered() {
    let ping = Message::EchoRequest(Echo { identifier: 7, sequence: 8, data: b"" });
    let ping = Repr::new(Version::V4, ping).unwrap();
    let mut bytes = Vec::new();
    let source = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    append(&ping, source, Ipv4Addr::BROADCAST.into(), &mut bytes).unwrap();
    let request = ip::View::V4(ipv4::View::new(&bytes).unwrap());
    assert_eq!(
        echo_reply(&request, &mut Vec::new()),
        Err(NotSent::ToMany(Ipv4Addr::BROADCAST.into()))
    );
}

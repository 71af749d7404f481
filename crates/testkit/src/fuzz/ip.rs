//! Interprets any bytes as an IP packet: parses everything in it, and writes validated headers
//! again.

use std::net::IpAddr;
use std::num::NonZeroU16;

use wire::gso::{self, Cutter, Offload};
use wire::icmp::{self, Message, TimeExceeded, Unreachable, answer};
use wire::ip::{ICMPV4, ICMPV6, Repr, TCP, Version, View};
use wire::{Checksum, Ecn, ipv6, tcp};

/// Parses everything in `bytes`, and again with corrected checksums, because few checks are reached
/// with wrong ones.
///
/// # Panics
/// Panics if two results about the same bytes contradict each other.
pub fn run(bytes: &[u8]) {
    look(bytes);
    look(&repaired(bytes));
}

/// Returns the packet with corrected checksums.
fn repaired(bytes: &[u8]) -> Vec<u8> {
    let mut repaired = bytes.to_vec();
    let Ok(packet) = View::new(bytes) else { return repaired };
    let mut put = |from: usize, to: usize, at: usize, pseudo_header: Checksum| {
        if let Some(covered) = repaired.get_mut(from..to)
            && let Some(field) = covered.get_mut(at..at + 2)
        {
            field.fill(0);
            let sum = pseudo_header.with(covered).field();
            covered[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        }
    };
    let end = packet.packet_len();
    let start = end - packet.payload().len();
    match (packet.version(), packet.protocol()) {
        (_, TCP) => put(start, end, 16, packet.pseudo_header()),
        (Version::V4, ICMPV4) => put(start, end, 2, Checksum::EMPTY),
        (Version::V6, ICMPV6) => put(start, end, 2, packet.pseudo_header()),
        _ => {}
    }
    if packet.version() == Version::V4 {
        put(0, start, 10, Checksum::EMPTY);
    }
    let good = View::new(&repaired).expect("no length was changed");
    assert!(good.checksum_is_good());
    if let Ok(tcp) = tcp::View::new(good.payload())
        && good.protocol() == TCP
    {
        assert!(tcp.checksum_is_good(good.pseudo_header()));
    }
    if let Ok(message) = icmp::View::new(&good) {
        assert!(message.checksum_is_good());
    }
    repaired
}

fn look(bytes: &[u8]) {
    let whole = View::new(bytes).ok();
    let start = View::cut_short(bytes).ok();
    assert!(whole.is_none() || whole == start, "the start of a whole packet is the packet");
    if let Some(packet) = start {
        look_at(&packet);
        marked(bytes, &packet);
    }
    if let Some(packet) = whole {
        answered(bytes, &packet);
    }
    cut(bytes);
    offloaded(bytes);
}

/// Parses everything in a packet, including a quoted packet.
fn look_at(packet: &View<'_>) {
    let (_, _) = (packet.source(), packet.destination());
    let (_, _, _) = (packet.hops(), packet.ecn(), packet.checksum_is_good());
    assert!(packet.is_fragment() || !packet.is_later_fragment());
    assert!(packet.version().header_len() + packet.payload().len() <= packet.packet_len());
    if let View::V6(packet) = packet {
        let extensions: usize = packet.extensions().map(|extension| extension.bytes.len()).sum();
        assert!(ipv6::HEADER_LEN + extensions + packet.payload().len() <= packet.packet_len());
    }
    if let Some(repr) = packet.repr() {
        let again = View::cut_short(&repr.header()).ok().and_then(|packet| packet.repr());
        assert_eq!(again, Some(repr));
        assert_eq!(repr.pseudo_header(), packet.pseudo_header());
    }
    if packet.protocol() == TCP {
        segment(packet);
    }
    if let Ok(message) = icmp::View::new(packet) {
        errand(&message);
    }
}

fn segment(packet: &View<'_>) {
    let Ok(view) = tcp::View::new(packet.payload()) else { return };
    let (_, _, _) = (view.checksum_is_good(packet.pseudo_header()), view.urgent(), view.reserved());
    let mut errors = 0;
    for option in view.options() {
        match option {
            Ok(option) => assert!(option.known().is_none() || option.name().is_some()),
            Err(_) => errors += 1,
        }
    }
    assert!(errors <= 1, "nothing follows an error");
    if let Some(repr) = view.repr(packet.ecn()) {
        // A validated segment can be written, and is validated again.
        let mut again = repr.header(packet.pseudo_header(), Checksum::of(view.payload())).to_vec();
        again.extend_from_slice(view.payload());
        let again = tcp::View::new(&again).expect("a header that we have written");
        assert!(again.checksum_is_good(packet.pseudo_header()));
        assert_eq!(again.repr(packet.ecn()), Some(repr));
    }
}

fn errand(view: &icmp::View<'_>) {
    let Some(repr) = view.repr() else { return };
    assert!(view.checksum_is_good());
    assert_eq!(repr.message().quote().is_some(), view.is_error());
    let mut again = Vec::new();
    let ip = between_hosts(view.version(), repr.len());
    ip.write(&mut again);
    repr.write(ip.pseudo_header(), &mut again);
    let packet = View::new(&again).expect("a packet that we have written");
    assert_eq!(icmp::View::new(&packet).ok().and_then(|view| view.repr()), Some(repr));
    let Some(quote) = repr.message().quote() else { return };
    if let Some(segment) = quote.segment() {
        let quoted = quote.packet().expect("the packet of a segment");
        assert_eq!((quoted.source(), quoted.destination()), (segment.source, segment.destination));
    }
    // A quoted packet is shorter than its message, so the recursion ends.
    if let Ok(quoted) = quote.packet() {
        look_at(&quoted);
    }
}

fn between_hosts(version: Version, payload_len: usize) -> Repr {
    let [source, destination]: [IpAddr; 2] = match version {
        Version::V4 => [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()],
        Version::V6 => [[0x20; 16].into(), [0x21; 16].into()],
    };
    Repr::new(source, destination, version.icmp(), payload_len)
        .expect("two addresses of one version")
}

/// Checks that an ECN mark changes only the ECN field and the checksum.
fn marked(bytes: &[u8], packet: &View<'_>) {
    let mut marked = bytes.to_vec();
    wire::ip::set_ecn(&mut marked, Ecn::Ce).expect("the header is there");
    let after = View::cut_short(&marked).expect("the header is there");
    assert_eq!((after.ecn(), after.payload()), (Ecn::Ce, packet.payload()));
    assert_eq!(after.checksum_is_good(), packet.checksum_is_good());
}

/// Checks answers to a packet: they are complete, have its source as destination, and no error is
/// about an error.
fn answered(bytes: &[u8], packet: &View<'_>) {
    let router = between_hosts(packet.version(), 0).source();
    let reports = [
        answer::Report::TooBig { mtu: 1280 },
        answer::Report::Unreachable(Unreachable::Port),
        answer::Report::TimeExceeded(TimeExceeded::Transit),
    ];
    for report in reports {
        let mut out = Vec::new();
        if answer::report(report, bytes, router, &mut out).is_err() {
            assert!(out.is_empty());
            continue;
        }
        let sent = View::new(&out).expect("a packet that we have written");
        assert_eq!((sent.source(), sent.destination()), (router, packet.source()));
        assert_eq!(sent.packet_len(), out.len());
        let view = icmp::View::new(&sent).expect("a message that we have written");
        let quote = view.repr().and_then(|repr| repr.message().quote()).expect("an error quotes");
        assert!(bytes.starts_with(quote.bytes()));
        let about = answer::report(report, &out, router, &mut Vec::new());
        assert_eq!(about, Err(answer::NotSent::AboutAnError));
    }
    let mut out = Vec::new();
    if answer::echo_reply(packet, &mut out).is_ok() {
        let sent = View::new(&out).expect("a packet that we have written");
        assert_eq!((sent.source(), sent.destination()), (packet.destination(), packet.source()));
        let message =
            icmp::View::new(&sent).ok().and_then(|view| view.repr()).map(|repr| repr.message());
        assert!(matches!(message, Some(Message::EchoReply(_))));
    }
}

/// Checks that the segments of a packet contain its bytes in order.
fn cut(bytes: &[u8]) {
    // A segment size, which is often small.
    let size =
        u16::try_from(1 + bytes.len() % 97).ok().and_then(NonZeroU16::new).expect("at least 1");
    let Ok(mut cutter) = Cutter::new(bytes, size) else { return };
    let packet = View::new(bytes).expect("what can be cut is a packet");
    let whole = tcp::View::new(packet.payload()).expect("what can be cut is a segment");
    let (mut payload, mut out) = (Vec::new(), Vec::new());
    let mut remaining = cutter.remaining();
    while cutter.write_next(&mut out) {
        remaining -= 1;
        assert_eq!(cutter.remaining(), remaining);
        let ip = View::new(&out).expect("a packet that was cut");
        let tcp = tcp::View::new(ip.payload()).expect("a segment that was cut");
        assert!(ip.checksum_is_good() && tcp.checksum_is_good(ip.pseudo_header()));
        let at = u32::try_from(payload.len()).expect("a packet's length");
        assert_eq!(tcp.seq(), whole.seq() + at);
        payload.extend_from_slice(tcp.payload());
        out.clear();
    }
    assert_eq!((remaining, &payload[..]), (0, whole.payload()));
}

/// Interprets the bytes as an offload header and a packet.
fn offloaded(bytes: &[u8]) {
    let Some((header, packet)) = bytes.split_first_chunk() else { return };
    let Ok(offload) = Offload::from_bytes(header) else { return };
    assert_eq!(Offload::from_bytes(&offload.to_bytes()), Ok(offload));
    if let Some(checksum) = offload.checksum {
        let mut completed = packet.to_vec();
        if gso::complete(&mut completed, checksum).is_err() {
            assert_eq!(completed, packet);
        }
    }
}

//! Two stacks that exchange packets in virtual time.

mod common;

use common::download::{Download, run, world};
use common::{Fate, World, clean, config};
use host::{Alternate, CloseReason, EndReason, Event, EventKind, Senders, Stack};
use tcp::State;
use units::{Duration, Instant};

#[test]
fn download_completes_and_releases_all_state() {
    let mut world = world();
    let id = world.connect(1000);
    let mut download = Download::new(300_000);
    run(&mut world, &mut download, 30, clean);
    assert_eq!(download.got[&id], 300_000);
    assert!(download.endings.iter().all(|all| all.values().all(|ending| ending.is_finished())));
    assert_eq!(download.endings[0].len(), 1);
    let records = world.server().take_records();
    assert_eq!(records.len(), 1);
    let record = records[0];
    assert_eq!(record.sent_bytes, 300_000);
    assert_eq!(record.handshake, Some(common::DELAY * 2));
    assert_eq!(record.statistics.retransmitted_segments, 0);
    let (first, last) = (record.first_sent.unwrap(), record.last_acknowledged.unwrap());
    assert!(last.since(first) >= common::DELAY * 2);
    // TIME-WAIT lasts a minute.
    run(&mut world, &mut download, 61, clean);
    for host in &world.hosts {
        assert_eq!((host.connections(), host.buffered_bytes()), (0, 0));
        assert_eq!(host.next_timeout(), Instant::NEVER);
    }
}

#[test]
fn losses_are_retransmitted_and_recorded_by_cause() {
    let mut world = world();
    world.connect(1000);
    let mut download = Download::new(100_000);
    let mut data = 0;
    run(&mut world, &mut download, 60, |to, packet| {
        data += usize::from(to == 1 && packet.len() > 1000);
        if to == 1 && packet.len() > 1000 && data == 20 { Fate::Lost } else { Fate::Arrives }
    });
    assert_eq!(download.got.values().copied().collect::<Vec<_>>(), [100_000]);
    let record = world.server().take_records()[0];
    assert_eq!((record.statistics.fast_retransmits, record.statistics.timeouts), (1, 0));
    assert_eq!(record.sent_bytes, 100_000);
    assert_eq!(world.server().counters().fast_retransmits, 1);
}

/// RFC 9293 §3.6: an end that has closed may continue to receive until the peer closes.
#[test]
fn closed_end_still_receives() {
    let mut world = world();
    let id = world.connect(1000);
    let (mut heard, mut endings) = (Vec::new(), Vec::new());
    let mut user = |stack: &mut Stack, host: usize, event: Event, now| match (host, event.kind) {
        (0, EventKind::Accepted(80)) => stack.close(event.id, now),
        (0, EventKind::Readable) => {
            let mut buffer = [0; 100];
            let count = stack.read(event.id, &mut buffer);
            heard.extend_from_slice(&buffer[..count]);
        }
        (_, EventKind::Closed(ending)) => endings.push(ending),
        _ => {}
    };
    let later = world.now + Duration::from_secs(300);
    world.run(later, clean, &mut user);
    assert_eq!(world.client().write(id, b"at last", later), Ok(7));
    world.client().close(id, later);
    world.run(later + Duration::from_secs(10), clean, &mut user);
    assert_eq!(heard, b"at last");
    assert_eq!(endings, [EndReason::Tcp(CloseReason::Finished); 2]);
}

#[test]
fn sender_policies_alternate() {
    let both: Vec<_> = ["reno+sack / fs(n=4) / iw=1", "reno+sack / full / iw=2"]
        .map(|name| name.parse().unwrap())
        .into();
    for (alternate, expected) in [
        (Alternate::Connection, [0, 1, 0, 1]),
        (Alternate::Interval(Duration::from_secs(2)), [0, 0, 1, 1]),
    ] {
        let mut one = config(1);
        one.senders = Senders::alternating(both.clone(), alternate).unwrap();
        let mut world = World::new(one, config(2));
        world.server().listen(80);
        world.server().keep_records();
        let mut download = Download::new(1000);
        for port in 0..4 {
            world.connect(1000 + port);
            run(&mut world, &mut download, 1, clean);
        }
        let senders: Vec<_> =
            world.server().take_records().iter().map(|record| record.sender).collect();
        assert_eq!(senders, expected);
    }
}

/// RFC 7323 §7.1: each tuple has a timestamp offset of its own. It stays the same for later
/// connections of the tuple, and round trips can be measured with it.
#[test]
fn timestamps_have_an_offset_per_tuple() {
    let mut world = world();
    let mut seen: Vec<(u16, u32, Instant)> = Vec::new();
    for (port, seconds) in [(1000, 10), (1000, 10), (1001, 10)] {
        world.connect(port);
        let mut download = Download::new(3_000);
        let now = world.now;
        run(&mut world, &mut download, seconds, |to, packet| {
            let view = wire::ip::View::new(packet).unwrap();
            let tcp = wire::tcp::View::new(view.payload()).unwrap();
            let repr = tcp.repr(wire::Ecn::NotEct).unwrap();
            // The server's SYN-ACK.
            if to == 1 && repr.segment().control == wire::Control::Syn {
                seen.push((port, repr.segment().options.timestamps.unwrap().val, now));
            }
            Fate::Arrives
        });
        let record = world.server().take_records()[0];
        // The round trip takes 20 ms, and some acknowledgments are delayed.
        assert!(
            record.srtt.is_some_and(|srtt| srtt < Duration::from_millis(100)),
            "{:?}",
            record.srtt
        );
    }
    let [(_, first, _), (_, again, _), (_, other, _)] = seen[..] else { panic!("{seen:?}") };
    assert_eq!(again.wrapping_sub(first), 10_000);
    assert_ne!(other.wrapping_sub(again), 10_000);
}

/// Sends what host 1 has to send, after the device has completed the checksums and cut the large
/// segments. Appends the packets. Returns the number of large segments.
fn send_through_device(world: &mut World, sent: &mut Vec<Vec<u8>>) -> usize {
    let now = world.now;
    let mut packet = host::Outgoing::default();
    let mut long = 0;
    while world.hosts[0].poll_transmit(now, &mut packet) {
        let (header, bytes) = packet.frame().split_first_chunk().expect("a header");
        let (said, mut bytes) =
            (wire::gso::Offload::from_bytes(header).expect("our header"), bytes.to_vec());
        assert_eq!((said, &bytes[..]), (packet.offload, packet.bytes()));
        if let Some(checksum) = said.checksum {
            wire::gso::complete(&mut bytes, checksum).expect("the field is in the packet");
        }
        let Some(segmentation) = said.segmentation else {
            sent.push(bytes);
            continue;
        };
        long += 1;
        let mut cutter = wire::gso::Cutter::new(&bytes, segmentation.size).expect("a TCP segment");
        let mut piece = Vec::new();
        while cutter.write_next(&mut piece) {
            // The IPv4 identification has no meaning in packets that are not fragments (RFC 6864
            // §4.1).
            piece[4..6].fill(0);
            piece[10..12].fill(0);
            let field = wire::Checksum::of(&piece[..20]).field();
            piece[10..12].copy_from_slice(&field.to_be_bytes());
            sent.push(std::mem::take(&mut piece));
        }
    }
    long
}

/// Downloads from a server with or without offload. Returns the packets that the server's device
/// sends, and the number of large segments among those that the server gives to the device.
fn packets_of_download(offload: bool) -> (Vec<Vec<u8>>, usize) {
    let mut one = config(1);
    one.offload = offload;
    one.senders =
        Senders::one("reno+sack / fs(n=4) / iw=rfc6928".parse().expect("a sender policy"));
    let mut world = World::new(one, config(2));
    world.server().listen(80);
    world.connect(1000);
    let mut download = Download::new(150_000);
    let mut packets = Vec::new();
    let mut long = 0;
    let end = world.now + Duration::from_secs(20);
    let mut packet = host::Outgoing::default();
    while world.now < end {
        let now = world.now;
        let first = packets.len();
        long += send_through_device(&mut world, &mut packets);
        while let Some(event) = world.hosts[0].poll_event() {
            download.on_event(&mut world.hosts[0], 0, event, now);
        }
        for packet in &packets[first..] {
            world.hosts[1].receive(packet, host::Checksums::Verify, now);
        }
        let mut answers = Vec::new();
        while world.hosts[1].poll_transmit(now, &mut packet) {
            answers.push(packet.bytes().to_vec());
        }
        while let Some(event) = world.hosts[1].poll_event() {
            download.on_event(&mut world.hosts[1], 1, event, now);
        }
        for packet in answers {
            world.hosts[0].receive(&packet, host::Checksums::Verify, now);
        }
        world.now += Duration::from_millis(10);
        world.hosts[0].on_timeout(world.now);
        world.hosts[1].on_timeout(world.now);
    }
    assert_eq!(download.got.values().copied().collect::<Vec<_>>(), [150_000]);
    (packets, long)
}

/// The segments cut by a device equal those sent without offload, byte by byte.
#[test]
fn segmentation_offload_gives_the_same_packets() {
    let ((plain, none), (cut, long)) = (packets_of_download(false), packets_of_download(true));
    assert!(none == 0 && long > 3, "{long}");
    assert_eq!(plain.len(), cut.len());
    assert!(plain == cut);
}

/// Ten full-sized segments of a connection that a client has opened to the server.
fn ten_segments(world: &mut World) -> Vec<Vec<u8>> {
    let id = world.connect(1000);
    world.run(world.now + Duration::from_secs(1), clean, |_, _, _, _| ());
    let now = world.now;
    world.client().write(id, &vec![b'x'; 14_480], now).expect("it is open");
    let mut packet = host::Outgoing::default();
    let packets: Vec<_> = std::iter::from_fn(|| {
        world.client().poll_transmit(now, &mut packet).then(|| packet.bytes().to_vec())
    })
    .collect();
    assert_eq!(packets.len(), 10);
    packets
}

fn ten_at_once() -> World {
    let mut client = config(2);
    client.senders = Senders::one("reno+sack / full / iw=rfc6928".parse().expect("a sender"));
    let mut world = World::new(config(1), client);
    world.server().listen(80);
    world
}

#[test]
fn one_acknowledgment_covers_a_batch_of_packets() {
    let mut world = ten_at_once();
    let packets = ten_segments(&mut world);
    let (now, mut out) = (world.now, host::Outgoing::default());
    for packet in &packets {
        world.inject(0, packet);
        assert!(!world.server().poll_urgent(now, &mut out));
    }
    assert!(world.server().poll_transmit(now, &mut out));
    assert!(!world.server().poll_transmit(now, &mut out));
    world.inject(1, out.bytes());
    let id = world.client().open_connections()[0];
    assert_eq!(world.client().connection(id).map(tcp::Connection::flight), Some(0));
}

/// RFC 5681 §4.2
#[test]
fn each_out_of_order_segment_is_acknowledged_at_once() {
    let mut world = ten_at_once();
    let packets = ten_segments(&mut world);
    let (now, mut out) = (world.now, host::Outgoing::default());
    world.inject(0, &packets[0]);
    assert!(!world.server().poll_urgent(now, &mut out));
    for packet in &packets[2..] {
        world.inject(0, packet);
        assert!(world.server().poll_urgent(now, &mut out));
        assert!(!world.server().poll_urgent(now, &mut out));
    }
    assert!(!world.server().poll_transmit(now, &mut out));
}

#[test]
fn connection_is_closed_before_its_slot_is_freed() {
    let mut world = world();
    let id = world.connect(1000);
    assert_eq!(world.client().connection(id).map(tcp::Connection::state), Some(State::SynSent));
    let now = world.now;
    world.client().abort(id, now);
    let mut download = Download::new(0);
    run(&mut world, &mut download, 1, clean);
    assert_eq!(download.endings[1][&id], EndReason::Tcp(CloseReason::Aborted));
    assert!(world.client().connection(id).is_none());
}

#[test]
fn abort_all_ends_every_connection() {
    let mut world = world();
    let mut download = Download::new(1_000_000);
    for port in 0..3 {
        world.connect(1000 + port);
    }
    // Three connections are open with more to send; a fourth is half open.
    run(&mut world, &mut download, 0, clean);
    let end = world.now + Duration::from_millis(25);
    world.run(end, clean, |stack, host, event, now| download.on_event(stack, host, event, now));
    world.connect(2000);
    let end = world.now + common::DELAY;
    world.run(end, |to, _| if to == 1 { Fate::Lost } else { Fate::Arrives }, |_, _, _, _| ());
    assert_eq!((world.server().connections(), world.server().open_connections().len()), (4, 3));
    let now = world.now;
    world.server().abort_all(now);
    run(&mut world, &mut download, 5, clean);
    assert_eq!(world.server().connections(), 0);
    assert!(
        download.endings[0].values().all(|ending| *ending == EndReason::Tcp(CloseReason::Aborted))
    );
    assert_eq!(download.endings[0].len(), 3);
}

/// RFC 1191, RFC 8201
#[test]
fn path_mtu_reports_reduce_the_segment_size() {
    let six =
        |last| std::net::IpAddr::from(std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last));
    let (mut one, mut two) = (config(1), config(2));
    one.addresses.push(six(1));
    two.addresses.push(six(2));
    let mut world = World::new(one, two);
    world.server().listen(80);
    let now = world.now;
    world.connect(1000);
    let over_six = host::Tuple { local: six(2), remote: six(1), local_port: 1000, remote_port: 80 };
    world.client().connect(over_six, now).unwrap();
    let mut download = Download::new(200_000);
    let (mut reports, mut longest) = (Vec::new(), 0);
    let end = world.now + Duration::from_secs(20);
    while world.now < end {
        let step = world.now + Duration::from_millis(5);
        let too_long = |to: usize, packet: &[u8]| {
            if to == 0 || packet.len() <= 1300 {
                longest = longest.max(if to == 1 { packet.len() } else { 0 });
                return Fate::Arrives;
            }
            let mut report = Vec::new();
            let said = wire::icmp::answer::Report::TooBig { mtu: 1300 };
            wire::icmp::answer::report(said, packet, common::address(9), &mut report)
                .or_else(|_| wire::icmp::answer::report(said, packet, six(9), &mut report))
                .unwrap();
            reports.push(report);
            Fate::Lost
        };
        world.run(step, too_long, |stack, host, event, now| {
            download.on_event(stack, host, event, now);
        });
        for report in reports.drain(..) {
            world.inject(0, &report);
        }
    }
    assert_eq!(download.got.values().copied().collect::<Vec<_>>(), [200_000; 2]);
    assert_eq!(longest, 1300);
    assert!(world.server().counters().icmp_believed >= 2);
    assert_eq!(world.server().counters().timeouts, 0);
    // A report that quotes no segment in flight is ignored.
    let believed = world.server().counters().icmp_believed;
    let mut packet = host::Outgoing::default();
    let mut other = Stack::new(config(1), host::Secret::new([9; 16]));
    let stranger = host::Tuple {
        local: common::address(1),
        remote: common::address(2),
        local_port: 80,
        remote_port: 1000,
    };
    other.connect(stranger, Instant::ZERO).unwrap();
    assert!(other.poll_transmit(Instant::ZERO, &mut packet));
    let mut report = Vec::new();
    let said = wire::icmp::answer::Report::TooBig { mtu: 600 };
    wire::icmp::answer::report(said, packet.bytes(), common::address(9), &mut report).unwrap();
    world.inject(0, &report);
    assert_eq!(world.server().counters().icmp_believed, believed);
}

/// RFC 1122 §3.2.2.6
#[test]
fn pings_to_own_addresses_are_answered() {
    let mut world = world();
    for (to, answered) in [(common::address(1), true), (common::address(7), false)] {
        let echo = wire::icmp::Echo { identifier: 1, sequence: 2, data: b"are you there" };
        let message =
            wire::icmp::Repr::new(wire::ip::Version::V4, wire::icmp::Message::EchoRequest(echo))
                .unwrap();
        let ip =
            wire::ip::Repr::new(common::address(2), to, wire::ip::ICMPV4, message.len()).unwrap();
        let mut ping = Vec::new();
        ip.write(&mut ping);
        message.write(ip.pseudo_header(), &mut ping);
        world.inject(0, &ping);
        let mut answer = host::Outgoing::default();
        let now = world.now;
        assert_eq!(world.server().poll_transmit(now, &mut answer), answered);
        if answered {
            assert!(answer.bytes().ends_with(b"are you there"));
            assert_eq!(answer.bytes()[16..20], [192, 0, 2, 2]);
        }
    }
}

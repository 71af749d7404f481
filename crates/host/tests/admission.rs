//! Admission of connections by a stack, and its limits: SYN cookies, eviction, TIME-WAIT, memory.

mod common;

use std::collections::HashMap;

use common::download::{Download, run, world};
use common::{Fate, World, clean, config, tuple};
use host::{CloseReason, EndReason, Event, EventKind, Senders, Stack};
use tcp::State;
use units::{Duration, Instant};

#[test]
fn closed_ports_send_resets_at_a_limited_rate() {
    let mut one = config(1);
    one.limits.replies_per_second = 6;
    let mut world = World::new(one, config(2));
    let mut download = Download::new(0);
    for port in 0..7 {
        world.connect(1000 + port);
    }
    run(&mut world, &mut download, 1, clean);
    let refused = download.endings[1].len();
    assert!((3..=6).contains(&refused), "{refused}");
    assert!(
        download.endings[1].values().all(|&ending| ending == EndReason::Tcp(CloseReason::Refused))
    );
    assert_eq!(world.server().counters().resets_sent, refused as u64);
    // The SYN is retransmitted after one second, and again after two more.
    run(&mut world, &mut download, 8, clean);
    assert_eq!(download.endings[1].len(), 7);
    assert_eq!((world.hosts[0].connections(), world.hosts[1].connections()), (0, 0));
}

#[test]
fn syn_cookies_admit_clients_beyond_the_half_open_limit() {
    let mut one = config(1);
    one.limits.half_open = 4;
    let mut world = World::new(one, config(2));
    world.server().listen(80);
    world.server().keep_records();
    // SYNs whose SYN-ACKs are not acknowledged. The flood comes from another stack, which only
    // generates the SYNs.
    let mut flood = Stack::new(config(3), host::Secret::new([3; 16]));
    let mut packet = host::Outgoing::default();
    for port in 0..1000 {
        let tuple = host::Tuple { local: common::address(3), ..tuple(port + 1, 80) };
        flood.connect(tuple, world.now).unwrap();
        assert!(flood.poll_transmit(world.now, &mut packet));
        world.inject(0, packet.bytes());
        while world.hosts[0].poll_transmit(world.now, &mut packet) {}
    }
    assert_eq!(world.server().connections(), 4);
    assert_eq!(world.server().counters().cookies_sent, 996);
    // A genuine client is served with all options that timestamps encode. Without window scaling
    // this would take long.
    let id = world.connect(1000);
    let mut download = Download::new(500_000);
    run(&mut world, &mut download, 20, clean);
    assert_eq!(download.got[&id], 500_000);
    assert_eq!(world.server().counters().cookies_taken, 1);
    let record = world.server().take_records()[0];
    assert_eq!((record.handshake, record.ending), (None, EndReason::Tcp(CloseReason::Finished)));
    // The half-open connections time out.
    run(&mut world, &mut download, 3600, clean);
    assert_eq!(world.server().connections(), 0);
    assert_eq!(world.server().counters().half_open_lost, 4);
}

#[test]
fn cookie_survives_loss_of_the_first_data_segment() {
    let mut one = config(1);
    one.limits.half_open = 0;
    let mut two = config(2);
    two.senders = Senders::one("reno+sack / full / iw=rfc6928".parse().unwrap());
    let mut world = World::new(one, two);
    world.server().listen(80);
    let id = world.connect(1000);
    // The acknowledgment and the first data segment are lost. The second data segment does not
    // carry the SYN's sequence number.
    let (mut sent, mut heard) = (0, 0);
    let mut lossy = |to: usize, _: &[u8]| {
        sent += u32::from(to == 0);
        if to == 0 && (2..=3).contains(&sent) { Fate::Lost } else { Fate::Arrives }
    };
    let mut user = |stack: &mut Stack, host: usize, event: Event, now: Instant| {
        if host == 1 && event.kind == EventKind::Connected {
            stack.write(event.id, &[b'x'; 8000], now).unwrap();
        }
        if host == 0 {
            heard += stack.read(event.id, &mut [0; 10_000]);
        }
    };
    let end = world.now + Duration::from_secs(20);
    world.run(end, &mut lossy, &mut user);
    let counters = *world.server().counters();
    assert!(counters.cookies_refused > 0, "the second segment came first");
    assert_eq!((counters.cookies_taken, counters.resets_sent, heard), (1, 0, 8000));
    assert_eq!(world.client().connection(id).map(tcp::Connection::state), Some(State::Established));
}

#[test]
fn forged_acknowledgment_opens_no_connection() {
    let mut one = config(1);
    one.limits.half_open = 0;
    let mut world = World::new(one, config(2));
    world.server().listen(80);
    let id = world.connect(1000);
    let mut download = Download::new(10);
    // All copies of the client's acknowledgment of the cookie are lost for more than two minutes.
    let mut sent = 0;
    run(&mut world, &mut download, 300, |to, _| {
        sent += u32::from(to == 0);
        if to == 0 && sent > 1 { Fate::Lost } else { Fate::Arrives }
    });
    let now = world.now;
    // The cookie has expired, so the client's data is answered with a reset.
    world.client().write(id, b"hello", now).unwrap();
    run(&mut world, &mut download, 5, clean);
    assert_eq!(download.endings[1][&id], EndReason::Tcp(CloseReason::ResetByPeer));
    assert_eq!(world.server().counters().cookies_taken, 0);
}

#[test]
fn idle_connection_is_evicted_for_a_new_one() {
    let mut one = config(1);
    one.limits.connections = 3;
    let mut world = World::new(one, config(2));
    world.server().listen(80);
    let mut endings = Vec::new();
    let mut accepted = 0;
    let mut user = |_: &mut Stack, host: usize, event: Event, _: Instant| match event.kind {
        EventKind::Accepted(_) => accepted += 1,
        EventKind::Closed(ending) => endings.push((host, event.id.serial(), ending)),
        _ => {}
    };
    for port in 0..3 {
        world.connect(1000 + port);
        let end = world.now + Duration::from_secs(1);
        world.run(end, clean, &mut user);
    }
    // No connection has been idle for ten seconds, so the fourth is refused. Later the first has.
    world.connect(1003);
    let end = world.now + Duration::from_secs(1);
    world.run(end, clean, &mut user);
    let now = world.now;
    let late = world.client().open_connections().into_iter().max().unwrap();
    let end = now + Duration::from_secs(12);
    world.run(end, clean, &mut user);
    let now = world.now;
    world.client().write(late, b"now?", now).unwrap();
    let end = now + Duration::from_secs(1);
    world.run(end, clean, &mut user);
    assert_eq!(accepted, 4);
    assert!(
        endings.contains(&(0, 0, EndReason::Evicted))
            && endings.contains(&(1, 0, EndReason::Tcp(CloseReason::ResetByPeer)))
    );
    assert_eq!(world.server().counters().evicted, 1);
    assert_eq!(world.server().connections(), 3);
}

#[test]
fn idle_and_lifetime_limits_end_connections() {
    let mut one = config(1);
    one.limits.idle = Duration::from_secs(5);
    one.limits.lifetime = Duration::from_secs(20);
    let mut world = World::new(one, config(2));
    world.server().listen(80);
    let (quiet, chatty) = (world.connect(1000), world.connect(1001));
    let mut endings = HashMap::new();
    for _ in 0..30 {
        let now = world.now;
        let _ = world.client().write(chatty, b"still here", now);
        world.run(now + Duration::from_secs(1), clean, |_, host, event, now| {
            if let (0, EventKind::Closed(ending)) = (host, event.kind) {
                endings.insert(
                    event.id.serial(),
                    (ending, now.since(Instant::ZERO).as_nanos() / 1_000_000_000),
                );
            }
        });
    }
    assert_eq!(endings[&quiet.serial()], (EndReason::Idle, 1005));
    assert_eq!(endings[&chatty.serial()], (EndReason::Lifetime, 1020));
    assert_eq!(world.server().counters().expired, 2);
}

/// RFC 6191 §2
#[test]
fn tuple_is_reused_during_time_wait() {
    let mut world = world();
    // The server closes first and enters TIME-WAIT. The client reconnects from the same port.
    for round in 1..=5 {
        let id = world.connect(1000);
        let mut download = Download::new(2000);
        run(&mut world, &mut download, 2, clean);
        assert_eq!(download.got[&id], 2000, "round {round}");
        assert_eq!(world.server().counters().time_wait_cut, round - 1);
    }
}

#[test]
fn time_wait_is_bounded() {
    let mut one = config(1);
    one.limits.time_wait = 10;
    let mut world = World::new(one, config(2));
    world.server().listen(80);
    let mut download = Download::new(100);
    for port in 0..50 {
        world.connect(1000 + port);
    }
    run(&mut world, &mut download, 10, clean);
    assert_eq!(download.got.len(), 50);
    assert_eq!(world.server().counters().time_wait_cut, 40);
}

#[test]
fn full_accept_queue_refuses_connections() {
    let mut one = config(1);
    one.limits.accept_queue = 2;
    let mut world = World::new(one, config(2));
    world.server().listen(80);
    // The server's application accepts no connection: its events remain queued.
    for port in 0..5 {
        world.connect(1000 + port);
        let mut packet = host::Outgoing::default();
        for _ in 0..3 {
            while world.hosts[1].poll_transmit(world.now, &mut packet) {
                world.hosts[0].receive(packet.bytes(), host::Checksums::Verify, world.now);
            }
            while world.hosts[0].poll_transmit(world.now, &mut packet) {
                world.hosts[1].receive(packet.bytes(), host::Checksums::Verify, world.now);
            }
        }
    }
    assert_eq!(world.server().connections(), 2);
    assert_eq!(world.server().counters().refused, 3);
    assert_eq!(std::iter::from_fn(|| world.hosts[0].poll_event()).count(), 2);
}

#[test]
fn shared_buffers_are_bounded_without_starvation() {
    let mut one = config(1);
    (one.limits.buffered_bytes, one.limits.connections) = (400_000, 20);
    let mut world = World::new(one, config(2));
    world.server().listen(80);
    let mut download = Download::new(200_000);
    for port in 0..20 {
        world.connect(1000 + port);
    }
    let mut most = 0;
    for _ in 0..2000 {
        let end = world.now + Duration::from_millis(10);
        world.run(end, clean, |stack, host, event, now| download.on_event(stack, host, event, now));
        most = most.max(world.hosts[0].buffered_bytes());
    }
    assert!(most <= 400_000, "{most}");
    assert_eq!(download.got.values().filter(|&&got| got == 200_000).count(), 20);
}

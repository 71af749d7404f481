//! Memory of a stack with default limits under thousands of hostile peers, in virtual time.

mod common;

use std::collections::HashMap;
use std::path::Path;

use common::raw::{Peer, replies};
use common::{Fate, World, byte, config};
use host::http::{FileServer, Folder, HttpLimits};
use host::{ConnectionId, EventKind, Limits, Secret, Service, Stack};
use units::{Duration, Instant};
use wire::{Control, Segment};

const PAYLOAD: [u8; 1460] = [7; 1460];

fn stack() -> (Stack, Instant) {
    let mut stack = Stack::new(config(1), Secret::new([1; 16]));
    stack.listen(80);
    (stack, Instant::ZERO + Duration::from_secs(1000))
}

/// Opens a connection that the application accepts.
fn open(stack: &mut Stack, number: u16, now: Instant) -> (Peer, ConnectionId) {
    let peer = Peer::open(stack, number, now);
    let mut events = std::iter::from_fn(|| stack.poll_event());
    let event = events.find(|event| event.kind == EventKind::Accepted(80));
    (peer, event.expect("the connection is new").id)
}

fn sum_of_events(stack: &mut Stack) -> usize {
    std::iter::from_fn(|| stack.poll_event()).count()
}

/// Lets all connections reach the idle limit and delivers the events. No state is left.
fn expire_all(stack: &mut Stack, now: Instant) {
    let later = now + Limits::default().idle + Duration::from_secs(1);
    stack.on_timeout(later);
    replies(stack, later);
    sum_of_events(stack);
    assert_eq!((stack.connections(), stack.buffered_bytes()), (0, 0));
}

/// Whether a genuine new connection may send and receive as if it were almost alone.
fn is_served_as_if_alone(stack: &mut Stack, number: u16, now: Instant) {
    let (mut newcomer, id) = open(stack, number, now);
    for _ in 0..100 {
        newcomer.say(stack, &PAYLOAD, now);
    }
    assert_eq!(stack.consume(id, 200_000), 146_000);
    assert!(stack.writable(id) >= 1 << 20, "{}", stack.writable(id));
}

/// RFC 9293 §3.10.7.4: the byte lies in the window, so it is kept. It takes the memory of one byte.
#[test]
fn out_of_order_byte_at_the_window_edge_costs_little() {
    let (mut stack, now) = stack();
    let edge = (1 << 18) - 1;
    for number in 0..16_000 {
        let (peer, id) = open(&mut stack, number, now);
        peer.send(&mut stack, &peer.segment(edge), b"x", now);
        replies(&mut stack, now);
        assert!(stack.connection(id).is_some_and(|connection| connection.memory() > 0));
    }
    assert!(stack.buffered_bytes() < 20 << 20, "{}", stack.buffered_bytes());
    is_served_as_if_alone(&mut stack, 16_000, now);
    assert_eq!((stack.counters().reneged, stack.counters().evicted), (0, 0));
    expire_all(&mut stack, now);
}

#[test]
fn out_of_order_data_is_discarded_first() {
    let (mut stack, now) = stack();
    let limits = Limits::default();
    let mut most = 0;
    for number in 0..3_000 {
        let (peer, _) = open(&mut stack, number, now);
        for place in 1..=160 {
            peer.send(&mut stack, &peer.segment(place * 1460), &PAYLOAD, now);
            most = most.max(stack.buffered_bytes());
        }
        replies(&mut stack, now);
    }
    assert!(most > limits.buffered_bytes / 4, "{most}: nobody was ever short of memory");
    assert!(most <= limits.buffered_bytes, "{most}");
    assert!(stack.counters().reneged > 1_000, "{}", stack.counters().reneged);
    // A genuine peer may send and receive as if it were almost alone.
    let (mut peer, id) = open(&mut stack, 3_000, now);
    for _ in 0..100 {
        peer.say(&mut stack, &PAYLOAD, now);
    }
    assert_eq!(stack.consume(id, 200_000), 146_000);
    assert!(is_sent(&mut stack, &mut peer, id, 1 << 20, now) <= 9);
    assert_eq!(stack.counters().evicted, 0);
    expire_all(&mut stack, now);
}

/// In-order data has been acknowledged and cannot be discarded. Data that does not fit is not
/// accepted.
#[test]
fn unread_data_stays_within_the_memory_limit() {
    let (mut stack, now) = stack();
    let limits = Limits::default();
    let mut most = 0;
    for number in 0..16_000 {
        let (mut peer, _) = open(&mut stack, number, now);
        for _ in 0..20 {
            peer.say(&mut stack, &PAYLOAD, now);
        }
        most = most.max(stack.buffered_bytes());
        replies(&mut stack, now);
    }
    assert!(most > limits.buffered_bytes / 2, "{most}: the buffers were never short");
    assert!(most <= limits.buffered_bytes, "{most}");
    assert!(stack.counters().over_budget > 1_000, "{}", stack.counters().over_budget);
    // The reserve is available to a new connection.
    let (mut newcomer, id) = open(&mut stack, 16_000, now);
    newcomer.say(&mut stack, &PAYLOAD, now);
    newcomer.say(&mut stack, &PAYLOAD, now);
    assert_eq!(stack.consume(id, 10_000), 2 * PAYLOAD.len());
    assert!(stack.writable(id) >= limits.reserve(), "{}", stack.writable(id));
    expire_all(&mut stack, now);
}

/// RFC 2018 §8: the sender retransmits data that the receiver has discarded. All bytes arrive, in
/// order.
#[test]
fn uploads_complete_despite_reneging() {
    const SIZE: usize = 150_000;
    const PEERS: u16 = 64;
    let mut one = config(1);
    (one.limits.buffered_bytes, one.limits.connections) = (1 << 20, usize::from(PEERS));
    let mut world = World::new(one, config(2));
    world.server().listen(80);
    let content: Vec<u8> = (0..SIZE).map(byte).collect();
    let (mut sent, mut got) = (HashMap::new(), HashMap::<_, Vec<u8>>::new());
    for port in 0..PEERS {
        world.connect(1000 + port);
    }
    let (mut most, mut state) = (0, 7u64);
    let end = world.now + Duration::from_secs(2_000);
    let fate = |to: usize, packet: &[u8]| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let lost = to == 0 && packet.len() > 1000 && (state >> 33).is_multiple_of(50);
        if lost { Fate::Lost } else { Fate::Arrives }
    };
    world.run(end, fate, |stack, host, event, now| {
        most = most.max(if host == 0 { stack.buffered_bytes() } else { 0 });
        match (host, event.kind) {
            (1, EventKind::Connected | EventKind::Writable) => {
                let at = sent.entry(event.id).or_insert(0);
                *at += stack.write(event.id, &content[*at..], now).unwrap_or(0);
                if *at == SIZE {
                    stack.close(event.id, now);
                }
            }
            (0, EventKind::Readable) => {
                let whole = got.entry(event.id).or_default();
                let pieces = stack.peek(event.id).concat();
                stack.consume(event.id, pieces.len());
                whole.extend(pieces);
                if stack.is_at_end(event.id) {
                    stack.close(event.id, now);
                }
            }
            _ => {}
        }
    });
    assert!(world.server().counters().reneged > 0, "the buffers were never short: {most}");
    assert!(most <= 1 << 20, "{most}");
    assert_eq!(got.len(), usize::from(PEERS));
    assert!(got.values().all(|whole| *whole == content));
    assert_eq!((world.server().connections(), world.server().buffered_bytes()), (0, 0));
}

/// Sends `bytes` to a peer that acknowledges everything. Returns the number of acknowledgments it
/// takes.
fn is_sent(
    stack: &mut Stack,
    peer: &mut Peer,
    id: ConnectionId,
    bytes: usize,
    now: Instant,
) -> usize {
    let content = vec![0; bytes];
    let (mut at, mut times) = (0, 0);
    let end = peer.expected + u32::try_from(bytes).expect("less than the sequence space");
    while peer.expected != end {
        at += stack.write(id, &content[at..], now).expect("it is open");
        let mut heard = 0;
        loop {
            let port = peer.tuple.local_port;
            let sent = replies(stack, now).into_iter().filter(|(to, ..)| *to == port);
            let sent: usize = sent.map(|(_, _, payload)| payload.len()).sum();
            if sent == 0 {
                break;
            }
            heard += sent;
            peer.expected += u32::try_from(sent).expect("a window");
            peer.send(stack, &peer.segment(0), &[], now);
        }
        assert!(heard > 0, "nothing is sent behind {at} bytes");
        times += 1;
    }
    times
}

/// Responses that peers request and do not acknowledge do not fill the memory. Other peers get as
/// much as they acknowledge.
#[test]
fn peers_that_read_nothing_do_not_exhaust_memory() {
    let (mut stack, now) = stack();
    let limits = Limits::default();
    let content = vec![0; 1 << 20];
    let idle: Vec<_> = (0..3_000)
        .map(|number| {
            let (peer, id) = open(&mut stack, number, now);
            let _ = stack.write(id, &content, now);
            replies(&mut stack, now);
            peer
        })
        .collect();
    assert!(stack.buffered_bytes() < limits.buffered_bytes / 4, "{}", stack.buffered_bytes());
    // An occasional acknowledgment of one byte changes nothing.
    for mut peer in idle {
        peer.expected += 1;
        peer.send(&mut stack, &peer.segment(0), &[], now);
    }
    assert!(stack.buffered_bytes() < limits.buffered_bytes / 4, "{}", stack.buffered_bytes());
    let (mut peer, id) = open(&mut stack, 3_000, now);
    // 4 KiB, then doubled each time.
    let times = is_sent(&mut stack, &mut peer, id, 1 << 20, now);
    assert!((7..=9).contains(&times), "{times}");
    assert_eq!((stack.counters().evicted, stack.counters().over_budget), (0, 0));
}

/// Both ends close, the server first, which keeps the connection in TIME-WAIT.
fn finish(stack: &mut Stack, peer: &mut Peer, id: ConnectionId, now: Instant) {
    stack.close(id, now);
    replies(stack, now);
    peer.expected += 1;
    peer.send(stack, &Segment { control: Control::Fin, ..peer.segment(0) }, &[], now);
    replies(stack, now);
    sum_of_events(stack);
}

/// A table full of silent connections refuses a new one for one second and no longer, even if as
/// many ended connections lie between them.
#[test]
fn full_table_evicts_within_a_second() {
    for over in [0, 1000] {
        let mut settings = config(1);
        settings.limits.connections = 500;
        let mut stack = Stack::new(settings, Secret::new([1; 16]));
        stack.listen(80);
        let now = Instant::ZERO + Duration::from_secs(1000);
        let mut ends: Vec<_> = Vec::new();
        for number in 0..over {
            if stack.connections() == 500 {
                ends.drain(..).for_each(|(mut peer, id)| finish(&mut stack, &mut peer, id, now));
            }
            ends.push(open(&mut stack, number, now));
        }
        ends.drain(..).for_each(|(mut peer, id)| finish(&mut stack, &mut peer, id, now));
        assert_eq!(stack.connections(), 0);
        for number in over..over + 500 {
            open(&mut stack, number, now);
        }
        let soon = now + Duration::from_millis(900);
        assert!(!is_taken_in(&mut stack, 5_000, soon), "with {over} in TIME-WAIT");
        assert_eq!((stack.connections(), stack.counters().evicted), (500, 0));
        // New connections arrive in this instant; the silent ones are older.
        let later = now + Duration::from_millis(1100);
        for number in 0..500 {
            assert!(
                is_taken_in(&mut stack, 6_000 + number, later),
                "{number} with {over} in TIME-WAIT"
            );
        }
        assert!(!is_taken_in(&mut stack, 7_000, later));
        assert_eq!((stack.connections(), stack.counters().evicted), (500, 500));
    }
}

/// The connections that hold the memory arrived together, and are adjacent among thousands of
/// slots.
#[test]
fn short_memory_evicts_one_connection_per_millisecond() {
    let mut settings = config(1);
    (settings.limits.buffered_bytes, settings.limits.connections) = (128 << 20, 6_000);
    let mut stack = Stack::new(settings, Secret::new([1; 16]));
    stack.listen(80);
    let mut now = Instant::ZERO + Duration::from_secs(1000);
    for number in 0..400 {
        let (mut peer, _) = open(&mut stack, number, now);
        // The application does not read them.
        for _ in 0..170 {
            peer.say(&mut stack, &PAYLOAD, now);
        }
        replies(&mut stack, now);
    }
    for number in 400..5_000 {
        open(&mut stack, number, now);
    }
    let used = stack.buffered_bytes();
    let (mut peer, id) = open(&mut stack, 5_000, now);
    now += Duration::from_millis(10_100);
    for _ in 0..50 {
        now += Duration::from_millis(1);
        peer.say(&mut stack, b"x", now);
        stack.consume(id, 1);
        replies(&mut stack, now);
        sum_of_events(&mut stack);
    }
    // Until memory is no longer short.
    assert!(stack.counters().evicted >= 40, "{} of {used}", stack.counters().evicted);
}

/// With at most one byte of progress in nine seconds they hold neither all slots nor all memory.
#[test]
fn connections_with_minimal_progress_are_evicted() {
    let (mut stack, mut now) = stack();
    let limits = Limits::default();
    let content = vec![0; 1 << 20];
    let mut peers: Vec<_> = (0..16_384)
        .map(|number| {
            let (peer, id) = open(&mut stack, number, now);
            let _ = stack.write(id, &content, now);
            replies(&mut stack, now);
            peer
        })
        .collect();
    let used = stack.buffered_bytes();
    assert!(used <= limits.buffered_bytes, "{used}");
    for _ in 0..3 {
        now += Duration::from_secs(9);
        for peer in &mut peers {
            peer.expected += 1;
            peer.send(&mut stack, &peer.segment(0), &[], now);
        }
        replies(&mut stack, now);
        stack.on_timeout(now);
        replies(&mut stack, now);
        sum_of_events(&mut stack);
    }
    assert!(stack.connections() > 15_000, "{}: memory is not short", stack.connections());
    // Each byte postpones eviction by two milliseconds.
    now += Duration::from_millis(10);
    // As many new connections as there are slots, one after the other: each is accepted.
    let mut refused = 0;
    for number in 16_384..17_384 {
        refused += usize::from(!is_taken_in(&mut stack, number, now));
    }
    assert_eq!(refused, 0);
    assert!(stack.buffered_bytes() <= limits.buffered_bytes);
}

/// Whether a well-behaved peer gets a connection.
fn is_taken_in(stack: &mut Stack, number: u16, now: Instant) -> bool {
    let accepted = stack.counters().accepted;
    Peer::open(stack, number, now);
    replies(stack, now);
    sum_of_events(stack);
    stack.counters().accepted == accepted + 1
}

/// RFC 9293 §3.10.7.4: a segment outside the window is acknowledged, and is no evidence of the
/// peer's activity.
#[test]
fn out_of_window_segments_do_not_defer_the_idle_timeout() {
    let mut settings = config(1);
    settings.limits.idle = Duration::from_secs(60);
    let mut stack = Stack::new(settings, Secret::new([1; 16]));
    stack.listen(80);
    let mut now = Instant::ZERO + Duration::from_secs(1000);
    let (peer, _) = open(&mut stack, 0, now);
    for _ in 0..70 {
        now += Duration::from_secs(1);
        peer.send(&mut stack, &peer.segment(1 << 30), b"guess", now);
        replies(&mut stack, now);
        stack.on_timeout(now);
    }
    assert_eq!(sum_of_events(&mut stack), 1);
    assert_eq!((stack.counters().expired, stack.connections()), (1, 0));
}

/// Unfinished requests count as buffered bytes of the stack; the file server holds no copy.
#[test]
fn unfinished_request_heads_count_as_buffered() {
    let (mut stack, now) = stack();
    let folder = Folder::open(Path::new(env!("CARGO_MANIFEST_DIR"))).expect("our own folder");
    let mut server = FileServer::new(folder, 80, HttpLimits::default());
    let mut peers = Vec::new();
    let head = [&b"GET / HTTP/1.1\r\nHost: x\r\nA: "[..], &[b'x'; 1400]].concat();
    for number in 0..16_000 {
        peers.push(Peer::open(&mut stack, number, now));
        serve(&mut stack, &mut server, now);
    }
    for part in 0..10 {
        for peer in &mut peers {
            let bytes = if part == 0 { &head[..] } else { &head[head.len() - 1400..] };
            peer.say(&mut stack, bytes, now);
            serve(&mut stack, &mut server, now);
        }
    }
    let limits = Limits::default();
    let most = stack.buffered_bytes();
    assert!(most > limits.buffered_bytes / 4 && most <= limits.buffered_bytes, "{most}");
    assert_eq!(server.held_bytes(), 0);
    // Each gets an error response, and is reset if it remains silent.
    let late = now + HttpLimits::default().request;
    server.on_timeout(&mut stack, late);
    serve(&mut stack, &mut server, late);
    assert_eq!(server.served().answers[4], 16_000);
    let later = late + Duration::from_secs(2);
    stack.on_timeout(later);
    serve(&mut stack, &mut server, later);
    assert!(stack.buffered_bytes() < 64 << 20, "{}", stack.buffered_bytes());
}

fn serve(stack: &mut Stack, server: &mut FileServer, now: Instant) {
    while let Some(event) = stack.poll_event() {
        server.on_event(stack, event, now);
    }
    replies(stack, now);
}

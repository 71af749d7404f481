//! The file server over two stacks in virtual time: whatever it is sent, it answers or hangs up.

mod common;

use std::collections::BTreeMap;

use common::live::Scratch;
use common::{Fate, World, clean, config};
use host::http::{FileServer, Folder, HttpLimits};
use host::{ConnectionId, Event, Service, Stack, What};
use proptest::prelude::*;
use units::{Duration, Instant};

/// Sends each of `texts` over a connection of its own, in pieces, and returns what came back.
fn exchanged(folder: &Scratch, texts: &[Vec<u8>], piece: usize) -> Vec<(Vec<u8>, bool)> {
    exchanged_over(|_| clean, folder, texts, piece)
}

/// The same over a network that is different from one step to the next, of 50 ms each.
fn exchanged_over<F: FnMut(usize, &[u8]) -> Fate>(
    mut network: impl FnMut(usize) -> F,
    folder: &Scratch,
    texts: &[Vec<u8>],
    piece: usize,
) -> Vec<(Vec<u8>, bool)> {
    let mut world = World::new(config(1), config(2));
    let folder = Folder::open(&folder.0).expect("a folder of our own");
    let mut server = FileServer::new(folder, 80, HttpLimits::default());
    let now = world.now;
    server.start(world.server(), now);
    let mut heard: BTreeMap<u64, (Vec<u8>, bool)> = BTreeMap::new();
    let ids: Vec<ConnectionId> = (0..texts.len())
        .map(|number| world.connect(1000 + u16::try_from(number).expect("few connections")))
        .collect();
    let mut on_event = |stack: &mut Stack, event: Event, now: Instant| {
        let (all, over) = heard.entry(event.id.serial()).or_default();
        match event.what {
            What::Readable => {
                let mut buffer = [0; 4096];
                loop {
                    let count = stack.read(event.id, &mut buffer);
                    if count == 0 {
                        break;
                    }
                    all.extend_from_slice(&buffer[..count]);
                }
                if stack.is_at_end(event.id) {
                    *over = true;
                    stack.close(event.id, now);
                }
            }
            What::Closed(_) => *over = true,
            _ => {}
        }
    };
    let steps = texts.iter().map(|text| text.len().div_ceil(piece)).max().unwrap_or(0) + 2000;
    for step in 0..steps {
        let now = world.now;
        if step > 10 {
            for (id, text) in ids.iter().zip(texts) {
                if let Some(part) = text.chunks(piece).nth(step - 11) {
                    let _ = world.client().write(*id, part, now);
                }
            }
        }
        if server.next_timeout() <= now {
            server.on_timeout(world.server(), now);
        }
        world.run(now + Duration::from_millis(50), network(step), |stack, host, event, now| {
            if host == 0 {
                server.on_event(stack, event, now);
            } else {
                on_event(stack, event, now);
            }
        });
    }
    heard.into_values().collect()
}

#[test]
fn requests_are_answered_in_order_however_they_arrive() {
    let folder = Scratch::new("in-order");
    folder.write("a", b"first");
    folder.write("b", b"second");
    let text = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nHEAD /b HTTP/1.1\r\nHost: x\r\n\r\n\
        GET /none HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        .to_vec();
    for piece in [1, 7, 1000] {
        let heard = exchanged(&folder, std::slice::from_ref(&text), piece);
        let (answer, over) = &heard[0];
        let answer = String::from_utf8_lossy(answer);
        let heads: Vec<_> =
            answer.match_indices("HTTP/1.1 ").map(|(at, _)| &answer[at + 9..at + 12]).collect();
        assert_eq!(heads, ["200", "200", "404", "200"], "{answer}");
        assert!(answer.contains("first") && answer.ends_with("second") && *over);
    }
}

#[test]
fn an_answer_that_takes_long_to_arrive_arrives() {
    let folder = Scratch::new("long");
    let content: Vec<u8> = (0..100_000_u32).map(|at| at.to_le_bytes()[0]).collect();
    folder.write("a", &content);
    let text = b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_vec();
    // From the answer's beginning on, nothing for longer than a peer may linger.
    let network = |step: usize| {
        move |_: usize, packet: &[u8]| {
            if packet.len() > 1000 && step < 500 { Fate::Lost } else { Fate::Arrives }
        }
    };
    let heard = exchanged_over(network, &folder, &[text], 1000);
    let (answer, over) = &heard[0];
    assert!(answer.ends_with(&content) && *over, "{} bytes", answer.len());
}

proptest! {
    // A case is a run of more than a minute.
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered_or_hung_up_on(texts in prop::collection::vec(nearly_a_request(), 1..8), piece in 1..300usize) {
        let folder = Scratch::new("any-bytes");
        folder.write("a", &[b'x'; 5000]);
        // After ten seconds without a whole request, or sixty without any, nobody is left.
        for (answer, over) in exchanged(&folder, &texts, piece) {
            prop_assert!(over);
            prop_assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 "));
        }
    }
}

fn nearly_a_request() -> impl Strategy<Value = Vec<u8>> {
    let good = Just(b"GET /a HTTP/1.1\r\nHost: x\r\nRange: bytes=1-2\r\n\r\n".to_vec());
    let chunked = Just(
        b"GET /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".to_vec(),
    );
    let parts = prop_oneof![good, chunked, prop::collection::vec(any::<u8>(), 0..50)];
    let change = (any::<prop::sample::Index>(), any::<u8>());
    (prop::collection::vec(parts, 1..6), prop::collection::vec(change, 0..3)).prop_map(|(parts, changes)| {
        let mut text = parts.concat();
        for (at, value) in changes {
            if !text.is_empty() {
                let at = at.index(text.len());
                text[at] = value;
            }
        }
        text
    })
}

//! The file server over two stacks in virtual time. It answers any input or closes the connection.

mod common;

use std::collections::BTreeMap;
use std::fs::File;
use std::time::SystemTime;

use common::live::Scratch;
use common::{Fate, World, clean, config};
use host::http::{FileServer, Folder, HttpLimits};
use host::{ConnectionId, Event, EventKind, Service, Stack, StackConfig};
use proptest::prelude::*;
use units::{Duration, Instant};

/// Sends each of `texts` over its own connection, in pieces. Returns the bytes received and whether
/// the connection has ended.
fn exchange(folder: &Scratch, texts: &[Vec<u8>], piece: usize) -> Vec<(Vec<u8>, bool)> {
    exchange_over(|_| clean, folder, texts, piece)
}

/// Like [`exchange`], over a network that `network` creates anew for each step of 50 ms.
fn exchange_over<F: FnMut(usize, &[u8]) -> Fate>(
    mut network: impl FnMut(usize) -> F,
    folder: &Scratch,
    texts: &[Vec<u8>],
    piece: usize,
) -> Vec<(Vec<u8>, bool)> {
    let mut test = ServerTest::new(folder, config(1));
    let ids: Vec<ConnectionId> = (0..texts.len())
        .map(|number| test.world.connect(1000 + u16::try_from(number).expect("few connections")))
        .collect();
    let steps = texts.iter().map(|text| text.len().div_ceil(piece)).max().unwrap_or(0) + 2000;
    for step in 0..steps {
        if step > 10 {
            for (id, text) in ids.iter().zip(texts) {
                if let Some(part) = text.chunks(piece).nth(step - 11) {
                    test.send(*id, part);
                }
            }
        }
        test.step(network(step));
    }
    test.heard.into_values().collect()
}

/// A file server and its clients.
struct ServerTest {
    world: World,
    server: FileServer,
    /// By the serial number of the connection: the bytes received, and whether it has ended.
    heard: BTreeMap<u64, (Vec<u8>, bool)>,
    /// Whether clients read all data on arrival.
    reading: bool,
}

const STEP: Duration = Duration::from_millis(50);

impl ServerTest {
    fn new(folder: &Scratch, settings: StackConfig) -> Self {
        let mut world = World::new(settings, config(2));
        let folder = Folder::open(&folder.0).expect("a folder of our own");
        let mut server = FileServer::new(folder, 80, HttpLimits::default());
        let now = world.now;
        server.start(world.server(), now);
        Self { world, server, heard: BTreeMap::new(), reading: true }
    }

    fn send(&mut self, id: ConnectionId, text: &[u8]) {
        let now = self.world.now;
        // The connection may have ended.
        let _ = self.world.client().write(id, text, now);
    }

    fn step(&mut self, network: impl FnMut(usize, &[u8]) -> Fate) {
        let Self { world, server, heard, reading } = self;
        let now = world.now;
        if server.next_timeout() <= now {
            server.on_timeout(world.server(), now);
        }
        world.run(now + STEP, network, |stack, host, event, now| {
            if host == 0 {
                server.on_event(stack, event, now);
            } else if *reading {
                on_client_event(heard.entry(event.id.serial()).or_default(), stack, event, now);
            }
        });
    }

    /// Opens a connection.
    fn open(&mut self, port: u16) -> ConnectionId {
        let id = self.world.connect(port);
        self.wait(Duration::from_millis(500));
        id
    }

    fn wait(&mut self, span: Duration) {
        let end = self.world.now + span;
        while self.world.now < end {
            self.step(clean);
        }
    }

    /// Reads some of the received data.
    fn read(&mut self, id: ConnectionId, most: usize) {
        let mut buffer = vec![0; most];
        let count = self.world.client().read(id, &mut buffer);
        self.heard.entry(id.serial()).or_default().0.extend_from_slice(&buffer[..count]);
    }

    /// The status lines received so far, and whether the connection has ended.
    fn outcome(&self, id: ConnectionId) -> (Vec<String>, bool) {
        let Some((heard, over)) = self.heard.get(&id.serial()) else { return (Vec::new(), false) };
        let text = String::from_utf8_lossy(heard);
        (
            text.match_indices("HTTP/1.1 ")
                .map(|(at, _)| text[at + 9..at + 12].to_owned())
                .collect(),
            *over,
        )
    }
}

fn on_client_event(
    (all, over): &mut (Vec<u8>, bool),
    stack: &mut Stack,
    event: Event,
    now: Instant,
) {
    match event.kind {
        EventKind::Readable => {
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
        EventKind::Closed(_) => *over = true,
        _ => {}
    }
}

fn statuses(all: &[&str]) -> Vec<String> {
    all.iter().map(|&status| status.to_owned()).collect()
}

#[test]
fn request_deadline_runs_from_first_to_last_byte() {
    let folder = Scratch::new("one-deadline");
    folder.write("a", b"content");
    let second = Duration::from_secs(1);
    // The start of the request, the text that trickles in after it, and the statuses before and
    // after the deadline.
    let head = "GET /a HTTP/1.1\r\nHost: x\r\n";
    for (begin, drop, before, after) in [
        ("G".to_owned(), "E", &[][..], &["408"][..]),
        (head.to_owned(), "A: b\r\n", &[], &["408"]),
        // The start of a second request arrives with the first.
        (format!("{head}\r\nGET"), "A", &["200"], &["200", "408"]),
        (format!("{head}Content-Length: 60000\r\n\r\n"), "x", &["200"], &["200"]),
        (format!("{head}Transfer-Encoding: chunked\r\n\r\n"), "1\r\nx\r\n", &["200"], &["200"]),
        (format!("{head}Transfer-Encoding: chunked\r\n\r\n0\r\n"), "A: b\r\n", &["200"], &["200"]),
        // The body does not arrive at all.
        (format!("{head}Content-Length: 1\r\n\r\n"), "", &["200"], &["200"]),
    ] {
        let mut test = ServerTest::new(&folder, config(1));
        let id = test.open(1000);
        test.send(id, begin.as_bytes());
        for _ in 0..9 {
            test.wait(second);
            test.send(id, drop.as_bytes());
        }
        assert_eq!(test.outcome(id), (statuses(before), false), "{begin} after 9 s");
        test.wait(second + second);
        assert_eq!(test.outcome(id), (statuses(after), true), "{begin} after 11 s");
        test.wait(second * 120);
        assert_eq!(test.outcome(id), (statuses(after), true), "{begin} after two minutes");
        assert_eq!(test.world.server().open_connections(), [], "{begin}");
    }
}

#[test]
fn timely_request_may_be_followed_by_another() {
    let folder = Scratch::new("in-time");
    folder.write("a", b"content");
    let mut test = ServerTest::new(&folder, config(1));
    let id = test.open(1000);
    for _ in 0..3 {
        test.send(id, b"GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nx");
        test.wait(Duration::from_secs(9));
        test.send(id, b"x");
        test.wait(Duration::from_secs(50));
    }
    assert_eq!(test.outcome(id), (statuses(&["200"; 3]), false));
    test.wait(Duration::from_secs(15));
    assert_eq!(test.outcome(id), (statuses(&["200"; 3]), true), "idle for a minute");
}

#[test]
fn endless_trailers_end_the_connection() {
    let folder = Scratch::new("trailers");
    folder.write("a", b"content");
    let mut test = ServerTest::new(&folder, config(1));
    let id = test.open(1000);
    test.send(id, b"GET /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n");
    for _ in 0..15 {
        test.send(id, &b"A: 456\r\n".repeat(128));
        test.wait(STEP * 2);
    }
    assert_eq!(test.outcome(id), (statuses(&["200"]), false), "15 KiB");
    test.send(id, &b"A: 456\r\n".repeat(256));
    test.wait(STEP * 2);
    assert_eq!(test.outcome(id), (statuses(&["200"]), true), "17 KiB");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let folder = Scratch::new("in-order");
    folder.write("a", b"first");
    folder.write("b", b"second");
    let text = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nHEAD /b HTTP/1.1\r\nHost: x\r\n\r\n\
        GET /none HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        .to_vec();
    for piece in [1, 7, 1000] {
        let heard = exchange(&folder, std::slice::from_ref(&text), piece);
        let (answer, over) = &heard[0];
        let answer = String::from_utf8_lossy(answer);
        let heads: Vec<_> =
            answer.match_indices("HTTP/1.1 ").map(|(at, _)| &answer[at + 9..at + 12]).collect();
        assert_eq!(heads, ["200", "200", "404", "200"], "{answer}");
        assert!(answer.contains("first") && answer.ends_with("second") && *over);
    }
}

#[test]
fn slow_delivery_of_a_response_completes() {
    let folder = Scratch::new("long");
    let content: Vec<u8> = (0..100_000_u32).map(|at| at.to_le_bytes()[0]).collect();
    folder.write("a", &content);
    let text = b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_vec();
    // From the start of the response on, nothing is delivered for longer than the linger time.
    let network = |step: usize| {
        move |_: usize, packet: &[u8]| {
            if packet.len() > 1000 && step < 500 { Fate::Lost } else { Fate::Arrives }
        }
    };
    let heard = exchange_over(network, &folder, &[text], 1000);
    let (answer, over) = &heard[0];
    assert!(answer.ends_with(&content) && *over, "{} bytes", answer.len());
}

/// Decodes one chunked response (RFC 9112 §7.1).
fn decode_chunks(answer: &[u8]) -> String {
    let text = std::str::from_utf8(answer).expect("text");
    let (head, mut rest) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.contains("\r\nTransfer-Encoding: chunked\r\n"), "{head}");
    let mut content = String::new();
    loop {
        let (len, behind) = rest.split_once("\r\n").expect("the length of a chunk");
        let len = usize::from_str_radix(len, 16).expect("a hexadecimal number");
        let (chunk, behind) = behind.split_at(len);
        rest = behind.strip_prefix("\r\n").expect("the end of a chunk");
        content.push_str(chunk);
        if len == 0 {
            assert_eq!(rest, "");
            return content;
        }
    }
}

const LIST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/// A folder whose listing exceeds a megabyte, and the names in it.
fn large_folder(name: &str) -> (Scratch, Vec<String>) {
    let folder = Scratch::new(name);
    let names: Vec<String> = (0..4000).map(|number| format!("{number:0>150}")).collect();
    for name in &names {
        folder.write(name, b"12");
    }
    (folder, names)
}

#[test]
fn unread_listings_take_no_memory() {
    let (folder, _) = large_folder("unread");
    let mut settings = config(1);
    settings.limits.buffered_bytes = 1 << 20;
    let mut test = ServerTest::new(&folder, settings);
    test.reading = false;
    let ids: Vec<_> = (0..300).map(|number| test.world.connect(1000 + number)).collect();
    test.wait(Duration::from_secs(1));
    for id in ids {
        test.send(id, LIST);
    }
    test.wait(Duration::from_secs(5));
    assert_eq!(test.server.served().answers[2], 300);
    let held = test.server.held_bytes() / 300;
    assert!((1..8_000).contains(&held), "{held} bytes for each page");
}

/// Clients read 256 KiB of a listing of more than a megabyte, for which the buffers have room. At
/// most twice the congestion window is generated ahead.
#[test]
fn listings_are_generated_as_they_are_read() {
    let (folder, _) = large_folder("ahead");
    let mut test = ServerTest::new(&folder, config(1));
    test.reading = false;
    let ids: Vec<_> = (0..20).map(|number| test.world.connect(1000 + number)).collect();
    test.wait(Duration::from_secs(1));
    for id in ids {
        test.send(id, LIST);
    }
    test.wait(Duration::from_secs(5));
    assert_eq!(test.server.served().answers[2], 20);
    let buffered = test.world.server().buffered_bytes() / 20;
    assert!(buffered < 300 << 10, "{buffered} bytes for each page");
}

#[test]
fn slowly_read_listing_is_complete() {
    let (folder, names) = large_folder("slowly");
    let mut settings = config(1);
    settings.tcp.send_buffer = 20_000;
    let mut test = ServerTest::new(&folder, settings);
    test.reading = false;
    let slow = test.open(1000);
    test.send(slow, LIST);
    test.wait(Duration::from_secs(1));
    // More folders than the server caches.
    let others: Vec<_> = (0..20).map(|number| format!("z{number}")).collect();
    let other = test.open(1001);
    for name in &others {
        std::fs::create_dir(folder.0.join(name)).expect("a new folder");
        test.read(slow, 50_000);
        test.send(other, format!("GET /{name}/ HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        test.wait(STEP);
        test.read(other, 100_000);
    }
    while test.heard[&slow.serial()].0.last_chunk() != Some(b"\r\n0\r\n\r\n") {
        test.read(slow, 50_000);
        test.wait(STEP);
        assert!(
            test.world.now < Instant::ZERO + Duration::from_secs(2000),
            "the page does not end"
        );
    }
    let page = decode_chunks(&test.heard[&slow.serial()].0);
    let rows = page.matches("<tr><td>").count();
    assert!(
        page.len() > 1_000_000 && (4000..=4020).contains(&rows),
        "{} bytes, {rows} rows",
        page.len()
    );
    let mut rest = &page[..];
    for name in &names {
        let link = format!("<a href=\"./{name}\">{name}</a><td>2 B<td>");
        let at = rest.find(&link).expect("each name, in their order");
        rest = &rest[at + link.len()..];
    }
    assert!(page.ends_with("</table>\n"));
}

/// Requesting a listing takes a few bytes, reading a folder of 4000 names a few milliseconds.
#[test]
fn unchanged_folder_is_read_once() {
    let (folder, names) = large_folder("read-once");
    // The modification time is long before the virtual time of the server, in 1970.
    let long_ago = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(500);
    File::open(&folder.0).and_then(|folder| folder.set_modified(long_ago)).expect("our own folder");
    let mut test = ServerTest::new(&folder, config(1));
    let id = test.open(1000);
    test.send(id, &b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(100));
    test.wait(Duration::from_secs(1));
    assert_eq!((test.outcome(id).0.len(), test.server.names_read()), (100, 0));
    for number in 0..20 {
        let id = test.open(1001 + number);
        test.send(id, LIST);
        test.wait(Duration::from_secs(2));
        assert_eq!(
            decode_chunks(&test.heard[&id.serial()].0).matches("<tr><td>").count(),
            names.len()
        );
        // The folder is read again after ten seconds, because some file systems do not report
        // changes.
        let most = 4000 * (1 + 2 * u64::from(number + 1) / 8);
        assert!(test.server.names_read() <= most, "{number}: {}", test.server.names_read());
    }
    folder.write("zz-new", b"new");
    let id = test.open(2000);
    test.send(id, LIST);
    test.wait(Duration::from_secs(2));
    assert!(decode_chunks(&test.heard[&id.serial()].0).contains(">zz-new</a><td>3 B<td>"));
}

/// More folders than the server caches, and peers that never read one listing to its end before
/// others continue.
#[test]
fn folder_reads_are_rate_limited() {
    const FOLDERS: u16 = 80;
    let folder = Scratch::new("many-folders");
    for number in 0..FOLDERS {
        let path = folder.0.join(number.to_string());
        std::fs::create_dir(&path).expect("a new folder");
        (0..1000).for_each(|name| {
            std::fs::write(path.join(format!("{name:0>40}")), "").expect("a new file");
        });
    }
    let mut settings = config(1);
    settings.tcp.send_buffer = 20_000;
    let mut test = ServerTest::new(&folder, settings);
    let begin = test.world.now;
    let ids: Vec<_> = (0..FOLDERS).map(|number| test.world.connect(1000 + number)).collect();
    test.wait(Duration::from_secs(1));
    for (number, id) in ids.iter().enumerate() {
        test.send(*id, format!("GET /{number}/ HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
    }
    let good = test.open(2000);
    let mut over = 0;
    while over < ids.len() {
        test.wait(Duration::from_secs(1));
        let spent = test.world.now.since(begin).as_nanos() / 1_000_000_000;
        let most = 51_000 + 100_000 * spent;
        assert!(test.server.names_read() <= most, "{} in {spent} s", test.server.names_read());
        assert!(spent < 120, "{over} pages in two minutes");
        over =
            ids.iter().filter(|id| test.heard[&id.serial()].0.ends_with(b"\r\n0\r\n\r\n")).count();
        // Files do not wait for listings.
        test.send(
            good,
            b"GET /0/0000000000000000000000000000000000000000 HTTP/1.1\r\nHost: x\r\n\r\n",
        );
        test.wait(Duration::from_millis(500));
        assert_eq!(
            test.heard.remove(&good.serial()).map(|(heard, _)| heard.starts_with(b"HTTP/1.1 200 ")),
            Some(true)
        );
    }
    for id in ids {
        assert_eq!(decode_chunks(&test.heard[&id.serial()].0).matches("<td>0 B<td>").count(), 1000);
    }
}

#[test]
fn http_1_0_listing_ends_with_the_connection() {
    let folder = Scratch::new("old");
    folder.write("a", b"content");
    let text = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".to_vec();
    let (answer, over) = &exchange(&folder, &[text], 1000)[0];
    let answer = String::from_utf8_lossy(answer);
    assert!(*over && answer.contains("\r\nConnection: close\r\n\r\n<!doctype html>\n"), "{answer}");
    assert!(answer.contains(">a</a><td>7 B<td>20") && answer.ends_with("</table>\n"), "{answer}");
}

proptest! {
    // A case is a run of more than a minute of virtual time.
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_requests_get_a_response_or_a_close(texts in prop::collection::vec(almost_valid_request(), 1..8), piece in 1..300usize) {
        let folder = Scratch::new("any-bytes");
        folder.write("a", &[b'x'; 5000]);
        // After ten seconds without a complete request, or sixty without any, no connection is
        // left.
        for (answer, over) in exchange(&folder, &texts, piece) {
            prop_assert!(over);
            prop_assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 "));
        }
    }
}

fn almost_valid_request() -> BoxedStrategy<Vec<u8>> {
    let good = Just(b"GET /a HTTP/1.1\r\nHost: x\r\nRange: bytes=1-2\r\n\r\n".to_vec());
    let chunked = Just(
        b"GET /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
            .to_vec(),
    );
    let parts = prop_oneof![good, chunked, prop::collection::vec(any::<u8>(), 0..50)];
    let change = (any::<prop::sample::Index>(), any::<u8>());
    (prop::collection::vec(parts, 1..6), prop::collection::vec(change, 0..3))
        .prop_map(|(parts, changes)| {
            let mut text = parts.concat();
            for (at, value) in changes {
                if !text.is_empty() {
                    let at = at.index(text.len());
                    text[at] = value;
                }
            }
            text
        })
        .boxed()
}

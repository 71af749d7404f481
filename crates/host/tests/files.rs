//! Files over HTTP to the kernel's own TCP, through a TUN device. Needs root and `/dev/net/tun`.

mod common;

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown};
use std::process::Command;

use common::byte;
use common::live::{Client, OURS, OURS_6, Scratch, with_host};
use host::http::{FileServer, Folder, HttpLimits};
use host::{Driver, StackConfig};
use tun::Offload;
use units::Duration;

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(byte).collect()
}

fn serve(
    scratch: &Scratch,
    offload: Offload,
    config: impl FnOnce(&mut StackConfig) + Send,
    limits: HttpLimits,
    client: impl FnOnce() + Send,
) -> Driver<FileServer> {
    let folder = Folder::open(&scratch.0).expect("a folder of our own");
    let server = || FileServer::new(folder, 80, limits);
    with_host(
        offload,
        |settings| {
            config(settings);
        },
        server,
        client,
    )
}

fn serve_plain(scratch: &Scratch, client: impl FnOnce() + Send) -> Driver<FileServer> {
    serve(scratch, Offload::None, |_| {}, HttpLimits::default(), client)
}

#[test]
fn files_arrive_whole_over_ipv4_and_ipv6_with_and_without_offload() {
    let scratch = Scratch::new("whole");
    for size in [0, 1, 10_000, 3_000_000] {
        scratch.write(&format!("{size}.bin"), &bytes(size));
    }
    for offload in [Offload::None, Offload::Segmentation] {
        let driver = serve(
            &scratch,
            offload,
            |_| {},
            HttpLimits::default(),
            || {
                for to in [OURS, OURS_6] {
                    let mut client = Client::connect(to);
                    // One after the other over one connection, then all concurrently.
                    for size in [0, 1, 10_000, 3_000_000] {
                        let answer = client.get(&format!("/{size}.bin"), "");
                        assert_eq!(
                            (answer.status, answer.body == bytes(size)),
                            (200, true),
                            "{size}"
                        );
                    }
                    client.send(
                        "GET /1.bin HTTP/1.1\r\nHost: x\r\n\r\nHEAD /10000.bin HTTP/1.1\r\nHost: x\r\n\r\n",
                    );
                    client.send("GET /10000.bin HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
                    assert_eq!(client.answer(true).body, bytes(1));
                    assert_eq!(client.answer(false).field("content-length"), Some("10000"));
                    assert_eq!(client.answer(true).body, bytes(10_000));
                    assert!(client.is_closed());
                }
            },
        );
        assert_eq!(driver.service().served().answers[2], 14);
        assert_eq!((driver.stack().counters().accepted, driver.stack().counters().failed), (2, 0));
        assert_eq!(driver.stack().counters().damaged, 0);
    }
}

/// Serves a folder with files, folders, and symbolic links that lead out of the folder or not.
fn serve_folder(name: &str, client: impl FnOnce(Client) + Send) {
    let scratch = Scratch::new(name);
    scratch.write("a.txt", b"0123456789");
    scratch.write("<b>&c:d.html", b"<p>");
    std::fs::create_dir(scratch.0.join("sub")).expect("a folder of our own");
    std::fs::create_dir(scratch.0.join("list")).expect("a folder of our own");
    scratch.write("sub/index.html", b"<h1>index</h1>");
    scratch.write("list/x", b"x");
    std::os::unix::fs::symlink("../a.txt", scratch.0.join("sub/inside"))
        .expect("a folder of our own");
    std::os::unix::fs::symlink("/etc/passwd", scratch.0.join("outside"))
        .expect("a folder of our own");
    std::os::unix::fs::symlink("..", scratch.0.join("up")).expect("a folder of our own");
    serve_plain(&scratch, || client(Client::connect(OURS)));
}

/// RFC 9110 §13 and §14
#[test]
fn ranges_and_conditions() {
    serve_folder("ranges", |mut client| {
        let answer = client.get("/a.txt", "Range: bytes=2-4\r\n");
        assert_eq!((answer.status, &answer.body[..]), (206, &b"234"[..]));
        assert_eq!(answer.field("content-range"), Some("bytes 2-4/10"));
        let answer = client.get("/a.txt", "Range: bytes=10-\r\n");
        assert_eq!((answer.status, answer.field("content-range")), (416, Some("bytes */10")));
        let answer = client.get("/a.txt", "");
        assert_eq!(
            (answer.status, answer.field("content-type")),
            (200, Some("text/plain; charset=utf-8"))
        );
        let (etag, modified) =
            (answer.field("etag").unwrap(), answer.field("last-modified").unwrap());
        assert!(answer.field("date").is_some());
        for fields in
            [format!("If-None-Match: {etag}\r\n"), format!("If-Modified-Since: {modified}\r\n")]
        {
            let answer = client.get("/a.txt", &fields);
            assert_eq!((answer.status, answer.body.len()), (304, 0), "{fields}");
        }
        let answer = client.get("/a.txt", &format!("If-Range: {etag}\r\nRange: bytes=-1\r\n"));
        assert_eq!((answer.status, &answer.body[..]), (206, &b"9"[..]));
        assert_eq!(client.get("/a.txt", "If-Range: \"x\"\r\nRange: bytes=-1\r\n").status, 200);
        assert_eq!(client.get("/a.txt", "If-Match: \"x\"\r\n").status, 412);
    });
}

#[test]
fn folders_have_listings() {
    serve_folder("folders", |mut client| {
        assert_eq!(client.get("/sub/", "").body, b"<h1>index</h1>");
        assert_eq!(client.get("/sub/inside", "").body, b"0123456789");
        let answer = client.get("/sub", "");
        assert_eq!((answer.status, answer.field("location")), (301, Some("/sub/")));
        let listing = String::from_utf8(client.get("/", "").body).unwrap();
        assert!(listing.contains("<a href=\"./list/\">list/</a><td><td>20"), "{listing}");
        assert!(
            listing.contains("<meta name=\"viewport\"") && listing.contains("sans-serif"),
            "{listing}"
        );
        assert!(!listing.contains("href=\"../\""), "{listing}");
        // A link to the outside reveals nothing about its target.
        assert!(listing.contains("<a href=\"./outside\">outside</a><td><td>20"), "{listing}");
        let listing = String::from_utf8(client.get("/list/", "").body).unwrap();
        assert!(listing.contains("<a href=\"../\">../</a>"), "{listing}");
        assert!(listing.contains("<a href=\"./x\">x</a><td>1 B<td>20"), "{listing}");
        let listing = String::from_utf8(client.get("/", "").body).unwrap();
        assert!(
            listing.contains("<a href=\"./%3Cb%3E%26c%3Ad.html\">&lt;b&gt;&amp;c:d.html</a>"),
            "{listing}"
        );
        assert_eq!(client.get("/%3Cb%3E%26c%3Ad.html", "").body, b"<p>");
    });
}

#[test]
fn missing_files_and_links_to_the_outside_are_not_found() {
    serve_folder("missing", |mut client| {
        for missing in [
            "/no",
            "/a.txt/",
            "/a.txt/b",
            "/outside",
            "/up/",
            "/../etc/passwd",
            "/%2e%2e/x",
            "/%zz",
        ] {
            assert_eq!(client.get(missing, "").status, 404, "{missing}");
        }
    });
}

#[test]
fn methods_versions_and_bodies() {
    serve_folder("methods", |mut client| {
        client.send("POST / HTTP/1.1\r\nHost: x\r\n\r\n");
        let answer = client.answer(true);
        assert_eq!((answer.status, answer.field("allow")), (405, Some("GET, HEAD")));
        // RFC 9112 §9.3: an HTTP/1.0 client that asks for a persistent connection gets
        // `keep-alive`.
        for _ in 0..2 {
            client.send("GET /a.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
            let answer = client.answer(true);
            assert_eq!((answer.status, answer.field("connection")), (200, Some("keep-alive")));
        }
        // A request with a body, which is skipped, and then the next request.
        client.send(
            "GET /a.txt HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        );
        assert_eq!(client.answer(true).status, 200);
        client.send("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx");
        let answer = client.answer(true);
        assert_eq!((answer.status, answer.field("connection")), (400, Some("close")));
        assert!(client.is_closed());
    });
}

#[test]
fn silent_and_unfinished_requests_time_out() {
    let scratch = Scratch::new("slow");
    let limits = HttpLimits {
        request: Duration::from_millis(300),
        idle: Duration::from_millis(300),
        linger: Duration::from_millis(300),
    };
    serve(
        &scratch,
        Offload::None,
        |_| {},
        limits,
        || {
            let mut slow = Client::connect(OURS);
            slow.send("GET / HTT");
            let mut silent = Client::connect(OURS);
            assert_eq!(slow.answer(true).status, 408);
            assert!(slow.is_closed() && silent.is_closed());
            let mut idle = Client::connect(OURS);
            assert_eq!(idle.get("/", "").status, 200);
            assert!(idle.is_closed());
        },
    );
}

#[test]
fn thousand_concurrent_connections() {
    let scratch = Scratch::new("thousand");
    scratch.write("f", &bytes(20_000));
    let driver = serve_plain(&scratch, || {
        let mut clients: Vec<_> =
            (0..1000).map(|n| Client::connect(if n % 2 == 0 { OURS } else { OURS_6 })).collect();
        for client in &mut clients {
            client.send("GET /f HTTP/1.1\r\nHost: x\r\n\r\n");
        }
        let expected = bytes(20_000);
        for client in &mut clients {
            assert!(client.answer(true).body == expected);
        }
    });
    assert_eq!(driver.service().served().answers[2], 1000);
    assert_eq!(driver.stack().counters().accepted, 1000);
}

#[test]
fn stop_finishes_transfers_and_refuses_new_connections() {
    let scratch = Scratch::new("graceful");
    scratch.write("f", &bytes(5_000_000));
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut reader = None;
    let slot = &mut reader;
    let driver = serve_plain(&scratch, move || {
        let mut client = Client::connect(OURS);
        client.send("GET /f HTTP/1.1\r\nHost: x\r\n\r\n");
        // The rest is read while the server stops.
        let mut first = [0; 1000];
        client.0.read_exact(&mut first).unwrap();
        *slot = Some(
            std::thread::Builder::new()
                .spawn(move || sender.send(client.answer_after(&first)))
                .unwrap(),
        );
    });
    let answer = receiver.recv().unwrap();
    assert!(answer.body == bytes(5_000_000));
    assert_eq!(answer.status, 200);
    assert!(driver.is_stopped());
    drop(reader);
}

/// Splits a multipart body at its boundary (RFC 2046 §5.1.1) into `Content-Range` and bytes of each
/// part.
fn parts(content_type: &str, body: &[u8]) -> Vec<(String, Vec<u8>)> {
    let boundary =
        content_type.strip_prefix("multipart/byteranges; boundary=").expect("a multipart answer");
    let find = |bytes: &[u8], what: &str| {
        bytes.windows(what.len()).position(|at| at == what.as_bytes()).expect("a part is whole")
    };
    let (delimiter, mut rest) = (format!("\r\n--{boundary}"), [b"\r\n", body].concat());
    let mut found = Vec::new();
    rest.drain(..find(&rest, &delimiter) + delimiter.len());
    while rest != b"--\r\n" {
        let end = find(&rest, &delimiter);
        let part: Vec<u8> = rest.drain(..end + delimiter.len()).take(end).collect();
        let split = find(&part, "\r\n\r\n");
        let head = std::str::from_utf8(&part[..split]).expect("a head of text");
        assert!(head.contains("\r\nContent-Type: application/octet-stream"), "{head}");
        let range =
            head.lines().find_map(|line| line.strip_prefix("Content-Range: ")).expect("a range");
        found.push((range.to_owned(), part[split + 4..].to_vec()));
    }
    found
}

/// RFC 9110 §14
#[test]
fn multiple_ranges_give_a_multipart_response() {
    let scratch = Scratch::new("parts");
    let file = bytes(1_000_000);
    scratch.write("f", &file);
    serve_plain(&scratch, || {
        let mut client = Client::connect(OURS);
        // Ranges that are small, larger than one quantum, and out of order.
        let fields = "Range: bytes=-10, 0-0,100000-799999\r\n";
        let answer = client.get("/f", fields);
        assert_eq!((answer.status, answer.field("content-range")), (206, None));
        let expected = [(999_990, 1_000_000), (0, 1), (100_000, 800_000)].map(|(from, to)| {
            (format!("bytes {from}-{}/1000000", to - 1), file[from..to].to_vec())
        });
        let etag = answer.field("etag").unwrap();
        assert!(parts(answer.field("content-type").unwrap(), &answer.body) == expected);
        // The connection stays open, also after a multipart response among pipelined ones.
        let again = format!("GET /f HTTP/1.1\r\nHost: x\r\nIf-Range: {etag}\r\n{fields}\r\n");
        let one = "GET /f HTTP/1.1\r\nHost: x\r\nRange: bytes=5-5,1000000-\r\n\r\n";
        client.send(&format!("{one}{again}{one}"));
        for several in [false, true, false] {
            let answer = client.answer(true);
            assert_eq!(answer.status, 206);
            if several {
                assert!(parts(answer.field("content-type").unwrap(), &answer.body) == expected);
            } else {
                // Only one of the two ranges overlaps the file.
                assert_eq!(answer.field("content-range"), Some("bytes 5-5/1000000"));
                assert_eq!(answer.body, file[5..6]);
            }
        }
        let answer = client.get("/f", "If-Range: \"other\"\r\nRange: bytes=0-0,900-999\r\n");
        assert!((answer.status, &answer.body) == (200, &file));
        let answer = client.get("/f", "Range: bytes=1000000-,-0\r\n");
        assert_eq!((answer.status, answer.field("content-range")), (416, Some("bytes */1000000")));
        client.send(&format!("HEAD /f HTTP/1.1\r\nHost: x\r\n{fields}\r\n"));
        let answer = client.answer(false);
        assert_eq!((answer.status, answer.field("content-length")), (200, Some("1000000")));
    });
}

#[test]
fn curl_and_ping_succeed_if_installed() {
    let scratch = Scratch::new("curl");
    scratch.write("f", &bytes(100_000));
    let out = scratch.0.join("out");
    let url = |to: IpAddr| {
        if to.is_ipv6() { format!("http://[{to}]/f") } else { format!("http://{to}/f") }
    };
    serve_plain(&scratch, || {
        for to in [OURS, OURS_6] {
            let fetched = Command::new("curl")
                .args(["-sf", "-m", "20", "-o"])
                .arg(&out)
                .arg(url(to))
                .status();
            if let Ok(status) = fetched {
                assert!(status.success(), "curl: {status}");
                assert!(std::fs::read(&out).unwrap() == bytes(100_000));
            }
        }
    });
}

#[test]
fn malformed_requests_do_not_affect_other_connections() {
    let scratch = Scratch::new("nonsense");
    scratch.write("f", &bytes(50_000));
    serve_plain(&scratch, || {
        let mut good = Client::connect(OURS);
        for round in 0..50 {
            let mut bad = Client::connect(OURS);
            let _ = bad.0.write_all(&bytes(round * 37));
            let _ = bad.0.write_all(b"\r\n\r\n");
            let _ = bad.0.shutdown(Shutdown::Write);
            assert!(good.get("/f", "").body == bytes(50_000));
        }
    });
}

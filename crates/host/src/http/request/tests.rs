use proptest::prelude::*;

use super::*;

fn refused(text: &str) -> (u16, bool) {
    match read(text.as_bytes()) {
        Err((refusal, _)) => (refusal.status.code(), refusal.close),
        other => panic!("{text:?} gave {other:?}"),
    }
}

fn taken(text: &str) -> Request {
    match read(text.as_bytes()) {
        Ok(Some((request, len))) => {
            assert_eq!(len, text.find("\r\n\r\n").unwrap() + 4);
            request
        }
        other => panic!("{text:?} gave {other:?}"),
    }
}

#[test]
fn valid_requests_are_parsed() {
    let request = taken("GET /a?b HTTP/1.1\r\nHost: x\r\nRange: bytes=0-1\r\n\r\nGET");
    assert_eq!((request.method, &request.target[..]), (Method::Get, &b"/a?b"[..]));
    assert_eq!(request.fields.range.as_deref(), Some("bytes=0-1"));
    assert!(request.persistent);
    assert_eq!(taken("HEAD http://x/y HTTP/1.1\r\nHost: x\r\n\r\n").target, b"/y");
    assert_eq!(taken("GET HTTP://x HTTP/1.1\r\nHost: x\r\n\r\n").target, b"/");
    // RFC 9112 §2.2: an empty line before the request line.
    let (_, len) = read(b"\r\nGET / HTTP/1.0\r\n\r\n").unwrap().unwrap();
    assert_eq!(len, 20);
}

/// RFC 9112 §9.3
#[test]
fn persistence_follows_version_and_connection_field() {
    for (text, stays) in [
        ("GET / HTTP/1.0\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nHost: x\r\nConnection: x, close\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", false),
    ] {
        assert_eq!(taken(text).persistent, stays, "{text}");
    }
}

#[test]
fn refusals_have_status_and_close_flag() {
    for (text, status, close) in [
        ("POST / HTTP/1.1\r\nHost: x\r\n\r\n", 405, false),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n", 405, true),
        ("BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 501, false),
        ("GET / HTTP/1.1\r\n\r\n", 400, true),
        ("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400, true),
        ("GET / HTTP/1.1\r\nHost: x y\r\n\r\n", 400, true),
        ("GET / HTTP/1.0\r\nHost: x/y\r\n\r\n", 400, true),
        ("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505, true),
        ("GET a HTTP/1.1\r\nHost: x\r\n\r\n", 400, false),
        ("nonsense\r\n\r\n", 400, true),
        ("GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n", 417, true),
        ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n\r\n", 413, true),
        // RFC 9112 §5.1, §5.2: a space before the colon, a folded line.
        ("GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400, true),
        ("GET / HTTP/1.1\r\nHost: x\r\n y\r\n\r\n", 400, true),
    ] {
        assert_eq!(refused(text), (status, close), "{text}");
    }
}

/// RFC 9112 §6, §11.2: framing that two implementations could interpret differently.
#[test]
fn ambiguous_framing_is_refused() {
    let with = |fields: &str| format!("GET / HTTP/1.1\r\nHost: x\r\n{fields}\r\n");
    for (fields, status) in [
        ("Content-Length: 1\r\nContent-Length: 2\r\n", 400),
        ("Content-Length: 1\r\nContent-Length: 1\r\n", 400),
        ("Content-Length: 1, 1\r\n", 400),
        ("Content-Length: +1\r\n", 400),
        ("Content-Length: 1a\r\n", 400),
        ("Content-Length: \r\n", 400),
        ("Content-Length: 99999999999999999999999\r\n", 400),
        ("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: chunked, identity\r\n", 501),
        ("Transfer-Encoding: xchunked\r\n", 501),
    ] {
        assert_eq!(refused(&with(fields)), (status, true), "{fields}");
    }
    assert_eq!(refused("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), (400, true));
}

#[test]
fn heads_are_limited_in_length() {
    let long = |text: &str| format!("GET /{text}");
    assert_eq!(refused(&long(&"a".repeat(MAX_HEAD))), (414, true));
    assert_eq!(
        refused(&format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(8_001))),
        (414, false)
    );
    let one = format!("GET / HTTP/1.1\r\nHost: x\r\nA: {}", "b".repeat(MAX_HEAD));
    assert_eq!(refused(&one), (431, true));
    let many = format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "A: b\r\n".repeat(MAX_FIELDS));
    assert_eq!(refused(&many), (431, true));
    assert_eq!(read(b"GET / HTTP/1.1\r\nHost: x\r\n"), Ok(None));
}

fn skipped(mut body: Body, text: &[u8], step: usize) -> Option<(usize, Body)> {
    let (mut at, mut end) = (0, step.min(text.len()));
    loop {
        let (count, rest) = skip(body, &text[at..end])?;
        (at, body) = (at + count, rest);
        if body == Body::NONE || count == 0 && end == text.len() {
            return Some((at, body));
        }
        if count == 0 {
            end = (end + step).min(text.len());
        }
    }
}

/// RFC 9112 §7.1
#[test]
fn bodies_are_skipped() {
    let chunks = b"4\r\nWiki\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: z\r\n\r\nGET";
    for step in 1..60 {
        assert_eq!(
            skipped(Body::Chunks(0), chunks, step),
            Some((chunks.len() - 3, Body::NONE)),
            "{step}"
        );
        assert_eq!(skipped(Body::Length(7), b"1234567GET", step), Some((7, Body::NONE)));
    }
    for bad in [&b"x\r\n"[..], b"4\r\nWikiX\r\n", b"-1\r\n", b"\r\n", b"fffffffffffffffff\r\n"] {
        assert_eq!(skipped(Body::Chunks(0), bad, bad.len()), None, "{bad:?}");
    }
    assert_eq!(skipped(Body::Chunks(0), b"fffff\r\n", 7), None, "more than is read past");
}

#[test]
fn trailers_share_one_length_limit() {
    let trailers =
        |lines: usize| [b"0\r\n".to_vec(), b"A: 456\r\n".repeat(lines), b"\r\n".to_vec()].concat();
    let most = (MAX_HEAD - 2) / 8;
    for step in [1, 100, MAX_HEAD] {
        let text = trailers(most);
        assert_eq!(skipped(Body::Chunks(0), &text, step), Some((text.len(), Body::NONE)), "{step}");
        assert_eq!(skipped(Body::Chunks(0), &trailers(most + 1), step), None, "{step}");
        assert_eq!(skipped(Body::Trailer(0), &vec![b'x'; MAX_HEAD + 1], step), None, "{step}");
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>, body in prop_oneof![
        any::<u64>().prop_map(Body::Length), any::<u64>().prop_map(Body::Chunks), any::<usize>().prop_map(Body::Trailer)
    ]) {
        let _ = read(&bytes);
        if let Some((count, _)) = skip(body, &bytes) {
            prop_assert!(count <= bytes.len());
        }
        let mut near = b"GET / HTTP/1.1\r\nHost: x\r\n".to_vec();
        near.extend_from_slice(&bytes);
        let _ = read(&near);
    }
}

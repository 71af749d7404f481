use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::*;

/// The answers to bytes that arrive in two parts.
fn answers(bytes: &[u8], cut: usize) -> (Vec<Value>, Vec<Request>) {
    let mut session = Session::default();
    let mut requests = Vec::new();
    let (first, second) = bytes.split_at(cut.min(bytes.len()));
    for part in [first, second] {
        session.receive(part, |request| {
            requests.push(request);
            json!({ "ok": true })
        });
    }
    let lines = session.output.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    (lines.map(|line| serde_json::from_slice(line).unwrap()).collect(), requests)
}

#[test]
fn requests_are_lines() {
    let text = b"{\"op\": \"show\"}\n{\"op\": \"stats\"}\n{\"op\": \"set\", \"both\": {\"loss\": \"2%\"}}\n{";
    let set =
        Overlay { both: Texts::from([("loss".to_owned(), "2%".to_owned())]), ..Overlay::default() };
    for cut in 0..text.len() {
        let (answers, requests) = answers(text, cut);
        assert_eq!(requests, [Request::Show, Request::Stats, Request::Set(set.clone())]);
        assert_eq!(answers.len(), 3);
    }
}

#[test]
fn other_lines_are_errors() {
    for bad in [
        "",
        "set",
        "{}",
        "[]",
        "null",
        r#"{"op": "reset"}"#,
        r#"{"op": "set"}"#,
        r#"{"op": "show", "up": {"loss": "1%"}}"#,
        r#"{"op": "set", "both": {"loss": 1}}"#,
        r#"{"op": "set", "sideways": {}}"#,
        "{\"op\": \"show\0\"}",
    ] {
        let (answers, requests) = answers(format!("{bad}\n").as_bytes(), 0);
        assert!(requests.is_empty(), "{bad}");
        assert_eq!(answers.len(), 1, "{bad}");
        assert_eq!(answers[0]["ok"], json!(false), "{bad}");
    }
}

#[test]
fn a_long_request_ends_the_session() {
    let mut session = Session::default();
    for _ in 0..=MAX_REQUEST / 1000 + 1 {
        session.receive(&[b' '; 1000], |_| unreachable!());
    }
    session.receive(b"\n{\"op\": \"show\"}\n", |_| unreachable!());
    assert!(session.is_over && session.input.is_empty());
    let answer: Value = serde_json::from_slice(&session.output).unwrap();
    assert_eq!(answer["error"], "cannot read the request: it has more than 65536 bytes");
}

/// No other process sees a name that refuses connections, which would be that of an ended link.
#[test]
fn a_socket_has_its_name_after_it_listens() {
    let folder = std::env::temp_dir().join(format!("tcpsf-control-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("test.link");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let refused = UnixStream::connect(&path)
                    .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
                assert!(!refused);
            }
        });
        let mut all = Vec::new();
        for _ in 0..500 {
            all.push(listen(&path).unwrap());
            assert_eq!(listen(&path).unwrap_err().to_string(), "a link of this name is running");
            std::fs::remove_file(&path).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    // The next one replaces a socket whose process has ended, and leaves no other file.
    drop(listen(&path).unwrap());
    let _replaced = listen(&path).unwrap();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

proptest! {
    /// Each line has one answer, whatever its bytes and wherever they are divided.
    #[test]
    fn every_line_has_an_answer(
        lines in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>().prop_filter("a line", |&b| b != b'\n'), 0..40),
                "[{}\":,a-z0-9 ]{0,40}".prop_map(String::into_bytes),
                Just(br#"{"op":"show"}"#.to_vec()),
            ],
            0..10,
        ),
        cut in 0..400usize,
    ) {
        let mut bytes = Vec::new();
        for line in &lines {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        let (answers, requests) = answers(&bytes, cut);
        prop_assert_eq!(answers.len(), lines.len());
        let valid = lines.iter().filter(|line| Request::parse(line).is_ok()).count();
        prop_assert_eq!(requests.len(), valid);
    }
}

use proptest::prelude::*;
use units::Duration;

use super::*;

fn read(text: &str) -> Script {
    Script::parse("a.pkt", text, &Definitions::new()).expect(text)
}

fn error(text: &str) -> String {
    Script::parse("a.pkt", text, &Definitions::new()).expect_err(text).to_string()
}

fn tcp(text: &str) -> TcpPacket {
    match read(&format!("0 {text}")).events.remove(0).action {
        Action::Packet(Packet::Tcp(packet)) => packet,
        other => panic!("{other:?}"),
    }
}

fn call(text: &str) -> Call {
    match read(&format!("0 {text}")).events.remove(0).action {
        Action::Call(call) => call,
        other => panic!("{other:?}"),
    }
}

#[test]
fn structure_of_a_script() {
    let script = read(
        "--tolerance_usecs=7000 --verbose // settings\n`../defaults.sh\n sysctl -q a=b`\n  0 \
         socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n/* two\nlines */ +.1 < S 0:0(0) win 10\n +0 > \
         S. 0:0(0) ack 1 <...>\n+0 `nstat`\n+0 %{ assert tcpi_rtt == 1 }%\n`end`\n",
    );
    let settings: Vec<_> =
        script.settings.iter().map(|each| (each.name.as_str(), each.value.as_str())).collect();
    assert_eq!(settings, [("tolerance_usecs", "7000"), ("verbose", "")]);
    assert_eq!(script.init.map(|command| command.line), Some(2));
    assert_eq!(script.cleanup.map(|command| command.text).as_deref(), Some("end"));
    let lines: Vec<u32> = script.events.iter().map(|event| event.line).collect();
    assert_eq!(lines, [4, 6, 7, 8, 9]);
    assert_eq!(script.events[1].text, "< S 0:0(0) win 10");
}

#[test]
fn times() {
    let millis = Duration::from_millis;
    for (text, relative, when, shown) in [
        ("0.250", false, When::At(millis(250)), "0.25"),
        ("+.1", true, When::At(millis(100)), "+0.1"),
        ("+1", true, When::At(millis(1000)), "+1"),
        ("+0.000000001", true, When::At(Duration::from_nanos(1)), "+0.000000001"),
        ("+.3~+.4", true, When::Range(millis(300), millis(400)), "+0.3~+0.4"),
        ("1.0 ~ 1.2", false, When::Range(millis(1000), millis(1200)), "1~1.2"),
        ("*", false, When::Any, "*"),
    ] {
        let script = read(&format!("{text} > . 1:1(0) ack 1"));
        let time = script.events[0].time;
        assert_eq!((time.relative, time.when), (relative, when), "{text}");
        assert_eq!(time.to_string(), shown);
    }
    let script = read("+.1 ... 0.2 read(3, ..., 10) = 10");
    assert_eq!(script.events[0].time.when, When::Blocking(millis(100), millis(200)));
}

#[test]
fn packets() {
    let data = tcp("< [ect0] FP.EW 1:1001(1000) ack 7 win 257 <nop,nop,TS val 5 ecr 6>");
    assert_eq!(data.direction, Direction::Inbound);
    assert_eq!(data.ecn, Some(EcnField::Is(wire::Ecn::Ect0)));
    assert_eq!((data.flags.as_str(), data.counter), ("FP.EW", None));
    assert_eq!(data.seq, Sequence { first: 1, len: 1000 });
    assert_eq!((data.ack, data.window), (Some(7), Some(257)));
    let options = [TcpOption::Nop, TcpOption::Nop, TcpOption::Timestamps(5, 6)];
    assert_eq!(data.options.as_deref(), Some(options.as_slice()));
    let bare = tcp("> - 1:1(0)");
    assert_eq!((bare.flags.as_str(), bare.ack, bare.window), ("", None, None));
    assert_eq!(bare.options, Some(vec![]));
    assert_eq!(tcp("> S 0:0(0) <...>").options, None);
    assert_eq!(tcp("> .5 1:1(0) ack 1").counter, Some(5));
    let sack = tcp("< . 1:1(0) ack 1 win 9 <nop, nop, sack 1001:2001 4294967295:3>");
    let blocks = sack.options.unwrap_or_default().pop();
    assert_eq!(blocks, Some(TcpOption::Sack(vec![(1001, 2001), (u32::MAX, 3)])));
    let syn = tcp("> S 0:0(0) <mss 1460,sackOK,wscale 8,FO a1b2,md5 00,ECN e0b 1 ceb 2,eol>");
    let shown: Vec<String> =
        syn.options.unwrap_or_default().iter().map(TcpOption::to_string).collect();
    let wanted = ["mss 1460", "sackOK", "wscale 8", "FO a1b2", "md5 00", "ECN e0b 1 ceb 2", "eol"];
    assert_eq!(shown, wanted);
}

#[test]
fn icmp_errors() {
    let icmp = |text: &str| match read(text).events.remove(0).action {
        Action::Packet(Packet::Icmp(icmp)) => icmp,
        other => panic!("{other:?}"),
    };
    let frag = icmp("0 < icmp unreachable frag_needed mtu 1200 [1:1461(1460)]");
    assert_eq!((frag.code.as_deref(), frag.mtu), (Some("frag_needed"), Some(1200)));
    assert_eq!(frag.quote, Some(Sequence { first: 1, len: 1460 }));
    let big = icmp("0 < icmp packet_too_big mtu 1400\n+0 close(3) = 0");
    assert_eq!((big.code, big.mtu, big.quote), (None, Some(1400), None));
}

#[test]
fn calls() {
    let bind = call("setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = -1 EINVAL (text, = 3)");
    assert_eq!((bind.name.as_str(), bind.arguments.len()), ("setsockopt", 5));
    assert_eq!(bind.result, CallResult { value: Some(-1), error: Some("EINVAL".to_owned()) });
    assert_eq!(bind.arguments[3].pointee(), Some(&Value::Integer(1)));
    let message = call(
        "recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 0x10}], msg_flags=A|B, \
         msg_control=[{x=1}, {x=2}]}, 0) = ...",
    );
    assert_eq!(message.result.value, None);
    let shown = "{msg_name(...)=..., msg_iov(1)=[{..., 16}], msg_flags=A|B, msg_control=[{x=1}, \
                 {x=2}]}";
    assert_eq!(message.arguments[1].to_string(), shown);
    let poll = call("poll([{fd=4, events=POLLIN|POLLOUT, revents=0}], 1, -1) = 0");
    let file = poll.arguments[0].pointee().expect("one file");
    assert_eq!(file.field("events").map(Value::words), Some(vec!["POLLIN", "POLLOUT"]));
    assert_eq!(call("f(htons(80), \"a b\") = 0").arguments[0].to_string(), "htons(80)");
}

#[test]
fn definitions_replace_words() {
    let definitions: Definitions = [("SIZE", "0x10"), ("COOKIE", "abcd"), ("NAME", "\"x\"")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let text = "0 write(3, NAME, SIZE) = SIZE\n0 < S 0:SIZE(16) win SIZE <FO COOKIE,nop,nop>";
    let script = Script::parse("a.pkt", text, &definitions).expect(text);
    let Action::Call(call) = &script.events[0].action else { panic!() };
    assert_eq!(call.arguments[1..], [Value::Text("x".to_owned()), Value::Integer(16)]);
    assert_eq!(call.result.value, Some(16));
    let Action::Packet(Packet::Tcp(packet)) = &script.events[1].action else { panic!() };
    assert_eq!((packet.seq.len, packet.window), (16, Some(16)));
    let first = packet.options.as_ref().map(|all| all[0].to_string());
    assert_eq!(first.as_deref(), Some("FO abcd"));
}

#[test]
fn errors_name_the_place_and_the_word() {
    for (text, wanted) in [
        ("", "a.pkt:1:1: expected an event such as `0 socket(…) = 3`, got the end of the script"),
        ("0 frob", "a.pkt:1:7: expected `(`, got the end of the script"),
        (
            "0 < Q 1:1(0)",
            "a.pkt:1:5: expected flags of `SFRP.UEWA`, each at most once, or `-`, got `Q`",
        ),
        ("0 < . 1:5(3)", "a.pkt:1:7: 1 + 3 is not 5"),
        (
            "\n +0 > . 1:1(0) <mms 3>",
            "a.pkt:2:17: expected an option (mss, wscale, sackOK, sack, TS, nop, eol, FO, FOEXP, md5, ECN), got `mms`",
        ),
        ("0 < . 1:1(0) win 65536", "a.pkt:1:18: a 16-bit window is too large: 65536"),
        ("+.1~+.2 < . 1:1(0)", "a.pkt:1:1: the time `+0.1~+0.2` is only for packets that leave"),
        ("0...1 > . 1:1(0)", "a.pkt:1:1: the time `0...1` is only for system calls"),
        ("+.2~+.1 > . 1:1(0)", "a.pkt:1:6: the end of a time range is before its start: 0.1 < 0.2"),
        ("0 /* x", "a.pkt:1:3: expected `*/` after `/*`, got the end"),
        ("0 < udp (1)", "a.pkt:1:5: `udp` packets are not supported"),
        (
            "0 < [ecn] . 1:1(0)",
            "a.pkt:1:6: expected noecn, ect0, ect1, ect01, ce, tos, ttl or flowlabel, got `ecn`",
        ),
        (
            "0 %{ if x: y }%",
            "a.pkt:1:6: expected an expression without `if`, loops and imports, got `if`",
        ),
        ("0 %{ a\nb + }%", "a.pkt:2:5: expected a value, got the end of the block"),
        (
            "`a` 0 f() = 0 `b` 0 f() = 0",
            "a.pkt:1:19: expected the end of the script after its last command, got `0`",
        ),
    ] {
        assert_eq!(error(text), wanted, "{text}");
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let lists = format!("0 f({}", "[".repeat(100_000));
    assert!(error(&lists).ends_with("values are nested more than 64 times"));
    for opening in ["(", "-", "not ", "1+"] {
        let code = format!("0 %{{ {}1 }}%", opening.repeat(100_000));
        let text = Script::parse("a.pkt", &code, &Definitions::new());
        assert!(text.is_err() || opening == "not ", "{opening}");
    }
}

/// Parts of scripts, which reach further into the reader than random characters do.
fn parts() -> BoxedStrategy<String> {
    let words = prop_oneof![
        "[-+0-9.~* ]{1,6}",
        Just(" < S. 0:0(0) ack 1 win 5 <mss 1460,sackOK,TS val 1 ecr 0> ".to_owned()),
        Just(" > . 1:1001(1000) ack 1\n".to_owned()),
        Just("+0 write(3, ..., 10) = 10 EAGAIN (x)\n".to_owned()),
        Just(" %{ assert 1 <= tcpi_x, 'a%d' % 3; x += f\"{y}\" }% ".to_owned()),
        Just("{a(...)=[1, B|C]}".to_owned()),
        "\\PC{0,6}",
        "[ \n`'\"(){}<>\\[\\]%#/*,:=.]{1,4}",
    ];
    prop::collection::vec(words, 0..12).prop_map(|words| words.concat()).boxed()
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in parts()) {
        let _ = Script::parse("a.pkt", &text, &Definitions::new());
    }
}

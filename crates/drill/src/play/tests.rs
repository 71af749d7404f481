use proptest::prelude::*;

use super::*;

/// Opens a listener and accepts a connection without timestamps as descriptor 4, at time 0.
const ACCEPTED: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>
+.1 < . 1:1(0) ack 1 win 257
+0 accept(3, ..., ...) = 4
";

fn report(text: &str) -> Report {
    run("a.pkt", text, &Options::of(Profile::Linux618))
}

/// Plays events on an accepted connection. Lines count from 1 after it.
fn accepted(events: &str) -> String {
    summary(&report(&format!("{ACCEPTED}{events}")), 7)
}

fn summary(report: &Report, skip: u32) -> String {
    let part = |text: &Option<String>| text.as_ref().map(|text| format!(" | {text}"));
    let line = report.line.map(|line| format!(" {}: ", line - skip)).unwrap_or_default();
    let problem = report.problem.clone().unwrap_or_default();
    let (expected, actual) = (part(&report.expected), part(&report.actual));
    format!(
        "{}{line}{problem}{}{}",
        report.verdict,
        expected.unwrap_or_default(),
        actual.unwrap_or_default()
    )
}

#[test]
fn data_is_sent_and_acknowledged() {
    let events = "+0 write(4, ..., 3000) = 3000\n+0 > P. 1:3001(3000) ack 1\n+.1 < . 1:1(0) ack \
                  3001 win 257\n+0 < P. 1:1001(1000) ack 3001 win 257\n+0 > . 3001:3001(0) ack \
                  1001\n+0 read(4, ..., 4000) = 1000\n+0 %{ assert tcpi_unacked == 0 }%";
    assert_eq!(accepted(events), "passed");
}

#[test]
fn a_failure_shows_both_packets_with_times() {
    assert_eq!(
        accepted("+0 write(4, ..., 500) = 500\n+0 > P. 1:501(500) ack 2 <nop,nop,sack 5:7>"),
        "failed 2: acknowledgment number 1 instead of 2; the option `sack 5:7` is missing | 0.1 > \
         P. 1:501(500) ack 2 <nop,nop,sack 5:7> | 0.1 > P. 1:501(500) ack 1 win 1050"
    );
    assert_eq!(
        accepted("+0 > . 1:1(0) ack 1"),
        "failed 1: no packet left in time | 0.1 > . 1:1(0) ack 1"
    );
    assert_eq!(
        accepted("+0 write(4, ..., 9) = 8"),
        "not applicable 1: a write of 8 of 9 bytes follows the kernel's memory accounting"
    );
    assert_eq!(
        accepted("+0 write(4, ..., 9) = -1 EPIPE (text)"),
        "failed 1: result 9 instead of -1 EPIPE | 0.1 write(4, ..., 9) = -1 EPIPE (text) | 0.1 \
         write = 9"
    );
    assert_eq!(
        accepted("+.5 %{ assert tcpi_snd_mss == 3, 'x' }%"),
        "failed 1: the assertion does not hold: x, with tcpi_snd_mss = 1000 | assert tcpi_snd_mss \
         == 3, 'x' | at 0.6 s"
    );
}

/// An event passes within 4 ms, or within 12.5 % of its distance from the event before.
#[test]
fn tolerance_of_times() {
    let resent = |times: &str| {
        accepted(&format!(
            "+0 write(4, ..., 500) = 500\n+0 > P. 1:501(500) ack 1\n{times} > P. 1:501(500) ack 1"
        ))
    };
    // The retransmission leaves after 300 ms.
    for good in ["+.3", "+.27", "+.34", "+.2~+.27", "+.33~+.4", "*"] {
        assert_eq!(resent(good), "passed", "{good}");
    }
    assert!(resent("+.26").contains("the packet left 0.04 s too late (tolerance 0.0325 s)"));
    assert!(
        resent("+.35~+.4").contains("the packet left 0.05 s too early (tolerance 0.05 s)")
            || resent("+.36~+.4").contains("too early")
    );
    let tight = format!(
        "--tolerance_usecs=1\n--tolerance_percent=0\n{ACCEPTED}+0 write(4, ..., 5) = 5\n+.001 > P. 1:6(5) ack 1"
    );
    assert!(summary(&report(&tight), 9).starts_with("failed 2: the packet left 0.001 s too early"));
}

#[test]
fn segments_are_joined() {
    let write = "+0 write(4, ..., 2500) = 2500\n";
    for good in [
        "+0 > P. 1:2501(2500) ack 1",
        "+0 > . 1:2501(2500) ack 1",
        "+0 > . 1:1001(1000) ack 1\n+0 > P. 1001:2501(1500) ack 1",
        "+0 close(4) = 0\n+0 > P. 1:2501(2500) ack 1\n+0 > F. 2501:2501(0) ack 1",
    ] {
        assert_eq!(accepted(&format!("{write}{good}")), "passed", "{good}");
    }
    for (bad, why) in [
        ("+0 > P. 1:1501(1500) ack 1", "payload length 2000 instead of 1500"),
        ("+0 > P. 1:3001(3000) ack 1", "2500 of 3000 bytes, then a segment that does not follow"),
    ] {
        let found = accepted(&format!("{write}{bad}"));
        assert!(found.contains(why), "{found}");
    }
    let text = format!("--strict_segments\n{ACCEPTED}{write}+0 > . 1:2001(2000) ack 1");
    assert!(summary(&report(&text), 0).contains("payload length 1000 instead of 2000"));
}

#[test]
fn psh_of_several_segments_is_a_note_unless_strict() {
    let text = format!("{ACCEPTED}+0 write(4, ..., 2500) = 2500\n+0 > . 1:2501(2500) ack 1");
    let found = report(&text);
    assert_eq!(found.notes, [Note { line: 9, text: "flag P is set".to_owned() }]);
    let strict = Options { strict_psh: true, ..Options::of(Profile::Linux618) };
    assert_eq!(run("a.pkt", &text, &strict).problem.as_deref(), Some("flag P is set"));
}

#[test]
fn timestamps_of_a_script_stand_for_live_ones() {
    let script = |echo: &str, seen: &str| {
        summary(
            &report(&format!(
                "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 fcntl(3, F_SETFL, O_NONBLOCK) = \
                 0\n+0 connect(3, ..., ...) = -1 EINPROGRESS (x)\n+0 > S 0:0(0) <mss \
                 1460,sackOK,TS val 100 ecr 0,nop,wscale 8>\n+.1 < S. 700:700(0) ack 1 win 5792 \
                 <mss 1000,sackOK,TS val 9 ecr {echo}>\n+0 > . 1:1(0) ack 1 <nop,nop,TS val 200 \
                 ecr {seen}>\n+.1 < . 1:1001(1000) ack 1 win 90 <nop,nop,TS val 10 ecr 200>"
            )),
            0,
        )
    };
    assert_eq!(script("100", "9"), "passed");
    assert_eq!(script("101", "9"), "failed 5: the echo 101 is no timestamp that left before");
    assert!(script("100", "8").contains("timestamp echo 9 instead of 8"));
}

#[test]
fn timestamps_follow_the_clock_of_the_script() {
    let script = |val: u32| {
        let text = format!(
            "--tcp_ts_tick_usecs=1000\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., \
             ...) = 0\n+0 listen(3, 1) = 0\n+0 < S 0:0(0) win 9 <mss 1000,sackOK,TS val 5 ecr \
             0>\n+0 > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 100 ecr 5>\n+.9 < . 1:1(0) ack 1 win \
             9 <nop,nop,TS val 6 ecr 100>\n+0 accept(3, ..., ...) = 4\n+1.1 close(4) = 0\n+0 > F. \
             1:1(0) ack 1 <nop,nop,TS val {val} ecr 6>"
        );
        summary(&report(&text), 0)
    };
    assert_eq!(script(2100), "passed");
    // The tolerance is 12.5 % of two seconds.
    assert_eq!(script(2350), "passed");
    assert!(script(2351).starts_with("failed 10: timestamp value 2100 instead of 2351"));
}

#[test]
fn calls_that_block() {
    for good in [
        "+0...0.25 read(4, ..., 100) = 50\n+.15 < P. 1:51(50) ack 1 win 257",
        "+.1...0.1 write(4, ..., 100) = 100",
        "+0...0.3 poll([{fd=4, events=POLLIN, revents=0}], 1, 200) = 0",
        "+0...0.15 poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 200) = 1\n+.05 < P. \
         1:51(50) ack 1 win 257",
    ] {
        // The base of a relative time is the event before, at 0.1 s.
        let good = good.replace("0...0.25", "0...0.15").replace("0...0.3", "0...0.2");
        let good = good.replace("0...0.15 poll", "0...0.05 poll");
        assert_eq!(accepted(&good), "passed", "{good}");
    }
    assert_eq!(
        accepted("+0...0.1 read(4, ..., 100) = 50\n+.2 < P. 1:51(50) ack 1 win 257"),
        "failed 1: the call returned 0.1 s too late (tolerance 0.0125 s) | 0.2 read(4, ..., 100) \
         = 50 | 0.3 read = 50"
    );
    assert!(accepted("+0 read(4, ..., 100) = 50").contains("the call does not return"));
}

#[test]
fn reasons_for_which_a_script_is_not_applicable() {
    for (text, reason) in [
        ("+0 < S 0:0(0) win 5 <FO,nop,nop>", "Fast Open is not implemented"),
        ("+0 < . 1:1(0) win 5 <md5 00,nop,nop>", "MD5 signatures are not implemented"),
        ("+0 < .5 1:1(0) win 5", "accurate ECN is not implemented"),
        ("+0 > [ttl 5] . 1:1(0)", "the field ttl is not played"),
        ("+0 send(4, ..., 9, MSG_OOB) = 9", "urgent data is delivered in line"),
        ("+0 sendto(4, ..., 9, 0x20000000, ..., ...) = 9", "Fast Open is not implemented"),
        ("+0 recvmsg(4, {msg_flags=0}, MSG_ERRQUEUE) = 9", "there is no error queue"),
        ("+0 mmap(4) = 9", "the call `mmap` is not supported"),
        ("+0 %{ assert tcpi_sndbuf_limited == 1 }%", "`tcpi_sndbuf_limited` is not available"),
        ("+0 `reboot`", "the command `reboot` is not supported"),
    ] {
        assert_eq!(accepted(text), format!("not applicable 1: {reason}"), "{text}");
    }
    let setting = format!("--speed=1 --foo=2\n{ACCEPTED}");
    let wanted = "not applicable 1: the setting `--foo=2` is not supported";
    assert_eq!(summary(&report(&setting), 0), wanted);
}

#[test]
fn a_closed_port_answers_with_a_reset() {
    let script =
        "0 < . 5:5(0) ack 7 win 1\n+0 > R 7:7(0)\n+0 < S 9:9(0) win 1\n+0 > R. 0:0(0) ack 1";
    let found = summary(&report(script), 0);
    assert!(found.starts_with("passed"), "{found}");
}

#[test]
fn an_unreadable_script_has_a_line() {
    let found = report("0 < . 1:1(0) ack");
    assert_eq!(found.verdict, Verdict::Unreadable);
    assert_eq!(found.line, Some(1));
    let problem = found.problem.unwrap_or_default();
    assert!(problem.starts_with("column 17: expected a 32-bit number"), "{problem}");
    assert!(found.trace.is_empty());
}

#[test]
fn a_report_is_json() {
    let options = Options { trace: true, ..Options::of(Profile::Rfc) };
    let json = run("a.pkt", &format!("{ACCEPTED}+0 `nstat`"), &options).to_json();
    assert!(json.contains(r#""file":"a.pkt","verdict":"passed","line":null"#), "{json}");
    assert!(json.contains("0 > S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 8>"), "{json}");
    assert!(json.contains(r#""events":[8,8],"unmatched":0"#), "{json}");
}

/// Events that reach every part of the player.
fn event() -> BoxedStrategy<String> {
    let numbers = 0_u32..4000;
    prop_oneof![
        (0_u32..3, 0_u32..4, numbers.clone(), 0_u32..2000, numbers.clone()).prop_map(
            |(time, flag, seq, len, ack)| {
                let flags = [".", "P.", "F.", "R."][flag as usize];
                format!("+.{time} < {flags} {seq}:{}({len}) ack {ack} win 100", seq + len)
            }
        ),
        (0_u32..3, numbers).prop_map(|(time, len)| format!("+.{time} write(4, ..., {len}) = ...")),
        Just("+.1...0.2 read(4, ..., 900) = ...".to_owned()),
        Just("+0 < S 0:0(0) win 100 <mss 100>".to_owned()),
        Just("* > P. 1:1001(1000) ack 1 <...>".to_owned()),
        Just("+0 shutdown(4, SHUT_RDWR) = ...".to_owned()),
        Just("+0 close(4) = ...".to_owned()),
        Just("+0 epoll_create(1) = 5".to_owned()),
        Just("+0 epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN|EPOLLET, fd=4}) = ...".to_owned()),
        Just("+0 epoll_wait(5, {events=0, ptr=0}, 1, 10) = ...".to_owned()),
        Just("+0 < icmp unreachable frag_needed mtu 300 [1:1001(1000)]".to_owned()),
        Just("+1000 `nstat`".to_owned()),
    ]
    .boxed()
}

proptest! {
    #[test]
    fn any_events_have_a_verdict(events in prop::collection::vec(event(), 0..20)) {
        let found = report(&format!("{ACCEPTED}{}", events.join("\n")));
        prop_assert!(found.verdict != Verdict::Unreadable, "{found:?}");
        prop_assert_eq!(found.verdict == Verdict::Passed, found.problem.is_none());
    }
}

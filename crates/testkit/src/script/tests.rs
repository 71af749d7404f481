use super::*;

fn problem(text: &str) -> String {
    let outcome = Script::parse("a.script", text).and_then(|script| script.play());
    let error = outcome.expect_err(text).to_string();
    error.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn script_is_played_once_per_variant() {
    let text = "# Nothing but the first window.
        for sender tahoe / full / iw=1 | reno+sack / full / iw=1
        for sender reno / full / iw=1
        use mss 1000
        +0   write 1500          # one and a half segments
        +0   > 1:1001(1000) ack 1
        +10ms < ack 1001
        +0   > P. 1001:1501(500)
        +0   assert flight 500, in_flight 1, timer > 0, state ESTABLISHED, recovering no
        +1s  > P. 1001:1501(500)";
    let script = Script::parse("a.script", text).unwrap();
    assert_eq!(script.play(), Ok(3));
}

#[test]
fn parse_errors_name_the_line() {
    let cases = [
        ("", "a.script:1: nothing happens in it"),
        ("use colour red\n+0 quiet", "a.script:1: no setting is called `colour`"),
        ("use nagle maybe\n+0 quiet", "a.script:1: `maybe` is not `on` or `off`"),
        ("\nuse mss 0\n+0 quiet", "a.script:2: `0` is not a segment size"),
        (
            "use rto initial 1s min 2s\n+0 quiet",
            "a.script:1: `initial 1s min 2s`: min is at most initial, initial at most max, and the tick at most min",
        ),
        (
            "use sender bbr / full / iw=1\n+0 quiet",
            "a.script:1: sender `bbr / full / iw=1`: unknown congestion control `bbr`",
        ),
        ("for mss 100 | 0\n+0 quiet", "a.script:1: `0` is not a segment size"),
        (
            "for mss 100\nfor growth ack\n+0 quiet",
            "a.script:2: `for growth` beside `for mss`: only one key can vary",
        ),
        ("+0 quiet\nuse mss 100", "a.script:2: `use` stands before what happens"),
        (
            "0 quiet",
            "a.script:1: `0` is neither `use`, nor `for`, nor a time such as `+0` or `+40ms`",
        ),
        ("+5 quiet", "a.script:1: `5` is not a time such as `0`, `40ms` or `1.5s`"),
        ("+0", "a.script:1: nothing stands after the time"),
        ("+0 sleep", "a.script:1: nothing that happens is called `sleep`"),
        ("+0 quiet please", "a.script:1: `please` means nothing after `quiet`"),
        ("+0 write many", "a.script:1: `many` is not a whole number"),
        ("+0 > 1:10(10)", "a.script:1: `1:10(10)` is not `start:end(length)`"),
        ("+0 < ack", "a.script:1: nothing stands after `ack`"),
        ("+0 < ack 1 soon", "a.script:1: `soon` says nothing of a segment"),
        ("+0 < S ws 15", "a.script:1: `15` is not between 0 and 14"),
        ("+0 <", "a.script:1: no segment"),
        ("+0 assert cwnd", "a.script:1: `cwnd` is not `name value` or `name >= value`"),
        ("+0 assert cwnd ~ 3", "a.script:1: `~` is no relation"),
    ];
    for (text, expected) in cases {
        assert_eq!(problem(text), expected);
    }
}

#[test]
fn failed_expectations_show_line_expected_and_actual() {
    let start = "use mss 1000\n+0 write 1000\n";
    let cases = [
        (
            "+0 > 1:501(500)",
            "a.script:3: expected `1:501(500)`, seen `P. 1:1001(1000) ack 1 win 65535`",
        ),
        (
            "+0 > . 1:1001(1000)",
            "a.script:3: expected `. 1:1001(1000)`, seen `P. 1:1001(1000) ack 1 win 65535`",
        ),
        (
            "+1ms > 1:1001(1000)",
            "a.script:3: expected `1:1001(1000)`, seen `P. 1:1001(1000) ack 1 win 65535` at 0s instead of 0.001s",
        ),
        ("+0 > 1:1001(1000) > 1001:1002(1)", "a.script:3: expected `1001:1002(1)`, seen nothing"),
        ("+0 quiet", "a.script:3: expected nothing, seen `P. 1:1001(1000) ack 1 win 65535` at 0s"),
        (
            "+0 > 1:1001(1000)\n+1s quiet",
            "a.script:4: expected nothing, seen `P. 1:1001(1000) ack 1 win 65535` at 1s",
        ),
        ("+0 > 1:1001(1000)\n+0 assert cwnd 5", "a.script:4: expected cwnd 5, seen 1000"),
        ("+0 > 1:1001(1000)\n+0 assert cwnd < 5", "a.script:4: expected cwnd < 5, seen 1000"),
        ("+0 > 1:1001(1000)\n+0 assert timer off", "a.script:4: expected timer off, seen 1s"),
        (
            "+0 > 1:1001(1000)\n+0 assert weather 5",
            "a.script:4: nothing to assert is called `weather`",
        ),
        (
            "+0 > 1:1001(1000)\n+0 close fails",
            "a.script:4: expected the call to fail, and it did not",
        ),
        ("+0 > 1:1001(1000)\n+0 connect", "a.script:4: cannot connect in state ESTABLISHED"),
        ("+0 > 1:1001(1000)\n+0 write 5 = 4", "a.script:4: expected 4 bytes to be taken, seen 5"),
        ("+0 > 1:1001(1000)\n+0 read 5", "a.script:4: expected 5 bytes to be read, seen 0"),
        (
            "+0 > 1:1001(1000)\n+0 event connected",
            "a.script:4: expected the event `connected`, seen `none`",
        ),
        (
            "+0 > 1:1001(1000)\n+0 < ack 1 win 70000",
            "a.script:4: a window of 70000 can't be said with a scale of 0",
        ),
        ("+0 > 1:1001(1000)\n+0 < SF", "a.script:4: `SF` opens, ends or resets at once"),
        (
            "+0 > 1:1001(1000)\n+0 < ack 1 sack 9:5",
            "a.script:4: `9:5` is no block, or one too many",
        ),
        // Segments left at the end are also an error.
        (
            "+0 assert state ESTABLISHED",
            "a.script:3: expected nothing, seen `P. 1:1001(1000) ack 1 win 65535` at 0s",
        ),
    ];
    for (end, expected) in cases {
        assert_eq!(problem(&format!("{start}{end}")), expected);
    }
}

#[test]
fn errors_show_variant_and_last_segments() {
    let text = "for mss 1000 | 500\n+0 write 1000\n+0 > 1:1001(1000)";
    let error = Script::parse("a.script", text).unwrap().play().unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(
        lines,
        [
            "a.script:3: with mss 500: expected `1:1001(1000)`, seen `. 1:501(500) ack 1 win 65535`",
            "    at 0s: ESTABLISHED cwnd 500 ssthresh 1073741824 flight 500 in_flight 1 mss_c 500 peer_window 65535 rto 1s",
            "    0s > . 1:501(500) ack 1 win 65535",
        ]
    );
}

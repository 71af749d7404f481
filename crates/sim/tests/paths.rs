//! Paths with a changing delay or reordering, in whole runs.

mod common;

use common::{CLASSIC, FIXED, Run, greedy, network, web};

const BUFFER: &str = r#", "buffer": {"bytes": "150kB"}"#;
const RED: &str =
    r#", "buffer": {"bytes": "150kB", "red": {"min_bytes": "20kB", "max_bytes": "90kB"}}"#;
const CODEL: &str = r#", "buffer": {"bytes": "150kB", "codel": {}}"#;

fn run(link: &str, seed: u64) -> Run {
    let workloads = [web(FIXED, 0.5), greedy(CLASSIC, 5)].join(",");
    let mut scenario = network("20s", link, &workloads);
    scenario.tcp.ecn = Some(true);
    scenario.drain = Some(sim::scenario::Text(units::Duration::ZERO));
    Run::new(&scenario, seed)
}

/// A link that may reorder uses another code path in the simulator than one that cannot.
#[test]
fn a_path_that_never_reorders_changes_nothing() {
    for buffer in [BUFFER, RED, CODEL] {
        let plain = run(buffer, 3);
        for path in [
            r#", "reorder": {"probability": 0.0, "by": "1s"}"#,
            r#", "changes": [{"at": "0s", "delay": "50ms"}, {"at": "9s", "delay": "50ms"}]"#,
            r#", "changes": [{"at": "21s", "delay": "1ms"}]"#,
        ] {
            assert_eq!(
                run(&format!("{buffer}{path}"), 3).digest(),
                plain.digest(),
                "{buffer}{path}"
            );
        }
    }
}

#[test]
fn reordering_causes_spurious_retransmissions() {
    let reordering = |buffer: &str, probability: f64| {
        let link =
            format!(r#"{buffer}, "reorder": {{"probability": {probability}, "by": "20ms"}}"#);
        let made = run(&link, 5);
        assert_eq!(made.digest(), run(&link, 5).digest());
        let links = &made.links;
        for row in 0..links.len() {
            let dropped = links.dropped_buffer_packets[row] + links.dropped_early_packets[row];
            let there = links.delivered_packets[row] + links.held_packets[row];
            assert_eq!(links.offered_packets[row], there + dropped);
        }
        made.flows.fast_retransmits.iter().sum::<u32>()
    };
    for buffer in ["", RED, CODEL] {
        let (still, often) = (reordering(buffer, 0.0), reordering(buffer, 0.05));
        assert!(often > 5 * still + 50, "{buffer}: {still} and {often} fast retransmits");
    }
}

/// One segment per round trip: 1.2 ms on the line, 32 µs for its acknowledgment, and 100 or 300 ms
/// of propagation.
#[test]
fn a_window_of_one_follows_the_delay() {
    let segments = |path: &str| {
        let made = Run::new(&network("20s", path, &greedy("fixed(n=1) / full / iw=1", 1)), 1);
        f64::from(made.flows.segments[0])
    };
    let (short, long) = (1.0 / 0.101_232, 1.0 / 0.301_232);
    let plain = segments("");
    let longer = segments(r#", "changes": [{"at": "5s", "delay": "250ms"}]"#);
    let back = segments(
        r#", "changes": [{"at": "5s", "delay": "250ms"}, {"at": "10s", "delay": "50ms"}]"#,
    );
    assert!((plain - longer - 15.0 * (short - long)).abs() < 3.0, "{plain} and {longer}");
    assert!((plain - back - 5.0 * (short - long)).abs() < 3.0, "{plain} and {back}");
}

/// A change of the delay alone is known in advance. With another key, the link computes the packets
/// in its queue again.
#[test]
fn both_kinds_of_change_have_the_same_effect() {
    for buffer in [BUFFER, RED] {
        for delay in ["20ms", "90ms"] {
            let with = |more: &str| {
                let changes = format!(r#", "changes": [{{"at": "7s", "delay": "{delay}"{more}}}]"#);
                run(&format!("{buffer}{changes}"), 4).digest()
            };
            assert_eq!(with(""), with(r#", "rate": "10Mb/s""#), "{buffer} {delay}");
        }
    }
}

#[test]
fn throughput_follows_the_rate() {
    let delivered = |changes: &str| {
        let link = format!(r#"{BUFFER}, "changes": [{changes}]"#);
        let made = Run::new(&network("20s", &link, &greedy(CLASSIC, 5)), 1);
        let links = &made.links;
        let dropped = links.dropped_buffer_packets[0] + links.dropped_loss_packets[0];
        let there = links.delivered_packets[0] + links.held_packets[0];
        assert_eq!(links.offered_packets[0], there + dropped);
        let megabits = u32::try_from(links.delivered_bytes[0] / 125_000).unwrap();
        (f64::from(megabits), links.dropped_loss_packets[0])
    };
    let (constant, _) = delivered("");
    let (slower, _) = delivered(r#"{"at": "10s", "rate": "1Mb/s"}"#);
    // Ten seconds at 1 Mb/s, of which the line is busy all the time.
    let first_half = slower - 10.0;
    assert!((first_half - constant / 2.0).abs() < 0.1 * constant, "{constant} and {slower} Mb");
    let (outage, lost) = delivered(
        r#"{"at": "10s", "loss": {"kind": "packet", "probability": 1.0}},
           {"at": "12s", "loss": {"kind": "packet", "probability": 0.0}}"#,
    );
    assert!(lost > 0);
    assert!(outage < constant - 2.0 * 10.0 * 0.8, "{constant} and {outage} Mb");
}

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
            r#", "delay_changes": [{"at": "0s", "delay": "50ms"}, {"at": "9s", "delay": "50ms"}]"#,
            r#", "delay_changes": [{"at": "21s", "delay": "1ms"}]"#,
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
    let longer = segments(r#", "delay_changes": [{"at": "5s", "delay": "250ms"}]"#);
    let back = segments(
        r#", "delay_changes": [{"at": "5s", "delay": "250ms"}, {"at": "10s", "delay": "50ms"}]"#,
    );
    assert!((plain - longer - 15.0 * (short - long)).abs() < 3.0, "{plain} and {longer}");
    assert!((plain - back - 5.0 * (short - long)).abs() < 3.0, "{plain} and {back}");
}

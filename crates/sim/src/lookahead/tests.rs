//! The rows of a run do not depend on look-ahead.

use proptest::prelude::*;

use crate::scenario::Scenario;
use crate::simulation::{Simulation, Status};

/// Digests of a run's tables, and the number of its events.
fn run(scenario: &Scenario, seed: u64, looks_ahead: bool) -> ([u64; 4], u64) {
    let mut simulation = Simulation::new(scenario, seed).unwrap();
    if !looks_ahead {
        simulation.stop_looking_ahead();
    }
    while simulation.advance(1000) == Status::Running {}
    let tables = [
        simulation.take_flows().digest(),
        simulation.take_recoveries().digest(),
        simulation.take_samples().digest(),
        simulation.links().digest(),
    ];
    (tables, simulation.events())
}

fn scenario(links: &[&str], workloads: &[&str], more: &str) -> Scenario {
    let json = format!(
        r#"{{"name": "ahead", "link": [{}], "workload": [{}], {more}}}"#,
        links.join(","),
        workloads.join(",")
    );
    Scenario::from_json(&json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

const THERE: &str = r#"{"name": "there", "from": "a", "to": "b", "rate": "2Mb/s", "delay": "20ms", "buffer": {"bytes": "20kB"}}"#;
const BACK: &str = r#"{"name": "back", "from": "b", "to": "a", "delay": "20ms"}"#;
const SLOW_BACK: &str = r#"{"name": "back", "from": "b", "to": "a", "rate": "50kb/s", "delay": "20ms", "buffer": {"packets": 20}}"#;
const GREEDY: &str = r#"{"name": "greedy", "kind": "greedy", "flows": 5, "from": "a", "to": "b", "sender": "reno+sack / full / iw=1"}"#;
const OPENED: &str = r#"{"name": "web", "kind": "poisson", "rate": 10, "sizes": {"classes": [500, 5000, 50000]}, "handshake": true, "from": "a", "to": "b", "sender": "reno+sack / fs(n=4) / iw=1"}"#;
const EVERY: &str =
    r#""duration": "20s", "drain": "0s", "tcp": {"profile": "ns2", "ack_every": 1}"#;

/// The number of events with look-ahead over that without it. Checks that the rows are equal.
fn share_of_events(scenario: &Scenario) -> f64 {
    let ((ahead, fewer), (later, more)) = (run(scenario, 1, true), run(scenario, 1, false));
    assert_eq!(ahead, later);
    f64::from(u32::try_from(fewer).unwrap()) / f64::from(u32::try_from(more).unwrap())
}

#[test]
fn lookahead_is_used_where_allowed() {
    assert!(share_of_events(&scenario(&[THERE, BACK], &[GREEDY], EVERY)) < 0.55);
    assert!(share_of_events(&scenario(&[THERE, BACK], &[GREEDY, OPENED], EVERY)) < 0.65);
    assert!(share_of_events(&scenario(&[THERE, SLOW_BACK], &[GREEDY], EVERY)) < 0.65);
    let warmed_up = format!(r#"{EVERY}, "warm_up": "1s""#);
    assert!(share_of_events(&scenario(&[THERE, SLOW_BACK], &[GREEDY], &warmed_up)) < 0.65);
}

#[test]
fn lookahead_is_not_used_where_events_could_interfere() {
    let same = |links: &[&str], workloads: &[&str], more: &str| {
        let share = share_of_events(&scenario(links, workloads, more));
        assert!(share >= 1.0, "{links:?} {workloads:?} {more}: {share}");
    };
    let delayed = EVERY.replace(r#""ack_every": 1"#, r#""ack_every": 2"#);
    same(&[THERE, BACK], &[GREEDY], &delayed);
    same(&[THERE, SLOW_BACK], &[GREEDY, OPENED], EVERY);
    let lossy =
        THERE.replace(r#""20ms""#, r#""20ms", "loss": {"kind": "packet", "probability": 0.01}"#);
    same(&[&lossy, BACK], &[GREEDY], EVERY);
    let opened = OPENED.replace("true", r#"true, "opener": "receiver""#);
    same(&[THERE, BACK], &[GREEDY, &opened], EVERY);
    same(&[THERE, BACK], &[GREEDY], &format!(r#"{EVERY}, "trace": ["greedy"]"#));
    same(
        &[THERE, BACK],
        &[GREEDY],
        &format!(r#"{EVERY}, "samples": {{"every": "1s", "workloads": ["greedy"]}}"#),
    );
}

/// A buffer that drops every acknowledgment.
const NO_ROOM: &str = r#", "buffer": {"bytes": "30B"}"#;

fn any_link(name: &'static str, from: &'static str, to: &'static str) -> BoxedStrategy<String> {
    let rate = prop_oneof![
        1 => Just(String::new()),
        3 => (30..5000u32).prop_map(|rate| format!(r#""rate": "{rate}kb/s","#)),
    ];
    let buffer = prop_oneof![
        2 => Just(String::new()),
        2 => (1600..60_000u32).prop_map(|bytes| format!(r#", "buffer": {{"bytes": "{bytes}B"}}"#)),
        1 => (1..30u32).prop_map(|packets| format!(r#", "buffer": {{"packets": {packets}}}"#)),
        1 => Just(NO_ROOM.to_owned()),
    ];
    let loss = prop_oneof![
        9 => Just(""),
        1 => Just(r#", "loss": {"kind": "packet", "probability": 0.02}"#),
    ];
    // Whole milliseconds, so that many events happen in the same instant.
    let delay = prop_oneof![1..200u32, Just(1000)];
    (rate, delay, buffer, loss).prop_map(move |(rate, delay, buffer, loss)| {
        format!(r#"{{"name": "{name}", "from": "{from}", "to": "{to}", {rate} "delay": "{delay}ms" {buffer} {loss}}}"#)
    }).boxed()
}

fn any_workload(name: &'static str, ends: [&'static str; 2]) -> BoxedStrategy<String> {
    let kind = prop_oneof![
        (1..6u32)
            .prop_map(|flows| format!(r#""kind": "greedy", "flows": {flows}, "spread": "1s""#)),
        (1..20u32).prop_map(|rate| format!(
            r#""kind": "poisson", "rate": {rate}, "sizes": {{"classes": [100, 3000, 40000]}}"#
        )),
    ];
    let sender = prop_oneof![
        Just("reno / full / iw=1"),
        Just("reno+sack / fs(n=4) / iw=1"),
        Just("reno+sack / vs / iw=2"),
        Just("vegas / full / iw=1"),
        Just("santa-cruz / full / iw=1"),
    ];
    let handshake = prop_oneof![
        3 => Just("false"),
        3 => Just("true"),
        1 => Just(r#"true, "opener": "receiver""#),
    ];
    (kind, sender, handshake).prop_map(move |(kind, sender, handshake)| {
        let [from, to] = ends;
        format!(r#"{{"name": "{name}", {kind}, "from": "{from}", "to": "{to}", "sender": "{sender}", "handshake": {handshake}}}"#)
    }).boxed()
}

fn any_scenario() -> BoxedStrategy<Scenario> {
    let workloads = (
        any_workload("one", ["a", "b"]),
        any_workload("two", ["a", "b"]),
        any_workload("other", ["b", "a"]),
    );
    let workloads = (workloads, 0..6u8).prop_map(|((one, two, other), which)| match which {
        0..=2 => vec![one],
        3 | 4 => vec![one, two],
        _ => vec![one, other],
    });
    let ack_every = prop_oneof![4 => Just(1u8), 1 => Just(2)];
    // Timers that expire while the segment that would stop them is in the network.
    let initial = prop_oneof![Just("300ms"), Just("3s")];
    let options = (ack_every, initial, any::<[bool; 6]>());
    let links = (any_link("there", "a", "b"), any_link("back", "b", "a"));
    (links, workloads, options).prop_map(|((there, back), workloads, (ack_every, initial, flags))| {
        let [warm_up, samples, timestamps, ecn, jitter, drain] = flags;
        let more = format!(
            r#""duration": "{}", "drain": "{}", {} {} "tcp": {{"profile": "ns2", "ack_every": {ack_every}, "rto_initial": "{initial}", "rto_min": "200ms",
               "timestamps": {timestamps}, "ecn": {ecn} {}}}"#,
            if warm_up { "7s" } else { "10s" },
            if drain { "5s" } else { "0s" },
            if warm_up { r#""warm_up": "1500ms","# } else { "" },
            if samples { r#""samples": {"every": "500ms", "links": ["there", "back"]},"# } else { "" },
            if jitter { r#", "send_jitter": "2ms""# } else { "" },
        );
        let workloads: Vec<&str> = workloads.iter().map(String::as_str).collect();
        // A scenario whose data never fits a buffer is refused.
        let there = there.replace(NO_ROOM, "");
        let data_comes_back = workloads.iter().any(|workload| workload.contains(r#""from": "b""#));
        let back = if data_comes_back { back.replace(NO_ROOM, "") } else { back };
        scenario(&[&there, &back], &workloads, &more)
    }).boxed()
}

proptest! {
    #[test]
    fn rows_do_not_depend_on_lookahead(scenario in any_scenario(), seed in 0..100u64) {
        prop_assert_eq!(run(&scenario, seed, true).0, run(&scenario, seed, false).0);
    }
}

//! Balanced discard and controlled delay in whole runs: their drops, the time of their decisions,
//! and the flows' results.

mod common;

use std::collections::HashMap;

use common::{CLASSIC, FIXED, Run, greedy, network, switch, web};
use sim::scenario::Text;
use sim::{Plan, Scenario, Simulation, Status};

const TAIL: &str = r#", "buffer": {"bytes": "150kB"}"#;
const BALANCED: &str =
    r#", "buffer": {"bytes": "150kB", "balanced": {"lower": 0.4, "upper": 0.9, "gap": 25}}"#;
const CODEL: &str = r#", "buffer": {"bytes": "150kB", "codel": {}}"#;
const BPD: &str =
    r#"{"cells": 400, "discard": {"policy": "bpd", "lower": 0.4, "upper": 0.9, "gap": 20}}"#;
const PLAIN: &str = r#"{"cells": 400}"#;

/// The bottleneck's early drops, buffer drops and marks. Also checks that every link's books
/// balance.
fn bottleneck(run: &Run) -> [u64; 3] {
    let links = &run.links;
    for row in 0..links.len() {
        let packets = links.dropped_buffer_packets[row]
            + links.dropped_early_packets[row]
            + links.dropped_loss_packets[row];
        let bytes = links.dropped_buffer_bytes[row]
            + links.dropped_early_bytes[row]
            + links.dropped_loss_bytes[row];
        let (held, delivered) = (links.held_packets[row], links.delivered_packets[row]);
        assert_eq!(links.offered_packets[row], delivered + packets + held);
        let (held, delivered) = (links.held_bytes[row], links.delivered_bytes[row]);
        assert_eq!(links.offered_bytes[row], delivered + bytes + held);
    }
    [links.dropped_early_packets[0], links.dropped_buffer_packets[0], links.marked_packets[0]]
}

fn timeouts(run: &Run) -> u32 {
    run.flows.timeouts.iter().sum()
}

fn with_ecn(mut scenario: Scenario) -> Scenario {
    scenario.tcp.ecn = Some(true);
    scenario
}

/// §4 of the paper, with packets: spaced losses are repaired without a timeout.
#[test]
fn balanced_discard_spaces_losses() {
    let run =
        |more| Run::new(&switch(5, "30Mb/s", &format!(r#"{{"packets": 100{more}}}"#), "20s"), 1);
    let (tail, balanced) =
        (run(""), run(r#", "balanced": {"lower": 0.4, "upper": 0.9, "gap": 25}"#));
    let [early, full, marked] = bottleneck(&balanced);
    assert!(early > 1000 && marked == 0, "{early} early, {full} for want of room, {marked} marked");
    assert_eq!(bottleneck(&tail)[0], 0);
    assert!(
        timeouts(&balanced) * 4 < timeouts(&tail),
        "{} and {}",
        timeouts(&balanced),
        timeouts(&tail)
    );
    assert!(balanced.links.utilisation[0] > tail.links.utilisation[0]);
}

#[test]
fn controlled_delay_limits_waiting_times() {
    let workloads = [web(FIXED, 0.4), greedy(CLASSIC, 10)].join(",");
    let run = |buffer, seed| Run::new(&network("60s", buffer, &workloads), seed);
    let (tail, codel) = (run(TAIL, 1), run(CODEL, 1));
    let [early, _, marked] = bottleneck(&codel);
    assert!(early > 100 && marked == 0, "{early} dropped, {marked} marked");
    assert!(codel.links.mean_queue_bytes[0] < tail.links.mean_queue_bytes[0] / 2.0);
    assert!(codel.links.utilisation[0] > 0.85, "{}", codel.links.utilisation[0]);
    assert_eq!(codel.digest(), run(CODEL, 1).digest());
}

/// A mark made when a packet leaves has the same response as any other mark.
#[test]
fn controlled_delay_marks_what_is_ecn_capable() {
    let workloads = greedy(CLASSIC, 10);
    let ecn = Run::new(&with_ecn(network("60s", CODEL, &workloads)), 2);
    let [early, full, marks] = bottleneck(&ecn);
    assert!(
        marks > 100 && early * 10 < marks,
        "{marks} marked, {early} dropped, {full} for want of room"
    );
    let reductions = (0..ecn.recoveries.len())
        .filter(|&row| ecn.recoveries.cause.get(row) == Some("ecn"))
        .count() as u64;
    assert!(reductions > 50 && reductions <= marks, "{reductions} reductions");
    let off = CODEL.replace("{}", r#"{"ecn": false}"#);
    assert_eq!(bottleneck(&Run::new(&with_ecn(network("60s", &off, &workloads)), 2))[2], 0);
}

/// Every sent packet arrives, is dropped or is in the network at the end: exactly one of these, and
/// in order of time.
#[test]
fn every_packet_has_one_outcome() {
    let workloads = [web(FIXED, 0.4), greedy(CLASSIC, 5)].join(",");
    let lossy =
        |buffer: &str| format!(r#"{buffer}, "loss": {{"kind": "packet", "probability": 0.01}}"#);
    let mut scenarios: Vec<Scenario> = [BALANCED.to_owned(), lossy(CODEL), CODEL.to_owned()]
        .iter()
        .map(|buffer| network("20s", buffer, &workloads))
        .collect();
    scenarios.push(with_ecn(network("20s", CODEL, &workloads)));
    scenarios.extend([BPD, PLAIN].map(|buffer| switch(3, "45Mb/s", buffer, "5s")));
    for mut scenario in scenarios {
        scenario.trace =
            scenario.workloads.iter().map(|workload| workload.name().clone()).collect();
        scenario.warm_up = Text(units::Duration::ZERO);
        scenario.drain = Some(Text(units::Duration::ZERO));
        let mut simulation = Simulation::new(&scenario, 1).unwrap();
        while simulation.advance(100_000) == Status::Running {}
        let (packets, links) = (simulation.take_packets(), simulation.links());
        assert!(packets.time_s.is_sorted());
        let mut fates: HashMap<(u64, u32), u32> = HashMap::new();
        let mut dropped = 0;
        for row in 0..packets.len() {
            let (packet, event) =
                ((packets.flow[row], packets.packet[row]), packets.event.get(row).unwrap());
            let fates = match event {
                "sent" => fates.insert(packet, 0).map_or(0, |_| 99),
                "marked" => fates[&packet],
                _ => {
                    dropped += u64::from(event.starts_with("dropped"));
                    let fates = fates.get_mut(&packet).unwrap();
                    *fates += 1;
                    *fates - 1
                }
            };
            assert_eq!(fates, 0, "{packet:?} was {event} after its end, or sent twice");
        }
        let open = fates.values().filter(|&&fates| fates == 0).count() as u64;
        let sum = |column: &[u64]| column.iter().sum::<u64>();
        assert_eq!(open, sum(&links.held_packets));
        let in_books = [
            &links.dropped_buffer_packets,
            &links.dropped_early_packets,
            &links.dropped_loss_packets,
        ];
        assert_eq!(dropped, in_books.map(|column| sum(column)).iter().sum::<u64>());
        assert!(dropped > 20, "{dropped} dropped");
    }
}

#[test]
fn two_disciplines_are_refused() {
    let refused = |buffer: &str, rate: &str| {
        let json = format!(
            r#"{{"name": "x", "duration": "1s", "link": [
                {{"name": "a", "from": "s", "to": "d"{rate}, "buffer": {{"packets": 9, {buffer}}}}},
                {{"name": "b", "from": "d", "to": "s", "delay": "1ms"}}],
                "workload": [{{"name": "w", "kind": "greedy", "from": "s", "to": "d", "flows": 1, "sender": "reno / full / iw=1"}}]}}"#
        );
        Scenario::from_json(&json).and_then(|s| Plan::new(&s)).unwrap_err().to_string()
    };
    let rate = r#", "rate": "1Mb/s""#;
    let balanced = r#""balanced": {"lower": 0.4, "upper": 0.9, "gap": 25}"#;
    assert_eq!(
        refused(&format!(r#"{balanced}, "codel": {{}}"#), rate),
        "link[0].buffer.codel: there is `balanced` as well; only one can decide"
    );
    assert_eq!(
        refused(&format!(r#"{balanced}, "red": {{"min_packets": 1, "max_packets": 3}}"#), rate),
        "link[0].buffer.balanced: there is `red` as well; only one can decide"
    );
    assert_eq!(refused(r#""codel": {}"#, ""), "link[0].buffer.codel: needs a link with a `rate`");
    assert_eq!(refused(balanced, ""), "link[0].buffer.balanced: needs a link with a `rate`");
    assert_eq!(
        refused(r#""codel": {"target": "200ms"}"#, rate),
        "link[0].buffer.codel.target: CoDel with a target of 0.2s and an interval of 0.1s is impossible: the first must be \
         above zero and below the second"
    );
    assert_eq!(
        refused(r#""discard": {"policy": "ppd"}"#, rate),
        "link[0].buffer.discard: goes with `cells`, not with `bytes` or `packets`"
    );
    assert_eq!(
        refused(r#""balanced": {"lower": 0.4, "upper": 0.9}"#, rate),
        "link[0].buffer.balanced.gap: missing"
    );
}

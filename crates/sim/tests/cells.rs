//! Packets as cells in whole runs: Cohen and Hamo's topologies, balanced discard, and the books.

mod common;

use common::{Run, switch};
use sim::tables::span_s;
use sim::{Plan, Scenario, Simulation, Status};
use units::Duration;

const PLAIN: &str = r#"{"cells": 1200}"#;
const PPD: &str = r#"{"cells": 1200, "discard": {"policy": "ppd"}}"#;
const EPD: &str = r#"{"cells": 1200, "discard": {"policy": "epd", "threshold": 0.7}}"#;
const BPD: &str =
    r#"{"cells": 1200, "discard": {"policy": "bpd", "lower": 0.4, "upper": 0.9, "gap": 25}}"#;

/// Topology B: five lines of 30 Mb/s.
fn five(buffer: &str, duration: &str) -> Run {
    Run::new(&switch(5, "30Mb/s", buffer, duration), 1)
}

#[test]
fn books_balance_in_packets_and_in_cells() {
    for buffer in [PLAIN, PPD, EPD, BPD] {
        let run = five(buffer, "5s");
        let links = &run.links;
        for row in 0..links.len() {
            let gone = links.dropped_buffer_packets[row]
                + links.dropped_early_packets[row]
                + links.dropped_loss_packets[row];
            let balance = links.delivered_packets[row] + gone + links.held_packets[row];
            assert_eq!(links.offered_packets[row], balance, "{buffer}, link {row}");
        }
        let cell = |column: &sim::tables::Nullable<u64>| column.get(0).unwrap();
        let (offered, delivered) = (cell(&links.offered_cells), cell(&links.delivered_cells));
        let (dropped, held) = (cell(&links.dropped_cells), cell(&links.held_cells));
        assert_eq!(offered, delivered + dropped + held, "{buffer}");
        // A datagram of 576 bytes is 13 cells. Packets in the buffer at either end of the count may
        // be partial.
        let useful = delivered - cell(&links.wasted_cells);
        assert!(useful.abs_diff(13 * links.delivered_packets[0]) <= 2 * 1200, "{buffer}");
        assert_eq!(
            dropped > 0,
            links.dropped_buffer_packets[0] + links.dropped_early_packets[0] > 0
        );
        assert_eq!(links.offered_cells.get(1), None);
        // 53 bytes of 5.653 µs: the line is busy with cells only.
        let busy = links.utilisation[0] * links.duration_s[0];
        let cells = span_s(Duration::from_nanos(delivered * 424_000 / 75));
        assert!((busy - cells).abs() < 1e-4, "{buffer}: {busy}");
    }
}

/// §3: a better policy sends fewer cells in vain. §5: BPD avoids most timeouts.
#[test]
fn policies_are_ordered_as_in_the_paper() {
    let wasted = |run: &Run| run.links.wasted_cells.get(0).unwrap();
    let timeouts = |run: &Run| run.flows.timeouts.iter().sum::<u32>();
    let runs = [PLAIN, PPD, EPD, BPD].map(|buffer| five(buffer, "20s"));
    let [plain, ppd, epd, bpd] = &runs;
    assert!(wasted(plain) > wasted(ppd) && wasted(ppd) > wasted(epd));
    assert!(timeouts(bpd) * 4 < timeouts(epd), "{} and {} timeouts", timeouts(bpd), timeouts(epd));
    let delivered = |run: &Run| run.links.delivered_packets[0];
    assert!(delivered(bpd) > delivered(epd), "{} and {} packets", delivered(bpd), delivered(epd));
}

/// A link behind a port loses whole packets, whose cells were sent in vain.
#[test]
fn a_port_may_lose_packets_on_its_line() {
    let mut scenario = switch(5, "30Mb/s", BPD, "2s");
    scenario.links[0].loss =
        serde_json::from_str(r#"{"kind": "packet", "probability": 0.01}"#).unwrap();
    let links = Run::new(&scenario, 1).links;
    let lost = links.dropped_loss_packets[0];
    assert!(lost > 50, "{lost}");
    assert!(links.wasted_cells.get(0).unwrap() >= 13 * lost);
}

#[test]
fn the_same_seed_gives_the_same_cells() {
    let scenario = switch(10, "75Mb/s", BPD, "3s");
    let whole = Run::new(&scenario, 1);
    assert_eq!(whole.digest(), Run::new(&scenario, 1).digest());
    let mut simulation = Simulation::new(&scenario, 1).unwrap();
    while simulation.advance(101) == Status::Running {}
    assert_eq!(simulation.links().digest(), whole.links.digest());
}

/// Without other traffic a packet's cells follow each other through the port. The packet arrives
/// one cell time after its last cell reached the port.
#[test]
fn cells_cut_through_the_port() {
    let workload = r#"{"name": "one", "kind": "transfers", "from": "s", "to": "d", "sizes": [536], "start": "0s",
        "spacing": "1s", "sender": "reno / full / iw=1"}"#;
    let run = |first: &str| {
        let json = format!(
            r#"{{"name": "one", "duration": "1s", "link": [
                {{"name": "in", "from": "s", "to": "m", "rate": "42.4Mb/s", "delay": "1ms"{first}}},
                {{"name": "port", "from": "m", "to": "d", "rate": "84.8Mb/s", "delay": "1ms", "buffer": {PPD}}},
                {{"name": "back", "from": "d", "to": "s", "rate": "42.4Mb/s", "delay": "1ms", "cells": "aal5"}}],
                "workload": [{workload}], "tcp": {{"profile": "ns2", "mss": 536, "header": "40B"}}}}"#
        );
        let run = Run::new(&Scenario::from_json(&json).unwrap(), 1);
        [run.flows.receiver_s.get(0), run.flows.sender_s.get(0)]
    };
    let after = |nanos| Some(span_s(Duration::from_nanos(nanos)));
    // 13 cells of 10 µs, and one of 5 µs; the acknowledgment is one cell.
    assert_eq!(run(r#", "cells": "aal5""#), [after(2_135_000), after(3_145_000)]);
    // 576 bytes at 42.4 Mb/s are 108.68 µs; the last cell is complete with the last byte.
    assert_eq!(run("")[0], after(2_113_680));
}

/// Returns the error and the hint of a scenario with these links.
fn refused(links: &str) -> String {
    let json = format!(
        r#"{{"name": "x", "duration": "1s", "link": [{links}, {{"name": "back", "from": "d", "to": "s", "delay": "1ms"}}],
            "workload": [{{"name": "w", "kind": "greedy", "from": "s", "to": "d", "flows": 1, "sender": "reno / full / iw=1"}}]}}"#
    );
    let scenario = Scenario::from_json(&json).expect("the keys are known");
    let error = Plan::new(&scenario).expect_err(&json);
    format!("{error} | {}", error.hint().unwrap_or("-"))
}

/// A link that leads to the port, with more keys.
fn link_to_port(more: &str) -> String {
    format!(r#"{{"name": "a", "from": "s", "to": "m", "rate": "1Mb/s"{more}}}"#)
}

/// A port, with more keys of its buffer.
fn port(more: &str) -> String {
    format!(
        r#"{{"name": "p", "from": "m", "to": "d", "rate": "1Mb/s", "buffer": {{"cells": 9{more}}}}}"#
    )
}

#[test]
fn invalid_links_to_a_port_are_refused() {
    let refused = |more: &str| refused(&format!("{}, {}", link_to_port(more), port("")));
    for (key, value) in [
        ("changes", r#"[{"at": "1s", "delay": "1ms"}]"#),
        ("reorder", r#"{"probability": 0.1, "by": "1ms"}"#),
    ] {
        assert_eq!(
            refused(&format!(r#", "{key}": {value}"#)),
            format!(
                "link[0].{key}: does not go with cells that come in order: the link leads to the port `p` | -"
            )
        );
    }
    assert_eq!(
        refused(r#", "buffer": {"cells": 5}"#),
        "link[0].buffer.cells: a port cannot lead to another port, `p`: its cells are interleaved | put a link without a \
         buffer of `cells` between the two: there packets are whole"
    );
}

#[test]
fn invalid_ports_are_refused() {
    let with_port = |port: &str| refused(&format!("{}, {port}", link_to_port("")));
    for (more, error) in [
        (
            r#", "packets": 5"#,
            "link[1].buffer.packets: does not go with `cells` | a port has `cells` and `discard`",
        ),
        (
            r#", "discard": {"policy": "epd"}"#,
            "link[1].buffer.discard.threshold: missing; kind `epd` needs it | -",
        ),
        (
            r#", "discard": {"policy": "ppd", "gap": 5}"#,
            "link[1].buffer.discard.gap: does not belong to kind `ppd` | -",
        ),
        (
            r#", "discard": {"policy": "bpd", "lower": 0.9, "upper": 0.4, "gap": 5}"#,
            "link[1].buffer.discard.lower: balanced discard between 0.9 and 0.4 of the buffer is impossible: the first must not \
             be above the second | -",
        ),
        (
            r#", "discard": {"policy": "epd", "threshold": 40}"#,
            "link[1].buffer.discard.threshold: 40.0 is not a share of the buffer, 0 to 1 | 0.4 is 40 % of it",
        ),
    ] {
        assert_eq!(with_port(&port(more)), error);
    }
    let without_rate = port("").replace(r#""rate": "1Mb/s", "#, "");
    assert_eq!(with_port(&without_rate), "link[1].buffer.cells: needs a link with a `rate` | -");
}

/// A link that leads to a port delivers cells: packets with another next hop need a link of their
/// own.
#[test]
fn a_line_leads_to_a_port_or_elsewhere() {
    let json = r#"{"name": "x", "duration": "1s", "link": [
            {"name": "a", "from": "s", "to": "m", "rate": "1Mb/s"},
            {"name": "p", "from": "m", "to": "d", "rate": "1Mb/s", "buffer": {"cells": 9}},
            {"name": "back", "from": "d", "to": "s", "delay": "1ms"},
            {"name": "other", "from": "m", "to": "s", "delay": "1ms"}],
        "workload": [
            {"name": "w", "kind": "greedy", "from": "s", "to": "d", "flows": 1, "sender": "reno / full / iw=1"},
            {"name": "v", "kind": "greedy", "from": "s", "to": "m", "flows": 1, "sender": "reno / full / iw=1"}]}"#;
    let error = Plan::new(&Scenario::from_json(json).unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "link[0]: leads to the port `p` and to somewhere else, so to cells and to packets"
    );
}

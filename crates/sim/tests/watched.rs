//! A watched flow is the flow of any run of its scenario.

mod common;

use common::{FIXED, Run, VARIABLE, greedy, network, web};
use sim::watched::{Fate, FlowChoice, FlowName, WatchedFlow};
use units::Instant;

const BUFFER: &str = r#", "buffer": {"bytes": "60kB"}"#;

#[test]
fn the_flow_has_the_row_of_a_run_that_is_not_watched() {
    let workloads = [web(FIXED, 0.9), greedy(VARIABLE, 3)].join(",");
    let scenario = network("5s", BUFFER, &workloads);
    let run = Run::new(&scenario, 2);
    for index in [0, 7, 40] {
        let choice =
            FlowChoice { flow: FlowName::InWorkload { workload: 0, index }, max_events: 1_000_000 };
        let watched = WatchedFlow::run(&scenario, 2, choice).unwrap();
        assert!(!watched.is_cut);
        let number = watched.number.unwrap();
        let row = |flows: &sim::tables::Flows| {
            let row = flows.flow.iter().position(|flow| *flow == number).unwrap();
            (flows.start_s[row], flows.sender_s.get(row), flows.segments[row], flows.timeouts[row])
        };
        assert_eq!(row(&watched.rows), row(&run.flows));
        let data = watched.packets.iter().filter(|packet| packet.segment.payload_len > 0);
        assert_eq!(data.count(), row(&run.flows).2 as usize);
    }
}

#[test]
fn packets_end_in_order_of_time_and_states_differ() {
    let scenario = network("3s", BUFFER, &web(FIXED, 0.9));
    let choice =
        FlowChoice { flow: FlowName::InWorkload { workload: 0, index: 3 }, max_events: 1_000_000 };
    let watched = WatchedFlow::run(&scenario, 5, choice).unwrap();
    assert!(watched.packets.is_sorted_by_key(|packet| packet.sent_at));
    for packet in &watched.packets {
        let (at, fate) = packet.ended.unwrap();
        assert!(at > packet.sent_at || fate != Fate::Arrived);
        // The capture at the sender has every packet that it sent or received.
        assert_eq!(packet.frame.is_some(), packet.is_forward || fate == Fate::Arrived);
    }
    assert!(watched.moments.is_sorted_by(|one, other| one.at < other.at));
    assert!(watched.moments.iter().all(|moment| moment.at > Instant::ZERO));
    let same = watched.moments.windows(2).filter(|pair| pair[0].sender == pair[1].sender);
    assert!(same.count() < watched.moments.len() / 2);
    // A flow that never starts has no packet, and ends with the run.
    let choice = FlowChoice {
        flow: FlowName::InWorkload { workload: 0, index: 1_000_000 },
        max_events: 1_000_000,
    };
    let none = WatchedFlow::run(&scenario, 5, choice).unwrap();
    assert_eq!((none.number, none.packets.len(), none.is_cut), (None, 0, false));
}

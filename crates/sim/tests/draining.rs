//! After `duration` a run continues until the flows that count are complete. Earlier results do not
//! change.

mod common;

use common::{CLASSIC, FIXED, Run, VARIABLE, greedy, network, web};
use sim::scenario::Text;
use sim::tables::{Flows, Recoveries, Samples};
use sim::{Scenario, Simulation, Status};
use units::Duration;

const BUFFER: &str = r#", "buffer": {"bytes": "150kB"}"#;
const SECONDS: f64 = 30.0;

fn scenario(sender: &str, drain: Option<Duration>) -> Scenario {
    let mut scenario = network("30s", BUFFER, &[web(sender, 0.8), greedy(CLASSIC, 10)].join(","));
    scenario.drain = drain.map(Text);
    scenario
}

/// The rows of these flows, as text.
fn rows(flows: &Flows, wanted: impl Fn(usize) -> bool) -> Vec<String> {
    let row = |at: usize| {
        format!(
            "{} {:?} {:?} {:?} {} {:?} {:?} {} {} {} {} {} {}",
            flows.flow[at],
            flows.workload.get(at),
            flows.class.get(at),
            flows.size_bytes.get(at),
            flows.start_s[at],
            flows.sender_s.get(at),
            flows.receiver_s.get(at),
            flows.segments[at],
            flows.sent_bytes[at],
            flows.retransmitted_bytes[at],
            flows.fast_retransmits[at],
            flows.timeouts[at],
            flows.received_bytes[at],
        )
    };
    (0..flows.len()).filter(|&at| wanted(at)).map(row).collect()
}

fn end_s(flows: &Flows, at: usize) -> Option<f64> {
    flows.sender_s.get(at).map(|took| flows.start_s[at] + took)
}

#[test]
fn flows_that_end_before_duration_have_the_same_rows() {
    for sender in [CLASSIC, FIXED, VARIABLE] {
        let cut = Run::new(&scenario(sender, Some(Duration::ZERO)), 3);
        let drained = Run::new(&scenario(sender, None), 3);
        let ended = |run: &Run| {
            rows(&run.flows, |at| end_s(&run.flows, at).is_some_and(|end| end <= SECONDS))
        };
        assert!(ended(&cut).len() > 1000);
        assert_eq!(ended(&cut), ended(&drained));
        assert_eq!(cut.links.digest(), drained.links.digest());
        let endless = |run: &Run| rows(&run.flows, |at| run.flows.size_bytes.get(at).is_none());
        assert_eq!(endless(&cut).len(), 10);
        assert_eq!(endless(&cut), endless(&drained));
        let early = |recoveries: &Recoveries| -> Vec<(f64, u64)> {
            let rows =
                recoveries.time_s.iter().zip(&recoveries.flow).map(|(&time, &flow)| (time, flow));
            rows.filter(|&(time, _)| time <= SECONDS).collect()
        };
        assert!(early(&cut.recoveries).len() > 20);
        assert_eq!(early(&cut.recoveries), early(&drained.recoveries));
    }
}

/// The load stays the same: a flow that ends after `duration` takes as long as in a longer run.
#[test]
fn flows_that_end_later_have_the_rows_of_a_longer_run() {
    let drained = Run::new(&scenario(FIXED, None), 4);
    let mut longer = scenario(FIXED, Some(Duration::ZERO));
    longer.duration = Text(Duration::from_secs(300));
    let longer = Run::new(&longer, 4);
    let counted = |run: &Run| {
        let finite =
            |at: usize| run.flows.size_bytes.get(at).is_some() && run.flows.start_s[at] < SECONDS;
        rows(&run.flows, finite)
    };
    assert!(
        rows(&drained.flows, |at| end_s(&drained.flows, at).is_some_and(|end| end > SECONDS)).len()
            > 5
    );
    assert_eq!(counted(&drained), counted(&longer));
    assert!((0..drained.flows.len()).all(|at| drained.flows.start_s[at] < SECONDS));
}

#[test]
fn at_the_limit_flows_are_recorded_without_a_time() {
    let drain = Duration::from_millis(500);
    let mut simulation = Simulation::new(&scenario(CLASSIC, Some(drain)), 3).unwrap();
    while simulation.advance(1000) == Status::Running {}
    assert_eq!(simulation.now(), units::Instant::ZERO + Duration::from_millis(30_500));
    let flows = simulation.take_flows();
    let unfinished = (0..flows.len())
        .filter(|&at| flows.size_bytes.get(at).is_some() && end_s(&flows, at).is_none());
    assert!(unfinished.count() > 0);
    assert!((0..flows.len()).all(|at| flows.start_s[at] < SECONDS));
}

#[test]
fn listed_transfers_drain_on_request() {
    let transfer = format!(
        r#"{{"name": "one", "kind": "transfers", "from": "servers", "to": "clients", "sizes": [2000000],
            "sender": "{CLASSIC}"}}"#
    );
    let mut scenario = network("1s", BUFFER, &transfer);
    scenario.drain = None;
    assert_eq!(Run::new(&scenario, 1).flows.sender_s.get(0), None);
    scenario.drain = Some(Text(Duration::from_secs(60)));
    let mut simulation = Simulation::new(&scenario, 1).unwrap();
    while simulation.advance(1000) == Status::Running {}
    let flows = simulation.take_flows();
    let took = flows.sender_s.get(0).unwrap();
    assert!(took > 1.0);
    // The run ends with the last flow that counts.
    assert!((sim::tables::time_s(simulation.now()) - took).abs() < 1e-9);
}

#[test]
fn samples_end_with_the_statistics() {
    let sampled = |drain: Option<Duration>| -> Samples {
        let mut scenario = scenario(CLASSIC, drain);
        let keys = r#"{"every": "1s", "workloads": ["greedy"], "links": ["bottleneck"]}"#;
        scenario.samples = Some(serde_json::from_str(keys).unwrap());
        let mut simulation = Simulation::new(&scenario, 3).unwrap();
        while simulation.advance(1000) == Status::Running {}
        simulation.take_samples()
    };
    assert!(sampled(None).len() > 100);
    assert_eq!(sampled(None).digest(), sampled(Some(Duration::ZERO)).digest());
}

/// Endless flows are counted over the same time as links.
#[test]
fn endless_flows_count_from_the_end_of_the_warm_up() {
    let workload = greedy(CLASSIC, 3);
    let sent = |duration: &str, warm_up: u64| -> (u64, u64, u64) {
        let mut scenario = network(duration, BUFFER, &workload);
        scenario.warm_up = Text(Duration::from_secs(warm_up));
        let run = Run::new(&scenario, 3);
        let flows = run.flows;
        let received = flows.received_bytes.iter().sum();
        (flows.sent_bytes.iter().sum(), received, run.links.delivered_bytes[0])
    };
    let (whole, first, rest) = (sent("30s", 0), sent("10s", 0), sent("30s", 10));
    assert!(first.0 > 1_000_000);
    assert_eq!((rest.0, rest.1), (whole.0 - first.0, whole.1 - first.1));
    assert_eq!(rest.2, whole.2 - first.2);
}

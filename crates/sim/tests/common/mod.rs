//! Scenarios that the tests of this folder share.
#![allow(dead_code, reason = "each test file uses some of them")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up must stop")]

use sim::tables::{Flows, Links, Recoveries};
use sim::{Scenario, Simulation, Status};

/// The size classes of the Smart Framing paper's Table I, in bytes.
pub(crate) const CLASSES: [u64; 15] =
    [119, 179, 251, 334, 428, 529, 658, 948, 1650, 2861, 4706, 8015, 13_681, 26_641, 284_454];

pub(crate) const CLASSIC: &str = "reno+sack / full / iw=1";
pub(crate) const FIXED: &str = "reno+sack / fs(n=4) / iw=1";
pub(crate) const VARIABLE: &str = "reno+sack / vs(n=4) / iw=1";

/// The paper's network with these workloads.
pub(crate) fn network(duration: &str, buffer: &str, workloads: &str) -> Scenario {
    let json = format!(
        r#"{{
            "name": "test", "duration": "{duration}", "warm_up": "0s",
            "link": [
                {{"name": "bottleneck", "from": "servers", "to": "clients", "rate": "10Mb/s", "delay": "50ms"{buffer}}},
                {{"name": "return", "from": "clients", "to": "servers", "rate": "10Mb/s", "delay": "50ms"}}
            ],
            "workload": [{workloads}],
            "tcp": {{"profile": "ns2"}}
        }}"#
    );
    Scenario::from_json(&json).unwrap()
}

/// The paper's Web workload.
pub(crate) fn web(sender: &str, load: f64) -> String {
    format!(
        r#"{{"name": "web", "kind": "poisson", "from": "servers", "to": "clients", "load": {load}, "of": "bottleneck",
            "sizes": {{"classes": {CLASSES:?}}}, "sender": "{sender}"}}"#
    )
}

/// So many endless flows.
pub(crate) fn greedy(sender: &str, flows: u32) -> String {
    format!(
        r#"{{"name": "greedy", "kind": "greedy", "from": "servers", "to": "clients", "flows": {flows},
            "start": "0s", "spread": "1s", "sender": "{sender}"}}"#
    )
}

/// Everything that a run gives.
pub(crate) struct Run {
    pub(crate) flows: Flows,
    pub(crate) recoveries: Recoveries,
    pub(crate) links: Links,
}

impl Run {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        let mut simulation = Simulation::new(scenario, seed).unwrap();
        while simulation.advance(100_000) == Status::Running {}
        Self {
            flows: simulation.take_flows(),
            recoveries: simulation.take_recoveries(),
            links: simulation.links(),
        }
    }

    pub(crate) fn digest(&self) -> [u64; 3] {
        [self.flows.digest(), self.recoveries.digest(), self.links.digest()]
    }
}

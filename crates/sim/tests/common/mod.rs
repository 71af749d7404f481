//! Scenarios shared by the tests of this folder.
#![allow(dead_code, reason = "each test file uses some of them")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up must stop")]

use sim::tables::{Flows, Links, Recoveries};
use sim::{CustomModels, Scenario, Simulation, Status};

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

/// A workload of `flows` endless flows.
pub(crate) fn greedy(sender: &str, flows: u32) -> String {
    format!(
        r#"{{"name": "greedy", "kind": "greedy", "from": "servers", "to": "clients", "flows": {flows},
            "start": "0s", "spread": "1s", "sender": "{sender}"}}"#
    )
}

/// A port of 1200 cells at 75 Mb/s with `inputs` input links of this rate, each with a greedy flow
/// (§3 of the paper).
pub(crate) fn switch(inputs: u32, rate: &str, buffer: &str, duration: &str) -> Scenario {
    let mut links = vec![
        format!(
            r#"{{"name": "port", "from": "switch", "to": "sink", "rate": "75Mb/s", "delay": "300us", "buffer": {buffer}}}"#
        ),
        r#"{"name": "back", "from": "sink", "to": "switch", "rate": "75Mb/s", "delay": "300us"}"#
            .to_owned(),
    ];
    let mut workloads = Vec::new();
    for n in 0..inputs {
        links.push(format!(
            r#"{{"name": "in{n}", "from": "s{n}", "to": "switch", "rate": "{rate}", "delay": "300us", "cells": "aal5"}}"#
        ));
        links.push(format!(
            r#"{{"name": "out{n}", "from": "switch", "to": "s{n}", "rate": "{rate}", "delay": "300us", "cells": "aal5"}}"#
        ));
        workloads.push(format!(
            r#"{{"name": "w{n}", "kind": "greedy", "from": "s{n}", "to": "sink", "flows": 1, "start": "{n}ms",
                "sender": "reno / full / iw=1"}}"#
        ));
    }
    let json = format!(
        r#"{{"name": "atm", "duration": "{duration}", "warm_up": "1s", "link": [{}], "workload": [{}],
            "tcp": {{"profile": "ns2", "mss": 536, "header": "40B", "receive_buffer": "64kB"}}}}"#,
        links.join(","),
        workloads.join(",")
    );
    Scenario::from_json(&json).unwrap()
}

/// The tables of a run.
pub(crate) struct Run {
    pub(crate) flows: Flows,
    pub(crate) recoveries: Recoveries,
    pub(crate) links: Links,
}

impl Run {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        Self::with_models(scenario, seed, &CustomModels::default())
    }

    pub(crate) fn with_models(scenario: &Scenario, seed: u64, models: &CustomModels) -> Self {
        let mut simulation = Simulation::with_models(scenario, seed, models).unwrap();
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

//! A whole run.

use schemars::JsonSchema;
use serde::Serialize;
use sim::{Scenario, ScenarioError, Simulation, Status};

/// Events between two calls of the simulator.
const EVENTS: u64 = 1_000_000;

/// The result of a run: counts, and hashes of its rows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunAnswer {
    /// Number of events.
    pub events: u64,
    /// Number of flows with a row.
    pub flows: usize,
    /// Hash of the rows of flows, in hexadecimal notation.
    pub flows_hash: String,
    /// Hash of the rows of recoveries.
    pub recoveries_hash: String,
    /// Hash of the rows of samples.
    pub samples_hash: String,
    /// Hash of the rows of packets of traced workloads.
    pub packets_hash: String,
    /// Hash of the rows of links.
    pub links_hash: String,
}

/// Runs a scenario to its end.
pub(crate) fn run(scenario: &Scenario, seed: u64) -> Result<RunAnswer, ScenarioError> {
    let mut simulation = Simulation::new(scenario, seed)?;
    while simulation.advance(EVENTS) == Status::Running {}
    let flows = simulation.take_flows();
    let hash = |digest: u64| format!("{digest:016x}");
    Ok(RunAnswer {
        events: simulation.events(),
        flows: flows.len(),
        flows_hash: hash(flows.digest()),
        recoveries_hash: hash(simulation.take_recoveries().digest()),
        samples_hash: hash(simulation.take_samples().digest()),
        packets_hash: hash(simulation.take_packets().digest()),
        links_hash: hash(simulation.links().digest()),
    })
}

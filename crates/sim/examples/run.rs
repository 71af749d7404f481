//! Runs a scenario given as JSON and prints its cost, for profiling without Python.
//!
//! `cargo run --release -p sim --example run -- scenario.json [seed]`

use std::process::ExitCode;

use sim::{Scenario, Simulation, Status};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: run SCENARIO.json [SEED]");
        return ExitCode::from(2);
    };
    let seed = arguments.next().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    match run(&path, seed) {
        Ok(report) => {
            eprintln!("{report}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run(path: &str, seed: u64) -> Result<String, String> {
    let json =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read `{path}`: {error}"))?;
    let scenario = Scenario::from_json(&json).map_err(|error| error.to_string())?;
    let mut simulation = Simulation::new(&scenario, seed).map_err(|error| error.to_string())?;
    let mut flows = 0;
    let mut fast = 0;
    let mut timeouts = 0;
    while simulation.advance(1_000_000) == Status::Running {}
    let table = simulation.take_flows();
    flows += table.len();
    fast += table.fast_retransmits.iter().sum::<u32>();
    timeouts += table.timeouts.iter().sum::<u32>();
    let links = simulation.links();
    Ok(format!(
        "{} events, {flows} flows, {fast} fast retransmits, {timeouts} timeouts, delivered {:?}, dropped {:?}, digest {:016x}",
        simulation.events(),
        links.delivered_packets,
        links.dropped_buffer_packets,
        table.digest(),
    ))
}

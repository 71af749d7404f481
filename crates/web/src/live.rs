//! A run that a page continues in steps, to show it while it runs.

use schemars::JsonSchema;
use serde::Serialize;
use sim::tables::time_s;
use sim::{Scenario, ScenarioError, Simulation, Status};
use units::Instant;

/// A run that has begun.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StartedAnswer {
    /// Time over which statistics are collected, in seconds.
    pub duration_s: f64,
}

/// Rows since the last step. Columns have one value for each row.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LiveAnswer {
    /// Whether the run has ended.
    pub is_done: bool,
    /// Simulated time in seconds.
    pub now_s: f64,
    /// Number of events so far.
    pub events: u64,
    /// Number of active flows.
    pub active_flows: usize,
    /// Times of the samples in seconds.
    pub sample_s: Vec<f64>,
    /// Objects of the samples: a link, or a flow such as `web/3`.
    pub sample_of: Vec<String>,
    /// Quantities of the samples, as in the table `samples`.
    pub sample_quantity: Vec<String>,
    /// Values of the samples.
    pub sample_value: Vec<f64>,
    /// Workloads of the flows that have ended.
    pub flow_workload: Vec<String>,
    /// Senders of these flows.
    pub flow_sender: Vec<String>,
    /// Sizes of these flows in bytes; null for an endless flow.
    pub flow_size_bytes: Vec<Option<u64>>,
    /// Starts of these flows in seconds.
    pub flow_start_s: Vec<f64>,
    /// Completion times of these flows at the sender in seconds; null if incomplete.
    pub flow_sender_s: Vec<Option<f64>>,
    /// Numbers of timeouts of these flows.
    pub flow_timeouts: Vec<u32>,
    /// Numbers of fast retransmits of these flows.
    pub flow_fast_retransmits: Vec<u32>,
    /// Links with their counts so far.
    pub links: Vec<LiveLink>,
}

/// Counts of a link so far.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LiveLink {
    /// Name of the link.
    pub link: String,
    /// Number of packets offered.
    pub offered_packets: u64,
    /// Number of packets that the buffer or its discipline dropped.
    pub dropped_packets: u64,
    /// Number of packets lost on the line.
    pub lost_packets: u64,
    /// Share of the time in which the line was sending.
    pub utilisation: f64,
}

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Live(Simulation);

impl Live {
    pub(crate) fn start(
        scenario: &Scenario,
        seed: u64,
    ) -> Result<(Self, StartedAnswer), ScenarioError> {
        let simulation = Simulation::new(scenario, seed)?;
        let duration_s = time_s(Instant::ZERO + simulation.duration());
        Ok((Self(simulation), StartedAnswer { duration_s }))
    }

    pub(crate) fn advance(&mut self, events: u64) -> LiveAnswer {
        let run = &mut self.0;
        let status = run.advance(events);
        let (samples, flows, links) = (run.take_samples(), run.take_flows(), run.links());
        let rows = 0..samples.len();
        let text = |found: Option<&str>| found.unwrap_or_default().to_owned();
        LiveAnswer {
            is_done: status == Status::Done,
            now_s: time_s(run.now()),
            events: run.events(),
            active_flows: run.active_flows(),
            sample_of: rows
                .clone()
                .map(|row| samples.object.get(row).unwrap_or_default())
                .collect(),
            sample_quantity: rows.map(|row| text(samples.quantity.get(row))).collect(),
            sample_s: samples.time_s,
            sample_value: samples.value,
            flow_workload: (0..flows.len()).map(|row| text(flows.workload.get(row))).collect(),
            flow_sender: (0..flows.len()).map(|row| text(flows.variant.get(row))).collect(),
            flow_size_bytes: flows.size_bytes.iter().collect(),
            flow_sender_s: flows.sender_s.iter().collect(),
            flow_start_s: flows.start_s,
            flow_timeouts: flows.timeouts,
            flow_fast_retransmits: flows.fast_retransmits,
            links: (0..links.len())
                .map(|row| LiveLink {
                    link: text(links.link.get(row)),
                    offered_packets: links.offered_packets[row],
                    dropped_packets: links.dropped_buffer_packets[row]
                        + links.dropped_early_packets[row],
                    lost_packets: links.dropped_loss_packets[row],
                    utilisation: links.utilisation[row],
                })
                .collect(),
        }
    }
}

//! Requests of a page.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::captured::{CaptureAnswer, ConnectionAnswer};
use crate::edits::Edits;
use crate::error::Refusal;
use crate::flow::FlowAnswer;
use crate::live::{LiveAnswer, StartedAnswer};
use crate::moment::MomentAnswer;
use crate::run::RunAnswer;
use crate::scenario::TomlAnswer;

/// A request. `scenario` is a scenario as JSON, with the keys of a scenario file.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Request {
    /// Run a scenario to its end.
    Run {
        /// The scenario.
        scenario: Value,
        /// Random seed.
        seed: u64,
    },
    /// Run a scenario until one flow has ended, and describe this flow. The flow is kept under the
    /// number `view`.
    Flow {
        /// Number under which the flow is kept.
        view: u8,
        /// The scenario.
        scenario: Value,
        /// Random seed.
        seed: u64,
        /// Name of the flow's workload. Absent: the first one.
        #[serde(default)]
        workload: Option<String>,
        /// Number of the flow in its workload, from 0.
        #[serde(default)]
        index: u32,
        /// Number of the flow in the run, as in the rows of flows. Absent: `workload` and `index`
        /// choose the flow.
        #[serde(default)]
        flow: Option<u64>,
        /// Packets to drop and to delay.
        #[serde(default)]
        edits: Edits,
    },
    /// The state of a kept flow at a time.
    Moment {
        /// Number under which the flow is kept.
        view: u8,
        /// Time in seconds since the start of the run.
        at_s: f64,
    },
    /// The capture of the run of a kept flow, as the bytes of a pcapng file.
    Capture {
        /// Number under which the flow is kept.
        view: u8,
    },
    /// The text of a scenario file.
    Toml {
        /// The scenario.
        scenario: Value,
    },
    /// Begin a run that `advance` continues.
    Start {
        /// The scenario.
        scenario: Value,
        /// Random seed.
        seed: u64,
    },
    /// Continue the run, and return the rows since the last call.
    Advance {
        /// Maximum number of events.
        events: u64,
    },
    /// Begin the analysis of the file that the page has passed.
    Open {},
    /// Continue the analysis.
    Analyze {
        /// Maximum number of packets.
        packets: u64,
    },
    /// The packets of a connection of the analysed file.
    Connection {
        /// Number of the connection.
        flow: u64,
    },
}

/// The answer to each kind of request.
#[derive(Debug, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
pub struct Answers {
    run: RunAnswer,
    flow: FlowAnswer,
    moment: MomentAnswer,
    toml: TomlAnswer,
    start: StartedAnswer,
    advance: LiveAnswer,
    open: CaptureAnswer,
    analyze: CaptureAnswer,
    connection: ConnectionAnswer,
    refusal: Refusal,
}

//! A scenario as written: the one definition of its keys, types, defaults and texts.
//!
//! [`Scenario::json_schema`] exports this definition. The Python dataclasses, the reference page
//! and the completion in editors are generated from it. The first paragraph of a doc comment is the
//! meaning of a key or table; a paragraph that begins with "Absent:" is the meaning of its absence.
//!
//! The fields are the keys of the file. [`crate::Plan`] is the scenario with
//! every default applied and every name resolved. Times, rates and sizes are texts with a unit;
//! flow sizes are whole numbers of bytes. Unknown keys are refused.

mod discard;
mod error;
mod jitter;
mod keys;
mod kinds;
mod limited;
mod link;
mod located;
mod loss;
mod nearest;
mod rates;
mod red;
mod schema;
mod tcp;
mod text;
mod workload;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::discard::{Balanced, Circuit, CoDel, Discard, FqCoDel, Policy};
pub use self::error::ScenarioError;
pub use self::jitter::{Jitter, NormalJitter, ParetoJitter, SampledJitter, UniformJitter};
pub(crate) use self::keys::KeyPath;
pub use self::limited::{Header, ReceiveBuffer, SegmentSize, Threshold};
pub use self::link::{Buffer, Cells, Link, LinkChange, Reorder};
pub use self::loss::{
    BurstLoss, ByteLoss, GilbertElliottLoss, LinearLoss, Loss, MaskLoss, PacketLoss,
};
pub use self::rates::{RateTrace, TokenBucket};
pub use self::red::Red;
pub use self::tcp::{Growth, Halving, Profile, RttSample, Tcp, TcpSettings};
pub use self::text::{Bytes, Quantity, Size, Text, Time};
pub use self::workload::{
    Greedy, LogNormal, Opener, Pareto, Poisson, SenderShare, Sizes, Transfers, Workload,
};

/// A network, its traffic and the duration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a scenario, a table of keys")]
pub struct Scenario {
    /// A label for the results, such as `first`.
    pub name: String,
    /// Simulated time.
    pub duration: Time,
    /// Flows that start before this time are simulated but not recorded. Link statistics start at
    /// this time.
    #[serde(default)]
    pub warm_up: Time,
    /// Maximum time that the run continues after `duration`, until every finite flow that started
    /// before is complete. During this time Poisson flows still arrive, but do not count. Flows
    /// that are then incomplete are recorded without a completion time.
    ///
    /// Absent: 1000s with a Poisson workload, else 0s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Time>,
    /// Quantities that are recorded over time.
    ///
    /// Absent: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<Samples>,
    /// Workloads of which every packet is recorded.
    ///
    /// Absent: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(!skip_serializing_if)]
    pub trace: Vec<String>,
    /// Links of the network. Their ends define the nodes.
    #[serde(rename = "link")]
    pub links: Vec<Link>,
    /// Fixed paths.
    ///
    /// Absent: fewest hops; ties go to the links listed first.
    #[serde(rename = "route", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(!skip_serializing_if)]
    pub routes: Vec<Route>,
    /// Traffic of the network.
    #[serde(rename = "workload")]
    pub workloads: Vec<Workload>,
    /// Parameters of TCP for all workloads.
    #[serde(default, skip_serializing_if = "Tcp::is_empty")]
    #[schemars(!skip_serializing_if)]
    pub tcp: Tcp,
}

/// Quantities that are recorded over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `every`")]
pub struct Samples {
    /// Sampling interval.
    pub every: Time,
    /// Workloads for which cwnd, ssthresh and flight of each flow are sampled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(!skip_serializing_if)]
    pub workloads: Vec<String>,
    /// Links for which the queue is sampled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(!skip_serializing_if)]
    pub links: Vec<String>,
}

/// A fixed path of links for packets from one node to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a route, a table with `from`, `to` and `via`")]
pub struct Route {
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// Names of links in order. Each link starts at the node where the previous one ends.
    pub via: Vec<String>,
}

impl Scenario {
    /// Parses a scenario. [`crate::Simulation::new`] checks its values.
    ///
    /// # Errors
    /// If the text is not JSON, or a key is unknown, missing or of the wrong type.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let scenario: Self = serde_path_to_error::deserialize(&mut reader)
            .map_err(|e| ScenarioError::from_serde(&e.path().to_string(), e.inner()))?;
        reader.end().map_err(|e| ScenarioError::from_serde("", &e))?;
        Ok(scenario)
    }

    /// The scenario of a JSON value, which has each key once. [`crate::Simulation::new`] checks its
    /// values.
    ///
    /// # Errors
    /// If a key is unknown, missing or of the wrong type.
    pub fn from_value(value: serde_json::Value) -> Result<Self, ScenarioError> {
        located::read(value).map_err(|e| ScenarioError::from_serde(e.path(), &e.error))
    }

    /// Serializes the scenario for its provenance, on one line with keys in a fixed order: equal
    /// scenarios give equal texts. Settings that come from a profile are not written.
    ///
    /// # Errors
    /// Never for a valid scenario; the serializer's interface allows for failure.
    pub fn to_json(&self) -> Result<String, ScenarioError> {
        serde_json::to_string(self).map_err(|e| ScenarioError::from_serde("", &e))
    }
}

#[cfg(test)]
mod tests;

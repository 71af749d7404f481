//! A scenario as written: the type behind the TOML file, the Python dataclasses and the JSON
//! between them.
//!
//! The fields are the keys of the file, without defaults. [`crate::Plan`] is the scenario with
//! every default applied and every name resolved. Times, rates and sizes are texts with a unit;
//! flow sizes are whole numbers of bytes. Unknown keys are refused.

mod discard;
mod error;
mod keys;
mod link;
mod nearest;
mod red;
mod tcp;
mod text;
mod workload;

use serde::{Deserialize, Serialize};
use units::Duration;

pub use self::discard::{Balanced, Circuit, CoDel, Discard, Policy};
pub use self::error::ScenarioError;
pub(crate) use self::keys::{KeyPath, foreign, needed};
pub use self::link::{Buffer, Cells, Link, Loss, LossKind};
pub use self::red::Red;
pub use self::tcp::{Growth, Halving, Profile, RttSample, Tcp, TcpSettings};
pub use self::workload::{Distribution, Kind, Lognormal, Opener, Pareto, Share, Sizes, Workload};

/// An experiment: links, routes, workloads and TCP settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a scenario, a table of keys")]
pub struct Scenario {
    /// The name of the scenario, used in results.
    pub name: String,
    /// The simulated time over which statistics are collected.
    #[serde(with = "text")]
    pub duration: Duration,
    /// Flows that start earlier are not recorded, and link statistics begin here.
    #[serde(default, with = "text")]
    pub warm_up: Duration,
    /// The longest time after `duration` for which the run continues, until the flows that started
    /// before are complete.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional")]
    pub drain: Option<Duration>,
    /// The quantities to sample at regular intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<Sampling>,
    /// Workloads whose packets are recorded individually.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<String>,
    /// The links, each in one direction.
    #[serde(rename = "link")]
    pub links: Vec<Link>,
    /// Routes other than the shortest.
    #[serde(rename = "route", default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// The workloads.
    #[serde(rename = "workload")]
    pub workloads: Vec<Workload>,
    /// TCP settings of all workloads.
    #[serde(default, skip_serializing_if = "Tcp::is_empty")]
    pub tcp: Tcp,
}

/// Regular samples of windows and queues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `every`")]
pub struct Sampling {
    /// The time between two samples.
    #[serde(with = "text")]
    pub every: Duration,
    /// Workloads whose flows' cwnd, ssthresh and flight are sampled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// Links whose queue is sampled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
}

/// A path from one node to another that replaces the shortest one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a route, a table with `from`, `to` and `via`")]
pub struct Route {
    /// The node at which it starts.
    pub from: String,
    /// The node at which it ends.
    pub to: String,
    /// The links in between, in order.
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

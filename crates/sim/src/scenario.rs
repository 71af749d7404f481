//! A scenario as written: the one type behind the TOML file, the Python dataclasses and the JSON
//! between them.
//!
//! The fields are the keys of the file and say no more than it does; [`crate::Plan`] is the
//! scenario with every default filled in and every name resolved. Times, rates and sizes are texts
//! with a unit; flow sizes are whole numbers of bytes. Unknown keys are refused.

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
use crate::plan::Plan;

/// One experiment: links, routes, who sends what over them, and with which TCP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a scenario, a table of keys")]
pub struct Scenario {
    /// What the results are filed under.
    pub name: String,
    /// How long is simulated.
    #[serde(with = "text")]
    pub duration: Duration,
    /// Flows that start earlier are not recorded, and link statistics begin here.
    #[serde(default, with = "text")]
    pub warm_up: Duration,
    /// For how long after `duration` the run may go on until the flows that began before are
    /// complete.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional")]
    pub drain: Option<Duration>,
    /// What to sample at regular intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<Sampling>,
    /// Workloads whose packets are recorded one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<String>,
    /// The links, each in one direction.
    #[serde(rename = "link")]
    pub links: Vec<Link>,
    /// Routes other than the shortest.
    #[serde(rename = "route", default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// Who sends.
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

/// The path from one node to another where the shortest is not meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a route, a table with `from`, `to` and `via`")]
pub struct Route {
    /// The node it starts at.
    pub from: String,
    /// The node it ends at.
    pub to: String,
    /// The links in between, in order.
    pub via: Vec<String>,
}

impl Scenario {
    /// Reads a scenario and checks it.
    ///
    /// # Errors
    /// When the text is not JSON, a key is unknown, missing or of the wrong type, or
    /// [`Scenario::validate`] fails.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let scenario: Self = serde_path_to_error::deserialize(&mut reader)
            .map_err(|e| ScenarioError::from_serde(&e.path().to_string(), e.inner()))?;
        reader.end().map_err(|e| ScenarioError::from_serde("", &e))?;
        scenario.validate()?;
        Ok(scenario)
    }

    /// Writes the scenario for its provenance, on one line with keys in a fixed order: equal
    /// scenarios give equal texts. What the scenario leaves to a profile stays left to it.
    ///
    /// # Errors
    /// Never for a valid scenario; the writer's interface allows for failure.
    pub fn to_json(&self) -> Result<String, ScenarioError> {
        serde_json::to_string(self).map_err(|e| ScenarioError::from_serde("", &e))
    }

    /// Checks everything that can be checked before a run.
    ///
    /// # Errors
    /// The first thing wrong, by its path.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        Plan::new(self).map(drop)
    }
}

#[cfg(test)]
mod tests;

//! Workloads of a scenario, as written: endpoints, starts, sizes and senders.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use units::Duration;

use super::tcp::Tcp;
use super::text;
use super::{KeyPath, ScenarioError};
use crate::sizes::{SizeError, SizeSampler};

/// Flows from one node to another. The applicable keys depend on `kind`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a workload, a table of keys")]
pub struct Workload {
    /// The workload's name in samples and results.
    pub name: String,
    /// The process by which flows start.
    pub kind: Kind,
    /// The node that sends data.
    pub from: String,
    /// The node that receives data.
    pub to: String,
    /// `greedy`: the number of flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// `greedy`, `transfers`: the earliest start of a flow; 0 s if absent.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional")]
    pub start: Option<Duration>,
    /// `greedy`: each flow starts uniformly within this time of `start`; 0 s if absent.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional")]
    pub spread: Option<Duration>,
    /// `transfers`: time from one start to the next; 0 s if absent.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional")]
    pub spacing: Option<Duration>,
    /// `poisson`: offered load as a share of the rate of the link `of`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// `poisson`: the link to which `load` refers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// `poisson`: flows per second, instead of `load`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// `poisson`: a distribution; `transfers`: a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// The sender of all flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// Several senders with their shares of the flows, instead of `sender`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub senders: Option<Vec<Share>>,
    /// With a three-way handshake and FIN; otherwise flows start in ESTABLISHED, without an RTT
    /// sample.
    #[serde(default)]
    pub handshake: bool,
    /// With a handshake: the end that opens.
    #[serde(default)]
    pub opener: Opener,
    /// TCP settings of this workload alone.
    #[serde(default, skip_serializing_if = "Tcp::is_empty")]
    pub tcp: Tcp,
}

/// The process by which flows start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Endless flows.
    Greedy,
    /// Finite flows with independent, exponentially distributed times between their starts.
    Poisson,
    /// Listed flows.
    Transfers,
}

/// The end that sends the SYN.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Opener {
    /// The end that sends data.
    #[default]
    Sender,
    /// The end that receives data, like a web client.
    Receiver,
}

/// A sender and its share of the flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `sender` and `share`")]
pub struct Share {
    /// The sender's name, e.g. `reno+sack / fs(n=4) / iw=1`.
    pub sender: String,
    /// Its share. The sum of the shares need not be 1.
    pub share: f64,
}

/// Flow sizes in bytes: an explicit list or a distribution.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Sizes {
    /// The size of each flow.
    List(Vec<u64>),
    /// A distribution from which each flow's size is drawn.
    Distribution(Distribution),
}

/// A distribution of flow sizes; exactly one key, besides `weights`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { classes = [119, 179] } or { fixed = 10000 }"
)]
pub struct Distribution {
    /// A choice among these sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<u64>>,
    /// The relative frequencies of `classes`; equal if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<f64>>,
    /// A constant size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<u64>,
    /// Exponential with this mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponential: Option<f64>,
    /// Pareto.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pareto: Option<Pareto>,
    /// Log-normal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lognormal: Option<Lognormal>,
    /// Points (bytes, cumulative probability), linear in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cdf: Option<Vec<(u64, f64)>>,
}

/// Parameters of a Pareto distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `mean` and `shape`")]
pub struct Pareto {
    /// Mean in bytes.
    pub mean: f64,
    /// The exponent of the tail, above 1.
    pub shape: f64,
}

/// Parameters of a log-normal distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `median` and `sigma`")]
pub struct Lognormal {
    /// Median in bytes.
    pub median: f64,
    /// Standard deviation of the natural logarithm.
    pub sigma: f64,
}

impl Kind {
    /// The kind's name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Greedy => "greedy",
            Self::Poisson => "poisson",
            Self::Transfers => "transfers",
        }
    }
}

impl Distribution {
    /// The sampler of the given distribution.
    pub(crate) fn sampler(&self, path: &KeyPath) -> Result<SizeSampler, ScenarioError> {
        let weights = self.weights.as_deref();
        if weights.is_some() && self.classes.is_none() {
            return Err(path.key("weights").error("goes with `classes`"));
        }
        let given = [
            self.classes.as_ref().map(|sizes| SizeSampler::classes(sizes, weights)),
            self.fixed.map(SizeSampler::fixed),
            self.exponential.map(SizeSampler::exponential),
            self.pareto.map(|p| SizeSampler::pareto(p.mean, p.shape)),
            self.lognormal.map(|p| SizeSampler::lognormal(p.median, p.sigma)),
            self.cdf.as_ref().map(|points| SizeSampler::cdf(points)),
        ];
        let mut given = given.into_iter().flatten();
        let (Some(sampler), None) = (given.next(), given.next()) else {
            let hint = "one of classes, fixed, exponential, pareto, lognormal, cdf";
            return Err(path.error("needs exactly one distribution").with_hint(hint));
        };
        sampler.map_err(|SizeError { key, problem }| path.key(&key).error(&problem))
    }
}

/// Written by hand, because an untagged enum would lose the path of an error inside.
impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizesVisitor)
    }
}

struct SizesVisitor;

impl<'de> Visitor<'de> for SizesVisitor {
    type Value = Sizes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of sizes or a table with a distribution")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Sizes, A::Error> {
        Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(Sizes::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Sizes, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(table)).map(Sizes::Distribution)
    }
}

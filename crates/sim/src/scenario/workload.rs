//! Workloads of a scenario, as written: endpoints, starts, sizes and senders.

use schemars::JsonSchema;
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

use super::kinds::{Table, kinds};
use super::schema::Sender;
use super::tcp::Tcp;
use super::text::Time;
use super::{KeyPath, ScenarioError};
use crate::sizes::{SizeError, SizeSampler};

kinds! {
    /// Traffic from one node to another.
    pub enum Workload of Kind expecting "a workload, a table of keys";
    first {
        /// Name of the workload in results.
        pub name: String,
    }
    then {
        /// Node that sends the data.
        pub from: String,
        /// Node that receives the data.
        pub to: String,
    }
    last {
        /// TCP variant of the workload's flows.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<Sender>")]
        pub sender: Option<String>,
        /// Several senders with shares, instead of `sender`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub senders: Option<Vec<SenderShare>>,
        /// Connections open with SYNs and close with FINs. Without it, they start in the
        /// established state and without an RTT sample.
        #[serde(default)]
        pub handshake: bool,
        /// With a handshake: the end that opens the connection.
        #[serde(default)]
        pub opener: Opener,
        /// Values that differ from the scenario's `[tcp]` table.
        #[serde(default, skip_serializing_if = "Tcp::is_empty")]
        pub tcp: Tcp,
    }

    /// Flows that always have data to send and never end.
    "greedy" => Greedy(Greedy) {
        /// Number of flows.
        flows: u32,
        /// Earliest start time of a flow.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "0s"))]
        start: Option<Time>,
        /// Each flow starts at a uniform random time within this time after `start`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "0s"))]
        spread: Option<Time>,
    }

    /// Flows that arrive as a Poisson process, with independent random sizes.
    "poisson" => Poisson(Poisson) {
        /// Offered load of the link `of`: arrivals per second × mean size / rate of the link,
        /// payload only. The rate of a `rate_trace` is its mean.
        #[serde(skip_serializing_if = "Option::is_none")]
        load: Option<f64>,
        /// Link that `load` refers to.
        #[serde(skip_serializing_if = "Option::is_none")]
        of: Option<String>,
        /// Arrivals per second, instead of `load` and `of`.
        #[serde(skip_serializing_if = "Option::is_none")]
        rate: Option<f64>,
        /// Distribution of the flow sizes.
        #[serde(deserialize_with = "distribution")]
        sizes: Sizes,
    }

    /// An explicit list of flows.
    "transfers" => Transfers(Transfers) {
        /// Start time of the first flow.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "0s"))]
        start: Option<Time>,
        /// Time between the starts of consecutive flows.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "0s"))]
        spacing: Option<Time>,
        /// Size of each flow in bytes.
        sizes: Vec<u64>,
        /// Lengths of the records that the application writes, in bytes, again and again. No
        /// segment has parts of two records (`MSG_EOR`). Only for senders that count packets.
        ///
        /// Absent: a flow is one write.
        #[serde(skip_serializing_if = "Option::is_none")]
        records: Option<Vec<u32>>,
    }
}

/// The end that sends the SYN.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Opener {
    /// The end that sends data.
    #[default]
    Sender,
    /// The end that receives data, like a web client.
    Receiver,
}

/// One of several senders of a workload, with its share of the flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `sender` and `share`")]
pub struct SenderShare {
    /// The sender.
    #[schemars(with = "Sender")]
    pub sender: String,
    /// Weight of the sender: flows select senders in this proportion.
    pub share: f64,
}

/// Distribution of flow sizes in bytes: exactly one of the keys, and `weights` with `classes`.
///
/// TOML also accepts `{ file = "sizes.txt" }`. A file with one size per line gives classes, and a
/// file with two columns (size, cumulative probability) gives a CDF. The path is relative to the
/// TOML file. The numbers of the file become part of the scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { classes = [119, 179] } or { fixed = 10000 }"
)]
pub struct Sizes {
    /// Sizes in bytes, equally likely. Results are reported by class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<u64>>,
    /// With `classes`: relative weights.
    ///
    /// Absent: equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<f64>>,
    /// One size in bytes for every flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<u64>,
    /// Exponential distribution with this mean in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponential: Option<f64>,
    /// Pareto distribution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pareto: Option<Pareto>,
    /// Log-normal distribution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lognormal: Option<LogNormal>,
    /// Points (bytes, cumulative probability), with linear interpolation between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cdf: Option<Vec<(u64, f64)>>,
}

/// Flow sizes with a power-law tail.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `mean` and `shape`")]
pub struct Pareto {
    /// Mean size in bytes.
    pub mean: f64,
    /// Tail exponent, above 1; below 2 the variance is infinite.
    pub shape: f64,
}

/// Flow sizes whose logarithm is normal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `median` and `sigma`")]
pub struct LogNormal {
    /// Median size in bytes.
    pub median: f64,
    /// Standard deviation of the size's natural logarithm.
    pub sigma: f64,
}

/// Refuses a list, which serde would read as the values of the keys.
fn distribution<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Sizes, D::Error> {
    let expecting =
        "a table with a distribution such as { classes = [119, 179] } or { fixed = 10000 }";
    Table::read(deserializer, expecting)?.decode("", &[])
}

/// Access to the keys of every kind.
macro_rules! common_keys {
    ($($key:ident: $type:ty,)*) => {
        impl Workload {
            $(
                #[doc = concat!("The key `", stringify!($key), "`.")]
                pub fn $key(&self) -> &$type {
                    match self {
                        Self::Greedy(workload) => &workload.$key,
                        Self::Poisson(workload) => &workload.$key,
                        Self::Transfers(workload) => &workload.$key,
                    }
                }
            )*
        }
    };
}

common_keys! {
    name: String,
    from: String,
    to: String,
    sender: Option<String>,
    senders: Option<Vec<SenderShare>>,
    handshake: bool,
    opener: Opener,
    tcp: Tcp,
}

impl Sizes {
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

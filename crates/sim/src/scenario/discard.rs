//! Balanced packet discard and controlled delay for queues, and the cell discard of ports, as
//! written.

use ::link::Probability;
use ::link::atm;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use super::keys::{at, foreign, needed};
use super::link::{is_yes, yes};
use super::schema::Share;
use super::text::{Size, Text, Time};
use super::{KeyPath, ScenarioError};

/// Balanced packet discard (Cohen and Hamo 2001) on a queue of packets.
///
/// A packet is dropped if it finds more than the share `lower` of the buffer in use. After a drop,
/// the next `gap` packets of the same flow are dropped only if more than `upper` is in use. The
/// unit is that of the buffer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as { lower = 0.4, upper = 0.9, gap = 25 }")]
pub struct Balanced {
    /// Threshold for most packets, as a share of the buffer, 0 to 1.
    #[schemars(with = "Share")]
    pub lower: f64,
    /// Threshold for the packets of a flow after a drop, 0 to 1; at least `lower`.
    #[schemars(with = "Share")]
    pub upper: f64,
    /// Number of packets after a drop for which `upper` applies.
    pub gap: u32,
}

/// Controlled delay (RFC 8289): drops packets at the head of the queue when delay persists.
///
/// If the queueing delay of packets exceeds `target` during a whole `interval`, the next packet is
/// dropped. Further drops follow at intervals of `interval` divided by the square root of the
/// number of drops, until a packet's delay is below `target`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { target = \"5ms\", interval = \"100ms\" }"
)]
pub struct CoDel {
    /// Acceptable queueing delay; below `interval`.
    #[serde(default = "five_milliseconds")]
    #[schemars(default = "five_milliseconds_as_text")]
    pub target: Time,
    /// Time for which the delay may exceed `target` before the first drop.
    #[serde(default = "a_tenth_of_a_second")]
    #[schemars(default = "a_tenth_of_a_second_as_text")]
    pub interval: Time,
    /// Mark ECN-capable packets instead of dropping them.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(!skip_serializing_if)]
    pub ecn: bool,
}

/// Flow queueing with controlled delay (RFC 8290): a queue for each flow, with CoDel.
///
/// Flows are divided among `flows` queues by a hash. The queues take turns by deficit round-robin,
/// and queues of new flows come first. If the buffer is full, the first packet of the queue with
/// the most bytes is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { target = \"5ms\", interval = \"100ms\" }"
)]
pub struct FqCoDel {
    /// Acceptable queueing delay of a queue; below `interval`.
    #[serde(default = "five_milliseconds")]
    #[schemars(default = "five_milliseconds_as_text")]
    pub target: Time,
    /// Time for which the delay may exceed `target` before the first drop.
    #[serde(default = "a_tenth_of_a_second")]
    #[schemars(default = "a_tenth_of_a_second_as_text")]
    pub interval: Time,
    /// Mark ECN-capable packets instead of dropping them.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(!skip_serializing_if)]
    pub ecn: bool,
    /// Number of queues, 1 to 65536.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 1024))]
    pub flows: Option<u32>,
    /// Bytes that a queue may send in a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "1514B"))]
    pub quantum: Option<Size>,
}

/// Discard policy of a port of ATM cells.
///
/// With `"plain"`, a port drops each cell for which the buffer has no room. `"ppd"` (partial packet
/// discard) also drops the following cells of the packet, except the last one. `"epd"` (early
/// packet discard) also drops packets whose first cell finds more than `threshold` in use. `"bpd"`
/// (balanced packet discard; Cohen and Hamo 2001, section 4) does the same with the threshold
/// `lower`. After a loss, the next `gap` packets of the same circuit have the threshold `upper`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { policy = \"bpd\", lower = 0.4, upper = 0.9, gap = 25 }"
)]
pub struct Discard {
    /// The discard policy.
    pub policy: Policy,
    /// With `epd`: threshold as a share of the buffer, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Share>")]
    pub threshold: Option<f64>,
    /// With `bpd`: threshold for most packets, as a share of the buffer, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Share>")]
    pub lower: Option<f64>,
    /// With `bpd`: threshold for the packets of a circuit after a loss, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Share>")]
    pub upper: Option<f64>,
    /// With `bpd`: number of packets after a loss for which `upper` applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<u32>,
    /// Traffic that shares a virtual circuit in each direction: one flow, or all flows of a
    /// workload.
    #[serde(default, skip_serializing_if = "Circuit::is_flow")]
    #[schemars(!skip_serializing_if)]
    pub circuit: Circuit,
}

/// A port's discard policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Drops only cells for which there is no room.
    Plain,
    /// Also drops the rest of their packet: partial packet discard.
    Ppd,
    /// Also drops packets that begin while the buffer is above a threshold: early packet discard.
    Epd,
    /// Uses a higher threshold for circuits that have just lost a packet: balanced packet discard.
    Bpd,
}

/// The definition of a virtual circuit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Circuit {
    /// Each direction of each flow is a circuit.
    #[default]
    Flow,
    /// All flows of a workload share a circuit in each direction.
    Workload,
}

impl Balanced {
    pub(super) fn model(&self, path: &KeyPath) -> Result<::link::Balanced, ScenarioError> {
        balanced(path, self.lower, self.upper, self.gap)
    }
}

impl CoDel {
    pub(super) fn model(&self, path: &KeyPath) -> Result<::link::CoDel, ScenarioError> {
        let codel = at(path, "target", ::link::CoDel::new(self.target.0, self.interval.0))?;
        Ok(codel.with_ecn(self.ecn))
    }
}

impl FqCoDel {
    pub(super) fn model(&self, path: &KeyPath) -> Result<::link::FqCoDel, ScenarioError> {
        let codel = at(path, "target", ::link::CoDel::new(self.target.0, self.interval.0))?;
        let flows = self.flows.unwrap_or(::link::FqCoDel::FLOWS);
        let fair = at(path, "flows", ::link::FqCoDel::new(codel.with_ecn(self.ecn), flows))?;
        let Some(quantum) = self.quantum else { return Ok(fair) };
        // A quantum above 4 GiB exceeds any packet, so 4 GiB has the same effect.
        let quantum = u32::try_from(quantum.bytes()).unwrap_or(u32::MAX);
        at(path, "quantum", fair.with_quantum(quantum))
    }
}

impl Discard {
    pub(super) fn model(
        &self,
        path: &KeyPath,
    ) -> Result<(atm::Discard, atm::Circuit), ScenarioError> {
        let name = self.policy.name();
        let (threshold, lower) =
            (("threshold", self.threshold.is_some()), ("lower", self.lower.is_some()));
        let (upper, gap) = (("upper", self.upper.is_some()), ("gap", self.gap.is_some()));
        let refused: &[_] = match self.policy {
            Policy::Plain | Policy::Ppd => &[threshold, lower, upper, gap],
            Policy::Epd => &[lower, upper, gap],
            Policy::Bpd => &[threshold],
        };
        foreign(path, name, refused)?;
        let needed = |key: &str, value: Option<f64>| needed(value, path, key, name);
        let discard = match self.policy {
            Policy::Plain => atm::Discard::Plain,
            Policy::Ppd => atm::Discard::Ppd,
            Policy::Epd => {
                atm::Discard::Epd(share(path, "threshold", needed("threshold", self.threshold)?)?)
            }
            Policy::Bpd => {
                let (lower, upper) = (needed("lower", self.lower)?, needed("upper", self.upper)?);
                let gap = super::keys::needed(self.gap, path, "gap", name)?;
                atm::Discard::Bpd(balanced(path, lower, upper, gap)?)
            }
        };
        let circuit = match self.circuit {
            Circuit::Flow => atm::Circuit::Flow,
            Circuit::Workload => atm::Circuit::Path,
        };
        Ok((discard, circuit))
    }
}

impl Policy {
    /// The policy's name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Ppd => "ppd",
            Self::Epd => "epd",
            Self::Bpd => "bpd",
        }
    }
}

impl Circuit {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_flow(&self) -> bool {
        *self == Self::Flow
    }
}

fn balanced(
    path: &KeyPath,
    lower: f64,
    upper: f64,
    gap: u32,
) -> Result<::link::Balanced, ScenarioError> {
    let (lower, upper) = (share(path, "lower", lower)?, share(path, "upper", upper)?);
    at(path, "lower", ::link::Balanced::new(lower, upper, gap))
}

fn share(path: &KeyPath, key: &str, value: f64) -> Result<Probability, ScenarioError> {
    Probability::new(value).map_err(|_| {
        let error = path.key(key).error(&format!("{value:?} is not a share of the buffer, 0 to 1"));
        error.with_hint("0.4 is 40 % of it")
    })
}

/// RFC 8289 §4.3: 5 % of the interval.
fn five_milliseconds() -> Time {
    Text(Duration::from_millis(5))
}

/// RFC 8289 §4.2: the longest of the usual round-trip times.
fn a_tenth_of_a_second() -> Time {
    Text(Duration::from_millis(100))
}

/// The default of `target` in the JSON Schema.
fn five_milliseconds_as_text() -> &'static str {
    "5ms"
}

/// The default of `interval` in the JSON Schema.
fn a_tenth_of_a_second_as_text() -> &'static str {
    "100ms"
}

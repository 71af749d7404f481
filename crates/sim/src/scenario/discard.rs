//! Balanced packet discard and controlled delay for queues, and the cell discard of ports, as
//! written.

use ::link::Probability;
use ::link::atm;
use serde::{Deserialize, Serialize};
use units::Duration;

use super::keys::at;
use super::link::{is_yes, yes};
use super::text;
use super::{KeyPath, ScenarioError, foreign, needed};

/// Balanced packet discard (Cohen and Hamo 2001) with flows and packets: shares of the buffer, and
/// a number of packets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { lower = 0.4, upper = 0.9, gap = 25 }")]
pub struct Balanced {
    /// A packet is dropped if more than this share of the buffer is occupied.
    pub lower: f64,
    /// The threshold for a flow that has just lost a packet.
    pub upper: f64,
    /// The number of packets for which `upper` applies after a loss.
    pub gap: u32,
}

/// Controlled delay (RFC 8289): packets are dropped as they leave if waiting times have been too
/// long for too long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { target = \"5ms\", interval = \"100ms\" }"
)]
pub struct CoDel {
    /// The target of the waiting time.
    #[serde(default = "five_milliseconds", with = "text")]
    pub target: Duration,
    /// The interval during which the target may be exceeded.
    #[serde(default = "a_tenth_of_a_second", with = "text")]
    pub interval: Duration,
    /// ECN-capable packets are marked instead.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub ecn: bool,
}

/// The rule by which a port discards packets that it cannot store whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { policy = \"bpd\", lower = 0.4, upper = 0.9, gap = 25 }"
)]
pub struct Discard {
    /// The discard policy.
    pub policy: Policy,
    /// `epd`: no packet begins if more than this share of the buffer is occupied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// `bpd`: no packet begins if more than this share of the buffer is occupied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    /// `bpd`: the threshold for a circuit that has just lost a packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// `bpd`: the number of packets for which `upper` applies after a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<u32>,
    /// The definition of a virtual circuit.
    #[serde(default, skip_serializing_if = "Circuit::is_flow")]
    pub circuit: Circuit,
}

/// A port's discard policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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
        let codel = at(path, "target", ::link::CoDel::new(self.target, self.interval))?;
        Ok(codel.with_ecn(self.ecn))
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
                let gap = super::needed(self.gap, path, "gap", name)?;
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
fn five_milliseconds() -> Duration {
    Duration::from_millis(5)
}

/// RFC 8289 §4.2: the longest of the usual round-trip times.
fn a_tenth_of_a_second() -> Duration {
    Duration::from_millis(100)
}

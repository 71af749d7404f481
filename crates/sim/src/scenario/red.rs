//! Random early detection, as written.

use ::link::{Measure, Probability};
use serde::{Deserialize, Serialize};

use super::keys::at;
use super::text;
use super::{KeyPath, ScenarioError};

/// Random early detection (Floyd and Jacobson 1993). Thresholds are in bytes or in packets; the
/// average has the same unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { min_packets = 5, max_packets = 15 } or { min_bytes = \"30kB\", max_bytes = \"90kB\" }"
)]
pub struct Red {
    /// `min_th` in bytes: below this average every packet passes.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional_bytes")]
    pub min_bytes: Option<u64>,
    /// `max_th` in bytes: from this average on no packet passes.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional_bytes")]
    pub max_bytes: Option<u64>,
    /// `min_th` in packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_packets: Option<u64>,
    /// `max_th` in packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_packets: Option<u64>,
    /// The probability that is reached at `max_th`.
    #[serde(default = "a_tenth")]
    pub max_p: f64,
    /// The weight of an arrival in the average.
    #[serde(default = "a_five_hundredth")]
    pub w_q: f64,
    /// From `max_th` to twice `max_th` the probability rises to 1 instead of jumping.
    #[serde(default, skip_serializing_if = "is_no")]
    pub gentle: bool,
    /// A packet that finds at most one packet passes, as in ns-2.
    #[serde(default, skip_serializing_if = "is_no")]
    pub spare_short: bool,
    /// The mean size of a packet, for idle periods and for thresholds in bytes; absent: 1500 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional_bytes")]
    pub mean_packet: Option<u64>,
}

impl Red {
    pub(super) fn model(&self, path: &KeyPath) -> Result<::link::Red, ScenarioError> {
        let (measure, max_key, min, max) =
            match (self.min_bytes, self.max_bytes, self.min_packets, self.max_packets) {
                (Some(min), Some(max), None, None) => (Measure::Bytes, "max_bytes", min, max),
                (None, None, Some(min), Some(max)) => (Measure::Packets, "max_packets", min, max),
                _ => {
                    let problem =
                        "needs `min_bytes` and `max_bytes`, or `min_packets` and `max_packets`";
                    return Err(path
                        .error(problem)
                        .with_hint("for example { min_packets = 5, max_packets = 15 }"));
                }
            };
        let share = |key: &str, value: f64| {
            path.key(key).positive(value)?;
            at(path, key, Probability::new(value))
        };
        let (max_p, w_q) = (share("max_p", self.max_p)?, share("w_q", self.w_q)?);
        let red = at(path, max_key, ::link::Red::new(measure, min, max, max_p, w_q))?
            .with_gentle(self.gentle)
            .with_spare_short(self.spare_short);
        let Some(bytes) = self.mean_packet else { return Ok(red) };
        let bytes = u32::try_from(bytes)
            .map_err(|_| path.key("mean_packet").error("must be below 4 GiB"))?;
        at(path, "mean_packet", red.with_mean_packet(bytes))
    }
}

/// Floyd's recommendation of 1997.
fn a_tenth() -> f64 {
    0.1
}

/// The paper's choice, §VI.
fn a_five_hundredth() -> f64 {
    0.002
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_no(value: &bool) -> bool {
    !*value
}

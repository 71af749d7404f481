//! Random early detection, as written.

use ::link::{Measure, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::keys::at;
use super::schema::Share;
use super::text::Size;
use super::{KeyPath, ScenarioError};

/// Random early detection (Floyd and Jacobson 1993).
///
/// The probability that a packet is selected grows with the average queue. A selected packet is
/// dropped, or marked if it is ECN-capable (RFC 3168). Above an upper limit, every packet is
/// dropped. The thresholds and the average are in bytes or in packets. With bytes, the probability
/// is also proportional to the packet's size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { min_packets = 5, max_packets = 15 } or { min_bytes = \"30kB\", max_bytes = \"90kB\" }"
)]
pub struct Red {
    /// `min_th`: below this average queue, no packet is selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_bytes: Option<Size>,
    /// `max_th`: from this average on, every packet is dropped, unless `gentle`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<Size>,
    /// `min_th` in packets instead of bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_packets: Option<u64>,
    /// `max_th` in packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_packets: Option<u64>,
    /// Probability at `max_th`, before the correction by the count since the last selected packet;
    /// above 0, at most 1.
    #[serde(default = "a_tenth")]
    #[schemars(with = "Share")]
    pub max_p: f64,
    /// Weight of an arrival in the moving average; above 0, at most 1.
    #[serde(default = "a_five_hundredth")]
    #[schemars(with = "Share")]
    pub w_q: f64,
    /// The probability grows further from `max_p` at `max_th` to 1 at twice `max_th`. Every packet
    /// is dropped only above that.
    #[serde(default, skip_serializing_if = "is_no")]
    #[schemars(!skip_serializing_if)]
    pub gentle: bool,
    /// Accept a packet that finds at most one packet in the queue, for any average. This rule is
    /// from ns-2, not from the paper.
    #[serde(default, skip_serializing_if = "is_no")]
    #[schemars(!skip_serializing_if)]
    pub spare_short: bool,
    /// Mean packet size. With thresholds in bytes, a packet of this size has the computed
    /// probability. It also determines how the average decays while the link is idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "1500B"))]
    pub mean_packet: Option<Size>,
}

impl Red {
    pub(super) fn model(&self, path: &KeyPath) -> Result<::link::Red, ScenarioError> {
        let (measure, max_key, min, max) =
            match (self.min_bytes, self.max_bytes, self.min_packets, self.max_packets) {
                (Some(min), Some(max), None, None) => {
                    (Measure::Bytes, "max_bytes", min.bytes(), max.bytes())
                }
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
        let bytes = u32::try_from(bytes.bytes())
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

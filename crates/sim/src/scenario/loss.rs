//! Losses of a link, as written.

use ::link::{Burst, GilbertElliott, Linear, LossModel, LossTrace, Probability, parse_mask};
use schemars::JsonSchema;
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

use super::keys::at;
use super::kinds::kinds;
use super::schema::Share;
use super::text::Size;
use super::{KeyPath, ScenarioError};

kinds! {
    /// Losses of a link that are independent of its buffer.
    pub enum Loss of LossKind expecting "a table such as { kind = \"packet\", probability = 0.01 }";
    first {} then {} last {}

    /// Each packet is lost with the same probability, independently.
    "packet" => Packet(PacketLoss) {
        /// Probability that a packet is lost, 0 to 1.
        #[schemars(with = "Share")]
        probability: f64,
    }

    /// Each byte is corrupted with the same probability; a packet with a corrupted byte is lost.
    ///
    /// Bytes are independent.
    "byte" => Byte(ByteLoss) {
        /// Probability that a byte is corrupted, 0 to 1.
        #[schemars(with = "Share")]
        probability: f64,
    }

    /// The loss probability of a packet is proportional to its size.
    "linear" => Linear(LinearLoss) {
        /// Loss probability of a packet of the size `at`, 0 to 1.
        #[schemars(with = "Share")]
        probability: f64,
        /// Packet size, headers included, that is lost with `probability`.
        at: Size,
    }

    /// Losses occur in bursts: a two-state Markov chain (Gilbert).
    ///
    /// Every packet is lost in one state, and no packet in the other.
    "burst" => Burst(BurstLoss) {
        /// Mean share of packets that are lost, 0 to 1.
        #[schemars(with = "Share")]
        probability: f64,
        /// Mean number of consecutive packets that are lost, at least 1.
        run: f64,
    }

    /// A two-state Markov chain with a loss probability in each state (Gilbert 1960, Elliott 1963).
    ///
    /// A packet is lost with the probability of the state that it finds. The state may then change,
    /// once per packet. The first packet finds the state of the long-term equilibrium. The manual
    /// page netem(8) calls the four probabilities p, r, 1-h and 1-k.
    "gilbert-elliott" => GilbertElliott(GilbertElliottLoss) {
        /// Probability p of the change from the good to the bad state, 0 to 1.
        #[schemars(with = "Share")]
        good_to_bad: f64,
        /// Probability r of the change from the bad to the good state, 0 to 1.
        #[schemars(with = "Share")]
        bad_to_good: f64,
        /// Loss probability 1-h in the bad state, 0 to 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<Share>", extend("default" = 1.0))]
        bad_loss: Option<f64>,
        /// Loss probability 1-k in the good state, 0 to 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<Share>", extend("default" = 0.0))]
        good_loss: Option<f64>,
    }

    /// An explicit list of the packets that are lost.
    "mask" => Mask(MaskLoss) {
        /// One digit per data packet in order of arrival, separated by commas: `"1,0,0,1"` drops
        /// the 1st and the 4th. In a scenario's file, `file` may name a text file instead.
        drops: String,
        /// The entries of `drops` stand for all packets, acknowledgments and SYNs included.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = false))]
        all_packets: Option<bool>,
        /// Begin again with the first entry after the last one. Otherwise no packet after the last
        /// entry is lost.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = false))]
        repeat: Option<bool>,
    }
}

impl Loss {
    pub(super) fn model(&self, path: &KeyPath) -> Result<LossModel, ScenarioError> {
        let probability = |value: f64| at(path, "probability", Probability::new(value));
        match self {
            Self::Packet(loss) => probability(loss.probability).map(LossModel::PerPacket),
            Self::Byte(loss) => probability(loss.probability).map(LossModel::PerByte),
            Self::Linear(loss) => {
                let probability = probability(loss.probability)?;
                let size = u32::try_from(loss.at.bytes())
                    .map_err(|_| path.key("at").error("must be below 4 GiB"))?;
                at(path, "at", Linear::new(probability, size)).map(LossModel::Linear)
            }
            Self::Burst(loss) => {
                let probability = probability(loss.probability)?;
                at(path, "run", Burst::new(probability, loss.run)).map(LossModel::Burst)
            }
            Self::GilbertElliott(loss) => {
                let probability = |key: &str, value: f64| at(path, key, Probability::new(value));
                Ok(LossModel::GilbertElliott(GilbertElliott {
                    good_to_bad: probability("good_to_bad", loss.good_to_bad)?,
                    bad_to_good: probability("bad_to_good", loss.bad_to_good)?,
                    bad_loss: probability("bad_loss", loss.bad_loss.unwrap_or(1.0))?,
                    good_loss: probability("good_loss", loss.good_loss.unwrap_or(0.0))?,
                }))
            }
            Self::Mask(loss) => {
                let drops = mask(&loss.drops, path)?;
                let all = loss.all_packets.unwrap_or(false);
                if loss.repeat.unwrap_or(false) {
                    return Ok(LossModel::Trace(LossTrace::new(drops, !all)));
                }
                Ok(if all { LossModel::PacketMask(drops) } else { LossModel::Mask(drops) })
            }
        }
    }
}

/// The entries of `drops`, `true` for lost.
fn mask(drops: &str, path: &KeyPath) -> Result<Vec<bool>, ScenarioError> {
    if drops.contains('\n') {
        return parse_mask(drops).map_err(|e| path.key("drops").error(&e.to_string()));
    }
    let entry = |(index, text): (usize, &str)| match text.trim() {
        "0" => Ok(false),
        "1" => Ok(true),
        other => {
            let problem = format!("`{other}` at position {} is neither 0 nor 1", index + 1);
            let hint = "one for each data packet in order, 1 for lost, e.g. `1,0,0,1`";
            Err(path.key("drops").error(&problem).with_hint(hint))
        }
    };
    drops.split(',').enumerate().map(entry).collect()
}

//! Random variation of a link's delay, as written.

use ::link::parse_delays;
use schemars::JsonSchema;
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

use super::keys::at;
use super::kinds::kinds;
use super::text::Time;
use super::{KeyPath, ScenarioError};

kinds! {
    /// Random variation of a link's delay: each packet has an additional delay of its own.
    ///
    /// A packet waits for the packets that left the link earlier, unless `reorder` is true. A
    /// negative sum of delays is zero.
    pub enum Jitter of JitterKind expecting "a table such as { kind = \"normal\", deviation = \"5ms\" }";
    first {} then {} last {
        /// Let packets overtake packets that left the link earlier.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = false))]
        pub reorder: Option<bool>,
    }

    /// The additional delay is uniform between -by and by.
    "uniform" => Uniform(UniformJitter) {
        /// The maximum of the additional delay.
        by: Time,
    }

    /// The additional delay has a normal distribution with mean zero.
    "normal" => Normal(NormalJitter) {
        /// Standard deviation of the additional delay.
        deviation: Time,
    }

    /// The additional delay has a Pareto distribution that begins at zero (Lomax).
    "pareto" => Pareto(ParetoJitter) {
        /// Mean of the additional delay.
        mean: Time,
        /// Shape of the distribution, above 1 and at most 1000: the tail falls with this power.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = 3.0))]
        shape: Option<f64>,
    }

    /// The additional delay is one of a list of delays, each with the same probability.
    "samples" => Samples(SampledJitter) {
        /// Delays with a unit and possibly a sign, separated by commas or line breaks:
        /// `"0.2ms,-1ms,5ms"`. In a scenario's file, `file` may name a text file instead.
        delays: String,
    }
}

impl Jitter {
    pub(super) fn model(&self, path: &KeyPath) -> Result<::link::Jitter, ScenarioError> {
        let (law, reorder) = match self {
            Self::Uniform(law) => (::link::Jitter::uniform(law.by.0), law.reorder),
            Self::Normal(law) => (::link::Jitter::normal(law.deviation.0), law.reorder),
            Self::Pareto(law) => {
                let shape = law.shape.unwrap_or(3.0);
                (at(path, "shape", ::link::Jitter::pareto(law.mean.0, shape))?, law.reorder)
            }
            Self::Samples(law) => {
                let delays = parse_delays(&law.delays)
                    .map_err(|e| path.key("delays").error(&e.to_string()))?;
                (at(path, "delays", ::link::Jitter::samples(delays))?, law.reorder)
            }
        };
        Ok(law.with_reordering(reorder.unwrap_or(false)))
    }
}

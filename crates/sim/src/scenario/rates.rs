//! Rates that change and token buckets of a link, as written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Rate;

use super::keys::at;
use super::text::{Size, Text};
use super::{KeyPath, ScenarioError};

/// Course of a link's rate, from a trace.
///
/// A trace with one column has mahimahi's format: each line is a time in milliseconds, at which the
/// link can deliver 1504 bytes, 4 of them for the header of each packet. The times do not decrease,
/// and the trace repeats from the last one. Several packets may share an opportunity, and a packet
/// may continue in the next. Bytes for which no packet waits are lost. With two columns, a line is
/// a time and the rate from then on, such as `2.5s 10mbit`; the rate `0` is an outage. The first
/// time is `0s`. A last line such as `10s repeat` begins again. Otherwise the last rate remains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as { file = \"trace.txt\" }")]
pub struct RateTrace {
    /// Text of the trace. In a scenario's file, `file` may name a text file instead.
    pub text: String,
}

/// A token bucket (RFC 2697) with one burst: it is full at first, and fills at `rate`.
///
/// As `police` it drops packets for which it has not enough tokens, before the buffer. As `shape`
/// it delays them behind the buffer. A policer drops every packet that is longer than the burst.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as { rate = \"5Mb/s\", burst = \"15kB\" }")]
pub struct TokenBucket {
    /// Rate at which tokens are added.
    pub rate: Text<Rate>,
    /// Size of the bucket, below 4 GB.
    pub burst: Size,
}

impl RateTrace {
    pub(super) fn model(&self, path: &KeyPath) -> Result<::link::RateTrace, ScenarioError> {
        let trace = ::link::RateTrace::parse(&self.text);
        trace.map_err(|e| path.key("text").error(&e.to_string()))
    }
}

impl TokenBucket {
    pub(super) fn model(&self, path: &KeyPath) -> Result<::link::TokenBucket, ScenarioError> {
        let burst = u32::try_from(self.burst.bytes())
            .map_err(|_| path.key("burst").error("must be below 4 GiB"))?;
        at(path, "burst", ::link::TokenBucket::new(self.rate.0, burst))
    }
}

//! The reason for which a request has no answer.

use schemars::JsonSchema;
use serde::Serialize;
use sim::ScenarioError;
use sim::pcap::CaptureError;

/// The answer to a request that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Refusal {
    /// The problem, on one line, with the key of the scenario or the name of the request.
    pub error: String,
    /// Advice on how to correct it.
    pub hint: Option<String>,
}

impl Refusal {
    /// A refusal with a hint.
    pub(crate) fn new(error: impl Into<String>, hint: &str) -> Self {
        Self { error: error.into(), hint: Some(hint.to_owned()) }
    }
}

impl From<ScenarioError> for Refusal {
    fn from(error: ScenarioError) -> Self {
        Self { error: error.to_string(), hint: error.hint().map(str::to_owned) }
    }
}

impl From<CaptureError> for Refusal {
    fn from(error: CaptureError) -> Self {
        Self { error: error.to_string(), hint: error.hint() }
    }
}

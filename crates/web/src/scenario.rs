//! Scenarios in JSON and in TOML.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sim::Scenario;

use crate::error::Refusal;

/// The text of a scenario file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TomlAnswer {
    /// The text, in TOML.
    pub text: String,
}

/// Reads a scenario in JSON.
pub(crate) fn parsed(scenario: Value) -> Result<Scenario, Refusal> {
    Ok(Scenario::from_value(scenario)?)
}

/// The scenario as JSON, without keys that have their defaults.
pub(crate) fn value_of(scenario: &Scenario) -> Result<Value, Refusal> {
    serde_json::to_value(scenario)
        .map_err(|error| Refusal { error: format!("scenario: {error}"), hint: None })
}

/// The text of a scenario file with a scenario.
pub(crate) fn toml_of(scenario: Value) -> Result<TomlAnswer, Refusal> {
    let scenario = value_of(&parsed(scenario)?)?;
    toml::to_string_pretty(&scenario)
        .map(|text| TomlAnswer { text })
        .map_err(|error| Refusal { error: format!("scenario: {error}"), hint: None })
}

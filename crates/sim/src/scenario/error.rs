//! What is wrong with a scenario, where, and what to do about it, in words of the file rather than
//! of the parser.

use thiserror::Error;

use super::nearest::suggestion;

/// A scenario that cannot be run. Prints on one line, e.g. `workload[1].load: 0 is not above zero`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}: {problem}")]
pub struct ScenarioError {
    path: String,
    problem: String,
    hint: Option<String>,
}

impl ScenarioError {
    /// The `problem` of the key at `path`; an empty path is the scenario itself.
    pub(crate) fn new(path: &str, problem: &str) -> Self {
        let path = if path.is_empty() || path == "." { "scenario" } else { path };
        Self { path: one_line(path), problem: one_line(problem), hint: None }
    }

    /// Adds what to do about it.
    pub(crate) fn with_hint(self, hint: &str) -> Self {
        Self { hint: Some(one_line(hint)), ..self }
    }

    /// The key at fault, e.g. `workload[1].load`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong with it.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// What to do about it, if that can be said.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Puts the parser's complaint about the value at `path` into words of the file.
    pub(crate) fn from_serde(path: &str, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        if !error.is_data() {
            return Self::new("", &format!("not JSON: {message}"));
        }
        // The text was written by a program, so line and column help nobody.
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(text, _)| text);
        from_message(path, message)
    }
}

/// The forms below are fixed by `serde::de::Error`; the tests hold them.
fn from_message(path: &str, message: &str) -> ScenarioError {
    if let Some((found, known)) = name_and_known(message, "unknown field `") {
        let hint = suggestion(found, &known);
        return ScenarioError::new(path, "unknown key").with_hint(&hint);
    }
    if let Some((found, known)) = name_and_known(message, "unknown variant `") {
        let problem = format!("`{found}` is none of {}", listed(&known));
        return ScenarioError::new(path, &problem).with_hint(&suggestion(found, &known));
    }
    if let Some(name) =
        message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'))
    {
        return ScenarioError::new(&within(path, name), "missing");
    }
    if let Some(name) =
        message.strip_prefix("duplicate field `").and_then(|rest| rest.strip_suffix('`'))
    {
        return ScenarioError::new(&within(path, name), "given twice");
    }
    for prefix in ["invalid type: ", "invalid value: "] {
        let parts = message.strip_prefix(prefix).and_then(|rest| rest.rsplit_once(", expected "));
        if let Some((found, expected)) = parts {
            let problem = format!("expected {}, found {}", in_words(expected), in_words(found));
            return ScenarioError::new(path, &problem);
        }
    }
    ScenarioError::new(path, message)
}

/// Splits "unknown … `name`, expected one of `a`, `b`" into the name and the known ones.
fn name_and_known<'m>(message: &'m str, prefix: &str) -> Option<(&'m str, Vec<&'m str>)> {
    let (name, expected) = message.strip_prefix(prefix)?.rsplit_once("`, expected ")?;
    Some((name, expected.split('`').skip(1).step_by(2).collect()))
}

/// The path of key `name` in the table at `path`.
fn within(path: &str, name: &str) -> String {
    if path == "." { name.to_owned() } else { format!("{path}.{name}") }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The file's word for the parser's.
fn in_words(term: &str) -> &str {
    match term {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 to 18446744073709551615",
        "f64" => "a number",
        "a string" => "a text",
        "map" => "a table",
        "sequence" | "a sequence" => "a list",
        "null" => "nothing",
        _ => term,
    }
}

/// Names come from a file, so they may hold anything; an error stays on its line.
fn one_line(text: &str) -> String {
    let plain =
        |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(plain).collect()
}

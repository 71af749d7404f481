//! Paths of keys in a scenario, and the checks that report them.

use ::link::ConfigError;

use super::ScenarioError;
use super::nearest::suggestion;

/// The path of a value in the scenario, e.g. `workload[1].sizes`.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyPath(String);

impl KeyPath {
    /// The element `index` of the scenario's list `key`.
    pub(crate) fn element(key: &str, index: usize) -> Self {
        Self(format!("{key}[{index}]"))
    }

    /// The value of `key` in the table at this path.
    pub(crate) fn key(&self, key: &str) -> Self {
        Self(if self.0.is_empty() { key.to_owned() } else { format!("{}.{key}", self.0) })
    }

    /// The element `index` of the list at this path.
    pub(crate) fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// An error in the value at this path.
    pub(crate) fn error(&self, problem: &str) -> ScenarioError {
        ScenarioError::new(&self.0, problem)
    }

    /// Returns an error with the text `problem` unless `holds`.
    pub(crate) fn require(&self, holds: bool, problem: &str) -> Result<(), ScenarioError> {
        if holds { Ok(()) } else { Err(self.error(problem)) }
    }

    /// The index of `name` among `names`. `what` is the kind of the names, for the error.
    pub(crate) fn find<S: AsRef<str>>(
        &self,
        name: &str,
        names: &[S],
        what: &str,
    ) -> Result<usize, ScenarioError> {
        names.iter().position(|known| known.as_ref() == name).ok_or_else(|| {
            let known: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
            self.error(&format!("there is no {what} `{name}`")).with_hint(&suggestion(name, &known))
        })
    }

    /// Checks that a number is finite and above zero.
    pub(crate) fn positive(&self, value: f64) -> Result<f64, ScenarioError> {
        let problem = format!("{value:?} is not a number above zero");
        self.require(value > 0.0 && value.is_finite(), &problem).map(|()| value)
    }
}

/// Attaches a link's configuration error to its key.
pub(super) fn at<T>(
    path: &KeyPath,
    key: &str,
    result: Result<T, ConfigError>,
) -> Result<T, ScenarioError> {
    result.map_err(|error| path.key(key).error(&error.to_string()))
}

/// The value of a key that `kind` requires.
pub(super) fn needed<T>(
    value: Option<T>,
    path: &KeyPath,
    key: &str,
    kind: &str,
) -> Result<T, ScenarioError> {
    value.ok_or_else(|| path.key(key).error(&format!("missing; kind `{kind}` needs it")))
}

/// Refuses keys that have no meaning for `kind`. Ignoring them silently would hide the mistake.
pub(super) fn foreign(
    path: &KeyPath,
    kind: &str,
    keys: &[(&str, bool)],
) -> Result<(), ScenarioError> {
    match keys.iter().find(|(_, given)| *given) {
        Some((key, _)) => Err(path.key(key).error(&format!("does not belong to kind `{kind}`"))),
        None => Ok(()),
    }
}

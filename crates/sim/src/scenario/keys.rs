//! Places in a scenario and the checks that need one.

use ::link::ConfigError;

use super::ScenarioError;
use super::nearest::suggestion;

/// Where in the scenario a value stands, e.g. `workload[1].sizes`.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyPath(String);

impl KeyPath {
    /// The element `index` of the list `key` of the scenario.
    pub(crate) fn element(key: &str, index: usize) -> Self {
        Self(format!("{key}[{index}]"))
    }

    /// The value of `key` in the table at this place.
    pub(crate) fn key(&self, key: &str) -> Self {
        Self(if self.0.is_empty() { key.to_owned() } else { format!("{}.{key}", self.0) })
    }

    /// The element `index` of the list at this place.
    pub(crate) fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// A problem with the value here.
    pub(crate) fn error(&self, problem: &str) -> ScenarioError {
        ScenarioError::new(&self.0, problem)
    }

    /// Refuses a value here unless `holds`; `problem` says what it is not.
    pub(crate) fn require(&self, holds: bool, problem: &str) -> Result<(), ScenarioError> {
        if holds { Ok(()) } else { Err(self.error(problem)) }
    }

    /// The index of `name` among `names`, which are what the text `what` says.
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

    /// A finite number above zero.
    pub(crate) fn positive(&self, value: f64) -> Result<f64, ScenarioError> {
        let problem = format!("{value:?} is not a number above zero");
        self.require(value > 0.0 && value.is_finite(), &problem).map(|()| value)
    }
}

/// Puts what the link refuses at the key it came from.
pub(super) fn at<T>(
    path: &KeyPath,
    key: &str,
    result: Result<T, ConfigError>,
) -> Result<T, ScenarioError> {
    result.map_err(|error| path.key(key).error(&error.to_string()))
}

/// The value of a key that `kind` cannot do without.
pub(crate) fn needed<T>(
    value: Option<T>,
    path: &KeyPath,
    key: &str,
    kind: &str,
) -> Result<T, ScenarioError> {
    value.ok_or_else(|| path.key(key).error(&format!("missing; kind `{kind}` needs it")))
}

/// Refuses keys that mean nothing for `kind`: silently ignored, they would look obeyed.
pub(crate) fn foreign(
    path: &KeyPath,
    kind: &str,
    keys: &[(&str, bool)],
) -> Result<(), ScenarioError> {
    match keys.iter().find(|(_, given)| *given) {
        Some((key, _)) => Err(path.key(key).error(&format!("does not belong to kind `{kind}`"))),
        None => Ok(()),
    }
}

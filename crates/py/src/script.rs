//! Player for scripts in the packetdrill language.

use drill::profile::{PROFILES, Profile};
use drill::script::{Definitions, Setting};
use drill::{Options, run};
use policy::SenderPolicy;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Names of the profiles.
#[pyfunction]
pub(crate) fn drill_profiles() -> Vec<&'static str> {
    PROFILES.map(Profile::name).to_vec()
}

/// Plays a script, and returns the report as JSON. `name` is the name of its file. `definitions`
/// replace words of the script, and `settings` its settings. An unknown profile or sender raises a
/// `ValueError`.
#[pyfunction]
#[pyo3(signature = (
    name, script, *, profile, sender=None, definitions, settings, strict_psh=false, trace=false
))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn play_script(
    py: Python<'_>,
    name: &str,
    script: &[u8],
    profile: &str,
    sender: Option<&str>,
    definitions: Definitions,
    settings: Vec<(String, String)>,
    strict_psh: bool,
    trace: bool,
) -> PyResult<String> {
    let profile: Profile =
        profile.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
    let sender: Option<SenderPolicy> = sender
        .map(str::parse)
        .transpose()
        .map_err(|error: policy::ParseSenderError| PyValueError::new_err(error.to_string()))?;
    let settings =
        settings.into_iter().map(|(name, value)| Setting { line: 1, name, value }).collect();
    let options = Options { profile, sender, strict_psh, trace, definitions, settings };
    // Comments may have any encoding.
    let text = String::from_utf8_lossy(script);
    Ok(py.detach(|| run(name, &text, &options).to_json()))
}

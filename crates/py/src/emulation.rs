//! A command behind an emulated link.

use std::collections::BTreeMap;
use std::path::PathBuf;

use emulator::{
    Capture, Control, EmulationError, Job, Schedule, Settings, Target, Template, Templates,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use sim::{Plan, Scenario};

use crate::system_error;

/// Both ends of a link, ready for a command.
#[pyclass(module = "tcpsf._core")]
pub(crate) struct Emulation {
    prepared: Option<emulator::Emulation>,
    schedule: Schedule,
    ends: [Option<String>; 4],
}

#[pymethods]
impl Emulation {
    /// Makes both ends. Invalid settings raise a `ValueError`, an error of the system a
    /// `RuntimeError`. Both have two arguments: the error, and a hint or `None`. A `RuntimeError`
    /// has a third argument: the exit status for a command that did not start, or `None`.
    ///
    /// With `nat`, the command reaches the networks outside of this machine. `target` is an
    /// existing network namespace: `namespace` with a name or a path, or `process` with a number.
    ///
    /// A direction may begin with a link of a scenario: the scenario as JSON, the link's name, and
    /// the option with its value that named it.
    #[new]
    #[pyo3(signature = (settings_json, *, own, nat=false, target=None, up=None, down=None))]
    fn new(
        settings_json: &str,
        own: bool,
        nat: bool,
        target: Option<(String, String)>,
        up: Option<ScenarioLink>,
        down: Option<ScenarioLink>,
    ) -> PyResult<Self> {
        let templates =
            Templates { up: up.map(template).transpose()?, down: down.map(template).transpose()? };
        let invalid = |e: emulator::SettingsError| {
            PyValueError::new_err((e.to_string(), e.hint().map(str::to_owned)))
        };
        let settings = Settings::from_json_with(settings_json, &templates).map_err(invalid)?;
        let schedule = Schedule::from_json(settings_json, &templates).map_err(invalid)?;
        let mut emulation = match target.map(existing).transpose()? {
            Some(target) => emulator::Emulation::attached(&settings, &target),
            None => emulator::Emulation::new(&settings, own),
        }
        .map_err(|e| refusal(&e))?;
        if nat {
            emulation.reach_outside().map_err(|e| refusal(&e))?;
        }
        let found = emulation.ends();
        let (four, six) = ([found.outside, found.inside], [found.outside_v6, found.inside_v6]);
        let ends = [Some(four[0]), Some(four[1]), six[0], six[1]]
            .map(|end| end.map(|end| end.to_string()));
        Ok(Self { prepared: Some(emulation), schedule, ends })
    }

    /// The addresses: outside, inside, and both in IPv6 if the system supports it.
    #[getter]
    fn ends(&self) -> (Option<String>, Option<String>, Option<String>, Option<String>) {
        let [a, b, c, d] = self.ends.clone();
        (a, b, c, d)
    }

    /// Runs a command behind the link without holding the interpreter's lock, and returns the
    /// report as JSON. Termination signals to this process are forwarded to the command. A second
    /// call is an error. `control` is the name of the link and the path of a socket for requests.
    #[pyo3(signature = (command, *, outside, capture, control=None))]
    fn run(
        &mut self,
        py: Python<'_>,
        command: Vec<String>,
        outside: Option<Vec<String>>,
        capture: Option<(PathBuf, String, u32)>,
        control: Option<(String, PathBuf)>,
    ) -> PyResult<String> {
        let Some(emulation) = self.prepared.take() else {
            return Err(PyRuntimeError::new_err("the link has been used"));
        };
        let capture = capture
            .map(|(path, vantage_point, snap_len)| {
                let vantage_point = vantage_point.parse().map_err(|()| {
                    PyValueError::new_err((
                        format!("no vantage point `{vantage_point}`"),
                        None::<String>,
                    ))
                })?;
                Ok::<_, PyErr>(Capture { path, vantage_point, snap_len })
            })
            .transpose()?;
        let control = control.map(|(name, path)| Control { name, path });
        let schedule = std::mem::take(&mut self.schedule);
        let job = Job { command, outside, capture, schedule, control };
        py.detach(|| emulation.run(&job)).map(|report| report.to_json()).map_err(|e| refusal(&e))
    }
}

/// The groups of options, without their dashes, of which a direction has one at most.
#[pyfunction]
pub(crate) fn exclusive_link_options() -> [Vec<&'static str>; 4] {
    emulator::settings::EXCLUSIVE.map(<[_]>::to_vec)
}

/// The mean rate in bits per second of a direction with these options, from its line or its shaper.
/// `None` if it has neither, or if an option is invalid.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 converts to an owned map")]
pub(crate) fn mean_link_rate(options: BTreeMap<String, String>) -> Option<u64> {
    emulator::settings::mean_rate(&options).map(units::Rate::bits_per_sec)
}

/// A scenario as JSON, the name of one of its links, an option and its value.
type ScenarioLink = (String, String, String, String);

fn template((json, name, option, value): ScenarioLink) -> PyResult<Template> {
    let refused = |problem: String, hint: Option<String>| {
        PyValueError::new_err((format!("`{option} {value}`: {problem}"), hint))
    };
    let plan = Scenario::from_json(&json)
        .and_then(|scenario| Plan::new(&scenario))
        .map_err(|e| refused(e.to_string(), e.hint().map(str::to_owned)))?;
    let found = plan.links.iter().find(|link| link.name == name);
    let Some(link) = found.map(|found| found.config.clone()) else {
        let names: Vec<String> = plan.links.iter().map(|link| format!("`{}`", link.name)).collect();
        let hint = format!("the scenario's links: {}", names.join(", "));
        return Err(refused(format!("there is no link `{name}`"), Some(hint)));
    };
    Ok(Template { option, value, link })
}

fn existing((kind, value): (String, String)) -> PyResult<Target> {
    if kind == "namespace" {
        return Ok(Target::Namespace(value));
    }
    value.parse().map(Target::Process).map_err(|_| {
        let problem = format!("cannot find process `{value}`: it is not a number");
        PyValueError::new_err((problem, None::<String>))
    })
}

fn refusal(error: &EmulationError) -> PyErr {
    match error {
        EmulationError::System(refused) | EmulationError::Command(refused) => {
            // Without the number that Rust appends, as in `Simulation`.
            let text = refused.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_owned();
            PyRuntimeError::new_err((text, error.hint().map(str::to_owned), error.exit_status()))
        }
        EmulationError::Control { .. } => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_owned();
            PyRuntimeError::new_err((text, error.hint().map(str::to_owned), None::<i32>))
        }
        EmulationError::Capture { source, .. } => system_error(source),
    }
}

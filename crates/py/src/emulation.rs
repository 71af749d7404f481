//! A command behind an emulated link.

use std::collections::BTreeMap;
use std::path::PathBuf;

use emulator::{
    Capture, Control, EmulationError, Ends, Job, Schedule, Settings, Several, Target, Template,
    Templates,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use sim::{Plan, Scenario};

use crate::system_error;

/// The links of a command: both ends of each.
#[pyclass(module = "tcpsf._core")]
pub(crate) struct Emulation {
    prepared: Option<Several>,
    schedules: Vec<Schedule>,
    nat: bool,
}

/// The addresses of a link: outside, inside, and both in IPv6 if the system supports it.
type Addresses = (String, String, Option<String>, Option<String>);
/// A capture: its path, the vantage point, and the maximum length of a packet.
type CaptureFile = (PathBuf, String, u32);
/// The name of a link, and the path of its socket.
type Name = (String, PathBuf);

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
        let (settings, schedule) = read(settings_json, up, down)?;
        let emulation = match target.map(existing).transpose()? {
            Some(target) => {
                emulator::Emulation::attached(&settings, &target).and_then(|mut made| {
                    if nat {
                        made.reach_outside()?;
                    }
                    Ok(made)
                })
            }
            None if nat => emulator::Emulation::reaching_outside(&settings),
            None => emulator::Emulation::new(&settings, own),
        }
        .map_err(|e| refusal(&e))?;
        Ok(Self { prepared: Some(Several::new(emulation)), schedules: vec![schedule], nat })
    }

    /// Adds a link beside the others: a further way out of the command's network, for packets from
    /// its own address. The arguments and the errors are those of the constructor.
    #[pyo3(signature = (settings_json, *, up=None, down=None))]
    fn add(
        &mut self,
        settings_json: &str,
        up: Option<ScenarioLink>,
        down: Option<ScenarioLink>,
    ) -> PyResult<()> {
        let (settings, schedule) = read(settings_json, up, down)?;
        let links = self.prepared.as_mut().ok_or_else(used)?;
        let added = links.add(&settings).map_err(|e| refusal(&e))?;
        if self.nat {
            added.reach_outside().map_err(|e| refusal(&e))?;
        }
        self.schedules.push(schedule);
        Ok(())
    }

    /// The addresses of each link.
    #[getter]
    fn ends(&self) -> PyResult<Vec<Addresses>> {
        let links = self.prepared.as_ref().ok_or_else(used)?;
        Ok(links.links().map(|link| addresses(link.ends())).collect())
    }

    /// Whether connections to hosts outside of this machine end at a gateway.
    #[getter]
    fn has_gateway(&self) -> PyResult<bool> {
        let links = self.prepared.as_ref().ok_or_else(used)?;
        Ok(links.links().any(emulator::Emulation::has_gateway))
    }

    /// Runs a command behind the links without holding the interpreter's lock, and returns a report
    /// for each link as JSON. Termination signals to this process are forwarded to the command. A
    /// second call is an error. `captures` and `names` have one entry for each link, which may be
    /// `None`. A name is given with the path of a socket for requests.
    #[pyo3(signature = (command, *, outside, captures, names))]
    fn run(
        &mut self,
        py: Python<'_>,
        command: Vec<String>,
        outside: Option<Vec<String>>,
        captures: Vec<Option<CaptureFile>>,
        names: Vec<Option<Name>>,
    ) -> PyResult<Vec<String>> {
        let links = self.prepared.take().ok_or_else(used)?;
        let schedules = std::mem::take(&mut self.schedules);
        let mut jobs = Vec::new();
        for ((schedule, capture), name) in schedules.into_iter().zip(captures).zip(names) {
            let capture = capture.map(read_capture).transpose()?;
            let control = name.map(|(name, path)| Control { name, path });
            jobs.push(Job { capture, schedule, control, ..Job::default() });
        }
        let Some((first, others)) = jobs.split_first() else { return Ok(Vec::new()) };
        let job = Job { command, outside, ..first.clone() };
        let reports = py.detach(|| links.run(&job, others)).map_err(|e| refusal(&e))?;
        Ok(reports.iter().map(emulator::Report::to_json).collect())
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

fn used() -> PyErr {
    PyRuntimeError::new_err("the link has been used")
}

/// Reads the settings of a link, and their changes over time.
fn read(
    settings_json: &str,
    up: Option<ScenarioLink>,
    down: Option<ScenarioLink>,
) -> PyResult<(Settings, Schedule)> {
    let templates =
        Templates { up: up.map(template).transpose()?, down: down.map(template).transpose()? };
    let invalid = |e: emulator::SettingsError| {
        PyValueError::new_err((e.to_string(), e.hint().map(str::to_owned)))
    };
    let settings = Settings::from_json_with(settings_json, &templates).map_err(invalid)?;
    let schedule = Schedule::from_json(settings_json, &templates).map_err(invalid)?;
    Ok((settings, schedule))
}

fn addresses(ends: &Ends) -> Addresses {
    let six = [ends.outside_v6, ends.inside_v6].map(|end| end.map(|end| end.to_string()));
    let [outside_v6, inside_v6] = six;
    (ends.outside.to_string(), ends.inside.to_string(), outside_v6, inside_v6)
}

fn read_capture((path, vantage_point, snap_len): CaptureFile) -> PyResult<Capture> {
    let vantage_point = vantage_point.parse().map_err(|()| {
        PyValueError::new_err((format!("no vantage point `{vantage_point}`"), None::<String>))
    })?;
    Ok(Capture { path, vantage_point, snap_len })
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

//! A simulation, driven in steps so that Python handles Ctrl-C in between.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use sim::pcap::{Capture, CaptureError, VantagePoint};
use sim::{CustomModels, Scenario, ScenarioError, Seed, Status};
use units::Instant;

use crate::models::{self, Failure, Models};
use crate::system_error;
use crate::table::Table;

/// The number of events after which a captured run writes its packets: some megabytes of them.
const EVENTS_BETWEEN_DRAINS: u64 = 5000;

/// The number of events after which a run with Python models checks for an exception.
const EVENTS_BETWEEN_CHECKS: u64 = 100;

/// One run of a scenario.
#[pyclass(module = "tcpsf._core")]
pub(crate) struct Simulation {
    run: sim::Simulation,
    scenario: Scenario,
    seed: u64,
    capture: Option<Capture<BufWriter<File>>>,
    /// The first exception of a Python model; `None` for a run without such models.
    failure: Option<Arc<Failure>>,
}

#[pymethods]
impl Simulation {
    /// Sets up a run. An invalid scenario raises a `ValueError` with two arguments: the error, and
    /// a hint or `None`.
    ///
    /// `loss`, `queue` and `controllers` are pairs of a name and a callable that makes a model. A
    /// model that does not fit the scenario raises a `TcpsfError`.
    #[new]
    #[pyo3(signature = (
        scenario_json, *, seed, loss=Vec::new(), queue=Vec::new(), controllers=Vec::new()
    ))]
    fn new(
        py: Python<'_>,
        scenario_json: &str,
        seed: u64,
        loss: Vec<(String, Py<PyAny>)>,
        queue: Vec<(String, Py<PyAny>)>,
        controllers: Vec<(String, Py<PyAny>)>,
    ) -> PyResult<Self> {
        let scenario = Scenario::from_json(scenario_json).map_err(|e| refusal(&e))?;
        let failure = Arc::new(Failure::default());
        let models = Models { loss, queue, controllers };
        let custom = models.into_custom(&scenario, Seed(seed), &failure);
        let has_models = has_models(&custom);
        let refuse = |e: ScenarioError| if has_models { misfit(py, &e) } else { refusal(&e) };
        let run = sim::Simulation::with_models(&scenario, seed, &custom).map_err(refuse)?;
        failure.raise()?;
        let failure = has_models.then_some(failure);
        Ok(Self { run, scenario, seed, capture: None, failure })
    }

    /// Starts a capture of the first `snap_len` bytes of all packets in a pcapng file. `place` is
    /// the vantage point: the host that sends a flow's data, the one that receives it, or both.
    /// Call it before the first `advance`.
    #[pyo3(signature = (path, *, place, snap_len))]
    fn capture(&mut self, path: PathBuf, place: &str, snap_len: u32) -> PyResult<()> {
        let place = match place {
            "sender" => VantagePoint::Sender,
            "receiver" => VantagePoint::Receiver,
            "both" => VantagePoint::Both,
            other => {
                return Err(PyValueError::new_err((format!("no place `{other}`"), None::<String>)));
            }
        };
        let file = BufWriter::new(File::create(path).map_err(|e| system_error(&e))?);
        let mut capture = Capture::new(file, &self.scenario, self.seed, place, snap_len).map_err(
            |e| match e {
                CaptureError::Write(error) => system_error(&error),
                other => PyValueError::new_err((other.to_string(), other.hint())),
            },
        )?;
        capture.start(&mut self.run);
        self.capture = Some(capture);
        Ok(())
    }

    /// Ends the capture and completes the file.
    fn finish_capture(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(capture) = self.capture.take() else {
            return Err(PyRuntimeError::new_err("there is no capture"));
        };
        py.detach(|| capture.finish()).map(drop).map_err(|e| system_error(&e))
    }

    /// Handles up to `max_events` events without holding the interpreter's lock. Returns `True`
    /// while there are more.
    #[pyo3(signature = (*, max_events))]
    fn advance(&mut self, py: Python<'_>, max_events: u64) -> PyResult<bool> {
        let Self { run, capture, failure, .. } = self;
        let (capture, failure) = (capture.as_mut(), failure.as_deref());
        let status = py
            .detach(|| advance(run, capture, failure, max_events))
            .map_err(|e| system_error(&e))?;
        if let Some(failure) = failure {
            failure.raise()?;
        }
        Ok(status == Status::Running)
    }

    /// Whether a Python model has raised an exception.
    #[getter]
    fn model_failed(&self) -> bool {
        self.failure.as_deref().is_some_and(Failure::has_failed)
    }

    /// The current simulated time in seconds.
    #[getter]
    fn now_s(&self) -> f64 {
        sim::tables::time_s(self.run.now())
    }

    /// The simulated time over which statistics are collected, in seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        sim::tables::time_s(Instant::ZERO + self.run.duration())
    }

    /// The number of events handled so far.
    #[getter]
    fn events(&self) -> u64 {
        self.run.events()
    }

    /// The number of rows that have not been taken.
    #[getter]
    fn buffered_rows(&self) -> usize {
        self.run.buffered_rows()
    }

    /// Takes the flows that have ended since the last call.
    fn take_flows(&mut self) -> PyResult<Table> {
        Table::new(self.run.take_flows().into_columns())
    }

    /// Takes the losses detected since the last call.
    fn take_recoveries(&mut self) -> PyResult<Table> {
        Table::new(self.run.take_recoveries().into_columns())
    }

    /// Takes the samples recorded since the last call.
    fn take_samples(&mut self) -> PyResult<Table> {
        Table::new(self.run.take_samples().into_columns())
    }

    /// Takes the packets of traced workloads recorded since the last call.
    fn take_packets(&mut self) -> PyResult<Table> {
        Table::new(self.run.take_packets().into_columns())
    }

    /// The links' books and statistics up to now.
    fn links(&mut self) -> PyResult<Table> {
        Table::new(self.run.links().into_columns())
    }
}

/// Handles up to `max_events` events, and writes the capture. Stops early if a Python model fails.
fn advance(
    run: &mut sim::Simulation,
    mut capture: Option<&mut Capture<BufWriter<File>>>,
    failure: Option<&Failure>,
    max_events: u64,
) -> io::Result<Status> {
    let most = match (&capture, failure) {
        (None, None) => max_events,
        (_, Some(_)) => EVENTS_BETWEEN_CHECKS,
        (Some(_), None) => EVENTS_BETWEEN_DRAINS,
    };
    let mut left = max_events;
    while left > 0 && !failure.is_some_and(Failure::has_failed) {
        let step = left.min(most);
        left -= step;
        let status = run.advance(step);
        if let Some(capture) = &mut capture {
            capture.drain(run)?;
        }
        if status == Status::Done {
            return Ok(status);
        }
    }
    Ok(Status::Running)
}

fn has_models(custom: &CustomModels) -> bool {
    !(custom.losses.is_empty() && custom.disciplines.is_empty() && custom.controllers.is_empty())
}

/// The error of Python models that do not fit a valid scenario.
fn misfit(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let message = format!("cannot use a Python model: {error}");
    models::refusal(py, message, error.hint().unwrap_or("see the names in the scenario"))
}

fn refusal(error: &ScenarioError) -> PyErr {
    PyValueError::new_err((error.to_string(), error.hint().map(str::to_owned)))
}

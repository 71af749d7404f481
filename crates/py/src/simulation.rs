//! A simulation, driven in steps so that Python handles Ctrl-C in between.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use sim::pcap::{Capture, CaptureError, VantagePoint};
use sim::{Scenario, ScenarioError, Status};
use units::Instant;

use crate::system_error;
use crate::table::Table;

/// The number of events after which a captured run writes its packets: some megabytes of them.
const EVENTS_BETWEEN_DRAINS: u64 = 5000;

/// One run of a scenario.
#[pyclass(module = "tcpsf._core")]
pub(crate) struct Simulation {
    run: sim::Simulation,
    scenario: Scenario,
    seed: u64,
    capture: Option<Capture<BufWriter<File>>>,
}

#[pymethods]
impl Simulation {
    /// Sets up a run. An invalid scenario raises a `ValueError` with two arguments: the error, and
    /// a hint or `None`.
    #[new]
    #[pyo3(signature = (scenario_json, *, seed))]
    fn new(scenario_json: &str, seed: u64) -> PyResult<Self> {
        let scenario = Scenario::from_json(scenario_json).map_err(|e| refusal(&e))?;
        let run = sim::Simulation::new(&scenario, seed).map_err(|e| refusal(&e))?;
        Ok(Self { run, scenario, seed, capture: None })
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
        let capture = Capture::new(file, &self.scenario, self.seed, place, snap_len).map_err(
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
        let Self { run, capture, .. } = self;
        let status = match capture {
            None => py.detach(|| run.advance(max_events)),
            Some(capture) => {
                py.detach(|| captured(run, capture, max_events)).map_err(|e| system_error(&e))?
            }
        };
        Ok(status == Status::Running)
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

fn captured(
    run: &mut sim::Simulation,
    capture: &mut Capture<BufWriter<File>>,
    max_events: u64,
) -> io::Result<Status> {
    let mut left = max_events;
    while left > 0 {
        let step = left.min(EVENTS_BETWEEN_DRAINS);
        left -= step;
        let status = run.advance(step);
        capture.drain(run)?;
        if status == Status::Done {
            return Ok(status);
        }
    }
    Ok(Status::Running)
}

fn refusal(error: &ScenarioError) -> PyErr {
    PyValueError::new_err((error.to_string(), error.hint().map(str::to_owned)))
}

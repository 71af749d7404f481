//! One run, driven in steps so that Python gets to hear Ctrl-C in between.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sim::{Scenario, ScenarioError, Status};
use units::Instant;

use crate::table::Table;

/// One run of a scenario.
#[pyclass(module = "tcpsf._core")]
pub(crate) struct Simulation(sim::Simulation);

#[pymethods]
impl Simulation {
    /// Sets a run up. A scenario that makes no sense is a `ValueError` with two arguments: what is wrong, and a
    /// hint or `None`.
    #[new]
    #[pyo3(signature = (scenario_json, *, seed))]
    fn new(scenario_json: &str, seed: u64) -> PyResult<Self> {
        let scenario = Scenario::from_json(scenario_json).map_err(|e| refusal(&e))?;
        sim::Simulation::new(&scenario, seed).map(Self).map_err(|e| refusal(&e))
    }

    /// Handles up to `max_events` events without holding the interpreter's lock; `True` while there are more.
    #[pyo3(signature = (*, max_events))]
    fn advance(&mut self, py: Python<'_>, max_events: u64) -> bool {
        py.detach(|| self.0.advance(max_events)) == Status::Running
    }

    /// Simulated seconds so far.
    #[getter]
    fn now_s(&self) -> f64 {
        sim::tables::time_s(self.0.now())
    }

    /// Simulated seconds in all.
    #[getter]
    fn duration_s(&self) -> f64 {
        sim::tables::time_s(Instant::ZERO + self.0.duration())
    }

    /// Events handled so far.
    #[getter]
    fn events(&self) -> u64 {
        self.0.events()
    }

    /// Rows that wait to be taken.
    #[getter]
    fn buffered_rows(&self) -> usize {
        self.0.buffered_rows()
    }

    /// Takes the flows that have ended since they were last taken.
    fn take_flows(&mut self) -> PyResult<Table> {
        Table::new(self.0.take_flows().into_columns())
    }

    /// Takes the losses detected since they were last taken.
    fn take_recoveries(&mut self) -> PyResult<Table> {
        Table::new(self.0.take_recoveries().into_columns())
    }

    /// Takes the samples since they were last taken.
    fn take_samples(&mut self) -> PyResult<Table> {
        Table::new(self.0.take_samples().into_columns())
    }

    /// Takes the packets of traced workloads since they were last taken.
    fn take_packets(&mut self) -> PyResult<Table> {
        Table::new(self.0.take_packets().into_columns())
    }

    /// The links' books and statistics up to now.
    fn links(&mut self) -> PyResult<Table> {
        Table::new(self.0.links().into_columns())
    }
}

fn refusal(error: &ScenarioError) -> PyErr {
    PyValueError::new_err((error.to_string(), error.hint().map(str::to_owned)))
}

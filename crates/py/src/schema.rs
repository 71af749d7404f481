//! The definition of a scenario, for the Python classes, the reference page and editors. `sim` has
//! it.

use pyo3::prelude::*;
use sim::Scenario;
use sim::scenario::Profile;

/// The JSON Schema of a scenario file, as JSON.
#[pyfunction]
pub(crate) fn scenario_schema() -> String {
    Scenario::json_schema()
}

/// The TCP profiles as tables of a scenario, as JSON. Keys that a profile does not define are
/// absent.
#[pyfunction]
pub(crate) fn profiles() -> String {
    Profile::tables_json()
}

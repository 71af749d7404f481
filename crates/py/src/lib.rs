//! The Python module `tcpsf._core`: a simulation to be driven in steps, and its tables by the Arrow C stream
//! interface. Conversions only; what a user sees is the Python package around it.

mod profiles;
mod simulation;
mod table;

use pyo3::prelude::*;

/// The simulator's binding.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::profiles::profiles;
    #[pymodule_export]
    use super::simulation::Simulation;
    #[pymodule_export]
    use super::table::Table;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const version: &str = env!("CARGO_PKG_VERSION");
}

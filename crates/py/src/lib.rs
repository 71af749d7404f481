//! The Python module `tcpsf._core`: simulations driven in steps, with tables through the Arrow C
//! stream interface; commands behind an emulated link; a host that serves files or relays; an HTTP
//! client; a player for scripts; the analysis of captures. It also has remedies for running
//! servers. This crate only converts; the Python package around it is the user interface.

mod analysis;
mod cure;
mod emulation;
mod facts;
mod fetch;
mod host;
mod models;
mod preloading;
mod quantity;
mod schema;
mod script;
mod simulation;
mod table;

use std::io;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// The extension module.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::analysis::CaptureAnalysis;
    #[pymodule_export]
    use super::cure::{RemedyTrial, SocketSettings, TailCopies};
    #[pymodule_export]
    use super::emulation::{Emulation, exclusive_link_options, mean_link_rate};
    #[pymodule_export]
    use super::facts::{AckFacts, ControllerStart, PacketFacts, QueueFacts, ReductionFacts};
    #[pymodule_export]
    use super::fetch::Fetch;
    #[pymodule_export]
    use super::host::{Host, counts_packets, host_profiles, sender_of_profile};
    #[pymodule_export]
    use super::preloading::PreloadSession;
    #[pymodule_export]
    use super::quantity::{bits_per_second, bytes, nanoseconds};
    #[pymodule_export]
    use super::schema::{profiles, scenario_schema};
    #[pymodule_export]
    use super::script::{drill_profiles, play_script};
    #[pymodule_export]
    use super::simulation::Simulation;
    #[pymodule_export]
    use super::table::Table;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const version: &str = env!("CARGO_PKG_VERSION");
}

/// Converts an error to an `OSError` with number and text.
fn system_error(error: &io::Error) -> PyErr {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(number) => {
            let text = text.split(" (os error").next().unwrap_or_default();
            PyOSError::new_err((number, text.to_owned()))
        }
        None => PyOSError::new_err(text),
    }
}

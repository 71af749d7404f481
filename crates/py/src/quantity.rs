//! Quantities as people write them, for the command line's options that Python reads.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use units::{Duration, ParseError, Rate};

/// Reads a duration such as `20ms` as nanoseconds. A text that is none is a `ValueError`.
#[pyfunction]
pub(crate) fn nanoseconds(text: &str) -> PyResult<u64> {
    text.parse().map(Duration::as_nanos).map_err(|e| refused(&e))
}

/// Reads a rate such as `10Mb/s` as bits per second. A text that is none is a `ValueError`.
#[pyfunction]
pub(crate) fn bits_per_second(text: &str) -> PyResult<u64> {
    text.parse().map(Rate::bits_per_sec).map_err(|e| refused(&e))
}

/// Reads a size such as `150kB` as bytes. A text that is none is a `ValueError`.
#[pyfunction]
pub(crate) fn bytes(text: &str) -> PyResult<u64> {
    units::parse_bytes(text).map_err(|e| refused(&e))
}

fn refused(error: &ParseError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

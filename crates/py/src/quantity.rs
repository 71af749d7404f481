//! Parsing of quantities for command-line options that Python reads.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use units::{Duration, ParseError, Rate};

/// Parses a duration such as `20ms` to nanoseconds. An invalid text raises a `ValueError`.
#[pyfunction]
pub(crate) fn nanoseconds(text: &str) -> PyResult<u64> {
    text.parse().map(Duration::as_nanos).map_err(|e| refused(&e))
}

/// Parses a rate such as `10Mb/s` to bits per second. An invalid text raises a `ValueError`.
#[pyfunction]
pub(crate) fn bits_per_second(text: &str) -> PyResult<u64> {
    text.parse().map(Rate::bits_per_sec).map_err(|e| refused(&e))
}

/// Parses a size such as `150kB` to bytes. An invalid text raises a `ValueError`.
#[pyfunction]
pub(crate) fn bytes(text: &str) -> PyResult<u64> {
    units::parse_bytes(text).map_err(|e| refused(&e))
}

fn refused(error: &ParseError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

//! Remedies for a program that is started with a library (`LD_PRELOAD`).

use std::path::PathBuf;

use preload::{Cut, Session, Settings};
use pyo3::prelude::*;

use crate::system_error;

/// Files of the library, and its counts.
#[pyclass(module = "tcpsf._core")]
pub(crate) struct PreloadSession(Session);

#[pymethods]
impl PreloadSession {
    /// Writes the library and its settings to a folder, which the caller removes. The cuts are
    /// those of `SocketSettings`. Raises an `OSError` if a file cannot be written.
    #[new]
    #[pyo3(signature = (*, folder, ports, rto_min_us, tail, last_byte, fixed_size))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments come from Python as values")]
    fn new(
        folder: PathBuf,
        ports: Vec<u16>,
        rto_min_us: Option<u32>,
        tail: Option<u8>,
        last_byte: bool,
        fixed_size: Option<(u8, u8, u8)>,
    ) -> PyResult<Self> {
        let fixed_size =
            fixed_size.map(|(segments, window, below)| Cut::FixedSize { segments, window, below });
        let cut = tail.map(Cut::Tail).or(last_byte.then_some(Cut::LastByte)).or(fixed_size);
        let settings = Settings { cut, rto_min_us, ports };
        Session::create(&folder, &settings).map(Self).map_err(|error| system_error(&error))
    }

    /// Variables of the environment with which a program loads the library.
    fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        self.0.environment().to_vec()
    }

    /// Programs that have loaded the library, sockets that listen at a selected port, settings that
    /// the kernel refused, writes that were cut, and cuts in them.
    fn counts(&self) -> PyResult<(u64, u64, u64, u64, u64)> {
        let found = self.0.counts().map_err(|error| system_error(&error))?;
        Ok((found.processes, found.listeners, found.refused, found.cut_writes, found.cuts))
    }

    /// Ends the remedy. Programs that run continue without it.
    fn detach(&self) -> PyResult<()> {
        self.0.detach().map_err(|error| system_error(&error))
    }
}

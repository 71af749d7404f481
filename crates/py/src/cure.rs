//! Remedies for running servers, as BPF programs. They are attached while their object exists.

use std::fs::File;
use std::path::PathBuf;

use bpf::{Cgroup, Device, Selection, Settings};
use pyo3::prelude::*;

use crate::host::refused;

/// Copies of the last segments of writes (`dup-tail`).
#[pyclass(module = "tcpsf._core")]
pub(crate) struct TailCopies(bpf::TailCopies);

#[pymethods]
impl TailCopies {
    /// Attaches the remedy to the egress of devices, given by their numbers and the lengths of
    /// their link-layer headers. `cgroup` is the identifier of a cgroup and its level. An error of
    /// the system raises a `RuntimeError` with two arguments: the error, and a hint or `None`.
    #[new]
    #[pyo3(signature = (*, devices, ports, cgroup))]
    fn new(devices: Vec<(u32, u8)>, ports: Vec<u16>, cgroup: Option<(u64, u8)>) -> PyResult<Self> {
        let devices: Vec<_> =
            devices.into_iter().map(|(index, header)| Device { index, header }).collect();
        let cgroup = cgroup.map(|(id, level)| Cgroup { id, level });
        let attached = bpf::TailCopies::attach(&devices, &Selection { ports, cgroup });
        attached.map(Self).map_err(|error| refused(&error))
    }

    /// Copies so far, and bytes of their payload.
    fn counts(&self) -> PyResult<(u64, u64)> {
        let copies = self.0.copies().map_err(|error| refused(&error))?;
        Ok((copies.packets, copies.bytes))
    }

    /// Ends the remedy. The counts remain.
    fn detach(&mut self) {
        self.0.detach();
    }
}

/// Settings of accepted connections (`rto-min`, `iw`).
#[pyclass(module = "tcpsf._core")]
pub(crate) struct SocketSettings(bpf::SocketSettings);

#[pymethods]
impl SocketSettings {
    /// Attaches the remedy to the sockets of a cgroup, given by its folder. Errors are those of
    /// `TailCopies`, or an `OSError` if the folder cannot be opened.
    #[new]
    #[pyo3(signature = (*, cgroup, ports, rto_min_us, initial_window))]
    fn new(
        cgroup: PathBuf,
        ports: Vec<u16>,
        rto_min_us: Option<u32>,
        initial_window: Option<u32>,
    ) -> PyResult<Self> {
        let folder = File::open(cgroup)?;
        let selection = Selection { ports, cgroup: None };
        let settings = Settings { rto_min_us, initial_window };
        let attached = bpf::SocketSettings::attach(&folder, &selection, &settings);
        attached.map(Self).map_err(|error| refused(&error))
    }

    /// Connections so far, and settings that the kernel refused.
    fn counts(&self) -> PyResult<(u64, u64)> {
        let changed = self.0.changed().map_err(|error| refused(&error))?;
        Ok((changed.connections, changed.refused))
    }

    /// Ends the remedy. The counts remain.
    fn detach(&mut self) {
        self.0.detach();
    }
}

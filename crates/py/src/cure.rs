//! Remedies for running servers, as BPF programs. They are attached while their object exists.

use std::fs::File;
use std::path::PathBuf;

use bpf::{Arm, Assignment, Cgroup, Cut, Device, Prefix, Selection, Settings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use units::Duration;

use crate::host::refused;

/// Copies of the last segments of writes (`dup-tail`).
#[pyclass(module = "tcpsf._core")]
pub(crate) struct TailCopies(bpf::TailCopies);

#[pymethods]
impl TailCopies {
    /// Attaches the remedy to the egress of devices, given by their numbers and the lengths of
    /// their link-layer headers. `peers` are prefixes of the peer's address, each with its length
    /// in bits; an IPv4 address is mapped to IPv6. `cgroup` is the identifier of a cgroup and its
    /// level. An error of the system raises a `RuntimeError` with two arguments: the error, and a
    /// hint or `None`. In a trial, the remedy is for the connections of the arm with this number.
    /// Copies leave after `delay_ms` milliseconds, if there is a delay. With `most_bytes`, no copy
    /// follows if more bytes than this are not acknowledged.
    #[new]
    #[pyo3(signature = (
        *, devices, ports, peers, cgroup, trial, most_bytes = None, arm = 0, delay_ms = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of one caller")]
    #[expect(clippy::needless_pass_by_value, reason = "arguments come from Python as values")]
    fn new(
        devices: Vec<(u32, u8)>,
        ports: Vec<u16>,
        peers: Vec<(u128, u8)>,
        cgroup: Option<(u64, u8)>,
        trial: Option<PyRef<'_, RemedyTrial>>,
        most_bytes: Option<u32>,
        arm: u8,
        delay_ms: Option<u32>,
    ) -> PyResult<Self> {
        let cgroup = cgroup.map(|(id, level)| Cgroup { id, level });
        let selection = Selection { ports, cgroup, peers: prefixes(&peers)?, most_bytes };
        let arm = trial.as_deref().map(|trial| Arm { trial: &trial.0, number: arm });
        let delay = delay_ms.map(|delay| Duration::from_millis(delay.into()));
        let attached = bpf::TailCopies::attach(&places(&devices), &selection, arm, delay);
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

/// Settings of accepted connections (`rto-min`, `iw`), and cuts in what is written to them (`tail`,
/// `tiny-tail`, `fs`).
#[pyclass(module = "tcpsf._core")]
pub(crate) struct SocketSettings(bpf::SocketSettings);

#[pymethods]
impl SocketSettings {
    /// Attaches the remedy to the sockets of a cgroup, given by its folder. Of the cuts, `tail` is
    /// a number of pieces, and `fixed_size` has the number of segments to an initial window, that
    /// window, and the first window without cuts. With `most_bytes`, a write is not cut if more
    /// bytes than this are not acknowledged behind it. Errors are those of `TailCopies`, or an
    /// `OSError` if the folder cannot be opened.
    #[new]
    #[pyo3(signature = (
        *, cgroup, ports, peers, rto_min_us, initial_window, tail, last_byte, fixed_size, trial,
        most_bytes = None, arm = 0
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of one caller")]
    #[expect(clippy::needless_pass_by_value, reason = "arguments come from Python as values")]
    fn new(
        cgroup: PathBuf,
        ports: Vec<u16>,
        peers: Vec<(u128, u8)>,
        rto_min_us: Option<u32>,
        initial_window: Option<u32>,
        tail: Option<u8>,
        last_byte: bool,
        fixed_size: Option<(u8, u8, u8)>,
        trial: Option<PyRef<'_, RemedyTrial>>,
        most_bytes: Option<u32>,
        arm: u8,
    ) -> PyResult<Self> {
        let folder = File::open(cgroup)?;
        let peers = prefixes(&peers)?;
        let selection = Selection { ports, cgroup: None, peers, most_bytes };
        let fixed_size =
            fixed_size.map(|(segments, window, below)| Cut::FixedSize { segments, window, below });
        let cut = tail.map(Cut::Tail).or(last_byte.then_some(Cut::LastByte)).or(fixed_size);
        let settings = Settings { rto_min_us, initial_window, cut };
        let arm = trial.as_deref().map(|trial| Arm { trial: &trial.0, number: arm });
        let attached = bpf::SocketSettings::attach(&folder, &selection, &settings, arm);
        attached.map(Self).map_err(|error| refused(&error))
    }

    /// Connections so far, settings that the kernel refused, writes that were cut, and cuts in
    /// them.
    fn counts(&self) -> PyResult<(u64, u64, u64, u64)> {
        let changed = self.0.changed().map_err(|error| refused(&error))?;
        Ok((changed.connections, changed.refused, changed.cuts.writes, changed.cuts.cuts))
    }

    /// Ends the remedy. The counts remain.
    fn detach(&mut self) {
        self.0.detach();
    }
}

/// Connections of trials, and their transfers.
#[pyclass(module = "tcpsf._core")]
pub(crate) struct RemedyTrial(bpf::Trial);

/// A record: the cookie of the connection, the duration in nanoseconds, the group, bytes,
/// retransmitted segments, DSACKs, the minimum of the round-trip time in microseconds, and the end.
/// The group is 0 without the remedy, 1 with it, and 2 before the trial. The end is 0 for a
/// transfer that its connection has aborted, 1 for a complete one, and 2 for a connection without a
/// transfer. At the end of a connection, segments and DSACKs are those of all its time. Then follow
/// the number of the trial and the peer's address; an IPv4 address is mapped to IPv6.
type Transfer = (u64, u64, u8, u32, u32, u32, u32, u8, u32, u128);

#[pymethods]
impl RemedyTrial {
    /// Measures connections that are accepted by the sockets of a cgroup, given by its folder. The
    /// beginnings of transfers are measured at devices. Errors are those of `SocketSettings`.
    #[new]
    #[pyo3(signature = (*, devices, cgroup, ports, peers))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments come from Python as values")]
    fn new(
        devices: Vec<(u32, u8)>,
        cgroup: PathBuf,
        ports: Vec<u16>,
        peers: Vec<(u128, u8)>,
    ) -> PyResult<Self> {
        let folder = File::open(cgroup)?;
        let peers = prefixes(&peers)?;
        let selection = Selection { ports, cgroup: None, peers, most_bytes: None };
        let created = bpf::Trial::new(&places(&devices), &folder, &selection);
        created.map(Self).map_err(|error| refused(&error))
    }

    /// Assigns the connections with a prefix of the peer's address from now on: the share in 256ths
    /// that gets the remedy, the number of the remedy's arm, and that of the trial. With a share of
    /// zero, connections belong to the group before the trial. At first this holds for all.
    #[pyo3(signature = (prefix, *, share, arm, trial))]
    fn assign(&self, prefix: (u128, u8), share: u32, arm: u8, trial: u32) -> PyResult<()> {
        let assignment = Assignment { share, arm, trial };
        let done = self.0.assign(self::prefix(prefix)?, assignment);
        done.map_err(|error| refused(&error))
    }

    /// Ends the copies for all connections of a trial.
    fn end(&self, trial: u32) -> PyResult<()> {
        self.0.end(trial).map_err(|error| refused(&error))
    }

    /// Transfers and connections that ended since the last call.
    fn transfers(&mut self) -> Vec<Transfer> {
        let mut found = Vec::new();
        self.0.drain(|one| {
            found.push((
                one.connection,
                one.duration_ns,
                one.group as u8,
                one.bytes,
                one.retransmitted,
                one.dsacks,
                one.least_rtt_us,
                one.end as u8,
                one.trial,
                one.peer.to_bits(),
            ));
        });
        found
    }

    /// Connections without the remedy, with it, before the trial and left out, and transfers that
    /// were lost.
    fn counts(&self) -> PyResult<(u64, u64, u64, u64, u64)> {
        let found = self.0.assigned().map_err(|error| refused(&error))?;
        Ok((found.without, found.remedied, found.before, found.left_out, found.lost))
    }

    /// Ends the measurement. The counts remain.
    fn detach(&mut self) {
        self.0.detach();
    }
}

fn prefixes(given: &[(u128, u8)]) -> PyResult<Vec<Prefix>> {
    given.iter().map(|&each| prefix(each)).collect()
}

fn prefix((address, length): (u128, u8)) -> PyResult<Prefix> {
    Prefix::new(address, length).ok_or_else(|| PyValueError::new_err("bits behind the prefix"))
}

fn places(devices: &[(u32, u8)]) -> Vec<Device> {
    devices.iter().map(|&(index, header)| Device { index, header }).collect()
}

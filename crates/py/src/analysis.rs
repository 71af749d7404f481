//! Analysis of a capture, driven in steps so that Python handles Ctrl-C in between.

mod columns;
mod explained;
mod packets;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use analysis::{Analysis, Assumptions, Ending, Limits, Records, SenderKind, Vantage, decompressed};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use self::columns::{
    CountRow, EpisodeRow, FlowRow, LossRow, RetransmissionRow, TransferRow, Wanted,
};
use crate::system_error;
use crate::table::Table;

/// An analysis of one capture.
#[pyclass(module = "tcpsf._core")]
pub(crate) struct CaptureAnalysis {
    analysis: Analysis<Box<dyn Read + Send + Sync>>,
}

#[pymethods]
impl CaptureAnalysis {
    /// Begins to read a file, or standard input if there is none. A file that cannot be read raises
    /// an `OSError`, and one that is no capture a `ValueError`. `vantage` and `sender` are stated
    /// by the caller; `None` for what the analysis infers. `explain` is the number of a packet.
    #[new]
    #[pyo3(signature = (path = None, *, vantage = None, sender = None, explain = None))]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        vantage: Option<&str>,
        sender: Option<&str>,
        explain: Option<u64>,
    ) -> PyResult<Self> {
        let assumptions = Assumptions {
            vantage: vantage.map(|name| named(&Vantage::ALL, Vantage::name, name)).transpose()?,
            sender: sender
                .map(|name| named(&SenderKind::ALL, SenderKind::name, name))
                .transpose()?,
        };
        let records = py.detach(|| -> Result<_, Refusal> {
            let source = match path {
                Some(path) => decompressed(File::open(path)?)?,
                None => decompressed(io::stdin())?,
            };
            Ok(Records::new(source)?)
        });
        let records = records.map_err(|refusal| match refusal {
            Refusal::System(error) => system_error(&error),
            Refusal::Format(text) => PyValueError::new_err(text),
        })?;
        let mut analysis = Analysis::new(records, Limits::default()).assuming(assumptions);
        if let Some(frame) = explain {
            analysis.explain(frame);
        }
        Ok(Self { analysis })
    }

    /// Keeps the packets of chosen connections from now on, at most `limit` of each.
    #[pyo3(signature = (wanted, *, limit))]
    fn watch(&mut self, wanted: Vec<packets::Wanted>, limit: usize) -> PyResult<()> {
        self.analysis.watch(packets::watch(wanted, limit)?);
        Ok(())
    }

    /// Numbers of the connections that `watch` has chosen, so far.
    fn watched_flows(&self) -> Vec<u64> {
        self.analysis.watched().watched().iter().filter_map(|each| each.flow).collect()
    }

    /// Connections, packets and SACK blocks that `watch` has chosen, so far.
    fn watched(&self) -> PyResult<(Table, Table, Table)> {
        let start = self.analysis.counts().first_at.unwrap_or_default();
        packets::tables(self.analysis.watched(), start)
    }

    /// Analyses up to `packets` packets without holding the interpreter's lock. Returns `True`
    /// while there may be more.
    fn advance(&mut self, py: Python<'_>, packets: u64) -> bool {
        py.detach(|| self.analysis.advance(packets))
    }

    /// Number of packets read.
    #[getter]
    fn frames(&self) -> u64 {
        self.analysis.frames()
    }

    /// Position in the decompressed file in bytes.
    #[getter]
    fn offset(&self) -> u64 {
        self.analysis.offset()
    }

    /// Place in bytes and reason of damage; `None` for a file that was read to its end.
    #[getter]
    fn damage(&self) -> Option<(u64, String)> {
        match self.analysis.ending() {
            Some(Ending::Damaged { offset, reason }) => Some((*offset, reason.clone())),
            Some(Ending::Complete) | None => None,
        }
    }

    /// Time of the first packet in nanoseconds since 1970, and seconds to the last one; `None`
    /// before the first.
    #[getter]
    fn times(&self) -> Option<(u64, f64)> {
        let counts = self.analysis.counts();
        let first = counts.first_at?;
        Some((first.as_nanos(), columns::seconds(counts.last_at.since(first))))
    }

    /// Numbers of packets by their content, and of packets that belong to no listed connection.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (counts, unlisted) = (self.analysis.counts(), self.analysis.unlisted());
        let found = PyDict::new(py);
        for (name, count) in [
            ("packets", self.analysis.frames()),
            ("tcp", counts.tcp),
            ("other_protocols", counts.not_tcp),
            ("not_ip", counts.not_ip),
            ("fragments", counts.fragments),
            ("cut_short", counts.cut_short),
            ("malformed", counts.malformed),
            ("unknown_link_type", counts.link_type),
            ("unanswered", unlisted.unanswered),
            ("refused", unlisted.refused),
        ] {
            found.set_item(name, count)?;
        }
        Ok(found)
    }

    /// Description of the packet that was asked for; `None` before it has been read.
    fn explanation<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let start = self.analysis.counts().first_at.unwrap_or_default();
        self.analysis.explanation().map(|found| explained::dict(py, found, start)).transpose()
    }

    /// Connections that have ended since the last call, a row for each direction. `columns` has the
    /// names of those that are needed; `None` for all.
    #[pyo3(signature = (columns = None))]
    fn take_flows(&mut self, columns: Option<HashSet<String>>) -> PyResult<Table> {
        let start = self.analysis.counts().first_at.unwrap_or_default();
        let flows = self.analysis.take_flows();
        let rows: Vec<_> = flows.iter().flat_map(|flow| FlowRow::of(flow, start)).collect();
        Table::new(FlowRow::columns(&rows, &Wanted(columns)))
    }

    /// Transfers that have ended since the last call. `columns` as in `take_flows`.
    #[pyo3(signature = (columns = None))]
    fn take_transfers(&mut self, columns: Option<HashSet<String>>) -> PyResult<Table> {
        let start = self.analysis.counts().first_at.unwrap_or_default();
        let found = self.analysis.take_transfers();
        let rows: Vec<_> = found.iter().map(|of| TransferRow { of, start }).collect();
        Table::new(TransferRow::columns(&rows, &Wanted(columns)))
    }

    /// Episodes that have ended since the last call, and their retransmissions.
    fn take_episodes(&mut self) -> PyResult<(Table, Table)> {
        let start = self.analysis.counts().first_at.unwrap_or_default();
        let found = self.analysis.take_episodes();
        let episodes: Vec<_> = found.iter().map(|each| EpisodeRow { of: each, start }).collect();
        let retransmissions: Vec<_> =
            found.iter().flat_map(|each| RetransmissionRow::of(each, start)).collect();
        Ok((
            Table::new(EpisodeRow::columns(&episodes))?,
            Table::new(RetransmissionRow::columns(&retransmissions))?,
        ))
    }

    /// Outcomes of first transmissions since the last call: counts, and losses.
    fn take_outcomes(&mut self) -> PyResult<(Table, Table)> {
        let start = self.analysis.counts().first_at.unwrap_or_default();
        let (blocks, losses) = self.analysis.take_outcomes();
        let counts: Vec<_> = blocks.iter().flat_map(CountRow::of).collect();
        let losses: Vec<_> = losses.into_iter().map(|of| LossRow { of, start }).collect();
        Ok((Table::new(CountRow::columns(&counts))?, Table::new(LossRow::columns(&losses))?))
    }
}

/// Value with a name.
fn named<T: Copy>(all: &[T], name_of: fn(T) -> &'static str, name: &str) -> PyResult<T> {
    let found = all.iter().copied().find(|value| name_of(*value) == name);
    found.ok_or_else(|| PyValueError::new_err(format!("unknown name `{name}`")))
}

/// Reason for which a source is not analysed.
enum Refusal {
    System(io::Error),
    Format(String),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        // Errors of the system have a number, those of a decoder have not.
        if error.raw_os_error().is_some() {
            Self::System(error)
        } else {
            Self::Format(error.to_string())
        }
    }
}

impl From<analysis::NotACapture> for Refusal {
    fn from(error: analysis::NotACapture) -> Self {
        match error {
            analysis::NotACapture::Unreadable(error) => error.into(),
            other => Self::Format(other.to_string()),
        }
    }
}

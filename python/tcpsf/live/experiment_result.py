"""Results of an experiment: a row for each fetch, and the statistics of the link.

`LiveStore` keeps them on disk, so that an interrupted command can continue.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpsf import _core
from tcpsf.finished import build, digest, write
from tcpsf.live.experiment import Experiment

if TYPE_CHECKING:
    import polars as pl

FORMAT = "tcpsf.live/3"
"""Format of the files. The number increases when the method of the experiments changes."""

DOCUMENTED = {
    "flow": "number of the fetch, in order of starting",
    "variant": "the server's sender; empty if the server has no record of the connection",
    "size_bytes": "size of the file, or of all files that the connection carries",
    "objects": "number of these files",
    "start_s": "start time, from the beginning of the experiment",
    "connect_s": "time from the start until the client's connection is established",
    "first_byte_s": "time from the start until the first byte of the response",
    "completion_s": "time from the start until the file is complete and compared; else empty",
    "idle_s": "part of `completion_s` without an active request",
    "received_bytes": "correct bytes of the file that the client received",
    "head_bytes": "bytes of the response's header",
    "failure": "reason if the fetch is incomplete, otherwise empty",
    "window_bytes": "client's advertised window at the end; empty if its kernel does not report it",
    "segment_bytes": "payload of the server's full-sized segments, by the client's kernel",
    "client_port": "the client's port",
    "segments": "data segments that the server sent, retransmissions included",
    "retransmitted_segments": "segments that the server retransmitted",
    "fast_retransmits": "number of the server's fast recoveries; empty for the kernel",
    "timeouts": "number of its retransmission timeouts, with each step of the back-off",
    "syn_timeouts": "number of its timeouts of the SYN",
    "srtt_s": "its smoothed round-trip time at the end",
    "rto_first_s": "its retransmission timeout when the connection is established",
    "rto_s": "its retransmission timeout at the end",
    "server_s": "time at the server from the SYN until both ends have closed; empty for the kernel",
    "ending": "end of the connection at the server: finished, reset and others",
}
"""Columns of the table of fetches, with their meanings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """An experiment with the rows of its fetches and the statistics of its link."""

    experiment: Experiment
    flows: pl.DataFrame
    """One row per fetch, with the columns of `DOCUMENTED`."""
    link: dict[str, Any]
    """Statistics of the emulator."""
    server: dict[str, Any]
    """Counters of the server, or version and settings of the kernel."""

    @property
    def answered(self) -> pl.DataFrame:
        """Fetches with a record at the server, for which the sender is known."""
        return self.flows.drop_nulls("variant")


class LiveStore:
    """A folder of finished experiments. A truncated or changed file counts as missing."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def load(self, experiment: Experiment) -> Live | None:
        """Return the result of an experiment, or ``None`` if it is missing or incomplete."""
        import polars as pl

        key = _key(experiment)
        try:
            content = json.loads((self._folder / f"{key}.json").read_bytes())
            table = (self._folder / f"{key}.parquet").read_bytes()
            if content["flows"] != hashlib.sha256(table).hexdigest():
                return None
            flows = pl.read_parquet(io.BytesIO(table))
            return Live(
                experiment=experiment, flows=flows, link=content["link"], server=content["server"]
            )
        except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
            return None

    def save(self, live: Live) -> None:
        """Save a result. The file with the digest is written last."""
        key = _key(live.experiment)
        table = io.BytesIO()
        live.flows.write_parquet(table)
        content = {
            "experiment": live.experiment.to_dict(),
            "flows": hashlib.sha256(table.getvalue()).hexdigest(),
            "link": live.link,
            "server": live.server,
        }
        write(self._folder / f"{key}.parquet", table.getvalue())
        write(self._folder / f"{key}.json", json.dumps(content).encode())


def _key(experiment: Experiment) -> str:
    return digest(
        {"format": FORMAT, "made by": [_core.version, build()], "experiment": experiment.to_dict()}
    )

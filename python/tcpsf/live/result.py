"""What an experiment leaves behind: a row a fetch, and what the link did. Kept on disk for an attempt that goes on."""

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
"""What the files hold; counts up when experiments are made otherwise."""

DOCUMENTED = {
    "flow": "number of the fetch, in order of starting",
    "variant": "the server's sender; empty if the server has no record of the connection",
    "size_bytes": "size of the file, or of all files that the connection carries",
    "objects": "how many files that is",
    "start_s": "when it began, from the beginning of the experiment",
    "connect_s": "until the client's connection was established; this and the next two from its start",
    "first_byte_s": "until the first byte of the answer was there",
    "completion_s": "until all of the file was there and compared; empty if that did not happen",
    "idle_s": "of this, the time in which no request was under way",
    "received_bytes": "bytes of the file that came and were right",
    "head_bytes": "bytes of the answer's head",
    "failure": "why it did not complete; empty if it did",
    "window_bytes": "window that the client offered when all was there; empty where its kernel does not tell",
    "segment_bytes": "payload of the server's full-sized segments, as the client's kernel has seen it",
    "client_port": "the client's port",
    "segments": "data segments that the server sent, retransmissions included",
    "retransmitted_segments": "of these, sent again",
    "fast_retransmits": "times the server entered fast recovery; empty for the kernel, which does not tell",
    "timeouts": "times its retransmission timer expired, each step of the back-off counted",
    "syn_timeouts": "times the timer of its SYN expired",
    "srtt_s": "its smoothed round-trip time at the end",
    "rto_first_s": "its retransmission timeout when the connection was open",
    "rto_s": "its retransmission timeout at the end",
    "server_s": "time at the server, from the client's SYN until both ends had closed; empty for the kernel",
    "ending": "how the connection ended at the server",
}
"""The columns of a fetch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """An experiment and what was measured."""

    experiment: Experiment
    flows: pl.DataFrame
    """A row a fetch; columns as in `DOCUMENTED`."""
    link: dict[str, Any]
    """The emulator's own statistics."""
    server: dict[str, Any]
    """The server's counters, or the kernel's version and settings."""

    @property
    def answered(self) -> pl.DataFrame:
        """The fetches that the server has a record of: those whose sender is known."""
        return self.flows.drop_nulls("variant")


class LiveStore:
    """A folder of finished experiments. A file that is cut short or altered counts as not there."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def load(self, experiment: Experiment) -> Live | None:
        """Return the experiment's result, if it is there and whole."""
        import polars as pl

        key = _key(experiment)
        try:
            told = json.loads((self._folder / f"{key}.json").read_bytes())
            content = (self._folder / f"{key}.parquet").read_bytes()
            if told["flows"] != hashlib.sha256(content).hexdigest():
                return None
            flows = pl.read_parquet(io.BytesIO(content))
            return Live(
                experiment=experiment, flows=flows, link=told["link"], server=told["server"]
            )
        except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
            return None

    def save(self, live: Live) -> None:
        """File a result. What says that it is whole comes last."""
        key = _key(live.experiment)
        content = io.BytesIO()
        live.flows.write_parquet(content)
        told = {
            "experiment": live.experiment.to_dict(),
            "flows": hashlib.sha256(content.getvalue()).hexdigest(),
            "link": live.link,
            "server": live.server,
        }
        write(self._folder / f"{key}.parquet", content.getvalue())
        write(self._folder / f"{key}.json", json.dumps(told).encode())


def _key(experiment: Experiment) -> str:
    return digest(
        {"format": FORMAT, "made by": [_core.version, build()], "experiment": experiment.to_dict()}
    )

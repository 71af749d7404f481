"""Store of finished runs, so that interrupted work can resume and studies share runs.

A run is identified by its point and its random seed. The point is a digest of everything else that
the result depends on: the scenario, the stored quantities, and the simulator. A file that is
truncated, altered or stored under another name is treated as missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tcpsf import _core, stored_run
from tcpsf.errors import TcpsfError
from tcpsf.finished import build, digest
from tcpsf.result import Batch, Provenance
from tcpsf.runs import Fold
from tcpsf.scenario import Scenario
from tcpsf.storage import Storage, open_storage
from tcpsf.summary import RunSummary, SummaryFold

if TYPE_CHECKING:
    import polars as pl

SUFFIX = ".parquet"

RUNS = "runs"
"""Folder with one file for each run, in a store that has other folders too."""


class Watch(Protocol):
    """Data stored of a run in addition to its sums; a watch can be compared and hashed."""

    @property
    def name(self) -> str:
        """Key of the data in `RunSummary.watched`."""

    @property
    def version(self) -> str:
        """Return a text that identifies what the data depend on, apart from the run."""

    def fold(self) -> Fold[Any]:
        """Return the fold of a new run; its result is plain data for JSON."""


class RunKey(NamedTuple):
    """The identity of a run."""

    point: str
    """Digest of the scenario, the stored quantities and the simulator (`point_of`)."""
    seed: int

    @property
    def file(self) -> str:
        """Name of the run's file in the store."""
        return f"{self.point}-{self.seed}{SUFFIX}"

    @classmethod
    def of_file(cls, name: str) -> RunKey | None:
        """Return the identity that a file's name gives; ``None`` for another file.

        >>> RunKey.of_file(RunKey("0a1b", 7).file)
        RunKey(point='0a1b', seed=7)
        """
        point, _, seed = name.removesuffix(SUFFIX).rpartition("-")
        return cls(point, int(seed)) if point and seed.isdecimal() else None


def point_of(
    scenario: Scenario, *, histogram: bool, watches: Sequence[Watch] = (), classes: bool = True
) -> str:
    """Return a digest of everything that a run's sums depend on, except its random seed."""
    return digest(
        {
            "format": stored_run.FORMAT,
            "simulator": [_core.version, build()],
            "scenario": scenario.to_dict(),
            "histogram": histogram,
            "watches": [[watch.name, watch.version] for watch in watches],
            "classes": classes,
        }
    )[:32]


class Store:
    """Finished runs in a folder or at a URL (`tcpsf.storage`)."""

    def __init__(self, where: str | Path | Storage, *, folder: str = "") -> None:
        self._files = open_storage(where) if isinstance(where, str | Path) else where
        self._folder = folder

    def keys(self) -> set[str]:
        """Return the names of the files of all runs."""
        return {name for name in self._files.names(self._folder) if name.endswith(SUFFIX)}

    def load(self, key: RunKey, *, scenario: Scenario) -> RunSummary | None:
        """Return the run of ``scenario``, or ``None`` if it is missing or damaged."""
        content = self._files.read(self._path(key))
        if content is None:
            return None
        return stored_run.from_parquet(content, scenario=scenario, point=key.point, seed=key.seed)

    def save(self, key: RunKey, summary: RunSummary) -> None:
        """Store the summary of a run.

        Raises `OutputError` if it cannot be written, and `TcpsfError` if the run has Python models:
        the digest of a point does not cover them.
        """
        if models := summary.provenance.models:
            raise TcpsfError(
                f"cannot store a run with Python models: {models}",
                hint="a store identifies runs by their scenario, which has no Python models",
            )
        content = stored_run.to_parquet(summary, point=key.point, seed=key.seed)
        self._files.write(self._path(key), content)

    def _path(self, key: RunKey) -> str:
        return f"{self._folder}/{key.file}" if self._folder else key.file


class StoringFold:
    """A fold that sums up a run and stores the result."""

    def __init__(
        self,
        store: Store | None,
        key: RunKey,
        *,
        histogram: bool,
        watches: Sequence[Watch] = (),
        classes: bool = True,
    ) -> None:
        self._inner = SummaryFold(percentiles=histogram, classes=classes)
        self._watches = {watch.name: watch.fold() for watch in watches}
        self._store = store
        self._key = key

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch to the sums and to the watches."""
        self._inner.add(batch)
        for watch in self._watches.values():
            watch.add(batch)

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> RunSummary:
        """Finish the sums of a run, store them, and return them."""
        watched = {
            name: watch.finish(links=links, provenance=provenance)
            for name, watch in self._watches.items()
        }
        summary = replace(self._inner.finish(links=links, provenance=provenance), watched=watched)
        if self._store is not None:
            self._store.save(self._key, summary)
        return summary

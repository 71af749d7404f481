"""Reduction of a study's run: its sums, and the rows of its flows if the study keeps them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from tcpsf.result import Batch, Provenance
from tcpsf.storage import Storage
from tcpsf.store import RUNS, RunKey, Store, StoringFold
from tcpsf.summary import RunSummary

if TYPE_CHECKING:
    import polars as pl

ROWS = "rows"
"""Folder of the store with the rows of flows of each run, if a study keeps them."""


class StudyFold:
    """A fold that stores the sums of a run, and the rows of its flows if ``rows`` is true."""

    def __init__(self, storage: Storage, key: RunKey, *, rows: bool) -> None:
        self._sums = StoringFold(Store(storage, folder=RUNS), key, histogram=True)
        self._storage, self._key = storage, key
        self._rows: list[pl.DataFrame] | None = [] if rows else None

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch."""
        self._sums.add(batch)
        if self._rows is not None:
            self._rows.append(batch.flows)

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> RunSummary:
        """Store the run and return its sums.

        The file of sums is written last, so that a run with sums is complete.
        """
        if self._rows is not None:
            self._storage.write(f"{ROWS}/{self._key.file}", self._rows_file())
        return self._sums.finish(links=links, provenance=provenance)

    def _rows_file(self) -> bytes:
        import polars as pl

        flows = pl.concat(self._rows or [])
        named = flows.with_columns(
            pl.lit(self._key.point).alias("point"),
            pl.lit(self._key.seed, pl.UInt64).alias("seed"),
            pl.col("workload", "variant").cast(pl.String),
        )
        content = io.BytesIO()
        named.write_parquet(content, statistics=False)
        return content.getvalue()

"""Writing tables to Parquet during the runs, without holding them in memory.

Each table is one file with all runs. Each batch is first written to a file of its own. At the end
these files are concatenated in the order of seeds and batches.
"""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from tcpsf.result import Batch, Provenance
from tcpsf.runs import Fold
from tcpsf.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

R = TypeVar("R")


class TableWriter:
    """Writes the tables of several runs to one folder.

    The tables `samples` and `packets` are written only if the scenario records them.
    """

    def __init__(self, folder: Path, scenario: Scenario) -> None:
        self.by_batch = ["flows", "recoveries"]
        if scenario.samples is not None:
            self.by_batch.append("samples")
        if scenario.trace:
            self.by_batch.append("packets")
        self._folder = folder
        self._parts = folder / "parts"
        self._parts.mkdir()

    def fold(self, seed: int, inner: Fold[R]) -> Fold[R]:
        """Wrap a fold so that the batches that it receives are also written."""
        return _WritingFold(self, seed, inner)

    def write(self, frame: pl.DataFrame, table: str, seed: int, part: int) -> None:
        """Write one batch of a table."""
        import polars as pl

        # When Polars itself writes to a file, its errors do not always contain the reason.
        content = io.BytesIO()
        frame.insert_column(0, pl.lit(seed, pl.UInt64).alias("seed")).write_parquet(content)
        (self._parts / f"{table}-{seed}-{part:06}.parquet").write_bytes(content.getvalue())

    def finish(self, seeds: Sequence[int]) -> None:
        """Concatenate the files of the batches to one file per table."""
        import polars as pl

        for table in (*self.by_batch, "links"):
            parts = list(self._in_order(table, seeds))
            with _plain_errors(self._folder, needed=sum(part.stat().st_size for part in parts)):
                pl.scan_parquet(parts).sink_parquet(
                    self._folder / f"{table}.parquet", maintain_order=True
                )
        shutil.rmtree(self._parts)

    def _in_order(self, table: str, seeds: Sequence[int]) -> Iterator[Path]:
        for seed in seeds:
            for part in itertools.count():
                path = self._parts / f"{table}-{seed}-{part:06}.parquet"
                if not path.exists():
                    break
                yield path


class _WritingFold(Generic[R]):
    def __init__(self, writer: TableWriter, seed: int, inner: Fold[R]) -> None:
        self._writer = writer
        self._seed = seed
        self._inner = inner
        self._part = 0

    def add(self, batch: Batch) -> None:
        for table in self._writer.by_batch:
            self._writer.write(getattr(batch, table), table, self._seed, self._part)
        self._part += 1
        self._inner.add(batch)

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> R:
        result = self._inner.finish(links=links, provenance=provenance)
        self._writer.write(links, "links", self._seed, 0)
        return result


@contextlib.contextmanager
def _plain_errors(folder: Path, *, needed: int) -> Iterator[None]:
    """Convert an error of Polars to the `OSError` of the operating system.

    Polars hides the error if it fails while it writes the footer. The file system counts as full
    if it has less than ``needed`` bytes free.
    """
    import polars as pl

    try:
        yield
    except pl.exceptions.PolarsError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is not None:
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from None
        if shutil.disk_usage(folder).free < needed:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        raise OSError(errno.EIO, str(error).splitlines()[0]) from None

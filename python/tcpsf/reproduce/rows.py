"""Rows of a run's tables, kept beside its sums: for runs of few connections, or of few samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tcpsf.result import Batch, Provenance
from tcpsf.summary import RunSummary

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Some columns of a table that grows during a run, all rows of it or those in which columns hold given texts."""

    table: Literal["flows", "recoveries", "samples"]
    columns: tuple[str, ...]
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Columns of text, and what they may hold."""

    @property
    def name(self) -> str:
        """What it is found under."""
        return f"rows of {self.table}"

    @property
    def version(self) -> str:
        """Says what the data are."""
        return repr((self.columns, self.where))

    def fold(self) -> _RowsFold:
        """Begin a run."""
        return _RowsFold(self)

    def of(self, run: RunSummary) -> list[dict[str, Any]]:
        """Return a run's rows, in the order of the table."""
        kept = run.watched[self.name]
        return [
            dict(zip(self.columns, row, strict=True))
            for row in zip(*(kept[name] for name in self.columns), strict=True)
        ]

    def curve(self, run: RunSummary, *, object: str, quantity: str) -> Iterator[tuple[float, float]]:  # noqa: A002
        """Yield times and values of one quantity of one object; of ``samples``."""
        kept = run.watched[self.name]
        for at, what, which, value in zip(kept["time_s"], kept["object"], kept["quantity"], kept["value"], strict=True):
            if what == object and which == quantity:
                yield at, value


class _RowsFold:
    def __init__(self, of: Rows) -> None:
        self._of = of
        self._kept: dict[str, list[Any]] = {name: [] for name in of.columns}

    def add(self, batch: Batch) -> None:
        import polars as pl

        frame: pl.DataFrame = getattr(batch, self._of.table)
        for name, texts in self._of.where:
            frame = frame.filter(pl.col(name).cast(pl.String).is_in(texts))
        for name, values in self._kept.items():
            values += frame[name].to_list()

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> dict[str, list[Any]]:  # noqa: ARG002
        return self._kept

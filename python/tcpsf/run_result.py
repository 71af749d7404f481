"""The result of a run: its tables and its provenance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tcpsf import markup, text
from tcpsf.result import Batch, Provenance
from tcpsf.sim_summary import Summary

if TYPE_CHECKING:
    import polars as pl


class RunResult:
    """Result of a run: its tables, as Polars data frames, and its provenance.

    The names of columns contain the units.
    """

    __slots__ = ("_batches", "_frames", "links", "provenance")

    provenance: Provenance
    """Version, seed and scenario, with which the run can be repeated."""
    links: pl.DataFrame
    """Table with one row per link: offered, delivered and dropped packets, utilisation, queue."""

    def __init__(
        self, *, provenance: Provenance, batches: Sequence[Batch], links: pl.DataFrame
    ) -> None:
        self.provenance = provenance
        self._batches = batches
        self.links = links
        self._frames: dict[str, pl.DataFrame] = {}

    def __getstate__(self) -> tuple[Provenance, pl.DataFrame, dict[str, pl.DataFrame]]:
        """Return the state for `pickle` and `copy`: the tables as data frames."""
        return self.provenance, self.links, {name: self._frame(name) for name in Batch.TABLES}

    def __setstate__(self, state: tuple[Provenance, pl.DataFrame, dict[str, pl.DataFrame]]) -> None:
        self.provenance, self.links, self._frames = state
        self._batches = ()

    def __repr__(self) -> str:
        source = self.provenance
        return f"<RunResult of {source.scenario.name!r}, seed {source.seed}: {self.flows.height} flows>"

    def _repr_html_(self) -> str:
        tables = {"links": self.links, **{name: self._frame(name) for name in Batch.TABLES}}
        heights = (f"`{name}` ({text.plain(frame.height, 0)})" for name, frame in tables.items())
        listed = f"Tables, with their numbers of rows: {', '.join(heights)}."
        return f"{self.summary()._repr_html_()}<p><small>{markup.paragraph(listed)}</small></p>"

    def summary(self) -> Summary:
        """Return the summary that `tcpsf sim` prints: flows by class, endless flows, links."""
        return Summary.of([self])

    @property
    def flows(self) -> pl.DataFrame:
        """Table with one row per flow: start, size, completion times, amounts of sent data.

        ``sender_s`` is the time until the sender has received the acknowledgment of all data, and
        ``receiver_s`` the time until the receiver has all data. Both are null if the flow was not
        complete at the end of the run.
        """
        return self._frame("flows")

    @property
    def recoveries(self) -> pl.DataFrame:
        """Table with one row per detected loss: its time, its cause, the window."""
        return self._frame("recoveries")

    @property
    def samples(self) -> pl.DataFrame:
        """Table with one row per sampled quantity and moment, if the scenario has ``samples``."""
        return self._frame("samples")

    @property
    def packets(self) -> pl.DataFrame:
        """Table with one row per event of each packet of the workloads in ``trace``."""
        return self._frame("packets")

    def _frame(self, name: str) -> pl.DataFrame:
        if name not in self._frames:
            import polars as pl

            self._frames[name] = pl.concat([getattr(batch, name) for batch in self._batches])
        return self._frames[name]

"""Results of a run: its tables and its provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tcpsf import _core
from tcpsf.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Origin of a result. ``run(**provenance.arguments())`` reproduces the result exactly."""

    version: str
    """Version of tcpsf."""
    seed: int
    scenario: Scenario

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `run` that repeat the result."""
        return {"scenario": self.scenario, "seed": self.seed}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"version": self.version, "seed": self.seed, "scenario": self.scenario.to_dict()}


class Batch:
    """Rows that a run has finished since the previous batch.

    Each table is converted at its first use.
    """

    __slots__ = ("_tables",)

    TABLES = ("flows", "recoveries", "samples", "packets")
    """Tables that grow during a run; ``links`` exists only at the end."""

    def __init__(
        self,
        *,
        flows: _core.Table,
        recoveries: _core.Table,
        samples: _core.Table,
        packets: _core.Table,
    ) -> None:
        self._tables = {
            "flows": flows,
            "recoveries": recoveries,
            "samples": samples,
            "packets": packets,
        }

    @property
    def flows(self) -> pl.DataFrame:
        """One row a flow that has ended, or that the run's end cut off."""
        return to_frame(self._tables["flows"])

    @property
    def recoveries(self) -> pl.DataFrame:
        """Table with one row per detected loss."""
        return to_frame(self._tables["recoveries"])

    @property
    def samples(self) -> pl.DataFrame:
        """Table with one row per sampled quantity and moment."""
        return to_frame(self._tables["samples"])

    @property
    def packets(self) -> pl.DataFrame:
        """One row a packet of a traced workload and what happened to it."""
        return to_frame(self._tables["packets"])


class RunResult:
    """The tables of one run, as Polars data frames. The names of columns contain the units.

    ``flows``
        One row per flow: start time, size, completion time by two definitions, and the amounts of
        sent and retransmitted data. ``sender_s`` is the time until the sender has received the
        acknowledgment of all data, ``receiver_s`` the time until the receiver has all data. A flow
        that does not end before the end of the run has no completion time.
    ``recoveries``
        One row per loss detection: time, ``cause`` and window.
    ``links``
        One row per link: packets offered, delivered, dropped and held, utilisation and queue.
    ``samples``
        Quantities that the scenario records over time.
    ``packets``
        One row per event of each packet of the workloads in the scenario's ``trace``.
    """

    __slots__ = ("_batches", "_frames", "links", "provenance")

    def __init__(
        self, *, provenance: Provenance, batches: Sequence[Batch], links: pl.DataFrame
    ) -> None:
        self.provenance = provenance
        self._batches = batches
        self.links = links
        self._frames: dict[str, pl.DataFrame] = {}

    def __getstate__(self) -> tuple[Provenance, pl.DataFrame, dict[str, pl.DataFrame]]:
        """Return the state for `pickle`: the tables as data frames."""
        return self.provenance, self.links, {name: self._frame(name) for name in Batch.TABLES}

    def __setstate__(self, state: tuple[Provenance, pl.DataFrame, dict[str, pl.DataFrame]]) -> None:
        self.provenance, self.links, self._frames = state
        self._batches = ()

    def __repr__(self) -> str:
        source = self.provenance
        return f"<RunResult of {source.scenario.name!r}, seed {source.seed}: {self.flows.height} flows>"

    @property
    def flows(self) -> pl.DataFrame:
        """Table with one row per flow."""
        return self._frame("flows")

    @property
    def recoveries(self) -> pl.DataFrame:
        """Table with one row per detected loss."""
        return self._frame("recoveries")

    @property
    def samples(self) -> pl.DataFrame:
        """Table with one row per sampled quantity and moment."""
        return self._frame("samples")

    @property
    def packets(self) -> pl.DataFrame:
        """One row a packet of a traced workload and what happened to it."""
        return self._frame("packets")

    def _frame(self, name: str) -> pl.DataFrame:
        if name not in self._frames:
            import polars as pl

            self._frames[name] = pl.concat([getattr(batch, name) for batch in self._batches])
        return self._frames[name]


def to_frame(table: _core.Table) -> pl.DataFrame:
    """Convert a table to a Polars data frame without a copy."""
    import polars as pl

    return pl.DataFrame(table)

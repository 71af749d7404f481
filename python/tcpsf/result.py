"""Rows of a run as they are produced, and the provenance of a result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tcpsf import _core
from tcpsf.python_models import PythonModels
from tcpsf.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Origin of a result. ``run(**provenance.arguments())`` reproduces the result exactly."""

    version: str
    """Version of tcpsf."""
    seed: int
    """Random seed."""
    scenario: Scenario
    """The scenario that was simulated."""
    models: PythonModels = field(default_factory=PythonModels)
    """Python models of the run, which are not part of the scenario."""

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `run` that repeat the result."""
        return {"scenario": self.scenario, "seed": self.seed, **self.models.arguments()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON. Python models are given by their qualified names."""
        found = {"version": self.version, "seed": self.seed, "scenario": self.scenario.to_dict()}
        return {**found, "python_models": self.models.names()} if self.models else found


class Batch:
    """Rows that a run has finished since the previous batch, for `Fold.add`.

    A table is converted to a Polars data frame at each access, without a copy.
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
        self._tables: dict[str, _core.Table | pl.DataFrame] = {
            "flows": flows,
            "recoveries": recoveries,
            "samples": samples,
            "packets": packets,
        }

    def __getstate__(self) -> dict[str, pl.DataFrame]:
        """Return the state for `pickle` and `copy`: the tables as data frames."""
        return {name: to_frame(table) for name, table in self._tables.items()}

    def __setstate__(self, state: dict[str, pl.DataFrame]) -> None:
        self._tables = dict(state)

    def __repr__(self) -> str:
        heights = (f"{getattr(self, name).height} {name}" for name in self.TABLES)
        return f"<Batch: {', '.join(heights)}>"

    @property
    def flows(self) -> pl.DataFrame:
        """Table with one row per flow that has ended, or that the end of the run cut off."""
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
        """Table with one row per event of each packet of the traced workloads."""
        return to_frame(self._tables["packets"])


def to_frame(table: _core.Table | pl.DataFrame) -> pl.DataFrame:
    """Convert a table to a Polars data frame without a copy."""
    import polars as pl

    return pl.DataFrame(table)

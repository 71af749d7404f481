"""Results of a study: one row for each point, subject and measure, with intervals.

The rows are stored with a digest of the runs that they are computed from, so that they can be shown
again without reading the runs.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tcpsf import paired
from tcpsf.chart import Plot
from tcpsf.finished import digest
from tcpsf.measurements import (
    MEASURES,
    SIGNIFICANT,
    Arm,
    Measurement,
    Selection,
    columns,
    measurements,
)
from tcpsf.studies.definition import Study
from tcpsf.studies.planning import Cell, StudyPlan, axis_columns
from tcpsf.studies.points import StudyPoint, Value
from tcpsf.studies.running import (
    Extent,
    StudyRuns,
    confidence_of,
    rounds,
    unknown_measure,
)
from tcpsf.studies.study_figures import figures

if TYPE_CHECKING:
    import polars as pl

_RESULTS = "results.parquet"
_RUNS = "tcpsf.runs"

_CHUNK = 2000
"""Number of rows that are collected before they become a table."""


@dataclass(frozen=True, slots=True)
class StudyResults:
    """The results of the complete points of a study."""

    study: Study
    """The study."""
    frame: pl.DataFrame
    """One row for each point, subject and measure, as `docs/reference/tables.md` describes them."""
    points: int
    """Number of all points."""
    complete: int
    """Number of points whose runs are all stored."""

    @property
    def is_complete(self) -> bool:
        """Whether no run is missing."""
        return self.complete == self.points

    def figures(self) -> list[Plot]:
        """Return the plots that the study defines. Raises `StudyError` if one has no results."""
        return list(figures(self.study, self.frame))


def selection_of(study: Study) -> Selection:
    """Return the measurements that a study keeps. Raises `StudyError` for unknown measures."""
    known = {measure.key for measure in MEASURES}
    for measure in study.keep.measures:
        if measure not in known:
            raise unknown_measure("keep.measures", measure)
    return Selection(
        frozenset(study.keep.measures),
        frozenset(study.keep.workloads),
        classes="class" in study.keep.by,
        senders="sender" in study.keep.by,
    )


def results_of(runs: StudyRuns) -> StudyResults:
    """Return the results of all complete cells, from the store if it has them for these runs."""
    stored = stored_results(runs)
    if stored is not None:
        return stored
    rows = ResultRows(runs.plan)
    for cell in runs.plan.cells:
        if found := runs.complete(cell):
            rows.add(cell, *found)
    return rows.results()


def write_results(runs: StudyRuns, results: StudyResults) -> None:
    """Store the results with a digest of their runs."""
    content = io.BytesIO()
    results.frame.write_parquet(content, statistics=False, metadata={_RUNS: _inputs(runs)})
    runs.storage.write(f"{runs.plan.folder}/{_RESULTS}", content.getvalue())


def _inputs(runs: StudyRuns) -> str:
    """Return a digest of the names of the study's stored runs."""
    return digest(runs.names())


def stored_results(runs: StudyRuns) -> StudyResults | None:
    """Return the results in the store, if they are of the runs that it has now.

    The results of all points are stored only, so that the study is complete.
    """
    import polars as pl

    content = runs.storage.read(f"{runs.plan.folder}/{_RESULTS}")
    if content is None:
        return None
    try:
        if pl.read_parquet_metadata(io.BytesIO(content)).get(_RUNS) != _inputs(runs):
            return None
        frame = pl.read_parquet(io.BytesIO(content))
    except pl.exceptions.PolarsError:
        return None
    points = len(runs.plan.points)
    return StudyResults(runs.plan.study, frame, points, points)


class ResultRows:
    """Rows of results, collected in tables, because a table needs less memory than rows."""

    def __init__(self, plan: StudyPlan) -> None:
        self._study = plan.study
        self._selection = selection_of(plan.study)
        self._confidence = confidence_of(plan.study)
        self._rows: list[dict[str, Any]] = []
        self._shown: list[tuple[Value, ...]] = []
        self._tables: list[pl.DataFrame] = []
        self._axes = axis_columns(plan.study, [point.shown for point in plan.points])
        self._points, self._complete = len(plan.points), 0

    def add(self, cell: Cell, extent: Extent, arms: Sequence[Arm]) -> None:
        """Add the results of a complete cell."""
        self._complete += len(cell)
        for found in measurements(self._study.scenario, arms, self._selection):
            for at, point in enumerate(cell):
                self._rows.append(self._row(point, extent, found, at))
        if len(self._rows) >= _CHUNK:
            self._tables.append(self._table())

    def _row(
        self, point: StudyPoint, extent: Extent, found: Measurement, at: int
    ) -> dict[str, Any]:
        row = {
            "number": point.number,
            "runs": extent.runs,
            "stopped": extent.stopped,
            "kind": found.kind,
            "name": found.name,
            "class": found.size_class,
            "size_bytes": found.size_bytes,
            "variant": found.variant,
            "measure": found.measure.key,
            "unit": found.measure.unit,
            **columns("", found.values[at], self._confidence),
        }
        if self._study.compare is None:
            return row
        difference = found.differences[at]
        absolute = difference.absolute if difference else None
        return {
            **row,
            **columns("difference_", absolute, self._confidence),
            **columns("percent_", difference.percent if difference else None, self._confidence),
            "p_value": self._p_value(absolute),
        }

    def _p_value(self, difference: Any) -> float | None:
        """Return the p-value of a difference, adjusted for the looks of a stopping rule."""
        found = paired.p_value(difference) if difference else None
        rule = self._study.runs.until
        return found if found is None or rule is None else min(1.0, found * len(rounds(rule)))

    def _table(self) -> pl.DataFrame:
        import polars as pl

        table = pl.DataFrame(self._rows, schema=_schema(self._study))
        self._rows = []
        return table

    def results(self) -> StudyResults:
        """Return the results of the added cells."""
        frame = _adjusted(self._frame(), self._study)
        return StudyResults(self._study, frame, self._points, self._complete)

    def _frame(self) -> pl.DataFrame:
        """Return all rows in the order of the points, with a column for each axis."""
        import polars as pl

        table = pl.concat([*self._tables, self._table()])
        axes = pl.DataFrame(self._axes).with_row_index("number").cast({"number": pl.Int64})
        names = ["number", *self._axes]
        joined = table.join(axes, on="number", how="left", maintain_order="left")
        rest = [name for name in table.columns if name != "number"]
        return joined.select(*names, *rest).sort("number", maintain_order=True)


def _schema(study: Study) -> dict[str, pl.DataType]:
    import polars as pl

    text, real, whole = pl.String(), pl.Float64(), pl.Int64()
    schema: dict[str, pl.DataType] = {
        "number": whole,
        "runs": whole,
        "stopped": text,
        "kind": text,
        "name": text,
        "class": whole,
        "size_bytes": real,
        "variant": text,
        "measure": text,
        "unit": text,
        "value": real,
        "low": real,
        "high": real,
    }
    if study.compare is not None:
        for prefix in ("difference_", "percent_"):
            schema.update({f"{prefix}{name}": real for name in ("value", "low", "high")})
        schema["p_value"] = real
    return schema


def _adjusted(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Add p-values that are adjusted for all rows (Holm), and whether they are significant."""
    import polars as pl

    if study.compare is None:
        return frame
    adjusted = paired.holm(frame["p_value"].to_list())
    return frame.with_columns(
        pl.Series("adjusted_p_value", adjusted, dtype=pl.Float64),
        pl.Series(
            "significant",
            [None if each is None else each < SIGNIFICANT for each in adjusted],
            dtype=pl.Boolean,
        ),
    )

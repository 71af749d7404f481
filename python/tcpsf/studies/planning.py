"""The runs that a study needs, and their identities in the store.

The plan of a study is stored with its results, so that its state can be shown without computing all
scenarios again.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcpsf import _core, stored_run
from tcpsf.errors import StudyError
from tcpsf.finished import build, digest
from tcpsf.scenario import Scenario
from tcpsf.storage import Storage
from tcpsf.store import RUNS, RunKey, Store, point_of
from tcpsf.studies.definition import Study
from tcpsf.studies.points import StudyPoint, Value, points_of, scenario_at

if TYPE_CHECKING:
    import polars as pl

STUDIES = "studies"
"""Folder of the store with a folder for each study."""

_PLAN = "points.parquet"

Cell = tuple[StudyPoint, ...]
"""Points that are compared with each other."""


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The points of a study, with the digests that identify their runs."""

    study: Study
    identity: str
    """Digest of the study and the simulator."""
    points: tuple[StudyPoint, ...]
    digests: tuple[str, ...]
    """Digest of each point (`store.point_of`)."""
    cells: tuple[Cell, ...]
    """Groups of points that are compared with each other; the first one is the baseline."""

    @property
    def folder(self) -> str:
        """Folder of the study's results in the store."""
        return folder_of(self.study, self.identity)

    def key(self, point: StudyPoint, seed: int) -> RunKey:
        """Return the identity of a run."""
        return RunKey(self.digests[point.number], seed)

    def scenario(self, point: StudyPoint) -> Scenario:
        """Return the scenario of a point."""
        return scenario_at(self.study, point)


def _cells(study: Study, points: Sequence[StudyPoint]) -> tuple[Cell, ...]:
    """Return groups of points that differ on the axis of ``[compare]`` only.

    The baseline is the first point of its cell. Without ``[compare]``, each point is a cell. Raises
    `StudyError` if the axis does not have the baseline.
    """
    compare = study.compare
    if compare is None:
        return tuple((point,) for point in points)
    at = [axis.column for axis in study.axis].index(compare.axis)
    cells: dict[tuple[Value, ...], list[StudyPoint]] = {}
    for point in points:
        shown = point.shown
        # Two drawn points may have equal values and are still two cells.
        cells.setdefault((point.drawn, *shown[:at], *shown[at + 1 :]), []).append(point)
    first = _baseline(study, [point.shown[at] for point in next(iter(cells.values()))])
    return tuple(
        tuple(sorted(cell, key=lambda point: point.shown[at] != first)) for cell in cells.values()
    )


def _baseline(study: Study, values: Sequence[Value]) -> Value:
    wanted = study.compare.baseline if study.compare else None
    if wanted is None:
        return values[0]
    if wanted not in values:
        listed = ", ".join(f"`{value}`" for value in values)
        raise StudyError(
            f"compare.baseline: the axis has no value `{wanted}`", hint=f"values: {listed}"
        )
    found: Value = wanted
    return found


def identity_of(study: Study) -> str:
    """Return a digest of everything that the results of a study depend on, so not of its plots."""
    plain = {key: value for key, value in study.to_dict().items() if key not in ("title", "plot")}
    return digest(
        {"format": stored_run.FORMAT, "simulator": [_core.version, build()], "study": plain}
    )[:16]


def folder_of(study: Study, identity: str) -> str:
    """Return the folder of a study's results in the store."""
    return f"{STUDIES}/{study.name}-{identity}"


def plan_study(study: Study, storage: Storage | None = None) -> StudyPlan:
    """Compute the points of a study, or read them if the store has them.

    Raises `StudyError` if the scenario of a point is invalid.
    """
    identity = identity_of(study)
    points = points_of(study)
    cells = _cells(study, points)
    stored = _stored_digests(study, identity, storage) if storage else None
    if stored is None or len(stored) != len(points):
        stored = [point_of(scenario_at(study, point), histogram=True) for point in points]
    return StudyPlan(study, identity, tuple(points), tuple(stored), cells)


def _stored_digests(study: Study, identity: str, storage: Storage) -> list[str] | None:
    import polars as pl

    content = storage.read(f"{folder_of(study, identity)}/{_PLAN}")
    if content is None:
        return None
    try:
        return pl.read_parquet(io.BytesIO(content), columns=["point"])["point"].to_list()
    except pl.exceptions.PolarsError:
        return None


def write_plan(plan: StudyPlan, storage: Storage) -> None:
    """Store the points of a study: one row for each, with the digest that its run files have."""
    if has_plan(plan, storage):
        return
    content = io.BytesIO()
    points_frame(plan).write_parquet(content, statistics=False)
    storage.write(f"{plan.folder}/{_PLAN}", content.getvalue())


def has_plan(plan: StudyPlan, storage: Storage) -> bool:
    """Return whether the points of a study are stored, because the study was run there."""
    return storage.exists(f"{plan.folder}/{_PLAN}")


def points_frame(plan: StudyPlan) -> pl.DataFrame:
    """Return the table of points: ``number``, the digest ``point``, and a column for each axis."""
    import polars as pl

    shown = [point.shown for point in plan.points]
    return pl.DataFrame(
        {
            "number": pl.Series([point.number for point in plan.points], dtype=pl.Int64),
            "point": plan.digests,
            **axis_columns(plan.study, shown),
        }
    )


def axis_columns(study: Study, shown: Sequence[Sequence[Value]]) -> dict[str, pl.Series]:
    """Return the columns of the axes: numbers if all values are numbers, otherwise text."""
    import polars as pl

    columns = {}
    for at, axis in enumerate(study.axis):
        values = [each[at] for each in shown]
        if any(isinstance(value, str | bool) for value in values):
            values = [
                str(value).lower() if isinstance(value, bool) else str(value) for value in values
            ]
        columns[axis.column] = pl.Series(values, strict=False)
    return columns


def run_store(storage: Storage) -> Store:
    """Return the runs of a store."""
    return Store(storage, folder=RUNS)

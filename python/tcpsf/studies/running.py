"""Simulation of the runs that a study's store does not have.

A study with a fixed number of runs needs one round. With a stopping rule, the rounds of a cell (the
points that are compared with each other) have ``batch``, 2 ``batch``, 4 ``batch``, … runs, until
the interval is narrow enough or the maximum is reached.

The interval is computed once after each round. If each had a confidence of 95 %, a study would stop
too early too often. With at most k rounds, each interval therefore has the confidence 1 − 0.05 / k.
By Bonferroni's inequality, all of them together contain the true value with at least 95 %.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Literal

from tcpsf.errors import StudyError, suggestion
from tcpsf.measurements import MEASURES, Arm, Measurement, Selection, measurements
from tcpsf.runs import Progress, results_of
from tcpsf.scenario import Scenario
from tcpsf.stats import CONFIDENCE, Estimate
from tcpsf.storage import Storage
from tcpsf.store import RUNS, RunKey
from tcpsf.studies.definition import StoppingRule, Study
from tcpsf.studies.planning import Cell, StudyPlan, run_store
from tcpsf.studies.points import StudyPoint
from tcpsf.studies.study_fold import ROWS
from tcpsf.studies.tasks import TaskExecutor, job, run_tasks
from tcpsf.summary import RunSummary

NOTHING_NEW: Mapping[RunKey, RunSummary | None] = MappingProxyType({})
"""The argument of `StudyRuns.arms` that reads all runs from the store."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a study: the cells whose number has the remainder ``part − 1`` by ``of``."""

    part: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.part <= self.of:
            raise StudyError(
                f"cannot run shard {self.part}/{self.of}: the first number is not in the range 1 to "
                f"{self.of}",
                hint="the parts of a study in eight are 1/8 to 8/8",
            )

    def cells(self, plan: StudyPlan) -> tuple[Cell, ...]:
        """Return the cells of this part."""
        return plan.cells[self.part - 1 :: self.of]


WHOLE = Shard()
"""The only part of a study that is not divided."""


def rounds(rule: StoppingRule) -> list[int]:
    """Return the number of runs after each round of a stopping rule.

    >>> rounds(StoppingRule(measure="mean_s", half_width="5%", batch=8, maximum=50))
    [8, 16, 32, 50]
    """
    totals = [rule.batch]
    while totals[-1] < rule.maximum:
        totals.append(min(2 * totals[-1], rule.maximum))
    return totals


def totals_of(study: Study) -> list[int]:
    """Return the number of runs of each point after each round of a study."""
    return rounds(study.runs.until) if study.runs.until else [study.runs.count]


def confidence_of(study: Study) -> float:
    """Return the confidence of each interval of a study."""
    return confidence_after(study.runs.until) if study.runs.until else CONFIDENCE


def confidence_after(rule: StoppingRule) -> float:
    """Return the confidence of each interval at which a stopping rule looks."""
    return 1.0 - (1.0 - CONFIDENCE) / len(rounds(rule))


@dataclass(frozen=True, slots=True)
class Extent:
    """The number of runs of a complete cell."""

    runs: int
    """Number of runs of each point."""
    stopped: Literal["count", "width", "maximum"]
    """Reason for this number: fixed, narrow enough, or the most."""


class StudyRuns:
    """The stored runs of a study."""

    def __init__(self, plan: StudyPlan, storage: Storage) -> None:
        self.plan = plan
        self.storage, self._store = storage, run_store(storage)
        self._stored = self._names()
        self._damaged: set[str] = set()

    def _names(self) -> set[str]:
        names = self._store.keys()
        return names & self.storage.names(ROWS) if self.plan.study.keep.rows else names

    def update(self) -> None:
        """Look at the store again."""
        self._stored = self._names() - self._damaged

    def names(self) -> list[str]:
        """Return the names of the files of the study's runs, in ascending order."""
        points = set(self.plan.digests)
        keys = ((RunKey.of_file(name), name) for name in self._stored)
        return sorted(name for key, name in keys if key is not None and key.point in points)

    def may_be_complete(self) -> bool:
        """Return whether the first round of each cell is stored."""
        first = totals_of(self.plan.study)[0]
        return not any(True for cell in self.plan.cells for _ in self.missing(cell, first))

    def is_valid(self, name: str) -> bool:
        """Return whether the file of a run is not damaged."""
        key = RunKey.of_file(name)
        return key is not None and (
            self._store.load(key, scenario=self.plan.study.scenario) is not None
        )

    def has(self, key: RunKey) -> bool:
        """Return whether the store had a run when it was looked at."""
        return key.file in self._stored

    def missing(self, cell: Cell, runs: int) -> Iterator[tuple[StudyPoint, RunKey]]:
        """Yield the missing ones of a cell's first runs."""
        first = self.plan.study.runs.seed
        for seed in range(first, first + runs):
            for point in cell:
                key = self.plan.key(point, seed)
                if not self.has(key):
                    yield point, key

    def made(self, key: RunKey) -> None:
        """Note that a run was simulated and stored."""
        self._damaged.discard(key.file)
        self._stored.add(key.file)

    def arms(
        self, cell: Cell, runs: int, new: Mapping[RunKey, RunSummary | None] = NOTHING_NEW
    ) -> list[Arm] | None:
        """Return the runs of each point of a cell; ``None`` if one is missing or damaged.

        Runs that are not in ``new`` are read from the store.
        """
        arms = []
        for point in cell:
            loaded = self._loaded(point, runs, new)
            if loaded is None:
                return None
            arms.append(Arm(loaded))
        return arms

    def _loaded(
        self, point: StudyPoint, runs: int, new: Mapping[RunKey, RunSummary | None]
    ) -> list[RunSummary] | None:
        # Measurements need the names in the scenario only, which all points share.
        scenario = self.plan.study.scenario
        first, loaded = self.plan.study.runs.seed, []
        for seed in range(first, first + runs):
            key = self.plan.key(point, seed)
            summary = new.get(key)
            if summary is None and self.has(key):
                summary = self._store.load(key, scenario=scenario)
            if summary is None:
                self._damaged.add(key.file)
                self._stored.discard(key.file)
                return None
            loaded.append(summary)
        return loaded

    def complete(self, cell: Cell) -> tuple[Extent, list[Arm]] | None:
        """Return the extent and the runs of a cell; ``None`` if it needs more runs."""
        for total in totals_of(self.plan.study):
            if any(True for _ in self.missing(cell, total)):
                return None
            arms = self.arms(cell, total)
            if arms is None:
                return None
            extent = _extent_after(self.plan.study, arms, total)
            if extent is not None:
                return extent, arms
        return None


def is_narrow(study: Study, arms: Sequence[Arm], rule: StoppingRule) -> bool:
    """Return whether the intervals of a stopping rule are narrow enough, for all points of a cell.

    Raises `StudyError` if the study has no such measure.
    """
    found = measured(study, arms, rule)
    estimates = found.values
    if rule.of == "difference":
        estimates = tuple(each.absolute if each else None for each in found.differences[1:])
    return all(is_narrow_enough(each, rule, confidence_of(study)) for each in estimates)


def measured(study: Study, arms: Sequence[Arm], rule: StoppingRule) -> Measurement:
    """Return the measurement of a stopping rule."""
    names = frozenset((rule.workload,) if rule.workload else ())
    selection = Selection(frozenset((rule.measure,)), names, classes=False)
    found = next(measurements(study.scenario, arms, selection), None)
    if found is None:
        raise unknown_measure("runs.until.measure", rule.measure)
    return found


def unknown_measure(where: str, measure: str) -> StudyError:
    """Return the error of a measure that no workload or link of the study has."""
    known = [each.key for each in MEASURES]
    if measure in known:
        return StudyError(f"{where}: no selected workload or link has the measure `{measure}`")
    return StudyError(
        f"{where}: unknown measure `{measure}`", hint=suggestion(measure, known, "measures")
    )


def is_narrow_enough(found: Estimate | None, rule: StoppingRule, confidence: float) -> bool:
    """Return whether the interval of an estimate is narrow enough for a stopping rule."""
    if found is None or found.spread is None:
        return False
    interval = found.interval_at(confidence)
    if interval is None:  # nothing is random
        return True
    return (interval[1] - interval[0]) / 2.0 <= half_width(rule, found.value)


def half_width(rule: StoppingRule, value: float) -> float:
    """Return the largest accepted half width. Raises `StudyError` if it is not a width.

    >>> half_width(StoppingRule(measure="mean_s", half_width="5%"), 2.0)
    0.1
    """
    text = str(rule.half_width).strip()
    with contextlib.suppress(ValueError):
        width = float(text.removesuffix("%"))
        if width > 0.0:
            return width / 100.0 * abs(value) if text.endswith("%") else width
    raise StudyError(
        f"runs.until.half_width: `{rule.half_width}` is not a number above 0",
        hint='give a share of the value such as "5%", or a number in the measure\'s unit',
    )


def simulate_missing(
    runs: StudyRuns,
    *,
    complete: Callable[[Cell, Extent, Sequence[Arm]], None],
    shard: Shard = WHOLE,
    workers: int | None = None,
    executor: TaskExecutor | None = None,
    progress: Callable[[Progress], None] | None = None,
    found: Callable[[int, int], None] = lambda _there, _missing: None,
) -> bool:
    """Simulate the runs of a part of a study that the store does not have.

    ``complete`` is called for each cell that needs no more runs. ``found`` is called at the begin of
    each round, with the number of stored runs of its cells and the number of missing ones. Returns
    whether all cells are complete, which they are not if files of runs are damaged.
    """
    open_cells: Sequence[Cell] = shard.cells(runs.plan)
    for total in totals_of(runs.plan.study):
        missing = [list(runs.missing(cell, total)) for cell in open_cells]
        wanted = list(chain.from_iterable(missing))
        found(total * sum(map(len, open_cells)) - len(wanted), len(wanted))
        left = []
        with contextlib.closing(
            _simulated(runs, wanted, workers=workers, executor=executor, progress=progress)
        ) as simulated:
            for cell, lacking in zip(open_cells, missing, strict=True):
                new = {key: next(simulated) for _, key in lacking}
                arms = runs.arms(cell, total, new)
                extent = arms and _extent_after(runs.plan.study, arms, total)
                if arms and extent:
                    complete(cell, extent, arms)
                else:
                    left.append(cell)
        runs.update()
        open_cells = left
        if not open_cells:
            return True
    return False


def _extent_after(study: Study, arms: Sequence[Arm], total: int) -> Extent | None:
    """Return the extent of a cell with ``total`` runs; ``None`` if it needs more."""
    rule = study.runs.until
    if rule is None:
        return Extent(total, "count")
    if is_narrow(study, arms, rule):
        return Extent(total, "width")
    return Extent(total, "maximum") if total == rule.maximum else None


def _simulated(
    runs: StudyRuns,
    wanted: Sequence[tuple[StudyPoint, RunKey]],
    *,
    workers: int | None,
    executor: TaskExecutor | None,
    progress: Callable[[Progress], None] | None,
) -> Generator[RunSummary | None]:
    """Simulate and store runs, and yield them in order; ``None`` if another process has the run."""
    plan, rows = runs.plan, runs.plan.study.keep.rows
    if executor is None:
        jobs = (job(key, plan.scenario(point), runs.storage, rows=rows) for point, key in wanted)
        with contextlib.closing(
            results_of(jobs, runs=len(wanted), workers=workers, progress=progress)
        ) as results:
            for (_, key), summary in zip(wanted, results, strict=True):
                runs.made(key)
                yield summary
        return
    _simulate_elsewhere(runs, wanted, executor=executor, workers=workers, progress=progress)
    for _, key in wanted:
        runs.made(key)
        yield None


def _simulate_elsewhere(
    runs: StudyRuns,
    wanted: Sequence[tuple[StudyPoint, RunKey]],
    *,
    executor: TaskExecutor,
    workers: int | None,
    progress: Callable[[Progress], None] | None,
) -> None:
    """Simulate runs with an executor, and store the files that it returns."""
    plan, rows = runs.plan, runs.plan.study.keep.rows
    scenarios: Iterator[tuple[RunKey, Scenario]] = (
        (key, plan.scenario(point)) for point, key in wanted
    )
    finished = 0

    def report() -> None:
        if progress is not None:
            share = finished / len(wanted) if wanted else 1.0
            progress(Progress(done=share, finished=finished, runs=len(wanted)))

    with contextlib.closing(
        run_tasks(
            executor, scenarios, rows=rows, workers=workers or os.cpu_count() or 1, waiting=report
        )
    ) as finished_tasks:
        for result in finished_tasks:
            # The sums come last, so that a run with sums is complete.
            for name in sorted(result.files, key=lambda name: name.startswith(f"{RUNS}/")):
                runs.storage.write(name, result.files[name])
            finished += sum(name.startswith(f"{RUNS}/") for name in result.files)
            report()

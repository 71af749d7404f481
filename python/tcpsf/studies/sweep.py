"""`sweep`: simulate the missing runs of a study, and return its results."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tcpsf.errors import StudyError
from tcpsf.runs import Progress
from tcpsf.storage import Storage, open_storage
from tcpsf.store import RUNS
from tcpsf.studies.definition import Study
from tcpsf.studies.planning import StudyPlan, has_plan, plan_study, write_plan
from tcpsf.studies.running import WHOLE, Shard, StudyRuns, half_width, simulate_missing
from tcpsf.studies.study_fold import ROWS
from tcpsf.studies.study_results import (
    ResultRows,
    StudyResults,
    results_of,
    selection_of,
    stored_results,
    write_results,
)
from tcpsf.studies.tasks import TaskExecutor

ATTEMPTS = 3
"""Number of attempts to replace damaged files of runs."""


def sweep(
    study: Study,
    *,
    store: str | Path | Storage,
    shard: Shard = WHOLE,
    workers: int | None = None,
    executor: TaskExecutor | None = None,
    progress: Callable[[Progress], None] | None = None,
    found: Callable[[int, int], None] = lambda _there, _missing: None,
) -> StudyResults:
    """Simulate the runs of a study that ``store`` does not have, and return its results.

    ``store`` is a folder, or a URL that `fsspec` knows. It has one file for each run and can serve
    several studies. The files do not depend on ``shard``, ``workers``, ``executor`` and
    interruptions: the same study gives the same bytes.

    ``workers`` is the number of threads (default: one per core). An ``executor`` has a method
    ``submit``, as `concurrent.futures.ProcessPoolExecutor` and Dask's client have, and runs
    ``workers`` tasks at once. ``progress`` is called several times per second. ``found`` is called
    before each round with the numbers of stored and of missing runs.

    Raises `StudyError` if the study is invalid, and `OutputError` if the store cannot be written or
    another process simulates the same part.

    >>> import tempfile
    >>> from tcpsf import Study, StudyAxis, sweep
    >>> from tcpsf.papers.smart_framing import CLASSIC, web_scenario
    >>> web = web_scenario(sender=CLASSIC.sender, duration="5s")
    >>> study = Study(
    ...     name="load", scenario=web, axis=(StudyAxis(key="workload.web.load", values=(0.2, 0.4)),)
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = sweep(study, store=folder)
    >>> results.frame.filter(measure="mean_s", name="web").select("load", "runs").rows()
    [(0.2, 8), (0.4, 8)]
    """
    storage = open_storage(store) if isinstance(store, str | Path) else store
    plan = checked_plan(study, storage)
    with (
        storage.shared(RUNS, *((ROWS,) if study.keep.rows else ()), plan.folder),
        _claim(plan, storage, shard),
    ):
        write_plan(plan, storage)
        return _results(
            StudyRuns(plan, storage),
            shard=shard,
            workers=workers,
            executor=executor,
            progress=progress,
            found=found,
        )


def _results(
    runs: StudyRuns, *, shard: Shard, found: Callable[[int, int], None], **options: Any
) -> StudyResults:
    """Simulate what is missing, and return and store the results."""
    stored = stored_results(runs)
    if stored is not None:
        found(len(runs.names()), 0)
        return stored
    for _ in range(ATTEMPTS):
        rows = ResultRows(runs.plan)
        if simulate_missing(runs, complete=rows.add, shard=shard, found=found, **options):
            break
    results = rows.results()
    if shard.of > 1 and runs.may_be_complete():
        results = results_of(runs)  # other processes have made the rest
    if results.is_complete:
        write_results(runs, results)
    return results


def checked_plan(study: Study, storage: Storage) -> StudyPlan:
    """Return the plan of a study, after checks of everything that results need."""
    selection_of(study)
    rule = study.runs.until
    if rule is not None:
        half_width(rule, 1.0)
    return plan_study(study, storage)


@contextlib.contextmanager
def _claim(plan: StudyPlan, storage: Storage, shard: Shard) -> Iterator[None]:
    """Hold a part of a study, so that two processes do not simulate the same runs."""
    part = f"{shard.part}-of-{shard.of}"
    named = f"study `{plan.study.name}`" + ("" if shard.of == 1 else f", shard {part}")
    with storage.claimed(f"{plan.folder}/.{part}.lock", f"running {named}"):
        yield


def merge(
    study: Study,
    *,
    store: str | Path | Storage,
    sources: list[str | Path],
    found: Callable[[int, int], None] = lambda _copied, _damaged: None,
) -> StudyResults:
    """Copy the runs of a study from other stores, and return the results.

    Damaged files are not copied. ``found`` is called for each source with the number of copied and
    of damaged files. Raises `StudyError` if the study was not run in a source.
    """
    storage = open_storage(store) if isinstance(store, str | Path) else store
    plan = checked_plan(study, storage)
    folders = (RUNS, ROWS) if study.keep.rows else (RUNS,)
    with storage.shared(*folders, plan.folder):
        write_plan(plan, storage)
        for source in sources:
            found(*_copied(plan, open_storage(source), storage))
        runs = StudyRuns(plan, storage)
        results = results_of(runs)
        if results.is_complete:
            write_results(runs, results)
    return results


def _copied(plan: StudyPlan, source: Storage, target: Storage) -> tuple[int, int]:
    """Copy the runs of a study, and return the numbers of copied and of damaged ones."""
    if not has_plan(plan, source):
        raise StudyError(
            f"cannot merge `{source.location}`: study `{plan.study.name}` was not run there",
            hint="the study, its scenario and the simulator must be the same as for these runs",
        )
    there = StudyRuns(plan, source)
    copied = damaged = 0
    present = set(StudyRuns(plan, target).names())
    for name in there.names():
        if name in present:
            continue
        if not there.is_valid(name):
            damaged += 1
            continue
        for folder in (ROWS, RUNS) if plan.study.keep.rows else (RUNS,):
            content = source.read(f"{folder}/{name}")
            if content is not None:
                target.write(f"{folder}/{name}", content)
        copied += 1
    return copied, damaged

"""Tasks of a study: some of its runs, simulated by any executor, which returns their files.

An executor has a method ``submit``, as those of `concurrent.futures` and Dask's client have. A task
takes about a second, so that its transport costs little. Failed tasks are submitted again.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from tcpsf import _core
from tcpsf.errors import TcpsfError
from tcpsf.finished import build
from tcpsf.runs import Job, run_jobs
from tcpsf.scenario import Scenario
from tcpsf.storage import MemoryFiles, Storage
from tcpsf.store import RunKey
from tcpsf.studies.study_fold import StudyFold
from tcpsf.summary import RunSummary

TASK_S = 1.0
"""Aimed duration of a task."""

ATTEMPTS = 5
"""Number of times that a task is submitted before its error is raised."""

POLL_S = 0.005
"""Time between two looks at the submitted tasks."""


class PendingTask(Protocol):
    """The result of a task, as `concurrent.futures.Future` has it."""

    def done(self) -> bool:
        """Return whether the task has ended."""

    def result(self) -> Any:
        """Return the task's result, or raise its error."""

    def cancel(self) -> Any:
        """Cancel the task if it has not started."""


class TaskExecutor(Protocol):
    """Anything that can call a function elsewhere."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> PendingTask:
        """Call a function with arguments that can be pickled."""


@dataclass(frozen=True, slots=True)
class StudyTask:
    """Some runs of a study."""

    simulator: tuple[str, str]
    """Version and build of the simulator that made the plan."""
    runs: tuple[tuple[RunKey, Scenario], ...]
    rows: bool
    """Whether the rows of flows are stored as well."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The files of a task's runs by name, and the time that the task took."""

    files: Mapping[str, bytes]
    seconds: float


def simulate(task: StudyTask) -> TaskResult:
    """Simulate the runs of a task, one after the other. Executors call this function.

    Raises `TcpsfError` if this process has another simulator than the study.
    """
    began = time.monotonic()
    if (mine := this_simulator()) != task.simulator:
        raise TcpsfError(
            f"cannot simulate for a study of tcpsf {_named(task.simulator)}: "
            f"this worker has tcpsf {_named(mine)}",
            hint="install the same wheel on all workers",
        )
    files = MemoryFiles()
    run_jobs([job(key, scenario, files, rows=task.rows) for key, scenario in task.runs], workers=1)
    return TaskResult(files.contents, time.monotonic() - began)


def this_simulator() -> tuple[str, str]:
    """Return the version and the build of the simulator in this process."""
    return _core.version, build()


def _named(simulator: tuple[str, str]) -> str:
    version, digest = simulator
    return f"{version} (build {digest[:8]})"


def job(key: RunKey, scenario: Scenario, storage: Storage, *, rows: bool) -> Job[RunSummary]:
    """Return a run whose results are stored when it ends."""

    def fold() -> StudyFold:
        return StudyFold(storage, key, rows=rows)

    return Job(scenario=scenario, seed=key.seed, fold=fold)


def run_tasks(
    executor: TaskExecutor,
    runs: Iterable[tuple[RunKey, Scenario]],
    *,
    rows: bool,
    workers: int,
    waiting: Callable[[], None] = lambda: None,
) -> Generator[TaskResult]:
    """Simulate runs with an executor, and yield the tasks' results as they end.

    ``workers`` is the number of tasks that the executor runs at once. ``waiting`` is called
    repeatedly while tasks run. If the caller stops, tasks that have not started are cancelled.
    """
    left, size = iter(runs), 1
    pending: deque[tuple[PendingTask, StudyTask, int]] = deque()
    spent_s, made = 0.0, 0

    def submit(task: StudyTask, attempt: int) -> None:
        pending.append((executor.submit(simulate, task), task, attempt))

    try:
        while True:
            while len(pending) < 2 * workers and (chosen := tuple(islice(left, size))):
                submit(StudyTask(this_simulator(), chosen, rows), 1)
            if not pending:
                return
            future, task, attempt = pending.popleft()
            if not future.done():
                pending.append((future, task, attempt))
                if not any(each.done() for each, _, _ in pending):
                    waiting()
                    time.sleep(POLL_S)
                continue
            try:
                result: TaskResult = future.result()
            except TcpsfError:
                raise
            except Exception as error:  # noqa: BLE001 (executors have their own error classes)
                if attempt == ATTEMPTS:
                    raise _failed(error) from None
                submit(task, attempt + 1)
                continue
            spent_s, made = spent_s + result.seconds, made + len(task.runs)
            size = max(1, math.floor(TASK_S * made / max(spent_s, 1e-6)))
            yield result
    finally:
        for future, _, _ in pending:
            future.cancel()


def _failed(error: Exception) -> TcpsfError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return TcpsfError(
        f"cannot simulate: a task failed {ATTEMPTS} times: {reason}",
        hint="finished runs are kept; run the same command again to continue",
    )

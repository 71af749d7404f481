"""Running scenarios: a single run, or many runs with different seeds on several cores.

A simulation releases the interpreter's lock, so that threads can use every core. Runs are
independent, and their results are returned in the requested order. The number of workers does not
change the results.
"""

from __future__ import annotations

import contextlib
import logging
import operator
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Protocol, SupportsIndex, TypeVar, overload
from weakref import WeakSet

from tcpsf import _core
from tcpsf.errors import TcpsfError
from tcpsf.pcap import Pcap, captured
from tcpsf.python_models import (
    CongestionControllers,
    LossModels,
    PythonModels,
    QueueDisciplines,
    simulation,
)
from tcpsf.result import Batch, Provenance, to_frame
from tcpsf.run_result import RunResult
from tcpsf.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

_LOG = logging.getLogger(__name__)

EVENTS_BETWEEN_CHECKS = 100_000
"""Events between two checks for Ctrl-C and updates of the progress bar: about 10 to 50 ms."""

ROWS_BETWEEN_FOLDS = 5_000
"""Maximum number of rows of a run before they are folded: about a megabyte."""

MOST_SEED = 2**64 - 1
"""Maximum seed."""

MOST_WORKERS = 1024
"""Maximum number of threads; more threads only need more memory."""

AHEAD = 256
"""Number of runs, beyond the workers, that may start before the earliest one has ended."""

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Fold(Protocol[R_co]):
    """Reduction of the rows of a run during the run, so that not all rows are kept.

    An argument ``reduce`` is a function without arguments, such as a class, that returns a new
    object with these methods for each run. `SummaryFold` sums flows by class.

    >>> from tcpsf.papers.smart_framing import CLASSIC, web_scenario
    >>> class Timeouts:
    ...     def __init__(self):
    ...         self.sum = 0
    ...     def add(self, batch):
    ...         self.sum += batch.flows["timeouts"].sum()
    ...     def finish(self, *, links, provenance):
    ...         return self.sum
    >>> web = web_scenario(sender=CLASSIC.sender, duration="5s")
    >>> len(replicate(web, seeds=[1, 2, 3], reduce=Timeouts))
    3
    """

    def add(self, batch: Batch) -> None:
        """Process the rows that the run has finished since the last call."""

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> R_co:
        """Return the result of the run, given the table ``links`` and the provenance."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Completed share of a set of runs, for the argument ``progress`` of `replicate`."""

    done: float
    """Finished share of the total simulated time, 0 to 1."""
    finished: int
    """Number of runs that have ended."""
    runs: int
    """Total number of runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Generic[R_co]):
    """One run: its scenario, its seed, and the reduction of its rows."""

    scenario: Scenario
    seed: int
    fold: Callable[[], Fold[R_co]]
    pcap: Pcap | None = None
    """Capture of the run; ``None`` for no capture."""
    models: PythonModels = field(default_factory=PythonModels)
    """Python models of the run."""


def run(
    scenario: Scenario,
    *,
    seed: SupportsIndex = 1,
    pcap: Pcap | None = None,
    loss: LossModels | None = None,
    queue: QueueDisciplines | None = None,
    controllers: CongestionControllers | None = None,
) -> RunResult:
    """Simulate ``scenario`` once. The same scenario and seed give the same bytes on any machine.

    With ``pcap``, every packet is also written to a capture. ``loss`` and ``queue`` map names of
    links to classes of Python models (`LossModel`, `QueueDiscipline`), and ``controllers`` maps
    names of workloads to classes of `CongestionController`. An exception of a model ends the run.
    Raises `OutputError` if the capture cannot be written, and `TcpsfError` if ``seed`` is not a
    whole number from 0 to 2⁶⁴ − 1, or if a model does not fit the scenario.

    >>> from tcpsf import Link, Scenario, Transfers, run
    >>> there = Link(name="there", from_="a", to="b", rate="10Mb/s", delay="50ms")
    >>> back = Link(name="back", from_="b", to="a", rate="10Mb/s", delay="50ms")
    >>> sender = "reno+sack / full / iw=1"
    >>> page = Transfers(name="page", from_="a", to="b", sizes=(10_000,), sender=sender)
    >>> flow = Scenario(name="one flow", duration="10s", link=(there, back), workload=(page,))
    >>> result = run(flow, seed=1)
    >>> result.flows.select("size_bytes", "segments", "timeouts").rows()
    [(10000, 7, 0)]
    """
    return _drive(
        Job(
            scenario=scenario,
            seed=checked_seed(seed),
            fold=_Keep,
            pcap=pcap,
            models=PythonModels.of(loss, queue, controllers),
        ),
        between=lambda _share: None,
    )


def checked_seed(seed: SupportsIndex) -> int:
    """Return a seed as an integer. Raises `TcpsfError` if it is not an integer or out of range.

    >>> checked_seed(7)
    7
    """
    try:
        number = operator.index(seed)
    except TypeError:
        raise TcpsfError(f"cannot simulate with seed `{seed}`: it is not a whole number") from None
    if not 0 <= number <= MOST_SEED:
        raise TcpsfError(
            f"cannot simulate with seed {number}: it is not in the range 0 to {MOST_SEED}",
            hint="several runs use consecutive seeds; choose a smaller first seed",
        )
    return number


@overload
def replicate(
    scenario: Scenario,
    *,
    seeds: Iterable[SupportsIndex],
    workers: int | None = None,
    reduce: None = None,
    progress: Callable[[Progress], None] | None = None,
    loss: LossModels | None = None,
    queue: QueueDisciplines | None = None,
    controllers: CongestionControllers | None = None,
) -> list[RunResult]: ...
@overload
def replicate(
    scenario: Scenario,
    *,
    seeds: Iterable[SupportsIndex],
    workers: int | None = None,
    reduce: Callable[[], Fold[R]],
    progress: Callable[[Progress], None] | None = None,
    loss: LossModels | None = None,
    queue: QueueDisciplines | None = None,
    controllers: CongestionControllers | None = None,
) -> list[R]: ...
def replicate(
    scenario: Scenario,
    *,
    seeds: Iterable[SupportsIndex],
    workers: int | None = None,
    reduce: Callable[[], Fold[R]] | None = None,
    progress: Callable[[Progress], None] | None = None,
    loss: LossModels | None = None,
    queue: QueueDisciplines | None = None,
    controllers: CongestionControllers | None = None,
) -> list[R] | list[RunResult]:
    """Simulate ``scenario`` once for each seed, with ``workers`` threads (default: one per core).

    The results are in the order of the seeds, all in memory; `replicates` is an iterator. With
    ``reduce``, the rows of each run are passed in batches to a new `Fold`, and its result replaces
    the `RunResult`. Memory then does not grow with simulated time. ``progress`` is called from the
    calling thread, several times per second. The Python models are those of `run`; threads do not
    make them faster. The first error, or Ctrl-C, stops the other runs and
    is raised. Raises `TcpsfError` if a seed or ``workers`` is out of range.

    >>> from tcpsf.papers.smart_framing import CLASSIC, web_scenario
    >>> results = replicate(web_scenario(sender=CLASSIC.sender, duration="5s"), seeds=[1, 2])
    >>> [result.provenance.seed for result in results]
    [1, 2]
    """
    models = PythonModels.of(loss, queue, controllers)
    jobs = list(_jobs(scenario, map(checked_seed, seeds), reduce, models))
    return run_jobs(jobs, workers=workers, progress=progress)


@overload
def replicates(
    scenario: Scenario,
    *,
    num_replicates: SupportsIndex,
    seed: SupportsIndex = 1,
    workers: int | None = None,
    reduce: None = None,
    progress: Callable[[Progress], None] | None = None,
    loss: LossModels | None = None,
    queue: QueueDisciplines | None = None,
    controllers: CongestionControllers | None = None,
) -> Generator[RunResult]: ...
@overload
def replicates(
    scenario: Scenario,
    *,
    num_replicates: SupportsIndex,
    seed: SupportsIndex = 1,
    workers: int | None = None,
    reduce: Callable[[], Fold[R]],
    progress: Callable[[Progress], None] | None = None,
    loss: LossModels | None = None,
    queue: QueueDisciplines | None = None,
    controllers: CongestionControllers | None = None,
) -> Generator[R]: ...
def replicates(
    scenario: Scenario,
    *,
    num_replicates: SupportsIndex,
    seed: SupportsIndex = 1,
    workers: int | None = None,
    reduce: Callable[[], Fold[R]] | None = None,
    progress: Callable[[Progress], None] | None = None,
    loss: LossModels | None = None,
    queue: QueueDisciplines | None = None,
    controllers: CongestionControllers | None = None,
) -> Generator[R] | Generator[RunResult]:
    """Return an iterator over runs of ``scenario`` with consecutive seeds, the first one ``seed``.

    The results are those of `replicate`, in the order of the seeds. They are simulated during the
    iteration, at most two per worker ahead, so memory does not grow with the number of runs.
    ``workers``, ``reduce``, ``progress`` and the Python models are those of `replicate`. An error or Ctrl-C stops the
    runs. So does the end of a ``for`` loop, or ``close()`` of the iterator if it has a name. Raises
    `TcpsfError` if the number, a seed or ``workers`` is out of range.

    >>> from tcpsf.papers.smart_framing import CLASSIC, web_scenario
    >>> web = web_scenario(sender=CLASSIC.sender, duration="5s")
    >>> flows = 0
    >>> for result in replicates(web, num_replicates=1000):
    ...     flows += result.flows.height
    ...     if flows > 800:
    ...         break
    >>> result.provenance.seed
    4
    """
    first, runs = checked_seed(seed), _checked_number(num_replicates)
    checked_seed(first + runs - 1)
    threads = _checked_workers(workers)
    models = PythonModels.of(loss, queue, controllers)
    return results_of(
        _jobs(scenario, range(first, first + runs), reduce, models),
        runs=runs,
        workers=threads,
        progress=progress,
        ahead=threads,
    )


def _jobs(
    scenario: Scenario,
    seeds: Iterable[int],
    reduce: Callable[[], Fold[Any]] | None,
    models: PythonModels,
) -> Iterator[Job[Any]]:
    """Yield a job for each seed. Without ``reduce``, all rows are kept."""
    for seed in seeds:
        yield Job(scenario=scenario, seed=seed, fold=reduce or _Keep, models=models)


def _checked_number(given: SupportsIndex) -> int:
    try:
        number = operator.index(given)
    except TypeError:
        number = 0
    if number < 1:
        raise TcpsfError(
            f"cannot simulate `{given}` replicates: expected a whole number of at least 1",
            hint="`num_replicates` is the number of runs",
        )
    return number


def _checked_workers(workers: int | None) -> int:
    """Return the number of threads, which is the number of cores if ``workers`` is ``None``."""
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise TcpsfError(
            f"cannot run with {workers} workers: expected a number from 1 to {MOST_WORKERS}",
            hint="omit the number of workers for one worker per core",
        )
    return workers or os.cpu_count() or 1


def run_jobs(
    jobs: Sequence[Job[R]],
    *,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[R]:
    """Make all runs with ``workers`` threads, and return their results in the order of ``jobs``.

    The first error, or Ctrl-C, stops the other runs and is raised.
    """
    with contextlib.closing(
        results_of(jobs, runs=len(jobs), workers=workers, progress=progress)
    ) as results:
        return list(results)


def results_of(
    jobs: Iterable[Job[R]],
    *,
    runs: int,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    ahead: int | None = None,
) -> Generator[R]:
    """Make all runs with ``workers`` threads, and yield their results in the order of ``jobs``.

    ``runs`` is the number of jobs. A job is taken from ``jobs`` only shortly before it starts, so
    that any number of jobs needs little memory. At most ``ahead`` jobs (default: `AHEAD`), beyond
    the workers, start before the earliest one is used. The first error, or Ctrl-C, stops the other
    runs and is raised. The caller must close the generator if it does not use all results.
    """
    wanted = min(_checked_workers(workers), max(runs, 1))
    crew = _Crew(runs=runs)
    pool = ThreadPoolExecutor(max_workers=wanted, thread_name_prefix="tcpsf")
    try:
        numbered = enumerate(jobs)
        waiting: deque[Future[R]] = deque()

        def start(most: int) -> None:
            waiting.extend(
                pool.submit(crew.make, number, job) for number, job in islice(numbered, most)
            )

        start(wanted + (AHEAD if ahead is None else ahead))
        while waiting:
            _watch(waiting, crew, progress)
            while waiting and waiting[0].done():
                yield waiting.popleft().result()
                start(1)
    finally:
        crew.stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _watch(
    futures: Sequence[Future[R]], crew: _Crew, progress: Callable[[Progress], None] | None
) -> None:
    """Wait up to 0.1 s, report the progress, and raise the error of a failed run.

    Python handles Ctrl-C between two calls.
    """
    done, _ = wait(futures, timeout=0.1, return_when=FIRST_EXCEPTION)
    if progress is not None:
        progress(crew.progress())
    for future in done:
        future.result()


class _Crew:
    """State that the threads of one `results_of` share."""

    def __init__(self, *, runs: int) -> None:
        self.stop = threading.Event()
        _CREWS.add(self)
        self._runs = runs
        self._finished = 0
        self._shares: dict[int, float] = {}
        self._lock = threading.Lock()

    def make(self, number: int, job: Job[R]) -> R:
        def between(share: float) -> None:
            if self.stop.is_set():
                raise TcpsfError("stopped before its end")
            with self._lock:
                self._shares[number] = share

        result = _drive(job, between=between)
        with self._lock:
            self._shares.pop(number, None)
            self._finished += 1
        return result

    def progress(self) -> Progress:
        """Return the progress. All runs have the same weight, also with different lengths."""
        with self._lock:
            done = self._finished + sum(self._shares.values())
            return Progress(
                done=done / self._runs if self._runs else 1.0,
                finished=self._finished,
                runs=self._runs,
            )


_CREWS: WeakSet[_Crew] = WeakSet()


def _stop_all() -> None:
    for crew in list(_CREWS):
        crew.stop.set()


# An iterator that has a name is not closed before the interpreter waits for its threads. Functions
# of `atexit` are called after that; `concurrent.futures` registers its own one in the same way.
threading._register_atexit(_stop_all)  # type: ignore[attr-defined]  # noqa: SLF001


def _drive(job: Job[R], *, between: Callable[[float], None]) -> R:
    """Make one run. ``between`` is called with the finished share at regular intervals."""
    began_s = time.monotonic()
    running = simulation(job.scenario.to_json(), seed=checked_seed(job.seed), models=job.models)
    _LOG.debug("`%s`, seed %d: run starts", job.scenario.name, job.seed)
    with captured(running, job.pcap) as advance:
        fold = job.fold()
        while advance(EVENTS_BETWEEN_CHECKS):
            # The share is below 1 until the result of the run exists.
            between(min(running.now_s / running.duration_s, 0.999))
            if running.buffered_rows > ROWS_BETWEEN_FOLDS:
                fold.add(_take(running))
        fold.add(_take(running))
    _LOG.debug(
        "`%s`, seed %d: run ends after %.2f s with %d events",
        job.scenario.name,
        job.seed,
        time.monotonic() - began_s,
        running.events,
    )
    provenance = Provenance(
        version=_core.version, seed=job.seed, scenario=job.scenario, models=job.models
    )
    return fold.finish(links=to_frame(running.links()), provenance=provenance)


def _take(simulation: _core.Simulation) -> Batch:
    return Batch(
        flows=simulation.take_flows(),
        recoveries=simulation.take_recoveries(),
        samples=simulation.take_samples(),
        packets=simulation.take_packets(),
    )


class _Keep:
    """The fold that keeps all rows."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []

    def add(self, batch: Batch) -> None:
        self._batches.append(batch)

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> RunResult:
        return RunResult(provenance=provenance, batches=self._batches, links=links)

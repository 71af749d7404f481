"""Running scenarios: one, or many over seeds and cores.

A simulation runs outside the interpreter's lock, so threads are enough to use every core. Each run
is independent and results come back in the order they were asked for: the number of workers changes
when, never what.
"""

from __future__ import annotations

import contextlib
import operator
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Generic, Protocol, SupportsIndex, TypeVar, overload

from tcpsf import _core
from tcpsf.errors import ScenarioError, TcpsfError
from tcpsf.pcap import Pcap, captured
from tcpsf.result import Batch, Provenance, RunResult, to_frame
from tcpsf.scenario import Scenario, explain

if TYPE_CHECKING:
    import polars as pl

EVENTS_BETWEEN_CHECKS = 100_000
"""Some 10 to 50 ms of work: how soon Ctrl-C and the progress bar are served."""

ROWS_BETWEEN_FOLDS = 5_000
"""Rows that a run may pile up before they are folded: about a megabyte."""

MOST_SEED = 2**64 - 1
"""The largest seed."""

MOST_WORKERS = 1024
"""More threads than this only cost memory."""

AHEAD = 256
"""How many runs may have been started, beside those at work, before an earlier one has ended."""

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Fold(Protocol[R_co]):
    """Takes a run's rows as they come, so that they need not all be kept."""

    def add(self, batch: Batch) -> None:
        """Take the next rows."""

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> R_co:
        """Return what the run comes to."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a set of runs has got."""

    done: float
    """Simulated time done over simulated time asked for, 0 to 1."""
    finished: int
    """Runs that have ended."""
    runs: int
    """Runs in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Generic[R_co]):
    """One run to make: what, with which seed, and what becomes of its rows."""

    scenario: Scenario
    seed: int
    fold: Callable[[], Fold[R_co]]
    pcap: Pcap | None = None
    """The capture to write of it."""


def run(scenario: Scenario, *, seed: SupportsIndex = 1, pcap: Pcap | None = None) -> RunResult:
    """Simulate ``scenario`` once. The same scenario and seed give the same bytes, on any machine.

    With ``pcap``, every packet is also written to a capture. Raises `ScenarioError` where the scenario makes no sense,
    and `OutputError` where the capture cannot be written.

    >>> from tcpsf import Link, Scenario, Transfers, run
    >>> there = Link(name="there", from_="a", to="b", rate="10Mb/s", delay="50ms")
    >>> back = Link(name="back", from_="b", to="a", rate="10Mb/s", delay="50ms")
    >>> page = Transfers(name="page", from_="a", to="b", sizes=(10_000,), sender="reno+sack / full / iw=1")
    >>> result = run(Scenario(name="one flow", duration="10s", link=(there, back), workload=(page,)), seed=1)
    >>> result.flows.select("size_bytes", "segments", "timeouts").rows()
    [(10000, 7, 0)]
    """
    return _drive(
        Job(scenario=scenario, seed=checked_seed(seed), fold=_Keep, pcap=pcap),
        between=lambda _share: None,
    )


def checked_seed(seed: SupportsIndex) -> int:
    """Return a seed as a plain number, or say why it is none.

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
            hint="several runs take seeds that follow each other; choose a smaller one for the first",
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
) -> list[RunResult]: ...
@overload
def replicate(
    scenario: Scenario,
    *,
    seeds: Iterable[SupportsIndex],
    workers: int | None = None,
    reduce: Callable[[], Fold[R]],
    progress: Callable[[Progress], None] | None = None,
) -> list[R]: ...
def replicate(
    scenario: Scenario,
    *,
    seeds: Iterable[SupportsIndex],
    workers: int | None = None,
    reduce: Callable[[], Fold[R]] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[R] | list[RunResult]:
    """Simulate ``scenario`` once for each seed, ``workers`` at a time (default: one a core).

    Results are in the order of the seeds. With ``reduce``, each run's rows go to a fresh `Fold` a batch at a time and
    its result stands for the run: memory then does not grow with simulated time. ``progress`` is called from this
    thread, a few times a second.

    >>> from tcpsf.papers.smart_framing import CLASSIC, web_scenario
    >>> results = replicate(web_scenario(sender=CLASSIC.sender, duration="5s"), seeds=[1, 2])
    >>> [result.provenance.seed for result in results]
    [1, 2]
    """
    numbers = [checked_seed(seed) for seed in seeds]
    if reduce is None:
        return run_jobs(
            [Job(scenario=scenario, seed=seed, fold=_Keep) for seed in numbers],
            workers=workers,
            progress=progress,
        )
    return run_jobs(
        [Job(scenario=scenario, seed=seed, fold=reduce) for seed in numbers],
        workers=workers,
        progress=progress,
    )


def run_jobs(
    jobs: Sequence[Job[R]],
    *,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[R]:
    """Make all runs, ``workers`` at a time, and return their results in the order of ``jobs``.

    The first failure, or Ctrl-C, stops the others and is raised.
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
) -> Generator[R]:
    """Make all runs, ``workers`` at a time, and yield their results in the order of ``jobs``, which are ``runs``.

    A job is taken from ``jobs`` when there is room for it, so that any number of them needs little
    memory. The first failure, or Ctrl-C, stops the others and is raised. Close the generator if it
    is not used up.
    """
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise TcpsfError(
            f"cannot run with {workers} workers: the number is not in the range 1 to {MOST_WORKERS}",
            hint="leave it out for one worker per core",
        )
    wanted = min(workers or os.cpu_count() or 1, max(runs, 1))
    crew = _Crew(runs=runs)
    pool = ThreadPoolExecutor(max_workers=wanted, thread_name_prefix="tcpsf")
    try:
        numbered = enumerate(jobs)
        waiting: deque[Future[R]] = deque()

        def start(most: int) -> None:
            waiting.extend(
                pool.submit(crew.make, number, job) for number, job in islice(numbered, most)
            )

        start(wanted + AHEAD)
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
    """Wait for a short time, so that Ctrl-C is heard and progress is told; raise what made a run fail."""
    done, _ = wait(futures, timeout=0.1, return_when=FIRST_EXCEPTION)
    if progress is not None:
        progress(crew.progress())
    for future in done:
        future.result()


class _Crew:
    """What the threads of one `results_of` share."""

    def __init__(self, *, runs: int) -> None:
        self.stop = threading.Event()
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
        """Sum up; runs of unlike length count alike."""
        with self._lock:
            done = self._finished + sum(self._shares.values())
            return Progress(
                done=done / self._runs if self._runs else 1.0,
                finished=self._finished,
                runs=self._runs,
            )


def _drive(job: Job[R], *, between: Callable[[float], None]) -> R:
    """Make one run, calling ``between`` with the share done each time the simulator comes up for air."""
    simulation = _simulation(job.scenario, checked_seed(job.seed))
    with captured(simulation, job.pcap) as advance:
        fold = job.fold()
        while advance(EVENTS_BETWEEN_CHECKS):
            # Not yet 1: a run is finished when its result is there.
            between(min(simulation.now_s / simulation.duration_s, 0.999))
            if simulation.buffered_rows > ROWS_BETWEEN_FOLDS:
                fold.add(_take(simulation))
        fold.add(_take(simulation))
    provenance = Provenance(version=_core.version, seed=job.seed, scenario=job.scenario)
    return fold.finish(links=to_frame(simulation.links()), provenance=provenance)


def _take(simulation: _core.Simulation) -> Batch:
    return Batch(
        flows=simulation.take_flows(),
        recoveries=simulation.take_recoveries(),
        samples=simulation.take_samples(),
        packets=simulation.take_packets(),
    )


def _simulation(scenario: Scenario, seed: int) -> _core.Simulation:
    """Set up a run. The simulator's complaint starts with the key it is about, and may come with a hint."""
    try:
        return _core.Simulation(scenario.to_json(), seed=seed)
    except ValueError as error:
        message, hint = error.args
        raise ScenarioError(message, hint=hint or explain(message.split(": ", 1)[0])) from None


class _Keep:
    """The fold that keeps everything."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []

    def add(self, batch: Batch) -> None:
        self._batches.append(batch)

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> RunResult:
        return RunResult(provenance=provenance, batches=self._batches, links=links)

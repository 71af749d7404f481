"""The set of runs that an evaluation needs; figures that show the same scenario share its runs.

Every scenario runs on the same random seeds. Variants therefore have the same arrivals and sizes
and are compared in pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tcpsf.runs import Job, Progress, run_jobs
from tcpsf.scenario import Scenario
from tcpsf.store import RunKey, Store, StoringFold, Watch, point_of
from tcpsf.summary import RunSummary


@dataclass(frozen=True, slots=True)
class Scale:
    """Number and duration of the runs of an evaluation."""

    name: Literal["demo", "quick", "full"]
    runs: int
    """Independent runs of each point."""
    duration: str
    """Simulated time of each run, including the warm-up."""
    warm_up: str = "0s"
    """Time at the start of a run in which nothing is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A scenario of which an exhibit shows results."""

    scenario: Scenario
    histogram: bool = False
    """Whether the distribution of completion times is stored as well."""
    watches: tuple[Watch, ...] = ()
    """Further data to store of each run."""
    once: bool = False
    """Whether the scenario is deterministic, so that one run is enough."""
    classes: bool = True
    """Whether each class of a workload has its own sums; each listed transfer is a class."""

    def seeds(self, seeds: Sequence[int]) -> Sequence[int]:
        """Return the random seeds of the case's runs."""
        return seeds[:1] if self.once else seeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The distinct runs that some cases need."""

    seeds: tuple[int, ...]
    keys: Mapping[Case, tuple[RunKey, ...]]
    """Keys of the runs of each case."""
    runs: Mapping[RunKey, Case]
    """Case of each run."""


class Runs:
    """Finished runs of an evaluation, by case."""

    def __init__(self, plan: Plan, runs: Mapping[RunKey, RunSummary]) -> None:
        self._plan = plan
        self._runs = runs

    def of(self, case: Case) -> list[RunSummary]:
        """Return a case's runs in the order of the random seeds."""
        return [self._runs[key] for key in self._plan.keys[case]]


def plan(cases: Iterable[Case], *, seeds: Sequence[int]) -> Plan:
    """Find the distinct runs of the cases."""
    keys: dict[Case, tuple[RunKey, ...]] = {}
    runs = {}
    for case in dict.fromkeys(cases):
        wanted = case.seeds(tuple(seeds))
        if not wanted:  # only the exhibits are of interest, and the digest of a point takes 1 ms
            keys[case] = ()
            continue
        point = point_of(
            case.scenario, histogram=case.histogram, watches=case.watches, classes=case.classes
        )
        keys[case] = tuple(RunKey(point, seed) for seed in wanted)
        runs.update(dict.fromkeys(keys[case], case))
    return Plan(seeds=tuple(seeds), keys=keys, runs=runs)


def make(
    wanted: Plan,
    *,
    store: Store | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    found: Callable[[int], None] | None = None,
) -> Runs:
    """Simulate the runs that ``store`` does not have; each is stored as soon as it ends.

    ``found`` is called with the number of runs that the store had.
    """
    runs = {} if store is None else _stored(wanted, store)
    if found is not None:
        found(len(runs))
    # All points of a seed precede the next seed. This order mixes long and short runs, which
    # improves the estimate of the remaining time.
    order = sorted(wanted.runs, key=lambda key: (key.seed, key.point))
    missing = {key: wanted.runs[key] for key in order if key not in runs}
    jobs = [
        Job(
            scenario=case.scenario,
            seed=key.seed,
            fold=partial(
                StoringFold,
                store,
                key,
                histogram=case.histogram,
                watches=case.watches,
                classes=case.classes,
            ),
        )
        for key, case in missing.items()
    ]
    runs.update(zip(missing, run_jobs(jobs, workers=workers, progress=progress), strict=True))
    return Runs(wanted, runs)


def _stored(wanted: Plan, store: Store) -> dict[RunKey, RunSummary]:
    found = {}
    for key, case in wanted.runs.items():
        summary = store.load(key, scenario=case.scenario)
        if summary is not None:
            found[key] = summary
    return found

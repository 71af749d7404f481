"""The set of runs that an evaluation needs; figures that show the same scenario share its runs.

Every scenario runs on the same random seeds. Variants therefore have the same arrivals and sizes
and are compared in pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tcpsf.evaluation.store import Store, StoringFold, Watch, key_of
from tcpsf.runs import Job, Progress, run_jobs
from tcpsf.scenario import Scenario
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
    keys: Mapping[Case, tuple[str, ...]]
    """Keys of the runs of each case."""
    runs: Mapping[str, tuple[Case, int]]
    """Case and random seed of each key."""


class Runs:
    """Finished runs of an evaluation, by case."""

    def __init__(self, plan: Plan, runs: Mapping[str, RunSummary]) -> None:
        self._plan = plan
        self._runs = runs

    def of(self, case: Case) -> list[RunSummary]:
        """Return a case's runs in the order of the random seeds."""
        return [self._runs[key] for key in self._plan.keys[case]]


def plan(cases: Iterable[Case], *, seeds: Sequence[int]) -> Plan:
    """Find the distinct runs of the cases."""
    keys = {}
    runs = {}
    for case in dict.fromkeys(cases):
        by_seed = {
            key_of(
                case.scenario,
                seed,
                histogram=case.histogram,
                watches=case.watches,
                classes=case.classes,
            ): (
                case,
                seed,
            )
            for seed in case.seeds(tuple(seeds))
        }
        keys[case] = tuple(by_seed)
        runs.update(by_seed)
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
    # The order of the digests mixes long and short runs, which improves the estimate of the
    # remaining time.
    missing = {key: wanted.runs[key] for key in sorted(wanted.runs) if key not in runs}
    jobs = [
        Job(
            scenario=case.scenario,
            seed=seed,
            fold=partial(
                StoringFold,
                store,
                key,
                histogram=case.histogram,
                watches=case.watches,
                classes=case.classes,
            ),
        )
        for key, (case, seed) in missing.items()
    ]
    runs.update(zip(missing, run_jobs(jobs, workers=workers, progress=progress), strict=True))
    return Runs(wanted, runs)


def _stored(wanted: Plan, store: Store) -> dict[str, RunSummary]:
    found = {}
    for key, (case, seed) in wanted.runs.items():
        summary = store.load(key, scenario=case.scenario, seed=seed)
        if summary is not None:
            found[key] = summary
    return found

"""Which runs an evaluation needs: figures that show the same scenario share its runs.

Every scenario is run on the same seeds, so variants meet the same arrivals and sizes and are
compared in pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tcpsf.reproduce.store import Store, StoringFold, Watch, key_of
from tcpsf.runs import Job, Progress, run_jobs
from tcpsf.scenario import Scenario
from tcpsf.summary import RunSummary


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to simulate."""

    name: Literal["demo", "quick", "full"]
    runs: int
    """Independent runs of each point."""
    duration: str
    """Simulated time of each run, the warm-up included."""
    warm_up: str = "0s"
    """Before when nothing is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A scenario that something is to be shown of."""

    scenario: Scenario
    histogram: bool = False
    """Keep the distribution of completion times as well."""
    watches: tuple[Watch, ...] = ()
    """What else to keep of its runs."""
    once: bool = False
    """There is no chance in it: one run says all."""
    classes: bool = True
    """Sum up each class of a workload's flows by itself; listed transfers are a class each."""

    def seeds(self, seeds: Sequence[int]) -> Sequence[int]:
        """Return those that it is run on."""
        return seeds[:1] if self.once else seeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The runs that some cases need, each once."""

    seeds: tuple[int, ...]
    keys: Mapping[Case, tuple[str, ...]]
    """By case, the key of each run."""
    runs: Mapping[str, tuple[Case, int]]
    """By key, the case and the seed."""


class Runs:
    """Finished runs, by case."""

    def __init__(self, plan: Plan, runs: Mapping[str, RunSummary]) -> None:
        self._plan = plan
        self._runs = runs

    def of(self, case: Case) -> list[RunSummary]:
        """Return a case's runs in the order of the seeds."""
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
    """Make all runs but those that ``store`` has; each is filed there as soon as it ends.

    ``found`` hears how many the store had.
    """
    runs = {} if store is None else _stored(wanted, store)
    if found is not None:
        found(len(runs))
    # In the order of the digests, so that long and short runs are mixed and the time left is well
    # guessed.
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

"""Comparison of senders in one scenario, with the same random numbers for each of them.

`compare` simulates the scenario once per seed and sender. The sender of the chosen workloads
changes, and nothing else. Arrivals, flow sizes and random losses depend on the seed alone
(ARCHITECTURE.md, "Determinism"), so each difference is computed from pairs of runs
(`tcpsf.paired`). P-values are adjusted for the number of comparisons.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import SupportsIndex

from tcpsf.compared import Comparison
from tcpsf.errors import ScenarioError, TcpsfError, suggestion
from tcpsf.measurements import Arm, adjusted, measurements
from tcpsf.python_models import (
    CongestionControllers,
    ControllerClass,
    LossModels,
    PythonModels,
    QueueDisciplines,
    name_of,
)
from tcpsf.runs import Job, Progress, checked_seed, results_of
from tcpsf.scenario import Scenario
from tcpsf.summary import SummaryFold

AS_WRITTEN = "as in the scenario"
"""Label of the senders that the scenario itself has."""

RUNS = 16
"""Default number of pairs of runs."""


def compare(
    scenario: Scenario,
    *,
    senders: Sequence[str | ControllerClass],
    workloads: Sequence[str] | None = None,
    seeds: Sequence[SupportsIndex] = range(1, RUNS + 1),
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    loss: LossModels | None = None,
    queue: QueueDisciplines | None = None,
    controllers: CongestionControllers | None = None,
) -> Comparison:
    """Simulate ``scenario`` with each sender and compare the results.

    The first sender is the baseline. With a single sender, the baseline is the scenario as it is.
    ``workloads`` are the names of the workloads whose sender changes (default: all). A sender that
    is a class of `CongestionController` replaces the controller of the scenario's senders, and
    nothing else of them. The default seeds are 1 to 16. ``workers``, ``progress`` and the Python
    models of all runs are those of `replicate`. Raises `ScenarioError` for an unknown workload or
    sender, and `TcpsfError` for senders or seeds that are listed twice.

    >>> from tcpsf.papers.smart_framing import CLASSIC, FIXED_SIZE, web_scenario
    >>> web = web_scenario(sender=CLASSIC.sender, duration="5s")
    >>> found = compare(web, senders=[FIXED_SIZE.sender], workloads=["web"], seeds=[1, 2])
    >>> [entry.measure.key for entry in found.entries if entry.name == "web"][:2]
    ['mean_s', 'median_s']
    """
    arms = (AS_WRITTEN, *senders) if len(senders) == 1 else tuple(senders)
    labels = tuple(sender if isinstance(sender, str) else name_of(sender) for sender in arms)
    models = PythonModels.of(loss, queue, controllers)
    _refuse_repeated("sender", labels)
    numbers = tuple(checked_seed(seed) for seed in seeds)
    _refuse_repeated("seed", numbers)
    changed = _chosen(scenario, workloads)
    variants = [_variant(scenario, sender, changed, models) for sender in arms]
    jobs = (
        Job(scenario=variant, seed=seed, fold=SummaryFold, models=made)
        for seed in numbers
        for variant, made in variants
    )
    collected = [Arm() for _ in variants]
    with contextlib.closing(
        results_of(jobs, runs=len(numbers) * len(variants), workers=workers, progress=progress)
    ) as results:
        for at, summary in enumerate(results):
            collected[at % len(variants)].add(summary)
    entries = adjusted(tuple(measurements(scenario, collected)))
    return Comparison(
        scenario=scenario,
        version=collected[0].runs[0].provenance.version,
        senders=labels,
        workloads=changed,
        seeds=numbers,
        entries=entries,
        models=models,
        paired=all(arm.flows() == collected[0].flows() for arm in collected),
    )


def _variant(
    scenario: Scenario, sender: str | ControllerClass, changed: Sequence[str], models: PythonModels
) -> tuple[Scenario, PythonModels]:
    """Return the scenario and the Python models of the runs with a sender."""
    if not isinstance(sender, str):
        return scenario, models.with_controller(changed, sender)
    if sender == AS_WRITTEN:
        return scenario, models
    return with_sender(scenario, sender, changed), models


def with_sender(scenario: Scenario, sender: str, workloads: Sequence[str]) -> Scenario:
    """Return a scenario in which the flows of some workloads use another sender."""
    return replace(
        scenario,
        workload=tuple(
            replace(each, sender=sender, senders=None) if each.name in workloads else each
            for each in scenario.workload
        ),
    )


def _refuse_repeated(kind: str, listed: Sequence[object]) -> None:
    if not listed:
        raise TcpsfError(f"cannot compare: no {kind} is given", hint=f"give at least one {kind}")
    for at, each in enumerate(listed):
        if each in listed[:at]:
            raise TcpsfError(
                f"cannot compare: {kind} `{each}` is given twice", hint=f"give each {kind} once"
            )


def _chosen(scenario: Scenario, workloads: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the workloads whose sender changes."""
    known = [workload.name for workload in scenario.workload]
    if workloads is None:
        return tuple(known)
    for name in workloads:
        if name not in known:
            raise ScenarioError(
                f"cannot compare: the scenario has no workload `{name}`",
                hint=suggestion(name, known, "workloads"),
            )
    _refuse_repeated("workload", workloads)
    return tuple(workloads)

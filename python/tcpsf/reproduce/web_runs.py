"""Statistics of a scenario's runs: completion times, gains and shares, each with its interval.

Short flows are the flows of the workloads whose names begin with ``web``. A gain is the relative
difference in mean completion time to Classic TCP on the same random seeds, in per cent. The Smart
Framing paper defines it in this way for Fig. 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from tcpsf import stats
from tcpsf.intervals import EVERYTHING, Ends
from tcpsf.papers import smart_framing as paper
from tcpsf.summary import RunSummary, Totals, total

ALL: tuple[int, ...] | None = None
"""Value for ``classes``: all short flows together, of every class."""


def short_flows(
    run: RunSummary, *, classes: Iterable[int] | None = ALL, sender: str | None = None
) -> Totals:
    """Sum up a run's short flows, optionally of some classes (from 1) or of one sender."""
    wanted = None if classes is None else set(classes)
    return total(
        totals
        for group, totals in run.groups.items()
        if group.workload.startswith(paper.WEB)
        and (wanted is None or group.size_class in wanted)
        and (sender is None or group.variant == sender)
    )


def each(
    runs: Sequence[RunSummary], *, classes: Iterable[int] | None = ALL, sender: str | None = None
) -> list[Totals]:
    """Return `short_flows` of every run."""
    wanted = None if classes is None else tuple(classes)
    return [short_flows(run, classes=wanted, sender=sender) for run in runs]


def times(
    runs: Sequence[RunSummary], *, classes: Iterable[int] | None = ALL, sender: str | None = None
) -> list[float] | None:
    """Return the mean completion time of each run in seconds.

    With several ``classes``, each class has the same weight. The value is ``None`` if no such flow
    of a run completed.
    """
    parts = (
        [each(runs, sender=sender)]
        if classes is None
        else [each(runs, classes=(k,), sender=sender) for k in classes]
    )
    return mean_times(parts)


def mean_times(parts: Sequence[Sequence[Totals]]) -> list[float] | None:
    """Return the mean completion time of each run in seconds, over ``parts`` of equal weight.

    Each part holds one entry per run.
    """
    if any(totals.completed == 0 for part in parts for totals in part):
        return None
    return [
        1e-9 * math.fsum(totals.sender_ns / totals.completed for totals in of_run) / len(parts)
        for of_run in zip(*parts, strict=True)
    ]


def gains(
    ours: Sequence[RunSummary], theirs: Sequence[RunSummary], *, classes: Iterable[int] | None = ALL
) -> list[float] | None:
    """Return the gain of ``ours`` over ``theirs`` in each run, in per cent."""
    wanted = None if classes is None else tuple(classes)
    a, b = times(ours, classes=wanted), times(theirs, classes=wanted)
    return (
        None
        if a is None or b is None
        else [100.0 * (1.0 - x / y) for x, y in zip(a, b, strict=True)]
    )


def gain(
    ours: Sequence[RunSummary], theirs: Sequence[RunSummary], *, classes: Iterable[int] | None = ALL
) -> stats.Estimate | None:
    """Estimate the gain of ``ours`` over ``theirs``, with runs compared in pairs."""
    wanted = None if classes is None else tuple(classes)
    a, b = times(ours, classes=wanted), times(theirs, classes=wanted)
    return None if a is None or b is None else stats.gain(a, b)


def longer(
    ours: Sequence[RunSummary], theirs: Sequence[RunSummary], *, sender: str | None = None
) -> stats.Estimate | None:
    """Estimate by how many seconds the mean completion time of ``ours`` exceeds ``theirs``.

    Runs are compared in pairs.
    """
    a, b = times(ours, sender=sender), times(theirs, sender=sender)
    return None if a is None or b is None else stats.difference(a, b)


def slope(x: Sequence[float], by_x: Sequence[Sequence[float] | None]) -> stats.Estimate | None:
    """Return the slope of a straight line through each run's points, averaged over the runs.

    >>> slope([0.0, 1.0, 2.0], [[1.0, 1.0], [3.0, 3.0], [5.0, 5.0]])
    Estimate(value=2.0, spread=Same(), runs=2)
    """
    columns = [column for column in by_x if column is not None]
    if len(columns) < len(x):
        return None
    middle = math.fsum(x) / len(x)
    below = math.fsum((a - middle) ** 2 for a in x)
    return stats.mean(
        [
            math.fsum((a - middle) * b for a, b in zip(x, of_run, strict=True)) / below
            for of_run in zip(*columns, strict=True)
        ]
    )


def fast_shares(
    runs: Sequence[RunSummary], *, classes: Iterable[int] | None = ALL, sender: str | None = None
) -> list[float] | None:
    """Per cent of the losses that fast retransmit detected, in each run.

    The value is ``None`` for a run without detected losses.
    """
    totals = each(runs, classes=classes, sender=sender)
    if any(of_run.recoveries == 0 for of_run in totals):
        return None
    return [100.0 * of_run.fast_retransmits / of_run.recoveries for of_run in totals]


def timeouts_a_flow(runs: Sequence[RunSummary]) -> list[float] | None:
    """Retransmission timeouts per short flow, in each run."""
    totals = each(runs)
    if any(of_run.flows == 0 for of_run in totals):
        return None
    return [of_run.timeouts / of_run.flows for of_run in totals]


def utilisation_percent(runs: Sequence[RunSummary]) -> stats.Estimate | None:
    """Share of the time in which the bottleneck was sending, in per cent."""
    return stats.mean(
        [100.0 * _bottleneck(run)["utilisation"] for run in runs], possible=stats.PERCENT
    )


def queue_bytes(runs: Sequence[RunSummary]) -> stats.Estimate | None:
    """Mean queue before the bottleneck, in bytes."""
    return stats.mean(
        [_bottleneck(run)["mean_queue_bytes"] for run in runs], possible=stats.POSITIVE
    )


def lost_percent(runs: Sequence[RunSummary]) -> stats.Estimate | None:
    """Packets that the bottleneck dropped, in per cent of those offered."""
    found = stats.share(
        [_dropped(_bottleneck(run)) for run in runs],
        [_bottleneck(run)["offered_packets"] for run in runs],
    )
    return None if found is None else found.scaled(100.0)


def losses(runs: Sequence[RunSummary]) -> list[float]:
    """Packets that the bottleneck dropped, in per cent of those offered, for each run."""
    rows = [_bottleneck(run) for run in runs]
    return [100.0 * _dropped(row) / max(1, row["offered_packets"]) for row in rows]


def _dropped(link: dict[str, float]) -> float:
    return sum(link[f"dropped_{why}_packets"] for why in ("buffer", "early", "loss"))


def greedy_mbps(runs: Sequence[RunSummary]) -> list[float]:
    """Payload that the greedy flows sent for the first time, in Mb/s, in each run."""
    return [
        8e-6
        * sum(
            totals.sent_bytes - totals.retransmitted_bytes
            for group, totals in run.groups.items()
            if group.workload.startswith(paper.GREEDY)
        )
        / _bottleneck(run)["duration_s"]
        for run in runs
    ]


def quantile(runs: Sequence[RunSummary], share: float) -> stats.Estimate | None:
    """Quantile ``share`` of the completion times of all runs' short flows, in seconds."""
    return stats.quantile([totals.times for totals in each(runs)], share)


def _bottleneck(run: RunSummary) -> dict[str, float]:
    return next(row for row in run.links if row["link"] == paper.BOTTLENECK)


def shares_below(runs: Sequence[RunSummary], seconds: float) -> list[float] | None:
    """Per cent of the completed short flows that took less than ``seconds``, in each run."""
    totals = each(runs)
    if any(of_run.completed == 0 for of_run in totals):
        return None
    return [100.0 * of_run.times.below(seconds) / of_run.completed for of_run in totals]


def mean(
    observations: Sequence[float] | None, *, possible: Ends = EVERYTHING
) -> stats.Estimate | None:
    """Mean over the runs that have a value; no data if no run has one.

    The interval is restricted to the ``possible`` range.
    """
    return None if observations is None else stats.mean(observations, possible=possible)


def mean_time(runs: Sequence[RunSummary], *, sender: str | None = None) -> stats.Estimate | None:
    """Mean completion time of the short flows in seconds, over runs."""
    return mean(times(runs, sender=sender), possible=stats.POSITIVE)


def paired(
    ours: Sequence[float] | None,
    theirs: Sequence[float] | None,
    compare: Callable[[Sequence[float], Sequence[float]], stats.Estimate | None] = stats.difference,
) -> stats.Estimate | None:
    """Compare two observations of each run in pairs."""
    return None if ours is None or theirs is None else compare(ours, theirs)

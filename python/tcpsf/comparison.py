"""Comparison of senders in one scenario, with the same random numbers for each of them.

`compare` simulates the scenario once per seed and sender. The sender of the chosen workloads
changes, and nothing else. Arrivals, flow sizes and random losses depend on the seed alone
(ARCHITECTURE.md, "Determinism"), so each difference is computed from pairs of runs
(`tcpsf.paired`). P-values are adjusted for the number of comparisons.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, SupportsIndex

from tcpsf import paired, stats
from tcpsf.compared import BEYOND, ComparedMeasure, Comparison, ComparisonEntry
from tcpsf.errors import ScenarioError, TcpsfError, nearest
from tcpsf.runs import Job, Progress, checked_seed, results_of
from tcpsf.scenario import Greedy, Scenario
from tcpsf.summary import Group, RunSummary, SummaryFold, Totals, total

AS_WRITTEN = "as in the scenario"
"""Label of the senders that the scenario itself has."""

RUNS = 16
"""Default number of pairs of runs."""

COMPLETION = ComparedMeasure("mean_s", "mean", "s")
QUANTILES = (
    (ComparedMeasure("median_s", "median", "s"), 0.5),
    (ComparedMeasure("p95_s", "p95", "s"), 0.95),
    (ComparedMeasure("p99_s", "p99", "s"), 0.99),
    (ComparedMeasure("p999_s", "p99.9", "s"), 0.999),
)
"""Percentiles of the completion time at the sender."""

_Sum = Callable[[Totals], float]

PER_FLOW: tuple[tuple[ComparedMeasure, _Sum], ...] = (
    (
        ComparedMeasure("fast_retransmits_per_flow", "fast retransmits", ""),
        lambda t: t.fast_retransmits,
    ),
    (ComparedMeasure("timeouts_per_flow", "timeouts", ""), lambda t: t.timeouts),
    (ComparedMeasure("syn_timeouts_per_flow", "SYN timeouts", ""), lambda t: t.syn_timeouts),
    (ComparedMeasure("packets_per_flow", "data packets", ""), lambda t: t.segments),
    (ComparedMeasure("sent_bytes_per_flow", "payload sent", "bytes"), lambda t: t.sent_bytes),
    (ComparedMeasure("unfinished_per_flow", "unfinished", ""), lambda t: t.flows - t.completed),
)
"""Numbers per flow of a workload, as ratios of totals."""

GOODPUT = ComparedMeasure("goodput_mbps", "goodput", "Mb/s")
"""Payload of an endless flow per second, without retransmissions."""

PER_SECOND: tuple[tuple[ComparedMeasure, _Sum], ...] = (
    (
        ComparedMeasure("fast_retransmits_per_s", "fast retransmits", "1/s"),
        lambda t: t.fast_retransmits,
    ),
    (ComparedMeasure("timeouts_per_s", "timeouts", "1/s"), lambda t: t.timeouts),
    (ComparedMeasure("packets_per_s", "data packets", "1/s"), lambda t: t.segments),
)
"""Numbers per second of an endless flow."""

_Row = Callable[[dict[str, Any]], tuple[float, float]]

LINK: tuple[tuple[ComparedMeasure, _Row], ...] = (
    (ComparedMeasure("utilisation", "utilisation", ""), lambda row: (row["utilisation"] or 0.0, 1)),
    (
        ComparedMeasure("mean_queue_bytes", "mean queue", "bytes"),
        lambda row: (row["mean_queue_bytes"], 1),
    ),
    (
        ComparedMeasure("dropped_share", "dropped by the queue", ""),
        lambda row: (
            row["dropped_buffer_packets"] + row["dropped_early_packets"],
            row["offered_packets"],
        ),
    ),
    (
        ComparedMeasure("lost_share", "lost by the loss model", ""),
        lambda row: (row["dropped_loss_packets"], row["offered_packets"]),
    ),
)
"""Measures of a link, as ratios of totals over runs."""


def compare(
    scenario: Scenario,
    *,
    senders: Sequence[str],
    workloads: Sequence[str] | None = None,
    seeds: Sequence[SupportsIndex] = range(1, RUNS + 1),
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Comparison:
    """Simulate ``scenario`` with each sender and compare the results.

    The first sender is the baseline. With a single sender, the baseline is the scenario as it is.
    ``workloads`` are the names of the workloads whose sender changes (default: all). The default
    seeds are 1 to 16. ``workers`` and ``progress`` are those of `replicate`. Raises `ScenarioError`
    for an unknown workload or sender, and `TcpsfError` for senders or seeds that are listed twice.

    >>> from tcpsf.papers.smart_framing import CLASSIC, FIXED_SIZE, web_scenario
    >>> web = web_scenario(sender=CLASSIC.sender, duration="5s")
    >>> found = compare(web, senders=[FIXED_SIZE.sender], workloads=["web"], seeds=[1, 2])
    >>> [entry.measure.key for entry in found.entries if entry.name == "web"][:2]
    ['mean_s', 'median_s']
    """
    labels = (AS_WRITTEN, *senders) if len(senders) == 1 else tuple(senders)
    _refuse_repeated("sender", labels)
    numbers = tuple(checked_seed(seed) for seed in seeds)
    _refuse_repeated("seed", numbers)
    changed = _chosen(scenario, workloads)
    variants = [
        scenario if label == AS_WRITTEN else with_sender(scenario, label, changed)
        for label in labels
    ]
    jobs = (
        Job(scenario=variant, seed=seed, fold=SummaryFold)
        for seed in numbers
        for variant in variants
    )
    collected = [_Arm() for _ in variants]
    with contextlib.closing(
        results_of(jobs, runs=len(numbers) * len(variants), workers=workers, progress=progress)
    ) as results:
        for at, summary in enumerate(results):
            collected[at % len(variants)].add(summary)
    entries = _adjusted(tuple(_entries(scenario, collected)))
    return Comparison(
        scenario=scenario,
        version=collected[0].runs[0].provenance.version,
        senders=labels,
        workloads=changed,
        seeds=numbers,
        entries=entries,
        paired=all(arm.flows() == collected[0].flows() for arm in collected),
    )


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
            near = nearest(name, known)
            raise ScenarioError(
                f"cannot compare: the scenario has no workload `{name}`",
                hint=f"did you mean `{near}`?" if near else f"workloads: {', '.join(known)}",
            )
    _refuse_repeated("workload", workloads)
    return tuple(workloads)


class _Arm:
    """The runs of one sender, in the order of the seeds."""

    def __init__(self) -> None:
        self.runs: list[RunSummary] = []

    def add(self, run: RunSummary) -> None:
        self.runs.append(run)

    def flows(self) -> list[dict[tuple[str, int | None], int]]:
        """Return the number of flows of each run, by workload and size class."""
        found = []
        for run in self.runs:
            counts: dict[tuple[str, int | None], int] = {}
            for group, totals in run.groups.items():
                key = group.workload, group.size_class
                counts[key] = counts.get(key, 0) + totals.flows
            found.append(counts)
        return found

    def classes(self, workload: str) -> set[int]:
        """Return the numbers of a workload's size classes."""
        groups = (group for run in self.runs for group in run.groups)
        return {
            group.size_class
            for group in groups
            if group.workload == workload and group.size_class is not None
        }

    def totals(self, workload: str, size_class: int | None) -> list[Totals]:
        """Return the totals of each run: of a size class, or with ``None`` of all flows."""

        def belongs(group: Group) -> bool:
            return group.workload == workload and size_class in (None, group.size_class)

        return [
            total(part for group, part in run.groups.items() if belongs(group)) for run in self.runs
        ]

    def durations_s(self) -> list[float]:
        """Return the observed time of each run."""
        return [run.links[0]["duration_s"] for run in self.runs]


class _Subject(NamedTuple):
    """The subject of an entry, with the names of its fields."""

    kind: str
    name: str
    size_class: int | None = None
    size_bytes: float | None = None

    def entry(
        self,
        measure: ComparedMeasure,
        values: Iterable[stats.Estimate | None],
        differences: Iterable[paired.Difference | None],
    ) -> ComparisonEntry:
        """Return an entry. ``differences`` are those of each sender after the first."""
        return ComparisonEntry(
            **self._asdict(),
            measure=measure,
            values=tuple(values),
            differences=(None, *differences),
        )

    def ratio(self, measure: ComparedMeasure, runs: Sequence[paired.Pairs]) -> ComparisonEntry:
        """Return the entry of a ratio of totals; ``runs`` has a pair per run, for each sender."""
        first, *others = runs
        values = (
            stats.ratio([a for a, _ in each], [b for _, b in each], possible=stats.POSITIVE)
            for each in runs
        )
        return self.entry(measure, values, (paired.ratios(first, each) for each in others))

    def quantile(
        self, measure: ComparedMeasure, part: float, times: Sequence[paired.Times]
    ) -> ComparisonEntry:
        """Return the entry of a percentile; ``times`` has the times of each run and sender."""
        if any(sum(map(len, each)) * (1.0 - part) < BEYOND for each in times):
            return self.entry(measure, (None for _ in times), (None for _ in times[1:]))
        values = [stats.quantile(each, part) for each in times]
        differences = (
            paired.quantiles(times[0], each, values[0], value)
            for each, value in zip(times[1:], values[1:], strict=True)
        )
        return self.entry(measure, values, differences)


def _entries(scenario: Scenario, arms: Sequence[_Arm]) -> Iterator[ComparisonEntry]:
    for workload in scenario.workload:
        if isinstance(workload, Greedy):
            yield from _endless(workload.name, arms)
            continue
        classes = set().union(*(arm.classes(workload.name) for arm in arms))
        for size_class in (None, *sorted(classes)):
            yield from _flows(workload.name, size_class, arms)
    for at, link in enumerate(scenario.link):
        for measure, pair in LINK:
            runs = [[pair(run.links[at]) for run in arm.runs] for arm in arms]
            yield _Subject("link", link.name).ratio(measure, runs)


def _flows(name: str, size_class: int | None, arms: Sequence[_Arm]) -> Iterator[ComparisonEntry]:
    """Yield the entries of a workload with finite flows, or of one of its size classes."""
    runs = [arm.totals(name, size_class) for arm in arms]
    completed = sum(t.completed for t in runs[0])
    size = sum(t.completed_bytes for t in runs[0]) / completed if completed else None
    subject = _Subject("flows", name, size_class, size)
    yield subject.ratio(
        COMPLETION, [[(t.sender_ns * 1e-9, t.completed) for t in each] for each in runs]
    )
    times = [[totals.times for totals in each] for each in runs]
    for measure, part in QUANTILES:
        yield subject.quantile(measure, part, times)
    for measure, of in PER_FLOW:
        yield subject.ratio(measure, [[(of(t), t.flows) for t in each] for each in runs])


def _endless(name: str, arms: Sequence[_Arm]) -> Iterator[ComparisonEntry]:
    """Yield the entries of a workload with endless flows."""
    runs = [list(zip(arm.totals(name, None), arm.durations_s(), strict=True)) for arm in arms]
    subject = _Subject("endless", name)
    sent = [
        [((t.sent_bytes - t.retransmitted_bytes) * 8e-6, t.flows * seconds) for t, seconds in each]
        for each in runs
    ]
    yield subject.ratio(GOODPUT, sent)
    for measure, of in PER_SECOND:
        yield subject.ratio(
            measure, [[(of(t), t.flows * seconds) for t, seconds in each] for each in runs]
        )


def _adjusted(entries: Sequence[ComparisonEntry]) -> tuple[ComparisonEntry, ...]:
    """Add the p-values, also adjusted for all entries together."""
    p_values = [
        tuple(
            paired.p_value(difference.absolute) if difference else None
            for difference in entry.differences
        )
        for entry in entries
    ]
    adjusted = iter(paired.holm([p_value for each in p_values for p_value in each]))
    return tuple(
        replace(entry, p_values=each, adjusted=tuple(next(adjusted) for _ in each))
        for entry, each in zip(entries, p_values, strict=True)
    )

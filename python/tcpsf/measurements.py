"""Measures of simulated flows and links, and their differences between arms.

An arm is a list of runs of one scenario. Runs of several arms with the same random seed are pairs,
so that each difference is computed from pairs of runs (`tcpsf.paired`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from tcpsf import paired, stats
from tcpsf.distribution import RunTimes
from tcpsf.scenario import Greedy, Scenario
from tcpsf.summary import Group, RunSummary, Totals, total

SIGNIFICANT = 0.05
"""Adjusted p-value below which a difference is called significant."""

BEYOND = 25
"""A percentile is reported if at least this number of flows took longer, with each sender.

With fewer flows, an end of the interval is often the time of the slowest flow. Intervals of
differences with 19 flows beyond the percentile contained the true value in 95.1 % of 1000 experiments
(`verification/coverage.py`).
"""


@dataclass(frozen=True, slots=True)
class RunMeasure:
    """A quantity that is compared."""

    key: str
    title: str
    unit: str
    """Unit of the values; ``""`` for numbers per flow."""


COMPLETION = RunMeasure("mean_s", "mean", "s")
QUANTILES = (
    (RunMeasure("median_s", "median", "s"), 0.5),
    (RunMeasure("p95_s", "p95", "s"), 0.95),
    (RunMeasure("p99_s", "p99", "s"), 0.99),
    (RunMeasure("p999_s", "p99.9", "s"), 0.999),
)
"""Percentiles of the completion time at the sender."""

_Sum = Callable[[Totals], float]

PER_FLOW: tuple[tuple[RunMeasure, _Sum], ...] = (
    (
        RunMeasure("fast_retransmits_per_flow", "fast retransmits", ""),
        lambda t: t.fast_retransmits,
    ),
    (RunMeasure("timeouts_per_flow", "timeouts", ""), lambda t: t.timeouts),
    (RunMeasure("syn_timeouts_per_flow", "SYN timeouts", ""), lambda t: t.syn_timeouts),
    (RunMeasure("packets_per_flow", "data packets", ""), lambda t: t.segments),
    (RunMeasure("sent_bytes_per_flow", "payload sent", "bytes"), lambda t: t.sent_bytes),
    (RunMeasure("unfinished_per_flow", "unfinished", ""), lambda t: t.flows - t.completed),
)
"""Numbers per flow of a workload, as ratios of totals."""

GOODPUT: tuple[RunMeasure, _Sum] = (
    RunMeasure("goodput_mbps", "goodput", "Mb/s"),
    lambda t: (t.sent_bytes - t.retransmitted_bytes) * 8e-6,
)
"""Payload of an endless flow per second, without retransmissions."""

PER_SECOND: tuple[tuple[RunMeasure, _Sum], ...] = (
    (
        RunMeasure("fast_retransmits_per_s", "fast retransmits", "1/s"),
        lambda t: t.fast_retransmits,
    ),
    (RunMeasure("timeouts_per_s", "timeouts", "1/s"), lambda t: t.timeouts),
    (RunMeasure("packets_per_s", "data packets", "1/s"), lambda t: t.segments),
)
"""Numbers per second of an endless flow."""

_Row = Callable[[dict[str, Any]], tuple[float, float]]

LINK: tuple[tuple[RunMeasure, _Row], ...] = (
    (RunMeasure("utilisation", "utilisation", ""), lambda row: (row["utilisation"] or 0.0, 1)),
    (
        RunMeasure("mean_queue_bytes", "mean queue", "bytes"),
        lambda row: (row["mean_queue_bytes"], 1),
    ),
    (
        RunMeasure("dropped_share", "dropped by the queue", ""),
        lambda row: (
            row["dropped_buffer_packets"] + row["dropped_early_packets"],
            row["offered_packets"],
        ),
    ),
    (
        RunMeasure("lost_share", "lost by the loss model", ""),
        lambda row: (row["dropped_loss_packets"], row["offered_packets"]),
    ),
)
"""Measures of a link, as ratios of totals over runs."""

MEASURES = (
    COMPLETION,
    *(measure for measure, _ in (*QUANTILES, *PER_FLOW, GOODPUT, *PER_SECOND, *LINK)),
)
"""All measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One measure of a workload, a group of its flows, or a link, for each arm."""

    kind: str
    """``"flows"``, ``"endless"`` or ``"link"``."""
    name: str
    """Name of the workload or link."""
    size_class: int | None
    """Number of the size class from 1; ``None`` for the whole workload and for links."""
    size_bytes: float | None
    """Mean size of the first arm's completed flows."""
    variant: str | None
    """Sender, if a workload has several and they are measured separately."""
    measure: RunMeasure
    """The quantity: its ``key`` in data frames, its ``title`` and its ``unit``."""
    values: tuple[stats.Estimate | None, ...]
    """The value of each arm."""
    differences: tuple[paired.Difference | None, ...]
    """The difference of each arm from the first one; ``None`` for the first."""
    p_values: tuple[float | None, ...] = ()
    """P-values of differences of zero (`paired.p_value`)."""
    adjusted: tuple[float | None, ...] = ()
    """The p-values, adjusted for all entries of the comparison (Holm)."""

    def is_significant(self, arm: int) -> bool:
        """Return whether an arm differs from the first one, at an adjusted 5 % level."""
        p_value = self.adjusted[arm]
        return p_value is not None and p_value < SIGNIFICANT

    def to_rows(self, senders: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the entry as plain data, one row per sender."""
        for number, sender in enumerate(senders):
            difference = self.differences[number]
            yield {
                "kind": self.kind,
                "name": self.name,
                "class": self.size_class,
                "size_bytes": self.size_bytes,
                "measure": self.measure.key,
                "sender": sender,
                **columns("", self.values[number]),
                **columns("difference_", difference.absolute if difference else None),
                **columns("percent_", difference.percent if difference else None),
                "p_value": self.p_values[number],
                "adjusted_p_value": self.adjusted[number],
                "significant": self.is_significant(number),
            }


def columns(
    prefix: str, found: stats.Estimate | None, confidence: float = stats.CONFIDENCE
) -> dict[str, float | None]:
    """Return an estimate as columns: its value, and both ends of its interval."""
    interval = found and found.interval_at(confidence)
    low, high = interval or (None, None)
    return {
        f"{prefix}value": found.value if found else None,
        f"{prefix}low": low,
        f"{prefix}high": high,
    }


@dataclass(frozen=True, slots=True)
class Selection:
    """The measurements to compute."""

    measures: frozenset[str] = frozenset()
    """Keys of measures; empty: all."""
    names: frozenset[str] = frozenset()
    """Names of workloads and links; empty: all."""
    classes: bool = True
    """Whether size classes are measured separately, in addition to each whole workload."""
    senders: bool = False
    """Whether the senders of a workload with several are measured separately as well."""

    def wants(self, measure: RunMeasure) -> bool:
        """Return whether a measure is selected."""
        return not self.measures or measure.key in self.measures


class Arm:
    """The runs of one scenario, in the order of the seeds."""

    def __init__(self, runs: Iterable[RunSummary] = ()) -> None:
        self.runs = list(runs)

    def add(self, run: RunSummary) -> None:
        """Add the run of the next seed."""
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

    def groups(self, workload: str) -> set[Group]:
        """Return the groups of a workload's flows."""
        return {group for run in self.runs for group in run.groups if group.workload == workload}

    def totals(self, subject: Subject) -> list[Totals]:
        """Return the totals of each run over the flows of a subject."""
        return [
            total(part for group, part in run.groups.items() if subject.has(group))
            for run in self.runs
        ]

    def durations_s(self) -> list[float]:
        """Return the observed time of each run."""
        return [run.links[0]["duration_s"] for run in self.runs]


class Subject(NamedTuple):
    """The subject of a measurement: a workload, a group of its flows, or a link."""

    kind: str
    name: str
    size_class: int | None = None
    variant: str | None = None

    def has(self, group: Group) -> bool:
        """Return whether the subject contains a group of flows."""
        return (
            group.workload == self.name
            and self.size_class in (None, group.size_class)
            and self.variant in (None, group.variant)
        )


class _ArmTimes:
    """Completion times of an arm: of each run, and of all runs together."""

    def __init__(self, runs: Sequence[Totals]) -> None:
        self.runs: paired.Times = [totals.times for totals in runs]
        self.together = RunTimes()
        for times in self.runs:
            self.together.add(times)


class _Measured(NamedTuple):
    """A subject with the measurements to compute."""

    subject: Subject
    selection: Selection
    size_bytes: float | None = None

    def ratio(
        self, measure: RunMeasure, runs: Callable[[], Sequence[paired.Pairs]]
    ) -> Iterator[Measurement]:
        """Yield a ratio of totals, if selected; ``runs`` gives a pair per run, for each arm."""
        if not self.selection.wants(measure):
            return
        first, *others = runs()
        values = [
            stats.ratio([a for a, _ in each], [b for _, b in each], possible=stats.POSITIVE)
            for each in (first, *others)
        ]
        yield self._measurement(measure, values, [paired.ratios(first, each) for each in others])

    def quantile(
        self, measure: RunMeasure, part: float, arms: Sequence[_ArmTimes]
    ) -> Iterator[Measurement]:
        """Yield a percentile, if selected."""
        if not self.selection.wants(measure):
            return
        if any(len(arm.together.together) * (1.0 - part) < BEYOND for arm in arms):
            yield self._measurement(measure, [None] * len(arms), [None] * (len(arms) - 1))
            return
        values = [stats.quantile_of(arm.together, len(arm.runs), part) for arm in arms]
        differences = [
            paired.quantiles(arms[0].runs, arm.runs, values[0], value)
            for arm, value in zip(arms[1:], values[1:], strict=True)
        ]
        yield self._measurement(measure, values, differences)

    def _measurement(
        self,
        measure: RunMeasure,
        values: Iterable[stats.Estimate | None],
        differences: Iterable[paired.Difference | None],
    ) -> Measurement:
        """Return a measurement. ``differences`` are those of each arm after the first."""
        return Measurement(
            **self.subject._asdict(),
            size_bytes=self.size_bytes,
            measure=measure,
            values=tuple(values),
            differences=(None, *differences),
        )


def measurements(
    scenario: Scenario, arms: Sequence[Arm], selection: Selection = Selection()
) -> Iterator[Measurement]:
    """Yield the selected measurements of all workloads and links of a scenario.

    The workloads and links of all arms have the same names.
    """
    for workload in scenario.workload:
        if selection.names and workload.name not in selection.names:
            continue
        if isinstance(workload, Greedy):
            yield from _endless(workload.name, arms, selection)
            continue
        for subject in _subjects(workload.name, arms, selection):
            yield from _flows(subject, arms, selection)
    for at, link in enumerate(scenario.link):
        if not selection.names or link.name in selection.names:
            measured = _Measured(Subject("link", link.name), selection)
            for measure, pair in LINK:
                yield from measured.ratio(measure, partial(_of_links, arms, at, pair))


def _of_links(arms: Sequence[Arm], at: int, pair: _Row) -> list[paired.Pairs]:
    return [[pair(run.links[at]) for run in arm.runs] for arm in arms]


def _subjects(workload: str, arms: Sequence[Arm], selection: Selection) -> Iterator[Subject]:
    """Yield a workload, and its groups of flows that are measured separately."""
    groups = set().union(*(arm.groups(workload) for arm in arms))
    classes = {group.size_class for group in groups if group.size_class is not None}
    senders = {group.variant for group in groups}
    by_sender = sorted(senders) if selection.senders and len(senders) > 1 else ()
    for sender in (None, *by_sender):
        for size_class in (None, *(sorted(classes) if selection.classes else ())):
            yield Subject("flows", workload, size_class, sender)


def _flows(subject: Subject, arms: Sequence[Arm], selection: Selection) -> Iterator[Measurement]:
    """Yield the measurements of finite flows."""
    runs = [arm.totals(subject) for arm in arms]
    completed = sum(t.completed for t in runs[0])
    size = sum(t.completed_bytes for t in runs[0]) / completed if completed else None
    measured = _Measured(subject, selection, size)
    yield from measured.ratio(
        COMPLETION, lambda: [[(t.sender_ns * 1e-9, t.completed) for t in each] for each in runs]
    )
    times = [_ArmTimes(each) for each in runs]
    for measure, part in QUANTILES:
        yield from measured.quantile(measure, part, times)
    for measure, of in PER_FLOW:
        yield from measured.ratio(measure, partial(_per_flow, runs, of))


def _per_flow(runs: Sequence[Sequence[Totals]], of: _Sum) -> list[paired.Pairs]:
    return [[(of(t), t.flows) for t in each] for each in runs]


def _endless(name: str, arms: Sequence[Arm], selection: Selection) -> Iterator[Measurement]:
    """Yield the measurements of a workload with endless flows."""
    subject = Subject("endless", name)
    runs = [list(zip(arm.totals(subject), arm.durations_s(), strict=True)) for arm in arms]
    measured = _Measured(subject, selection)
    for measure, of in (GOODPUT, *PER_SECOND):
        yield from measured.ratio(measure, partial(_per_second, runs, of))


def _per_second(runs: Sequence[Sequence[tuple[Totals, float]]], of: _Sum) -> list[paired.Pairs]:
    return [[(of(t), t.flows * seconds) for t, seconds in each] for each in runs]


def adjusted(entries: Sequence[Measurement]) -> tuple[Measurement, ...]:
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

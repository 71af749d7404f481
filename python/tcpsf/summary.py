"""What a set of runs comes to, class by class, in memory that does not grow with the number of flows.

Sums are kept as whole numbers (times in nanoseconds), so that neither the order of rows nor the size of the batches
they come in changes a digit. Percentiles come from a histogram of logarithmic bins and are exact to 0.25 %.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tcpsf import stats
from tcpsf.result import Batch, Provenance

if TYPE_CHECKING:
    import polars as pl

BIN = math.log(1.005)
"""Width of a histogram bin on the logarithmic axis: its middle is within 0.25 % of every value in it."""

SUMS = (
    "flows",
    "completed",
    "completed_bytes",
    "sender_ns",
    "receiver_ns",
    "segments",
    "sent_bytes",
    "retransmitted_segments",
    "retransmitted_bytes",
    "fast_retransmits",
    "timeouts",
    "syn_timeouts",
)


class Group(NamedTuple):
    """Flows that are summed up together."""

    workload: str
    variant: str
    size_class: int | None
    """Number of the size class from 1; ``None`` where the workload has no classes."""


@dataclass(slots=True)
class Totals:
    """Sums over one group's flows of one run. The fields are those of the ``flows`` table, times in nanoseconds."""

    flows: int = 0
    completed: int = 0
    completed_bytes: int = 0
    sender_ns: int = 0
    receiver_ns: int = 0
    segments: int = 0
    sent_bytes: int = 0
    retransmitted_segments: int = 0
    retransmitted_bytes: int = 0
    fast_retransmits: int = 0
    timeouts: int = 0
    syn_timeouts: int = 0
    bins: Counter[int] = field(default_factory=Counter)
    """Completed flows by the logarithmic bin of their completion time at the sender."""

    @property
    def recoveries(self) -> int:
        """Losses noticed, by whatever means: fast recoveries entered and timers expired."""
        return self.fast_retransmits + self.timeouts

    def add(self, other: Totals) -> None:
        """Add another group's or batch's sums."""
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.bins.update(other.bins)


def total(parts: Iterable[Totals]) -> Totals:
    """Add up sums of one run."""
    together = Totals()
    for part in parts:
        together.add(part)
    return together


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One run, summed up."""

    provenance: Provenance
    groups: dict[Group, Totals]
    links: list[dict[str, Any]]
    """The rows of the ``links`` table."""
    watched: Mapping[str, Any] = field(default_factory=dict)
    """What else was kept of it, as plain data by name."""


class SummaryFold:
    """Sums up a run's flows as they come; made for `replicate`'s ``reduce``.

    The histograms that percentiles need are most of what is kept, up to a megabyte a run.
    """

    def __init__(self, *, percentiles: bool = True) -> None:
        self._groups: dict[Group, Totals] = {}
        self._percentiles = percentiles

    def add(self, batch: Batch) -> None:
        """Take the next rows."""
        flows = batch.flows
        if flows.height == 0:
            return
        for group, totals in _totals(flows, percentiles=self._percentiles):
            self._groups.setdefault(group, Totals()).add(totals)

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> RunSummary:
        """Return the sums, groups in the order of workload, variant and class."""
        order = [workload.name for workload in provenance.scenario.workload]
        groups = dict(sorted(self._groups.items(), key=lambda item: _rank(item[0], order)))
        return RunSummary(provenance=provenance, groups=groups, links=links.to_dicts())


def _rank(group: Group, order: list[str]) -> tuple[int, str, int]:
    return order.index(group.workload), group.variant, group.size_class or 0


def _totals(flows: pl.DataFrame, *, percentiles: bool) -> Iterable[tuple[Group, Totals]]:
    import polars as pl

    keys = [pl.col("workload").cast(pl.String), pl.col("variant").cast(pl.String), pl.col("class")]
    done = pl.col("sender_s").is_not_null()
    whole = flows.select(
        *keys,
        flows=pl.lit(1, pl.Int64),
        completed=done.cast(pl.Int64),
        completed_bytes=pl.when(done).then(pl.col("size_bytes")).otherwise(0).cast(pl.Int64),
        sender_ns=_nanoseconds("sender_s"),
        receiver_ns=_nanoseconds("receiver_s"),
        **{name: pl.col(name).cast(pl.Int64) for name in SUMS[5:]},
        bin=(pl.col("sender_s").log() / BIN).floor().cast(pl.Int32),
    )
    names = ["workload", "variant", "class"]
    sums = whole.drop("bin").group_by(names).sum()
    histograms: dict[Group, Counter[int]] = {}
    if percentiles:
        bins = whole.filter(pl.col("bin").is_not_null()).group_by([*names, "bin"]).len()
        for workload, variant, size_class, position, count in bins.rows():
            histograms.setdefault(Group(workload, variant, size_class), Counter())[position] = count
    for row in sums.rows(named=True):
        group = Group(row["workload"], row["variant"], row["class"])
        yield group, Totals(**{name: row[name] for name in SUMS}, bins=histograms.get(group, Counter()))


def _nanoseconds(column: str) -> pl.Expr:
    import polars as pl

    return (pl.col(column) * 1e9).round().cast(pl.Int64).fill_null(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReport:
    """One group over all runs: what a person wants to know."""

    group: Group
    size_bytes: float | None
    """Size of the flows that completed; their mean where sizes vary."""
    flows: int
    completed: int
    completion_s: stats.Estimate | None
    """Mean time until the sender knew that everything had arrived."""
    delivery_s: stats.Estimate | None
    """Mean time until the receiver had everything."""
    median_s: float | None
    p95_s: float | None
    fast_percent: stats.Estimate | None
    """Share of the losses noticed that fast retransmit noticed; the rest waited for the timer."""
    retransmitted_percent: stats.Estimate | None
    """Payload bytes sent again, in per cent of those sent."""
    fast_retransmits: int
    timeouts: int
    syn_timeouts: int
    sent_once_bytes: int
    """Payload bytes sent, retransmissions not counted."""


def report_groups(runs: Sequence[RunSummary]) -> list[GroupReport]:
    """Sum up all runs, group by group."""
    order = [workload.name for workload in runs[0].provenance.scenario.workload] if runs else []
    groups = sorted({group for run in runs for group in run.groups}, key=lambda group: _rank(group, order))
    return [_report(group, [run.groups.get(group, Totals()) for run in runs]) for group in groups]


def ratio_of(
    runs: Sequence[Totals],
    above: Callable[[Totals], float],
    below: Callable[[Totals], float],
    factor: float = 1.0,
) -> stats.Estimate | None:
    """Estimate Σ above / Σ below × factor over runs."""
    found = stats.ratio([above(totals) for totals in runs], [below(totals) for totals in runs])
    return None if found is None else found.scaled(factor)


def completion_s(runs: Sequence[Totals]) -> stats.Estimate | None:
    """Mean completion time at the sender."""
    return ratio_of(runs, lambda t: t.sender_ns, lambda t: t.completed, 1e-9)


def fast_percent(runs: Sequence[Totals]) -> stats.Estimate | None:
    """Share of fast retransmits among all recoveries."""
    return ratio_of(runs, lambda t: t.fast_retransmits, lambda t: t.recoveries, 100.0)


def _report(group: Group, runs: Sequence[Totals]) -> GroupReport:
    total = Totals()
    for totals in runs:
        total.add(totals)
    return GroupReport(
        group=group,
        size_bytes=total.completed_bytes / total.completed if total.completed else None,
        flows=total.flows,
        completed=total.completed,
        completion_s=completion_s(runs),
        delivery_s=ratio_of(runs, lambda t: t.receiver_ns, lambda t: t.completed, 1e-9),
        median_s=quantile(total.bins, 0.5),
        p95_s=quantile(total.bins, 0.95),
        fast_percent=fast_percent(runs),
        retransmitted_percent=ratio_of(runs, lambda t: t.retransmitted_bytes, lambda t: t.sent_bytes, 100.0),
        fast_retransmits=total.fast_retransmits,
        timeouts=total.timeouts,
        syn_timeouts=total.syn_timeouts,
        sent_once_bytes=total.sent_bytes - total.retransmitted_bytes,
    )


def quantile(bins: Counter[int], share: float) -> float | None:
    """The time that ``share`` of the flows stayed below, from a histogram of logarithmic bins.

    >>> round(quantile(Counter({0: 1, 100: 1, 200: 1}), 0.5), 2)
    1.65
    """
    wanted = share * bins.total()
    seen = 0
    for position in sorted(bins):
        seen += bins[position]
        if seen >= wanted:
            return math.exp((position + 0.5) * BIN)
    return None

"""Summaries of runs by class of flows, in constant memory.

Sums are integers (times in nanoseconds), so that they do not depend on the order of rows or on the
size of batches. Percentiles are exact up to 100 000 flows of a group; for more flows their error is
at most 0.25 % (`distribution`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tcpsf import stats
from tcpsf.distribution import Distribution
from tcpsf.result import Provenance

if TYPE_CHECKING:
    import polars as pl

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
    """A group of flows that are summed together."""

    workload: str
    """Name of the workload."""
    variant: str
    """Name of the sender."""
    size_class: int | None
    """Number of the size class from 1; ``None`` if the workload has no classes."""


@dataclass(slots=True)
class Totals:
    """Sums over one group's flows in one run.

    The fields are those of the ``flows`` table, with times in nanoseconds.
    """

    flows: int = 0
    """Number of flows."""
    completed: int = 0
    """Number of flows that completed."""
    completed_bytes: int = 0
    """Sizes of the completed flows, in bytes."""
    sender_ns: int = 0
    """Completion times at the sender."""
    receiver_ns: int = 0
    """Completion times at the receiver."""
    segments: int = 0
    """Number of data segments sent, with retransmissions."""
    sent_bytes: int = 0
    """Payload bytes sent, with retransmissions."""
    retransmitted_segments: int = 0
    """Number of retransmitted segments."""
    retransmitted_bytes: int = 0
    """Retransmitted payload bytes."""
    fast_retransmits: int = 0
    """Number of losses that fast retransmit detected."""
    timeouts: int = 0
    """Number of retransmission timeouts, without those of SYNs."""
    syn_timeouts: int = 0
    """Number of retransmission timeouts of SYNs."""
    times: Distribution = field(default_factory=Distribution)
    """Completion times of the completed flows at the sender, if they are kept."""

    @property
    def recoveries(self) -> int:
        """Number of detected losses: fast retransmits and timeouts."""
        return self.fast_retransmits + self.timeouts

    def add(self, other: Totals) -> None:
        """Add the sums and times of another group or batch."""
        self.add_sums(other)
        self.times.update(other.times)

    def add_sums(self, other: Totals) -> None:
        """Add the sums of another group, without its times."""
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def total(parts: Iterable[Totals]) -> Totals:
    """Return the total of several groups of one run."""
    listed = list(parts)
    together = Totals(times=Distribution.merged(part.times for part in listed))
    for part in listed:
        together.add_sums(part)
    return together


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """Sums over the flows of one run, and the rows of its links."""

    provenance: Provenance
    """Version, seed and scenario of the run."""
    groups: dict[Group, Totals]
    """Sums by group, in the order of workload, variant and class."""
    links: list[dict[str, Any]]
    """The rows of the ``links`` table."""
    watched: Mapping[str, Any] = field(default_factory=dict)
    """Other data of the run, as plain data by name."""


class _Flows(Protocol):
    """Rows of flows: a batch, or the result of a run."""

    @property
    def flows(self) -> pl.DataFrame: ...


ROWS_TOGETHER = 20_000
"""Number of rows that are summed up by one query: about 4 MB.

A query has a fixed cost, which exceeds that of the rows of a batch.
"""


class SummaryFold:
    """Sums over a run's flows, for the argument ``reduce`` of `replicate`.

    The times for percentiles need most of the memory: up to 0.8 MB for each group of a run. With
    ``classes=False``, the classes of a workload are summed together.
    """

    def __init__(self, *, percentiles: bool = True, classes: bool = True) -> None:
        self._groups: dict[Group, Totals] = {}
        self._waiting: list[pl.DataFrame] = []
        self._percentiles = percentiles
        self._classes = classes

    def add(self, batch: _Flows) -> None:
        """Add the rows of a batch."""
        flows = batch.flows
        if flows.height > 0:
            self._waiting.append(flows)
        if sum(frame.height for frame in self._waiting) >= ROWS_TOGETHER:
            self._sum_up()

    def _sum_up(self) -> None:
        """Add the waiting rows to the sums."""
        import polars as pl

        if not self._waiting:
            return
        flows = pl.concat(self._waiting, rechunk=False)
        self._waiting.clear()
        for group, totals in _totals(flows, percentiles=self._percentiles, classes=self._classes):
            self._groups.setdefault(group, Totals()).add(totals)

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> RunSummary:
        """Return the sums, with groups in the order of workload, variant and class."""
        self._sum_up()
        order = [workload.name for workload in provenance.scenario.workload]
        groups = dict(sorted(self._groups.items(), key=lambda item: rank(item[0], order)))
        return RunSummary(provenance=provenance, groups=groups, links=links.to_dicts())


def rank(group: Group, order: Sequence[str]) -> tuple[int, str, int]:
    """Return the sort key of a group. ``order`` has the names of the scenario's workloads."""
    return order.index(group.workload), group.variant, group.size_class or 0


def _totals(
    flows: pl.DataFrame, *, percentiles: bool, classes: bool
) -> Iterable[tuple[Group, Totals]]:
    import polars as pl

    keys = ["workload", "variant", *(["class"] if classes else [])]
    done = pl.col("sender_s").is_not_null()
    sender_ns, receiver_ns = (
        (pl.col(name) * 1e9).round().cast(pl.Int64) for name in ("sender_s", "receiver_s")
    )
    # One query for all sums, because of its fixed cost.
    rows = flows.group_by(keys).agg(
        flows=pl.len().cast(pl.Int64),
        completed=done.sum().cast(pl.Int64),
        completed_bytes=pl.col("size_bytes").filter(done).cast(pl.Int64).sum(),
        sender_ns=sender_ns.sum(),
        receiver_ns=receiver_ns.sum(),
        times=sender_ns.drop_nulls() if percentiles else pl.lit(None),
        **{name: pl.col(name).cast(pl.Int64).sum() for name in SUMS[5:]},
    )
    for row in rows.iter_rows(named=True):
        group = Group(row["workload"], row["variant"], row.get("class"))
        times = Distribution(row["times"] or ())
        yield group, Totals(**{name: row[name] for name in SUMS}, times=times)


Quantity = Callable[[Totals], float]


def mean_of(
    runs: Sequence[Totals], above: Quantity, below: Quantity, factor: float = 1.0
) -> stats.Estimate | None:
    """Estimate the non-negative ratio Σ above / Σ below × factor over runs."""
    found = stats.ratio(
        [above(totals) for totals in runs],
        [below(totals) for totals in runs],
        possible=stats.POSITIVE,
    )
    return None if found is None else found.scaled(factor)


def completion_s(runs: Sequence[Totals]) -> stats.Estimate | None:
    """Mean completion time at the sender, in seconds."""
    return mean_of(runs, lambda t: t.sender_ns, lambda t: t.completed, 1e-9)


def fast_percent(runs: Sequence[Totals]) -> stats.Estimate | None:
    """Percentage of fast retransmits among all recoveries."""
    found = stats.share(
        [totals.fast_retransmits for totals in runs], [totals.recoveries for totals in runs]
    )
    return None if found is None else found.scaled(100.0)

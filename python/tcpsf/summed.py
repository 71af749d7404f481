"""Sums over any number of runs of a scenario, in constant memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tcpsf import stats
from tcpsf.distribution import Distribution, RunTimes
from tcpsf.result import Provenance
from tcpsf.summary import Group, RunSummary, Totals, rank
from tcpsf.sums import Sums


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReport:
    """Results of one group of flows over all runs."""

    group: Group
    size_bytes: float | None
    """Mean size of the flows that completed."""
    flows: int
    completed: int
    completion_s: stats.Estimate | None
    """Mean time until the sender has received the acknowledgment of all data."""
    delivery_s: stats.Estimate | None
    """Mean time until the receiver has all data."""
    median_s: stats.Estimate | None
    """Median of the completion times at the sender."""
    p95_s: stats.Estimate | None
    """95th percentile of the completion times at the sender."""
    fast_percent: stats.Estimate | None
    """Percentage of the detected losses that fast retransmit detected; the others are timeouts."""
    retransmitted_percent: stats.Estimate | None
    """Retransmitted payload bytes as a percentage of the sent payload bytes."""
    fast_retransmits: int
    timeouts: int
    syn_timeouts: int
    sent_once_bytes: int
    """Payload bytes sent, without retransmissions."""


@dataclass(slots=True)
class LinkSums:
    """Sums over the rows of one link in all runs."""

    name: str
    offered_packets: int = 0
    marked_packets: int = 0
    max_queue_bytes: int = 0
    """Maximum queue over all runs."""
    _used: Sums = field(default_factory=Sums)
    _queue: Sums = field(default_factory=Sums)
    _dropped: Sums = field(default_factory=Sums)
    _marked: Sums = field(default_factory=Sums)
    _lost: Sums = field(default_factory=Sums)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add the row of this link in one run."""
        offered = row["offered_packets"]
        self.offered_packets += offered
        self.marked_packets += row["marked_packets"]
        self.max_queue_bytes = max(self.max_queue_bytes, row["max_queue_bytes"])
        self._used.add(row["utilisation"] or 0.0, 1)
        self._queue.add(row["mean_queue_bytes"], 1)
        self._dropped.add(row["dropped_buffer_packets"] + row["dropped_early_packets"], offered)
        self._marked.add(row["marked_packets"], offered)
        self._lost.add(row["dropped_loss_packets"], offered)

    def used_percent(self, runs: int) -> stats.Estimate | None:
        """Percentage of the time in which the link transmits."""
        return _percent(stats.ratio_of(self._used, runs, possible=stats.SHARE))

    def queue_bytes(self, runs: int) -> stats.Estimate | None:
        """Time average of the link's queue in bytes, over runs."""
        return stats.ratio_of(self._queue, runs, possible=stats.POSITIVE)

    def dropped_percent(self, runs: int) -> stats.Estimate | None:
        """Percentage of the offered packets that the queue dropped, because full or early."""
        return _percent(stats.share_of(self._dropped, runs))

    def marked_percent(self, runs: int) -> stats.Estimate | None:
        """Percentage of the offered packets that were marked (ECN)."""
        return _percent(stats.share_of(self._marked, runs))

    def lost_percent(self, runs: int) -> stats.Estimate | None:
        """Percentage of the offered packets that the loss model dropped."""
        return _percent(stats.share_of(self._lost, runs))


class SummedRuns:
    """Results of all runs, for each group of flows and each link."""

    def __init__(self) -> None:
        self.runs = 0
        """Number of runs that have been added."""
        self.observed_s = 0.0
        """Simulated time of all runs."""
        self.links: list[LinkSums] = []
        self._groups: dict[Group, _GroupSums] = {}
        self._source: Provenance | None = None

    @property
    def source(self) -> Provenance:
        """Provenance of the first of the summed runs."""
        if self._source is None:
            raise ValueError("no run has been added")
        return self._source

    def add(self, run: RunSummary) -> None:
        """Add a run. All runs must have the same scenario."""
        if self._source is None:
            self._source = run.provenance
            self.links = [LinkSums(row["link"]) for row in run.links]
        self.runs += 1
        self.observed_s += run.links[0]["duration_s"]
        for link, row in zip(self.links, run.links, strict=True):
            link.add(row)
        for group, totals in run.groups.items():
            self._groups.setdefault(group, _GroupSums()).add(totals)

    def groups(self) -> list[GroupReport]:
        """Return each group over all runs, in the order of workload, variant and class."""
        order = [workload.name for workload in self.source.scenario.workload]
        return [
            self._groups[group].report(group, self.runs)
            for group in sorted(self._groups, key=lambda group: rank(group, order))
        ]

    def times(self, group: Group) -> Distribution:
        """Return the completion times at the sender of a group, over all runs."""
        return self._groups[group].times()


class _GroupSums:
    """Sums over the flows of one group in all runs."""

    def __init__(self) -> None:
        self._all = Totals()
        self._times = RunTimes()
        self._completion = Sums()
        self._delivery = Sums()
        self._fast = Sums()
        self._resent = Sums()

    def add(self, run: Totals) -> None:
        self._all.add_sums(run)
        self._times.add(run.times)
        self._completion.add(run.sender_ns, run.completed)
        self._delivery.add(run.receiver_ns, run.completed)
        self._fast.add(run.fast_retransmits, run.recoveries)
        self._resent.add(run.retransmitted_bytes, run.sent_bytes)

    def times(self) -> Distribution:
        return self._times.together

    def report(self, group: Group, runs: int) -> GroupReport:
        total = self._all
        return GroupReport(
            group=group,
            size_bytes=total.completed_bytes / total.completed if total.completed else None,
            flows=total.flows,
            completed=total.completed,
            completion_s=_seconds(stats.ratio_of(self._completion, runs, possible=stats.POSITIVE)),
            delivery_s=_seconds(stats.ratio_of(self._delivery, runs, possible=stats.POSITIVE)),
            median_s=stats.quantile_of(self._times, runs, 0.5),
            p95_s=stats.quantile_of(self._times, runs, 0.95),
            fast_percent=_percent(stats.share_of(self._fast, runs)),
            # A segment of any size is one observation.
            retransmitted_percent=_percent(
                stats.share_of(self._resent, runs, observations=total.segments)
            ),
            fast_retransmits=total.fast_retransmits,
            timeouts=total.timeouts,
            syn_timeouts=total.syn_timeouts,
            sent_once_bytes=total.sent_bytes - total.retransmitted_bytes,
        )


def _seconds(nanoseconds: stats.Estimate | None) -> stats.Estimate | None:
    return None if nanoseconds is None else nanoseconds.scaled(1e-9)


def _percent(share: stats.Estimate | None) -> stats.Estimate | None:
    return None if share is None else share.scaled(100.0)

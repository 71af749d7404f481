"""Any number of runs of a scenario, summed up as they come, in memory that does not grow with their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tcpsf import stats
from tcpsf.distribution import RunTimes
from tcpsf.result import Provenance
from tcpsf.summary import Group, RunSummary, Totals, rank
from tcpsf.sums import Sums


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
    median_s: stats.Estimate | None
    """Median of the completion times at the sender."""
    p95_s: stats.Estimate | None
    """Their 95th percentile."""
    fast_percent: stats.Estimate | None
    """Share of the losses noticed that fast retransmit noticed; the rest waited for the timer."""
    retransmitted_percent: stats.Estimate | None
    """Payload bytes sent again, in per cent of those sent."""
    fast_retransmits: int
    timeouts: int
    syn_timeouts: int
    sent_once_bytes: int
    """Payload bytes sent, retransmissions not counted."""


@dataclass(slots=True)
class LinkSums:
    """Sums over a link's rows of all runs."""

    name: str
    offered_packets: int = 0
    marked_packets: int = 0
    max_queue_bytes: int = 0
    """The largest queue of all runs."""
    _used: Sums = field(default_factory=Sums)
    _queue: Sums = field(default_factory=Sums)
    _dropped: Sums = field(default_factory=Sums)
    _marked: Sums = field(default_factory=Sums)
    _lost: Sums = field(default_factory=Sums)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take the link's row of a run."""
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
        """Share of the time in which the link was sending."""
        return _percent(stats.ratio_of(self._used, runs, possible=stats.SHARE))

    def queue_bytes(self, runs: int) -> stats.Estimate | None:
        """Mean queue over time."""
        return stats.ratio_of(self._queue, runs, possible=stats.POSITIVE)

    def dropped_percent(self, runs: int) -> stats.Estimate | None:
        """Packets that the queue refused, for want of room or early, of those offered."""
        return _percent(stats.share_of(self._dropped, runs))

    def marked_percent(self, runs: int) -> stats.Estimate | None:
        """Packets that were marked (ECN), of those offered."""
        return _percent(stats.share_of(self._marked, runs))

    def lost_percent(self, runs: int) -> stats.Estimate | None:
        """Packets that the loss model dropped, of those offered."""
        return _percent(stats.share_of(self._lost, runs))


class SummedRuns:
    """What all runs come to, group by group and link by link."""

    def __init__(self) -> None:
        self.runs = 0
        """How many have been added."""
        self.observed_s = 0.0
        """Simulated time of all runs."""
        self.links: list[LinkSums] = []
        self._groups: dict[Group, _GroupSums] = {}
        self._source: Provenance | None = None

    @property
    def source(self) -> Provenance:
        """Where the first run comes from."""
        if self._source is None:
            raise ValueError("no run has been added")
        return self._source

    def add(self, run: RunSummary) -> None:
        """Take a run of the same scenario as the others."""
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


class _GroupSums:
    """Sums over a group's flows of all runs."""

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
            # A segment is one observation, however many bytes it has.
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

"""A trial: some connections get a remedy, chosen at random, and the transfers of all are compared.

A transfer begins with the first packet of new data while nothing is in flight, and ends when all data
is acknowledged. Its *excess* is the time beyond the minimum round-trip time of the connection. The
difference of the mean excess between both groups is the effect of the remedy on the mean completion
time, with less noise, because the groups have the same round-trip times up to chance.

At first no connection has the remedy. A comparison of that time with the connections without the remedy
during the trial shows whether its packets cause losses for others.
"""

from __future__ import annotations

import enum
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tcpsf import stats
from tcpsf.distribution import Distribution
from tcpsf.sequential import ERROR, AnytimeDifference, AnytimeSums, difference

HALF = 128
"""Share of the connections with the remedy during a trial, in 256ths."""

LONGEST_S = 5.0
"""Excess of a longer transfer. A client that has vanished takes a quarter of an hour."""
LEAST_CONNECTIONS = 100
"""Connections with a transfer in each group before anything is decided."""
TIGHT_AT = 2000
"""Number of connections at which the intervals are shortest, relative to the standard error."""

MOST_DUPLICATES = 0.1
"""DSACKs per connection that a remedy without copies may add: they report what the receiver had."""

Row = tuple[int, int, int, int, int, int, int, int, int, int]
"""A transfer or the end of a connection, as `_core.RemedyTrial.transfers` returns it."""

_ABORTED, _COMPLETE = range(2)
"""Ends of a row; a connection without a transfer under way has another number."""


class TrialVerdict(enum.Enum):
    """Result of a trial."""

    KEEP = "keep"
    """The remedy shortens transfers."""
    WITHDRAW = "withdraw"
    """The remedy harms, or has no useful effect."""
    NOT_ENOUGH_DATA = "not enough data"
    """Both are still possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialGroup:
    """Transfers of a group of connections."""

    name: str
    connections: int
    """Connections with a complete transfer."""
    transfers: int
    """Complete transfers."""
    aborted: int
    """Transfers whose connection ended first."""
    mean_s: float | None
    """Mean completion time in seconds."""
    median_s: stats.Estimate | None
    p95_s: stats.Estimate | None
    p99_s: stats.Estimate | None
    retransmitted: float | None
    """Retransmitted segments per transfer."""
    dsacks: float | None
    """DSACKs of the receiver per connection that has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """State of a trial."""

    verdict: TrialVerdict
    reason: str
    groups: tuple[TrialGroup, ...]
    """Before the trial, without the remedy, and with it."""
    effect: AnytimeDifference | None
    """Mean completion time with the remedy less that without it, in seconds."""
    side_effect: AnytimeDifference | None
    """Retransmitted segments per transfer: without the remedy, less before the trial."""


class TrialDecision(NamedTuple):
    """Verdict of a trial, with its reason and the intervals of `TrialResult`."""

    verdict: TrialVerdict
    reason: str
    effect: AnytimeDifference | None
    side_effect: AnytimeDifference | None


@dataclass(slots=True)
class _Connection:
    """Complete transfers of a connection that has not ended."""

    transfers: int = 0
    excess_s: float = 0.0
    retransmitted: int = 0


_BATCH = 20_000
"""Number of times that are kept individually before they are added to a distribution."""


@dataclass(slots=True)
class _Group:
    """Transfers of a group. The memory is limited, except by the connections that are open."""

    name: str
    open: dict[int, _Connection] = field(default_factory=dict)
    """By the cookie of the connection; those without a complete transfer are not in it."""
    excess: AnytimeSums = field(default_factory=AnytimeSums)
    """Excess in seconds, by connection."""
    repairs: AnytimeSums = field(default_factory=AnytimeSums)
    """Retransmitted segments of complete transfers, by connection."""
    dsacks: AnytimeSums = field(default_factory=AnytimeSums)
    """DSACKs of the connections that have ended."""
    aborted: int = 0
    total_ns: int = 0
    times: Distribution = field(default_factory=Distribution)
    latest_ns: array[int] = field(default_factory=lambda: array("q"))

    def add(self, row: Row) -> None:
        cookie, duration_ns, _, bytes_, retransmitted, dsacks, least_rtt_us, end, *_ = row
        if end != _COMPLETE:
            self.open.pop(cookie, None)
            self.dsacks.replace(None, (1, dsacks))
            self.aborted += end == _ABORTED
            return
        if bytes_ <= 1:  # most of these are a FIN
            return
        self.total_ns += duration_ns
        self.latest_ns.append(duration_ns)
        if len(self.latest_ns) >= _BATCH:
            self._store_times()
        excess_s = min(max(0.0, duration_ns / 1e9 - least_rtt_us / 1e6), LONGEST_S)
        one = self.open.get(cookie)
        if one is None:
            one = self.open[cookie] = _Connection(1, excess_s, retransmitted)
            self.excess.replace(None, (1, excess_s))
            self.repairs.replace(None, (1, retransmitted))
            return
        before = one.transfers
        later = _Connection(before + 1, one.excess_s + excess_s, one.retransmitted + retransmitted)
        self.excess.replace((before, one.excess_s), (before + 1, later.excess_s))
        self.repairs.replace((before, one.retransmitted), (before + 1, later.retransmitted))
        self.open[cookie] = later

    def _store_times(self) -> None:
        self.times.update(Distribution(self.latest_ns))
        del self.latest_ns[:]

    def update(self, other: _Group) -> None:
        """Add the transfers of another group."""
        self.open.update(other.open)
        for ours, theirs in (
            (self.excess, other.excess),
            (self.repairs, other.repairs),
            (self.dsacks, other.dsacks),
        ):
            ours.update(theirs)
        self.aborted += other.aborted
        self.total_ns += other.total_ns
        self.times.update(other.times)
        self.latest_ns.extend(other.latest_ns)

    @property
    def connections(self) -> int:
        """Connections with a complete transfer."""
        return self.excess.clusters

    def mean_s(self) -> float | None:
        """Mean completion time in seconds."""
        count = self.excess.observations
        return self.total_ns / count / 1e9 if count else None

    def summary(self) -> TrialGroup:
        self._store_times()
        count, ended = self.excess.observations, self.dsacks.observations
        quantiles = [stats.quantile_of_one(self.times, part) if count else None for part in _PARTS]
        return TrialGroup(
            name=self.name,
            connections=self.connections,
            transfers=count,
            aborted=self.aborted,
            mean_s=self.mean_s(),
            median_s=quantiles[0],
            p95_s=quantiles[1],
            p99_s=quantiles[2],
            retransmitted=self.repairs.total / count if count else None,
            dsacks=self.dsacks.total / ended if ended else None,
        )


_PARTS = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRule:
    """How a trial is decided."""

    least_gain: float
    """Least useful reduction of the mean completion time, as a share of it."""
    copies: bool
    """Whether the remedy sends segments twice, so that receivers report duplicates (DSACK)."""
    error: float = ERROR
    """Probability with which an interval does not contain its true value at some time."""


class CureTrial:
    """Transfers of a trial so far."""

    def __init__(self, rule: TrialRule) -> None:
        self.rule = rule
        self._without, self._remedied = _Group("without"), _Group("remedied")
        self._before = _Group("before")

    def add(self, rows: Iterable[Row]) -> None:
        """Add transfers and ends of connections."""
        groups = (self._without, self._remedied, self._before)
        for row in rows:
            groups[row[2]].add(row)

    def update(self, other: CureTrial) -> None:
        """Add the transfers of another trial."""
        self._without.update(other._without)
        self._remedied.update(other._remedied)
        self._before.update(other._before)

    def add_before(self, other: CureTrial) -> None:
        """Add the transfers that another trial has measured before its remedy was applied."""
        self._before.update(other._before)

    def empty(self) -> CureTrial:
        """Return a trial with the same rule and without transfers."""
        return CureTrial(self.rule)

    @property
    def has_beginning(self) -> bool:
        """Whether enough connections without the remedy have been measured to begin."""
        return self._before.connections >= LEAST_CONNECTIONS

    def counts(self) -> tuple[int, int, int]:
        """Connections before the trial, without the remedy, and with it."""
        return self._before.connections, self._without.connections, self._remedied.connections

    def result(self) -> TrialResult:
        """Compare the groups."""
        verdict = self.verdict()
        return TrialResult(
            verdict=verdict.verdict,
            reason=verdict.reason,
            groups=tuple(each.summary() for each in (self._before, self._without, self._remedied)),
            effect=verdict.effect,
            side_effect=verdict.side_effect,
        )

    def verdict(self) -> TrialDecision:
        """Compare the groups, without quantiles, which take longer."""
        without, remedied = self._without, self._remedied
        effect = self._difference(remedied.excess, without.excess)
        side_effect = self._difference(without.repairs, self._before.repairs)
        duplicates = self._difference(remedied.dsacks, without.dsacks)
        verdict, reason = self._decided(effect, side_effect, duplicates)
        return TrialDecision(verdict, reason, effect, side_effect)

    def _difference(self, ours: AnytimeSums, theirs: AnytimeSums) -> AnytimeDifference | None:
        error = self.rule.error
        return difference(ours.mean(), theirs.mean(), tight_at=TIGHT_AT, error=error)

    def _decided(
        self,
        effect: AnytimeDifference | None,
        side_effect: AnytimeDifference | None,
        duplicates: AnytimeDifference | None,
    ) -> tuple[TrialVerdict, str]:
        few = min(self._without.connections, self._remedied.connections)
        if effect is None or few < LEAST_CONNECTIONS:
            reason = f"{few} connections in the smaller group, {LEAST_CONNECTIONS} are needed"
            return TrialVerdict.NOT_ENOUGH_DATA, reason
        if side_effect is not None and side_effect.low > 0:
            reason = "connections without the remedy lose more packets than before the trial"
            return TrialVerdict.WITHDRAW, reason
        if not self.rule.copies and duplicates is not None and duplicates.low > MOST_DUPLICATES:
            reason = "receivers report duplicates (DSACK): retransmissions are unnecessary"
            return TrialVerdict.WITHDRAW, reason
        if effect.low > 0:
            return TrialVerdict.WITHDRAW, "the remedy lengthens transfers"
        useful_s = self.rule.least_gain * (self._without.mean_s() or 0.0)
        if effect.low > -useful_s:
            reason = f"the gain of the remedy is below {self.rule.least_gain:.1%}"
            return TrialVerdict.WITHDRAW, reason
        if effect.high < 0:
            return TrialVerdict.KEEP, "the remedy shortens transfers"
        return TrialVerdict.NOT_ENOUGH_DATA, "the interval of the effect contains zero"

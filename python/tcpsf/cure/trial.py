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
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tcpsf import stats
from tcpsf.distribution import Distribution
from tcpsf.sequential import AnytimeDifference, ClusteredMean, difference

LONGEST_S = 5.0
"""Excess of a longer transfer. A client that has vanished takes a quarter of an hour."""
LEAST_CONNECTIONS = 100
"""Connections with a transfer in each group before anything is decided."""
TIGHT_AT = 2000
"""Number of connections at which the intervals are shortest, relative to the standard error."""

Row = tuple[int, int, int, int, int, int, int, int]
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


@dataclass(slots=True)
class _Sums:
    """Complete transfers of a connection."""

    transfers: int = 0
    excess_s: float = 0.0
    retransmitted: int = 0


@dataclass(slots=True)
class _Group:
    name: str
    times_ns: array[int] = field(default_factory=lambda: array("q"))
    connections: defaultdict[int, _Sums] = field(default_factory=lambda: defaultdict(_Sums))
    """By the cookie of the connection; those without a complete transfer are not in it."""
    aborted: int = 0
    ended: int = 0
    dsacks: int = 0
    """DSACKs on the connections that have ended."""

    def add(self, row: Row) -> None:
        connection, duration_ns, _, bytes_, retransmitted, dsacks, least_rtt_us, end = row
        if end != _COMPLETE:
            self.ended += 1
            self.dsacks += dsacks
            self.aborted += end == _ABORTED
            return
        if bytes_ <= 1:  # most of these are a FIN
            return
        self.times_ns.append(duration_ns)
        sums = self.connections[connection]
        sums.transfers += 1
        sums.excess_s += min(max(0.0, duration_ns / 1e9 - least_rtt_us / 1e6), LONGEST_S)
        sums.retransmitted += retransmitted

    def mean(self, value: Callable[[_Sums], float]) -> ClusteredMean | None:
        """Estimate the mean of a value per transfer."""
        return ClusteredMean.of(
            [(each.transfers, value(each)) for each in self.connections.values()]
        )

    def summary(self) -> TrialGroup:
        times, count = Distribution(self.times_ns), len(self.times_ns)
        repairs = sum(each.retransmitted for each in self.connections.values())
        quantiles = [stats.quantile_of_one(times, part) if count else None for part in _PARTS]
        return TrialGroup(
            name=self.name,
            connections=len(self.connections),
            transfers=count,
            aborted=self.aborted,
            mean_s=sum(self.times_ns) / count / 1e9 if count else None,
            median_s=quantiles[0],
            p95_s=quantiles[1],
            p99_s=quantiles[2],
            retransmitted=repairs / count if count else None,
            dsacks=self.dsacks / self.ended if self.ended else None,
        )


_PARTS = (0.5, 0.95, 0.99)


class CureTrial:
    """Transfers of a trial so far."""

    def __init__(self, least_gain: float) -> None:
        """Begin a trial.

        ``least_gain`` is the least useful reduction of the mean completion time, as a share of it.
        """
        self._least_gain = least_gain
        self._without, self._remedied = _Group("without"), _Group("remedied")
        self._before = _Group("before")

    def add(self, rows: Iterable[Row]) -> None:
        """Add transfers and ends of connections."""
        groups = (self._without, self._remedied, self._before)
        for row in rows:
            groups[row[2]].add(row)

    @property
    def has_beginning(self) -> bool:
        """Whether enough connections without the remedy have been measured to begin."""
        return len(self._before.connections) >= LEAST_CONNECTIONS

    def counts(self) -> tuple[int, int, int]:
        """Connections before the trial, without the remedy, and with it."""
        before, without, remedied = (
            len(each.connections) for each in (self._before, self._without, self._remedied)
        )
        return before, without, remedied

    def result(self) -> TrialResult:
        """Compare the groups."""
        effect = difference(
            *(each.mean(lambda sums: sums.excess_s) for each in (self._remedied, self._without)),
            tight_at=TIGHT_AT,
        )
        side_effect = difference(
            *(each.mean(lambda sums: sums.retransmitted) for each in (self._without, self._before)),
            tight_at=TIGHT_AT,
        )
        verdict, reason = self._decided(effect, side_effect)
        return TrialResult(
            verdict=verdict,
            reason=reason,
            groups=tuple(each.summary() for each in (self._before, self._without, self._remedied)),
            effect=effect,
            side_effect=side_effect,
        )

    def _decided(
        self, effect: AnytimeDifference | None, side_effect: AnytimeDifference | None
    ) -> tuple[TrialVerdict, str]:
        few = min(len(self._without.connections), len(self._remedied.connections))
        if effect is None or few < LEAST_CONNECTIONS:
            reason = f"{few} connections in the smaller group, {LEAST_CONNECTIONS} are needed"
            return TrialVerdict.NOT_ENOUGH_DATA, reason
        if side_effect is not None and side_effect.low > 0:
            reason = "connections without the remedy lose more packets than before the trial"
            return TrialVerdict.WITHDRAW, reason
        if effect.low > 0:
            return TrialVerdict.WITHDRAW, "the remedy lengthens transfers"
        times = self._without.times_ns
        useful_s = self._least_gain * sum(times) / len(times) / 1e9
        if effect.low > -useful_s:
            reason = f"the gain of the remedy is below {self._least_gain:.1%}"
            return TrialVerdict.WITHDRAW, reason
        if effect.high < 0:
            return TrialVerdict.KEEP, "the remedy shortens transfers"
        return TrialVerdict.NOT_ENOUGH_DATA, "the interval of the effect contains zero"

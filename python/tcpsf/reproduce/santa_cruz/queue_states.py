"""State of the bottleneck queue by the relative forward delay D, for pairs of packets of a run.

The state by D follows from times that the sender knows: those of sending, and those of arrival in
the reports. The true state is the change of the link's queue, which is sampled every 0.1 ms and
which the sender does not see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tcpsf.papers import santa_cruz as paper
from tcpsf.reproduce.santa_cruz.direction import PACKET_MS
from tcpsf.result import Batch, Provenance
from tcpsf.summary import RunSummary

if TYPE_CHECKING:
    import polars as pl


Array = NDArray[np.float64]
State = Literal["filling", "maintaining", "draining"]
STATES: tuple[State, ...] = ("filling", "maintaining", "draining")
"""States of Fig. 4, in the order of the tables."""
Kind = Literal["reports", "windows"]
KINDS: Mapping[Kind, str] = {"reports": "successive", "windows": "a window apart"}
"""Kinds of pairs of packets.

A window ends with the first packet that was sent after the report of the window's first packet had
come, as the sender's intervals do.
"""
PACKET_S = 1e-3 * PACKET_MS
"""Transmission time of a packet on the bottleneck."""
TOLERANCE = 0.5
"""Largest change, in packets, that counts as maintaining.

The queue changes by whole packets. A time is nearer to no change than to a change by one packet if
it is less than half the transmission time of a packet.
"""
EVERY_S = 1e-4
"""Interval of the queue's samples, an eighth of a packet's time on the access line."""
CERTAIN = 1.0 + EVERY_S / PACKET_S + paper.HEADER / paper.PACKET
"""Largest difference, in packets, between the change of the queue and D behind the access line.

The number of packets includes the packet that is being sent, of which D counts the rest. A sample
before a packet joins may miss a departure in the interval, or an acknowledgment that joins.
"""
ACCESS_BPS, ACCESS_S = 10_000_000, 1e-3 * paper.SPLITS_MS[0]
"""Rate and propagation delay of the access line."""
DRAWN_S = (2.0, 4.0)
"""Part of the run that the figures show, in seconds; slow start is over."""
GRID_S = 0.002
"""Interval of the queue's curve in the figures."""
ROUNDING = 1e-6
"""Differences in packets below this number are due to floating-point arithmetic."""


@dataclass(frozen=True, slots=True)
class QueueStates:
    """State of the queue by D, by the round trip and by the sampled queue, for pairs of packets."""

    @property
    def name(self) -> str:
        """Key of the data in `RunSummary.watched`."""
        return "states"

    @property
    def version(self) -> str:
        """Text that identifies what the data depend on, apart from the run."""
        return f"1 {TOLERANCE} {CERTAIN} {DRAWN_S} {GRID_S}"

    def fold(self) -> _QueueStatesFold:
        """Return a new fold, which collects the data of one run."""
        return _QueueStatesFold()

    def of(self, run: RunSummary) -> StatesOfRun:
        """Return the counts and the curves of a run."""
        stored = run.watched[self.name]
        return StatesOfRun(
            pairs={kind: Pairs(**stored["pairs"][kind]) for kind in KINDS},
            queue=stored["queue"],
            estimate=stored["estimate"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Counts of pairs of one kind.

    The first index of a confusion is the state by the sender's times, the second the true state;
    both are positions in `STATES`.
    """

    by_delay: Sequence[Sequence[int]]
    """Confusion of the state by D."""
    by_round_trip: Sequence[Sequence[int]]
    """Confusion of the state by the change of the round-trip time."""
    by_joining: Sequence[Sequence[int]]
    """Confusion of the state by D if it began at the bottleneck, behind the access line."""
    farther: int
    """Number of pairs in which D differs from the change of the queue by more than `CERTAIN`."""
    farther_by_joining: int
    """Number of these pairs if D began at the bottleneck."""

    @property
    def count(self) -> int:
        """Number of pairs of packets that were compared."""
        return sum(map(sum, self.by_delay))


def agreeing(confusion: Sequence[Sequence[int]]) -> int:
    """Number of pairs with the true state.

    >>> agreeing([[3, 1, 0], [0, 5, 0], [0, 0, 2]])
    10
    """
    return sum(confusion[at][at] for at in range(len(STATES)))


def opposite(confusion: Sequence[Sequence[int]]) -> int:
    """Number of pairs in which a queue that drains is estimated to fill, or the reverse.

    >>> opposite([[3, 1, 4], [0, 5, 0], [6, 0, 2]])
    10
    """
    return confusion[0][-1] + confusion[-1][0]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatesOfRun:
    """States of the queue in one run, as counts of pairs of packets and as curves."""

    pairs: Mapping[Kind, Pairs]
    queue: Sequence[tuple[float, float]]
    """Times and values of the sampled queue in packets of 1000 bytes, in the part `DRAWN_S`."""
    estimate: Sequence[tuple[float, float, int]]
    """Packets sent in this part, each with three values.

    The values are the time of sending, the sum of D since the first packet of the run, in packets,
    and the state by D against the packet before, as a position in `STATES`.
    """


class _QueueStatesFold:
    def __init__(self) -> None:
        self._queue: list[tuple[Array, Array]] = []
        self._busy_until = 0.0
        self._sent: dict[int, tuple[float, float]] = {}
        self._came: dict[int, float] = {}
        self._reports: dict[int, int] = {}
        self._reported: dict[int, float] = {}
        self._last = -1

    def add(self, batch: Batch) -> None:
        import polars as pl

        queue = batch.samples.filter(pl.col("quantity").cast(pl.String) == "queue_bytes")
        self._queue.append((queue["time_s"].to_numpy(), queue["value"].to_numpy()))
        names = ("workload", "event", "from")
        rows = batch.packets.filter(
            (pl.col("from").cast(pl.String) == "receiver") | (pl.col("payload_bytes") > 0)
        ).select("time_s", "packet", *(pl.col(name).cast(pl.String) for name in names))
        for time_s, packet, workload, event, end in rows.rows():
            self._packet(time_s, packet, event, end, ours=workload == paper.SOURCE)

    def _packet(self, time_s: float, packet: int, event: str, end: str, *, ours: bool) -> None:
        if end == "sender" and event == "sent":
            # All traced data use the access line, in the order of sending.
            self._busy_until = max(self._busy_until, time_s) + 8 * paper.PACKET / ACCESS_BPS
            if ours:
                self._sent[packet] = time_s, self._busy_until + ACCESS_S
        elif not ours:
            return
        elif end == "sender" and event == "arrived":
            self._came[packet] = time_s
            self._last = packet
        elif end == "receiver" and event == "sent":
            # Each packet is acknowledged when it arrives.
            self._reports[packet] = self._last
        elif end == "receiver" and event == "arrived":
            self._reported[self._reports[packet]] = time_s

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> dict[str, Any]:  # noqa: ARG002
        known = sorted(self._came.keys() & self._reported.keys())
        sent, joined = (np.array([self._sent[each][at] for each in known]) for at in (0, 1))
        came = np.array([self._came[each] for each in known])
        reported = np.array([self._reported[each] for each in known])
        times, held = (np.concatenate(each) for each in zip(*self._queue, strict=True))
        held = held / paper.PACKET
        found = _Times(
            sent=sent,
            joined=joined,
            came=came,
            reported=reported,
            # The last sample before the packet joins: the queue that it meets.
            queue=held[np.searchsorted(times, joined) - 1],
        )
        begins, ends = DRAWN_S
        grid = np.arange(begins, min(ends, times[-1]) if times.size else 0.0, GRID_S)
        waited = (came - sent - (came - sent)[:1]) / PACKET_S
        states = state(np.diff(waited, prepend=waited[:1]))
        drawn = (sent >= begins) & (sent < ends)
        return {
            "pairs": {
                kind: found.pairs(places)
                for kind, places in (
                    ("reports", np.arange(len(known))),
                    ("windows", windows(sent, reported)),
                )
            },
            "queue": [
                (round(at, 6), value)
                for at, value in zip(
                    grid.tolist(),
                    held[np.searchsorted(times, grid, side="right") - 1].tolist(),
                    strict=True,
                )
            ],
            "estimate": [
                (round(at, 6), round(value, 6), which)
                for at, value, which in zip(
                    sent[drawn].tolist(),
                    waited[drawn].tolist(),
                    states[drawn].tolist(),
                    strict=True,
                )
            ],
        }


def windows(sent_s: Array, reported_s: Array) -> NDArray[np.int64]:
    """First packet of each window: the first one sent after the report of the one before had come.

    >>> windows(np.array([0.0, 0.1, 1.0, 1.2, 2.0]), np.array([1.0, 1.1, 2.0, 2.1, 3.0])).tolist()
    [0, 2, 4]
    """
    places, at = [], 0
    while at < len(sent_s):
        places.append(at)
        at = max(at + 1, int(np.searchsorted(sent_s, reported_s[at])))
    return np.array(places, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Times:
    """Times of the reported packets in seconds, in the order of sending, and the queue they met."""

    sent: Array
    joined: Array
    came: Array
    reported: Array
    queue: Array

    def pairs(self, places: NDArray[np.int64]) -> dict[str, Any]:
        """Count the pairs of successive packets among those at ``places``."""

        def change(values: Array) -> Array:
            return np.asarray(np.diff(values[places]))

        def farther(delay: Array) -> int:
            return int((np.abs(delay - true) > CERTAIN + ROUNDING).sum())

        true = change(self.queue)
        delay = change(self.came - self.sent) / PACKET_S
        behind = change(self.came - self.joined) / PACKET_S
        return {
            "by_delay": confusion(delay, true),
            "by_round_trip": confusion(change(self.reported - self.sent) / PACKET_S, true),
            "by_joining": confusion(behind, true),
            "farther": farther(delay),
            "farther_by_joining": farther(behind),
        }


def confusion(estimated: Array, true: Array) -> list[list[int]]:
    """Count pairs by estimated and by true state, from changes in packets.

    >>> confusion(np.array([1.0, 0.4, -0.6]), np.array([1.0, 0.0, 0.0]))
    [[1, 0, 0], [0, 1, 0], [0, 1, 0]]
    """
    a, b = state(estimated), state(true)
    each = range(len(STATES))
    return [[int(((a == row) & (b == column)).sum()) for column in each] for row in each]


def state(change: Array) -> NDArray[np.int64]:
    """Return the positions in `STATES` of changes in packets.

    >>> [STATES[at] for at in state(np.array([0.6, 0.5, -0.5, -1.0]))]
    ['filling', 'maintaining', 'maintaining', 'draining']
    """
    limit = TOLERANCE + ROUNDING
    return np.where(change > limit, 0, np.where(change < -limit, 2, 1))


QUEUE_STATES = QueueStates()

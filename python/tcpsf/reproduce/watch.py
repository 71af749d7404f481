"""What can be kept of a run beside its sums: one-way delays, and rows of its tables."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tcpsf.result import Batch, Provenance
from tcpsf.summary import RunSummary

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """One-way delays of the data of a workload that the scenario traces.

    From when a packet's data first left until the receiver could hand them over, in order: what a
    program at the other end waits. Without loss that is the packet's way through the network.
    """

    workload: str

    @property
    def name(self) -> str:
        """What it is found under."""
        return f"delays of {self.workload}"

    @property
    def version(self) -> str:
        """Says what the data are."""
        return "1"

    def fold(self) -> _DelayFold:
        """Begin a run."""
        return _DelayFold(self.workload)

    def of(self, run: RunSummary) -> Delay:
        """Return what was kept of a run."""
        return Delay(**run.watched[self.name])


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """Delays of one run, summed up."""

    arrived_packets: int
    """Data packets that arrived, resent ones too."""
    arrived_bytes: int
    """Their payload."""
    delivered_packets: int
    """Packets of first-sent data that were handed over: what the mean and the variance are of."""
    mean_s: float
    variance_s2: float


@dataclass(slots=True)
class _Way:
    """One flow's data on their way."""

    sent: list[tuple[int, float]] = field(default_factory=list)
    """Data not yet handed over: past which sequence number, and when they first left; oldest first."""
    handed_over: int = 0
    """How many of them are."""
    highest: int = 0
    """Past the last number sent."""
    next: int = 1
    """What the receiver waits for; numbers begin at 1."""
    early: list[tuple[int, int]] = field(default_factory=list)
    """A heap of what arrived out of order: first number, past the last."""


class _DelayFold:
    def __init__(self, workload: str) -> None:
        self._workload = workload
        self._ways: dict[int, _Way] = {}
        self._packets = 0
        self._bytes = 0
        self._delays: list[float] = []

    def add(self, batch: Batch) -> None:
        import polars as pl

        data = batch.packets.filter(
            pl.col("workload").cast(pl.String) == self._workload,
            pl.col("from").cast(pl.String) == "sender",
            pl.col("payload_bytes") > 0,
        ).select("time_s", "flow", pl.col("event").cast(pl.String), "seq", "payload_bytes")
        for time_s, flow, event, seq, length in data.rows():
            way = self._ways.setdefault(flow, _Way())
            if event == "sent" and seq + length > way.highest:
                way.sent.append((seq + length, time_s))
                way.highest = seq + length
            elif event == "arrived":
                self._packets += 1
                self._bytes += length
                self._arrived(way, seq, seq + length, time_s)

    def _arrived(self, way: _Way, first: int, past: int, time_s: float) -> None:
        heapq.heappush(way.early, (first, past))
        while way.early and way.early[0][0] <= way.next:
            way.next = max(way.next, heapq.heappop(way.early)[1])
        while way.handed_over < len(way.sent) and way.sent[way.handed_over][0] <= way.next:
            self._delays.append(time_s - way.sent[way.handed_over][1])
            way.handed_over += 1

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> dict[str, Any]:  # noqa: ARG002 (a fold's)
        count = len(self._delays)
        mean = math.fsum(self._delays) / count if count else math.nan
        variance = (
            math.fsum((delay - mean) ** 2 for delay in self._delays) / count if count else math.nan
        )
        return {
            "arrived_packets": self._packets,
            "arrived_bytes": self._bytes,
            "delivered_packets": count,
            "mean_s": mean,
            "variance_s2": variance,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Some columns of a table that grows during a run, all rows of it or those in which columns hold given texts.

    For runs of few connections, or of few samples.
    """

    table: Literal["flows", "recoveries", "samples", "packets"]
    columns: tuple[str, ...]
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Columns of text, and what they may hold."""

    @property
    def name(self) -> str:
        """What it is found under."""
        return f"rows of {self.table}"

    @property
    def version(self) -> str:
        """Says what the data are."""
        return repr((self.columns, self.where))

    def fold(self) -> _RowsFold:
        """Begin a run."""
        return _RowsFold(self)

    def of(self, run: RunSummary) -> list[dict[str, Any]]:
        """Return a run's rows, in the order of the table."""
        kept = run.watched[self.name]
        return [
            dict(zip(self.columns, row, strict=True))
            for row in zip(*(kept[name] for name in self.columns), strict=True)
        ]

    def curve(
        self,
        run: RunSummary,
        *,
        object: str,  # noqa: A002 (the column's name)
        quantity: str,
    ) -> Iterator[tuple[float, float]]:
        """Yield times and values of one quantity of one object; of ``samples``."""
        kept = run.watched[self.name]
        for at, what, which, value in zip(
            kept["time_s"], kept["object"], kept["quantity"], kept["value"], strict=True
        ):
            if what == object and which == quantity:
                yield at, value


class _RowsFold:
    def __init__(self, of: Rows) -> None:
        self._of = of
        self._kept: dict[str, list[Any]] = {name: [] for name in of.columns}

    def add(self, batch: Batch) -> None:
        import polars as pl

        frame: pl.DataFrame = getattr(batch, self._of.table)
        for name, texts in self._of.where:
            frame = frame.filter(pl.col(name).cast(pl.String).is_in(texts))
        for name, values in self._kept.items():
            values += frame[name].to_list()

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> dict[str, list[Any]]:  # noqa: ARG002
        return self._kept

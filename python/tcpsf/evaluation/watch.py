"""Data that can be stored of a run in addition to its sums: one-way delays and table rows."""

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
    """One-state delays of the data of a workload that the scenario traces.

    A delay lasts from the first transmission of a packet's data until the receiver can deliver them
    in order to the application. Without loss it is the packet's one-way delay through the network.
    """

    workload: str

    @property
    def name(self) -> str:
        """Key of the data in `RunSummary.watched`."""
        return f"delays of {self.workload}"

    @property
    def version(self) -> str:
        """Text that identifies what the data depend on, apart from the run."""
        return "1"

    def fold(self) -> _DelayFold:
        """Return a new fold, which collects the data of one run."""
        return _DelayFold(self.workload)

    def of(self, run: RunSummary) -> Delay:
        """Return the delay statistics that were stored of a run."""
        return Delay(**run.watched[self.name])


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """Statistics of the one-way delays of one run's data packets."""

    arrived_packets: int
    """Data packets that arrived, including retransmissions."""
    arrived_bytes: int
    """Payload of these packets in bytes."""
    delivered_packets: int
    """Packets of new data that were delivered; the mean and the variance are over these."""
    mean_s: float
    variance_s2: float


@dataclass(slots=True)
class _UndeliveredData:
    """Data of one flow that are sent and not yet delivered."""

    sent: list[tuple[int, float]] = field(default_factory=list)
    """Data not yet delivered, oldest first.

    Each entry is the sequence number after the data and the time of their first transmission.
    """
    handed_over: int = 0
    """Number of leading entries of ``sent`` that have been delivered."""
    highest: int = 0
    """Sequence number after the highest one sent."""
    next: int = 1
    """Next sequence number that the receiver expects; numbers begin at 1."""
    early: list[tuple[int, int]] = field(default_factory=list)
    """Heap of out-of-order data: first sequence number, and the number after the last."""


class _DelayFold:
    def __init__(self, workload: str) -> None:
        self._workload = workload
        self._flows: dict[int, _UndeliveredData] = {}
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
            state = self._flows.setdefault(flow, _UndeliveredData())
            if event == "sent" and seq + length > state.highest:
                state.sent.append((seq + length, time_s))
                state.highest = seq + length
            elif event == "arrived":
                self._packets += 1
                self._bytes += length
                self._arrived(state, seq, seq + length, time_s)

    def _arrived(self, data: _UndeliveredData, first: int, past: int, time_s: float) -> None:
        heapq.heappush(data.early, (first, past))
        while data.early and data.early[0][0] <= data.next:
            data.next = max(data.next, heapq.heappop(data.early)[1])
        while data.handed_over < len(data.sent) and data.sent[data.handed_over][0] <= data.next:
            self._delays.append(time_s - data.sent[data.handed_over][1])
            data.handed_over += 1

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
    """Some columns of a table that grows during a run.

    All rows are kept, or those whose text columns hold given values. It is meant for runs of few
    connections or few samples.
    """

    table: Literal["flows", "recoveries", "samples", "packets"]
    columns: tuple[str, ...]
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Text columns and their permitted values."""

    @property
    def name(self) -> str:
        """Key of the data in `RunSummary.watched`."""
        return f"rows of {self.table}"

    @property
    def version(self) -> str:
        """Text that identifies what the data depend on, apart from the run."""
        return repr((self.columns, self.where))

    def fold(self) -> _RowsFold:
        """Return a new fold, which collects the data of one run."""
        return _RowsFold(self)

    def of(self, run: RunSummary) -> list[dict[str, Any]]:
        """Return a run's rows, in the order of the table."""
        stored = run.watched[self.name]
        return [
            dict(zip(self.columns, row, strict=True))
            for row in zip(*(stored[name] for name in self.columns), strict=True)
        ]

    def curve(
        self,
        run: RunSummary,
        *,
        object: str,  # noqa: A002 (the column's name)
        quantity: str,
    ) -> Iterator[tuple[float, float]]:
        """Yield times and values of one quantity of one object, from the table ``samples``."""
        stored = run.watched[self.name]
        for at, what, which, value in zip(
            stored["time_s"], stored["object"], stored["quantity"], stored["value"], strict=True
        ):
            if what == object and which == quantity:
                yield at, value


class _RowsFold:
    def __init__(self, of: Rows) -> None:
        self._of = of
        self._values: dict[str, list[Any]] = {name: [] for name in of.columns}

    def add(self, batch: Batch) -> None:
        import polars as pl

        frame: pl.DataFrame = getattr(batch, self._of.table)
        for name, texts in self._of.where:
            frame = frame.filter(pl.col(name).cast(pl.String).is_in(texts))
        for name, values in self._values.items():
            values += frame[name].to_list()

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> dict[str, list[Any]]:  # noqa: ARG002
        return self._values

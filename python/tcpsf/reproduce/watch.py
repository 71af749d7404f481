"""What can be kept of a run beside its sums: one-way delays, what is sampled over time, what each flow received."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tcpsf.result import Batch, Provenance

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """One-way delays of the data of a workload that the scenario traces.

    From when a packet's data first left until the receiver could hand them over, in order: what a program at the other
    end waits. Without loss that is the packet's way through the network.
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

    def read(self, watched: Mapping[str, Any]) -> Delay:
        """Return what was kept."""
        return Delay(**watched[self.name])


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
        variance = math.fsum((delay - mean) ** 2 for delay in self._delays) / count if count else math.nan
        return {
            "arrived_packets": self._packets,
            "arrived_bytes": self._bytes,
            "delivered_packets": count,
            "mean_s": mean,
            "variance_s2": variance,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """One quantity of one object over time, which the scenario samples."""

    object: str
    """A flow such as ``source/0``, or a link."""
    quantity: str

    @property
    def name(self) -> str:
        """What it is found under."""
        return f"{self.quantity} of {self.object}"

    @property
    def version(self) -> str:
        """Says what the data are."""
        return "1"

    def fold(self) -> _SampleFold:
        """Begin a run."""
        return _SampleFold(self)

    def read(self, watched: Mapping[str, Any]) -> tuple[list[float], list[float]]:
        """Return the times in seconds and the values."""
        kept = watched[self.name]
        return kept["time_s"], kept["value"]


class _SampleFold:
    def __init__(self, of: Sampled) -> None:
        self._of = of
        self._times: list[float] = []
        self._values: list[float] = []

    def add(self, batch: Batch) -> None:
        import polars as pl

        rows = batch.samples.filter(
            pl.col("object").cast(pl.String) == self._of.object,
            pl.col("quantity").cast(pl.String) == self._of.quantity,
        )
        self._times += rows["time_s"].to_list()
        self._values += rows["value"].to_list()

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> dict[str, Any]:  # noqa: ARG002 (a fold's)
        return {"time_s": self._times, "value": self._values}


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """Payload bytes that each flow's receiver had in order at the end."""

    name: str = "received"
    version: str = "1"

    def fold(self) -> _ReceivedFold:
        """Begin a run."""
        return _ReceivedFold()

    def read(self, watched: Mapping[str, Any], workload: str) -> list[int]:
        """Return the bytes of a workload's flows, in the order of their starting."""
        kept: dict[str, list[int]] = watched[self.name]
        return kept.get(workload, [])


class _ReceivedFold:
    def __init__(self) -> None:
        self._rows: list[tuple[int, str, int]] = []

    def add(self, batch: Batch) -> None:
        import polars as pl

        self._rows += batch.flows.select("flow", pl.col("workload").cast(pl.String), "received_bytes").rows()

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> dict[str, list[int]]:  # noqa: ARG002 (a fold's)
        by_workload: dict[str, list[int]] = {}
        for _, workload, received in sorted(self._rows):
            by_workload.setdefault(workload, []).append(received)
        return by_workload

"""What is kept of a traced run: how packets of a workload fare by their size, and how they leave in bursts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tcpsf.result import Batch, Provenance
from tcpsf.summary import RunSummary

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketSizes:
    """Data packets of a workload that the scenario traces, apart by whether they carry a full segment.

    All packets of the trace count: those of the warm-up, and of flows that arrive while the last
    ones are followed to their end.
    """

    workload: str
    full: int
    """Payload of a full-sized segment, bytes."""

    @property
    def name(self) -> str:
        """What it is found under."""
        return f"packet sizes of {self.workload}"

    @property
    def version(self) -> str:
        """Says what the data are."""
        return f"1, {self.full}"

    def fold(self) -> _Fold:
        """Begin a run."""
        return _Fold(self)

    def of(self, run: RunSummary) -> Fate:
        """Return what was kept of a run."""
        return Fate(**run.watched[self.name])


@dataclass(slots=True, kw_only=True)
class Fate:
    """Sums over a run's data packets. A burst is what one flow sends at one instant."""

    full_packets: int = 0
    full_dropped: int = 0
    small_packets: int = 0
    """Shorter than a full segment."""
    small_dropped: int = 0
    bursts: int = 0
    burst_bytes: int = 0
    """Payload in them."""

    @property
    def packets(self) -> int:
        """All of them."""
        return self.full_packets + self.small_packets


class _Fold:
    def __init__(self, of: PacketSizes) -> None:
        self._of = of
        self._fate = Fate()
        self._last: dict[int, float] = {}
        """By flow, when it last sent, so that a burst that two batches share is one."""

    def add(self, batch: Batch) -> None:
        import polars as pl

        data = batch.packets.filter(
            pl.col("workload").cast(pl.String) == self._of.workload,
            pl.col("from").cast(pl.String) == "sender",
            pl.col("payload_bytes") > 0,
        ).select(
            "time_s",
            "flow",
            pl.col("event").cast(pl.String),
            "payload_bytes",
            full=pl.col("payload_bytes") >= self._of.full,
        )
        sent = data.filter(pl.col("event") == "sent")
        dropped = data.filter(pl.col("event").str.starts_with("dropped"))
        fate = self._fate
        fate.full_packets += int(sent["full"].sum())
        fate.small_packets += sent.height - int(sent["full"].sum())
        fate.full_dropped += int(dropped["full"].sum())
        fate.small_dropped += dropped.height - int(dropped["full"].sum())
        fate.burst_bytes += int(sent["payload_bytes"].sum())
        for flow, times in sent.group_by("flow").agg(pl.col("time_s").unique().sort()).rows():
            fate.bursts += len(times) - (self._last.get(flow) == times[0])
            self._last[flow] = times[-1]

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> dict[str, Any]:  # noqa: ARG002 (a fold's)
        return asdict(self._fate)

"""Statistics of a traced run: drops of a workload's packets by size, and bursts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tcpsf.result import Batch, Provenance
from tcpsf.summary import RunSummary

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketSizes:
    """Data packets of a traced workload, with full and shorter segments counted separately.

    All packets of the trace count. They include packets of the warm-up, and those of flows that
    arrive during the drain at the end of the run.
    """

    workload: str
    full: int
    """Payload of a full-sized segment, in bytes."""

    @property
    def name(self) -> str:
        """Key of the data in `RunSummary.watched`."""
        return f"packet sizes of {self.workload}"

    @property
    def version(self) -> str:
        """Text that identifies what the data depend on, apart from the run."""
        return f"1, {self.full}"

    def fold(self) -> _PacketSizesFold:
        """Return a new fold, which collects the data of one run."""
        return _PacketSizesFold(self)

    def of(self, run: RunSummary) -> Fate:
        """Return a run's counts of packets by size and of bursts."""
        return Fate(**run.watched[self.name])


@dataclass(slots=True, kw_only=True)
class Fate:
    """Sums over a run's data packets.

    A burst is the data that one flow sends at one instant.
    """

    full_packets: int = 0
    full_dropped: int = 0
    small_packets: int = 0
    """Packets shorter than a full segment."""
    small_dropped: int = 0
    bursts: int = 0
    burst_bytes: int = 0
    """Payload of the bursts in bytes."""

    @property
    def packets(self) -> int:
        """Number of data packets, full-sized and smaller."""
        return self.full_packets + self.small_packets


class _PacketSizesFold:
    def __init__(self, of: PacketSizes) -> None:
        self._of = of
        self._fate = Fate()
        self._last: dict[int, float] = {}
        """Time of each flow's last packet.

        A burst that is divided between two batches therefore counts once.
        """

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

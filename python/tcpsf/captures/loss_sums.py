"""Sums over the first transmissions of a capture, from which the loss law is fitted.

Rows are added batch by batch. Memory depends on the connections that are alive, and not on the
length of the capture. Sums of products over clusters (connections, and blocks of 256 segments)
are kept instead of the clusters themselves.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpsf.captures.loss_fit import Clusters, Numbers
from tcpsf.captures.reader import CaptureTables
from tcpsf.distribution import Distribution

if TYPE_CHECKING:
    import polars as pl

CLASSES = {0: 0} | {
    (8 + eighth) << octave: 1 + 8 * octave + eighth for octave in range(29) for eighth in range(8)
}
"""Smallest sizes of the classes in bytes, and the numbers of the classes."""

WIDTH = len(CLASSES)

SIZES = np.array(sorted(CLASSES))
"""Smallest sizes in ascending order, so that the place of a size is the number of its class."""

ALL = np.arange(WIDTH)


class ClusterSums:
    """Sums of products over clusters of one kind, for all classes of sizes."""

    def __init__(self) -> None:
        self._losses = np.zeros((WIDTH, WIDTH))
        self._mixed = np.zeros((WIDTH, WIDTH))
        self._packets = np.zeros((WIDTH, WIDTH))
        self._count = 0
        self._lossy = 0

    def add(self, classes: Numbers, losses: Numbers, packets: Numbers) -> None:
        """Add clusters, a row each, with a column for each of ``classes``."""
        where = np.ix_(classes, classes)
        self._losses[where] += losses.T @ losses
        self._mixed[where] += losses.T @ packets
        self._packets[where] += packets.T @ packets
        self._count += int(packets.any(axis=1).sum())
        self._lossy += int(losses.any(axis=1).sum())

    def clusters(self, used: Any) -> Clusters:
        """Return the sums for some of the classes."""
        where = np.ix_(used, used)
        return Clusters(
            losses=self._losses[where],
            mixed=self._mixed[where],
            packets=self._packets[where],
            count=self._count,
            lossy=self._lossy,
        )


class LossSums:
    """Sums over the first transmissions of one direction."""

    def __init__(self, direction: str) -> None:
        self.direction = direction
        self.packets = np.zeros(WIDTH)
        self.bytes = np.zeros(WIDTH)
        self.losses = np.zeros(WIDTH)
        self.by_block = ClusterSums()
        self.by_connection = ClusterSums()
        self.positions: Counter[int] = Counter()
        """First transmissions by the first position of their class."""
        self.lost_positions: Counter[int] = Counter()
        self.excluded = 0
        self.connections = 0
        self.runs: Counter[int] = Counter()
        """Losses by their position in a run."""
        self.interrupted = 0
        """Losses after which no segment was sent, or another packet first."""
        self.expected_pairs = 0.0
        """Expected pairs of consecutive losses, if losses were independent within connections."""
        self.policing: Counter[str] = Counter()
        self.policer_rates = Distribution()
        self._open: dict[int, Numbers] = {}
        """Losses and first transmissions of connections that are alive and have had a block."""

    def add(self, batch: CaptureTables) -> None:
        """Add rows."""
        import polars as pl

        counts = batch.transmissions.filter(direction=self.direction)
        losses = batch.losses.filter(direction=self.direction)
        flows = batch.flows.filter(
            pl.col("direction") == self.direction, pl.col("data_packets") > 0
        )
        ended = set(flows["flow"])
        if not counts.is_empty():
            self._add_counts(_visible(counts), ended)
        for flow in ended & self._open.keys():
            lost, sent = self._open.pop(flow)
            self._add_connections(ALL, lost[None], sent[None])
        seen = losses.filter((pl.col("vantage") == "sender") | (pl.col("last") == 0))
        self.runs.update(seen["run"].to_list())
        self.connections += flows.height
        self.policing.update(flows["policing"])
        rates = flows.filter(flows["policing"] == "found")["policer_rate_bps"]
        self.policer_rates.update(Distribution(rates.round().cast(int).to_list()))

    def _add_counts(self, counts: pl.DataFrame, ended: set[int]) -> None:
        """Add counts by size and position, those of blocks, and those of connections."""
        classes = np.searchsorted(SIZES, counts["size_bytes"].to_numpy())
        self.excluded += int(counts["excluded"].sum())
        self.interrupted += int(counts["interrupted"].sum())
        for column, sums in (
            ("packets", self.packets),
            ("bytes", self.bytes),
            ("lost", self.losses),
        ):
            sums += np.bincount(classes, weights=counts[column].to_numpy(), minlength=WIDTH)
        positions, places = np.unique(counts["position"].to_numpy(), return_inverse=True)
        for column, found in (("packets", self.positions), ("lost", self.lost_positions)):
            sums_of = np.bincount(places, weights=counts[column].to_numpy())
            for position, total in zip(positions.tolist(), sums_of.tolist(), strict=True):
                found[position] += int(total)
        flow_numbers = counts["flow"].to_numpy()
        # Both numbers in one: a connection has fewer than 2³² blocks.
        names = flow_numbers << np.uint64(32) | counts["block"].to_numpy()
        self.by_block.add(*_matrices(counts, np.unique(names, return_inverse=True)[1], classes))
        flows, rows = np.unique(flow_numbers, return_inverse=True)
        used, lost, sent = _matrices(counts, rows, classes)
        whole = np.array([flow in ended and flow not in self._open for flow in flows.tolist()])
        for row in np.flatnonzero(~whole).tolist():
            living = self._open.setdefault(int(flows[row]), np.zeros((2, WIDTH)))
            living[0, used] += lost[row]
            living[1, used] += sent[row]
        self._add_connections(used, lost[whole], sent[whole])

    def _add_connections(self, classes: Any, losses: Numbers, packets: Numbers) -> None:
        """Add connections that have ended."""
        self.by_connection.add(classes, losses, packets)
        lost, sent = losses.sum(axis=1), packets.sum(axis=1)
        self.expected_pairs += float((lost * (lost - 1.0) / np.maximum(sent, 1.0)).sum())


def _visible(counts: pl.DataFrame) -> pl.DataFrame:
    """Keep what the capture can show: at the sender all, elsewhere what later data followed."""
    import polars as pl

    elsewhere = pl.col("vantage") != "sender"
    names = ("packets", "bytes", "lost")
    hidden = {name: pl.when(elsewhere).then(f"last_{name}").otherwise(0) for name in names}
    return counts.with_columns(
        excluded=hidden["packets"] + pl.col("unknown"),
        **{name: pl.col(name) - hidden[name] for name in names},
    )


def _matrices(counts: pl.DataFrame, rows: Any, classes: Any) -> tuple[Any, Numbers, Numbers]:
    """Return the classes in use, and losses and packets with a row for each cluster."""
    used, columns = np.unique(classes, return_inverse=True)
    shape = (int(rows.max()) + 1, len(used))
    cells = rows * len(used) + columns
    lost, sent = (
        np.bincount(cells, weights=counts[name].to_numpy(), minlength=shape[0] * shape[1])
        .astype(np.float64, copy=False)
        .reshape(shape)
        for name in ("lost", "packets")
    )
    return used, lost, sent

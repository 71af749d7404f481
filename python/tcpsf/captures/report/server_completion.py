"""Server completion times of a capture: density and distribution, as in the paper's figure 1.

The Smart Framing paper (section II-A) defines the server completion time as the time from the first
to the last segment with payload of the server. Timers show as peaks of the density.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from tcpsf import text
from tcpsf.chart import Axis, Plot, plot

if TYPE_CHECKING:
    import polars as pl

FINEST = 100
"""Bins of the logarithmic axis in a factor of ten, as counted."""
BINS = ((10_000, 100), (1_000, 50), (100, 20), (0, 10))
"""Least number of connections, and the bins in a factor of ten of their density."""
SERIES = "connections"


class CompletionTimes:
    """Completion times of the connections whose server sent data. Memory is constant."""

    def __init__(self) -> None:
        self._bins: Counter[int] = Counter()
        self._single = 0

    def __len__(self) -> int:
        return self._bins.total() + self._single

    @property
    def single(self) -> int:
        """Number of connections with one segment of data, whose time is zero."""
        return self._single

    def add(self, seconds: pl.Series) -> None:
        """Add times in seconds; empty ones are left out."""
        import polars as pl

        known = seconds.drop_nulls()
        positive = known.filter(known > 0)
        self._single += len(known) - len(positive)
        places = (positive.log(10) * FINEST).floor().cast(pl.Int64)
        for place, count in places.rename("place").value_counts().iter_rows():
            self._bins[place] += count

    def density(self) -> list[dict[str, float]]:
        """Return the density per factor of ten at the middle of each interval that has any."""
        bins, total = self.bins_per_decade, len(self)
        return [
            {"x": 10 ** ((place + 0.5) / bins), "y": count * bins / total}
            for place, count in sorted(self._joined().items())
        ]

    def distribution(self) -> list[dict[str, float]]:
        """Return the share of the connections up to a time, as steps."""
        if not self._bins:
            return []
        seen, total = self._single, len(self)
        rows = [{"x": 10 ** (min(self._bins) / FINEST), "y": seen / total}]
        for place in sorted(self._bins):
            seen += self._bins[place]
            rows.append({"x": 10 ** ((place + 1) / FINEST), "y": seen / total})
        return rows

    @property
    def bins_per_decade(self) -> int:
        """Number of bins of the density in a factor of ten."""
        return next(bins for least, bins in BINS if self._bins.total() >= least)

    def _joined(self) -> Counter[int]:
        joined: Counter[int] = Counter()
        for place, count in self._bins.items():
            joined[place * self.bins_per_decade // FINEST] += count
        return joined


def completion_plots(times: CompletionTimes, *, side: str) -> list[Plot]:
    """Return the charts of the density and of the distribution; ``side`` sent the data."""
    ends = [each["x"] for each in times.distribution()]
    margin = 10 ** (0.02 * math.log10(max(ends) / min(ends)))
    axis = Axis(
        label="server completion time",
        unit="s",
        scale="log",
        low=min(ends) / margin,
        high=max(ends) * margin,
    )
    apart = text.plain(times.bins_per_decade, 0)
    density = plot(
        times.density(),
        x_axis=axis,
        y_axis=Axis(label="share of the connections per factor of ten"),
        style="bar",
        keys={"share of the connections per factor of ten": SERIES},
        title="Density of the server completion time",
        caption=f"Time from the first to the last segment with data of the {side}, in {apart} intervals "
        "per factor of ten. A timer that repairs losses makes a peak at its value and at its multiples.",
        key="completion-density",
    )
    distribution = plot(
        times.distribution(),
        x_axis=axis,
        y_axis=Axis(label="share of the connections", low=0.0, high=1.0),
        style="step",
        keys={"share of the connections": SERIES},
        title="Distribution of the server completion time",
        caption="Share of the connections that are complete within the time on the axis.",
        notes=[_single(times)] if times.single else [],
        key="completion-distribution",
    )
    return [density, distribution]


def _single(times: CompletionTimes) -> str:
    count = text.count(times.single, "connection has", "connections have")
    return (
        f"{count} one segment with data, so that the time is zero. "
        "The distribution begins with their share; the density does not show them."
    )

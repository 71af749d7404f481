"""Measured data of Tables II and III: flows and values of a sender by path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tcpsf import stats
from tcpsf.live import estimates
from tcpsf.papers import smart_framing as paper

if TYPE_CHECKING:
    import polars as pl

    from tcpsf.live.experiment_result import Live

Which = Literal["table-2", "table-3"]

CLASSIC = paper.CLASSIC
FIXED = paper.FIXED_SIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class PathResult:
    """One path: the measured and the simulated flows."""

    live: Live
    simulated: Mapping[str, pl.DataFrame]
    """Simulated flows by the sender's name.

    The mapping is empty for a proxy and for connections with several objects. The simulator has
    neither.
    """


PathResults = Mapping[str, PathResult]
"""Measured paths by name."""


def flows_of(cells: PathResults, variant: paper.Variant) -> dict[str, pl.DataFrame]:
    """Return the flows of a sender, by path."""
    return {name: estimates.of(cell.live.answered, variant.sender) for name, cell in cells.items()}


def by_path(
    cells: PathResults,
    variant: paper.Variant,
    read: Callable[[pl.DataFrame], stats.Estimate | None],
) -> dict[str, stats.Estimate | None]:
    """Return a quantity of a sender's flows, by path."""
    return {name: read(flows) for name, flows in flows_of(cells, variant).items()}


def apart(
    ours: Mapping[str, stats.Estimate | None], theirs: Mapping[str, stats.Estimate | None]
) -> dict[str, stats.Estimate | None]:
    """Return the difference between ``ours`` and ``theirs``, by path."""
    return {name: stats.apart(ours[name], theirs[name]) for name in ours}

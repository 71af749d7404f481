"""Measured quantities of Tables II and III: flows and values of a sender by path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tcpsf import stats
from tcpsf.live import measure
from tcpsf.papers import smart_framing as paper

if TYPE_CHECKING:
    import polars as pl

    from tcpsf.reproduce.smart_framing.testbed import Cell

Cells = Mapping[str, "Cell"]

CLASSIC = paper.CLASSIC
FIXED = paper.FIXED_SIZE


def flows_of(cells: Cells, variant: paper.Variant) -> dict[str, pl.DataFrame]:
    """Return the flows of a sender, by path."""
    return {name: measure.of(cell.live.answered, variant.sender) for name, cell in cells.items()}


def by_path(
    cells: Cells, variant: paper.Variant, read: Callable[[pl.DataFrame], stats.Estimate | None]
) -> dict[str, stats.Estimate | None]:
    """Return a quantity of a sender's flows, by path."""
    return {name: read(flows) for name, flows in flows_of(cells, variant).items()}


def apart(
    ours: Mapping[str, stats.Estimate | None], theirs: Mapping[str, stats.Estimate | None]
) -> dict[str, stats.Estimate | None]:
    """Return the difference between ``ours`` and ``theirs``, by path."""
    return {name: stats.apart(ours[name], theirs[name]) for name in ours}

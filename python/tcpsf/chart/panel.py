"""Data of a chart: axes, curves and panels, as plain numbers in columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np

Scale: TypeAlias = Literal["linear", "log", "category"]
CurveStyle: TypeAlias = Literal["line", "whiskers", "step", "bar", "point", "span", "bold-span"]
"""Style of a curve.

``line``: a line, with intervals as a band. ``whiskers``: a line, with intervals as vertical lines.
``step``: a line that keeps its value until the next point. ``bar``: bars from zero. ``point``:
points without a line. ``span``: vertical lines from ``low`` to ``high``, such as segments over time.
``bold-span``: wider lines that are never short.
"""
Column: TypeAlias = "Sequence[float | None] | np.ndarray"
"""Numbers; ``None`` and not-a-number mean that there is no value."""

DENSE = 2000
"""Number of points from which a curve is dense.

A dense curve is drawn as the outline of its points. The page contains all points in binary form,
and its table has a summary.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis: its label, unit and ends."""

    label: str
    unit: str = ""
    """Unit of the values; empty for a pure number or a category."""
    scale: Scale = "linear"
    low: float | None = None
    """Lower end; ``None``: from the data."""
    high: float | None = None
    """Upper end; ``None``: from the data. Longer bars are clipped at the axis, with a mark."""
    follows: bool = False
    """Whether this vertical axis fits the visible spans when a reader zooms."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A number and its interval, as `tcpsf.text` takes them."""

    value: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One point of a curve."""

    x: float | str
    value: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """Points of one curve or one group of bars, in columns of equal length.

    A curve equals only itself, because columns may be arrays.
    """

    key: str
    """Identity of the curve. Curves with the same key look the same in every panel."""
    label: str
    style: CurveStyle = "line"
    x: Sequence[float | str] | np.ndarray
    """Positions; text for a category."""
    y: Column
    low: Column = ()
    """Lower ends of the intervals; empty if no point has one."""
    high: Column = ()
    """Upper ends of the intervals; empty if no point has one."""
    published: tuple[tuple[float | str, float], ...] = ()
    """Reference values to compare with, drawn hollow: positions and values."""

    @property
    def joined(self) -> bool:
        """Whether a line connects the points on an axis of numbers."""
        return self.style not in ("bar", "point", "span", "bold-span")

    @property
    def spanned(self) -> bool:
        """Whether each point is a vertical line between the ends of its interval."""
        return self.style in ("span", "bold-span")

    @property
    def dense(self) -> bool:
        """Whether the curve has too many points to draw each of them."""
        return self.style != "bar" and len(self.x) >= DENSE

    def marks(self) -> Iterator[Mark]:
        """Yield the points."""
        empty = [None] * len(self.x)
        columns = (self.y, *(each if len(each) else empty for each in (self.low, self.high)))
        for x, y, low, high in zip(plain(self.x), *map(plain, columns), strict=True):
            ends = finite(low), finite(high)
            both = None if ends[0] is None or ends[1] is None else (ends[0], ends[1])
            yield Mark(x=x, value=finite(y), interval=both)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Curves over one pair of axes."""

    key: str
    title: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    groups: tuple[tuple[str, int], ...] = ()
    """Headings, and the number of categories below each.

    The bars of a panel with groups are horizontal.
    """
    notes: tuple[str, ...] = ()
    """Remarks below the panel."""

    @property
    def dense(self) -> bool:
        """Whether the panel has a dense curve; its curves are then all drawn as dense ones."""
        many = self.y.follows or any(curve.dense for curve in self.curves)
        return self.x.scale != "category" and many


def plain(column: Sequence[float | str | None] | np.ndarray) -> Sequence[float | str | None]:
    """Column as Python objects, which are faster than the scalars of NumPy."""
    return column if isinstance(column, Sequence) else column.tolist()


def finite(value: float | str | None) -> float | None:
    """Return a finite number, or ``None``.

    >>> finite(1.5), finite(float("nan")), finite(None)
    (1.5, None, None)
    """
    return value if isinstance(value, float | int) and math.isfinite(value) else None

"""Curves of many points: their outline as a path, their points in binary form, their summary.

The outline of a line has at most four corners for each column of pixels: the first, least, greatest
and last value (M4, Jugel et al., VLDB 2014, §3). It looks the same as a line through all points.
The script of the page computes it again when a reader zooms (`templates/dense.js`).
"""

from __future__ import annotations

import base64
import itertools
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tcpsf.chart.axes import AxisScale
from tcpsf.chart.panel import Column, Curve, Measured

if TYPE_CHECKING:
    import numpy as np

    Floats: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]

SLICES = 100
"""Number of rows of the table that summarises a dense panel."""
DOT = 2.0
"""Size, in pixels, of the grid on which points without a line are merged."""
SHORTEST = {"span": 1.5, "bold-span": 7.0}
"""Minimum length of a span in pixels, by style."""
STEPS = 2**32 - 1
"""Number of steps from the first to the last position in the binary form."""


def ends(column: Sequence[float | str] | np.ndarray) -> tuple[float, ...]:
    """Least and greatest finite number of a column, or nothing."""
    import numpy as np

    numbers = _numbers(column)
    numbers = numbers[np.isfinite(numbers)]
    return (float(numbers.min()), float(numbers.max())) if len(numbers) else ()


def extent(curve: Curve, *, log: bool) -> Iterator[float]:
    """Yield the least and the greatest value, with intervals.

    A logarithmic axis begins at the least positive value.
    """
    import numpy as np

    for column in (curve.y, curve.low, curve.high):
        numbers = _numbers(column)
        numbers = numbers[np.isfinite(numbers) & ((numbers > 0) | (not log))]
        if len(numbers):
            yield float(numbers.min())
            yield float(numbers.max())


def outside(curve: Curve, x: AxisScale, y: AxisScale) -> int:
    """Count the values outside the axes."""
    import numpy as np

    across, up = shares(curve.x, x), shares(curve.y, y)
    inside = (np.abs(across - 0.5) <= 0.5 + 1e-9) & (np.abs(up - 0.5) <= 0.5 + 1e-9)
    return int(np.sum(~inside & np.isfinite(_numbers(curve.y))))


def outline(curve: Curve, x: AxisScale, y: AxisScale, *, width: float, height: float) -> str:
    """Path of a line, of steps, spans or dots, in a drawing of ``width`` by ``height`` pixels."""
    if curve.spanned:
        across, (low, high) = _sorted(curve, x, y, (curve.low, curve.high))
        ends = (1 - high) * height, (1 - low) * height
        return _spans(across * width, *ends, least=SHORTEST[curve.style])
    across, (up,) = _sorted(curve, x, y, (curve.y,))
    if not curve.joined:
        return _dots(across * width, (1 - up) * height)
    if curve.style == "step":
        across, up = _stepped(across, up)
    parts = []
    for first, last in _runs(up):
        corners = _corners(across[first:last] * width, (1 - up[first:last]) * height)
        parts.append("M" + " L".join(f"{a:.1f} {b:.1f}" for a, b in corners))
    return "".join(parts)


def band(curve: Curve, x: AxisScale, y: AxisScale, *, width: float, height: float) -> str:
    """Path around the intervals; empty if the curve has none."""
    import numpy as np

    if not len(curve.low) or not len(curve.high) or not curve.joined:
        return ""
    across, (low, high) = _sorted(curve, x, y, (curve.low, curve.high))
    if curve.style == "step":
        across, low, high = _stepped(across, low, high)
    parts = []
    for first, last in _runs(low + high):
        columns = np.floor(across[first:last] * width)
        starts = np.flatnonzero(np.diff(columns, prepend=-1.0))
        places = across[first:last][starts] * width
        lows = (1 - np.minimum.reduceat(low[first:last], starts)) * height
        highs = (1 - np.maximum.reduceat(high[first:last], starts)) * height
        corners = [*zip(places, highs, strict=True), *zip(places[::-1], lows[::-1], strict=True)]
        parts.append(f"M{' L'.join(f'{a:.1f} {b:.1f}' for a, b in corners)}Z")
    return "".join(parts)


def shares(column: Sequence[float | str] | Column, scale: AxisScale) -> Floats:
    """Positions of numbers as shares of an axis, at most one axis length outside it."""
    import numpy as np

    numbers = _numbers(column)
    low, high = scale.low, scale.high
    if scale.axis.scale == "log":
        with np.errstate(divide="ignore", invalid="ignore"):
            numbers = np.where(
                numbers > 0,
                np.log(np.maximum(numbers, 0.0)),
                np.where(np.isnan(numbers), np.nan, -np.inf),
            )
        low, high = float(np.log(low)), float(np.log(high))
    found: Floats = np.clip((numbers - low) / (high - low), -1.0, 2.0)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Points of a curve in binary form, for the script of the page."""

    count: int
    first: float
    last: float
    """Positions of the first and last point, as shares of the axis."""
    columns: int
    """Number of columns of values: 1, 3 with intervals, or 2 for spans."""
    bytes: int
    """Length of a value: 4, or 8 for integers above 2²⁴, which are exact."""
    style: str
    data: str
    """Compressed columns in Base64.

    The positions are distances between neighbours in `STEPS`-ths of the way from ``first`` to
    ``last``, as 32-bit integers. The values are floating-point numbers. The columns of spans are
    their lower ends and their lengths. A column has the first bytes of all numbers, then the second
    ones, and so on, because alike bytes compress better.
    """


def packed(curve: Curve, x: AxisScale) -> Packed:
    """Pack the points of a curve, in the order of their positions."""
    import numpy as np

    across = shares(curve.x, x)
    order = np.argsort(across, kind="stable")
    across = across[order]
    first, last = (float(across[0]), float(across[-1])) if len(across) else (0.0, 0.0)
    steps = np.round((across - first) / ((last - first) or 1.0) * STEPS).astype(np.int64)
    columns = [_numbers(curve.y)]
    if curve.spanned:
        columns = [_numbers(curve.low), _numbers(curve.high) - _numbers(curve.low)]
    elif len(curve.low) and len(curve.high):
        columns += [_numbers(curve.low), _numbers(curve.high)]
    wide = any(map(_is_wide, columns))
    content = _by_significance(np.diff(steps, prepend=0).astype("<u4")) + b"".join(
        _by_significance(column[order].astype("<f8" if wide else "<f4")) for column in columns
    )
    return Packed(
        count=len(across),
        first=first,
        last=last,
        columns=len(columns),
        bytes=8 if wide else 4,
        style=curve.style,
        data=base64.b64encode(zlib.compress(content, 9)).decode("ascii"),
    )


def summarised(curve: Curve, x: AxisScale) -> list[Measured | None]:
    """Mean, and minimum and maximum, of the values in each of `SLICES` equal parts of the axis."""
    import numpy as np

    across, values = shares(curve.x, x), _numbers(curve.y)
    kept = np.isfinite(values)
    parts = np.clip(np.floor(across[kept] * SLICES), 0, SLICES - 1).astype(int)
    values = values[kept]
    order = np.argsort(parts, kind="stable")
    edges = np.searchsorted(parts[order], np.arange(SLICES + 1))
    found: list[Measured | None] = []
    for first, last in itertools.pairwise(edges.tolist()):
        inside = values[order[first:last]]
        if not len(inside):
            found.append(None)
            continue
        low, high = float(inside.min()), float(inside.max())
        found.append(Measured(float(inside.mean()), (low, high) if low < high else None))
    return found


def slice_start(number: int, x: AxisScale) -> float:
    """Value at the beginning of a slice of the axis."""
    share = number / SLICES
    if x.axis.scale == "log":
        return float(x.low * (x.high / x.low) ** share)
    return x.low + share * (x.high - x.low)


def _by_significance(column: np.ndarray) -> bytes:
    """Bytes of numbers: the first byte of each, the second byte of each, and so on."""
    import numpy as np

    return column.view(np.uint8).reshape(len(column), column.itemsize).T.tobytes()


def _is_wide(numbers: Floats) -> bool:
    """Whether numbers are integers that a 32-bit floating-point number cannot represent."""
    import numpy as np

    finite = numbers[np.isfinite(numbers)]
    return bool(len(finite)) and bool(
        np.abs(finite).max() > 2**24 and (finite == np.round(finite)).all()
    )


def _numbers(column: Sequence[Any] | np.ndarray) -> Floats:
    import numpy as np

    return np.asarray(column, dtype=np.float64)


def _sorted(
    curve: Curve, x: AxisScale, y: AxisScale, columns: Sequence[Column]
) -> tuple[Floats, list[Floats]]:
    """Positions from left to right, and positions of the values of some columns."""
    import numpy as np

    across = shares(curve.x, x)
    order = np.argsort(across, kind="stable")
    order = order[np.abs(across[order] - 0.5) <= 0.5 + 1e-9]
    return across[order], [shares(column, y)[order] for column in columns]


def _stepped(across: Floats, *columns: Floats) -> tuple[Floats, ...]:
    """Corners of steps: each value lasts until the next position."""
    return (across.repeat(2)[1:], *(column.repeat(2)[:-1] for column in columns))


def _runs(values: Floats) -> Iterator[tuple[int, int]]:
    """Yield the ends of unbroken rows; not-a-number breaks a row."""
    import numpy as np

    there = np.concatenate(([False], np.isfinite(values), [False]))
    edges = np.flatnonzero(there[1:] != there[:-1])
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _corners(across: Floats, down: Floats) -> list[tuple[float, float]]:
    """First, least, greatest and last corner of each column of pixels, without repetitions."""
    import numpy as np

    starts = np.flatnonzero(np.diff(np.floor(across), prepend=-1.0))
    lasts = np.append(starts[1:], len(across)) - 1
    parts = (down[starts], np.minimum.reduceat(down, starts), np.maximum.reduceat(down, starts))
    found: dict[tuple[float, float], None] = {}
    for place, end, first, least, greatest, last in zip(
        across[starts].tolist(),
        across[lasts].tolist(),
        *(np.round(part, 1).tolist() for part in parts),
        np.round(down[lasts], 1).tolist(),
        strict=True,
    ):
        for corner in ((place, first), (place, least), (place, greatest), (end, last)):
            found[corner] = None
    return list(found)


def _dots(across: Floats, down: Floats) -> str:
    """Dots on a grid of `DOT` pixels, each of them once."""
    import numpy as np

    kept = np.isfinite(down)
    grid = np.unique(
        np.round(np.stack((across[kept], down[kept]), axis=1) / DOT).astype(np.int64), axis=0
    )
    return "".join(f"M{a * DOT:g} {b * DOT:g}h0" for a, b in grid.tolist())


def _spans(across: Floats, top: Floats, bottom: Floats, *, least: float) -> str:
    """Vertical lines, merged where they overlap in a column of pixels.

    A line is at least ``least`` pixels long.
    """
    import numpy as np

    longer = np.maximum(least - (bottom - top), 0.0) / 2
    places = np.stack((np.floor(across), top - longer, bottom + longer), axis=1)
    places = np.unique(np.round(places[np.isfinite(places).all(axis=1)], 1), axis=0)
    parts: list[str] = []
    column, low, high = math.nan, 0.0, 0.0
    for at, start, end in places.tolist():
        if at == column and start <= high + 0.5:
            high = max(high, end)
            continue
        if high > low:
            parts.append(f"M{column:g} {low:.1f}V{high:.1f}")
        column, low, high = at, start, end
    if high > low:
        parts.append(f"M{column:g} {low:.1f}V{high:.1f}")
    return "".join(parts)

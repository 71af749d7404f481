"""Figures as inline SVG: no library, no external address, colours from the page's own style.

The style has light, dark and paper colours. A chart is as wide as its column and has a fixed height
and type size. Horizontal positions are therefore percentages. Lines and bands are in a separate
drawing that is stretched horizontally. One chart thus serves desktop, phone and paper without a
script.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from tcpsf.evaluation.data import Axis, Figure, Point, Series
from tcpsf.report import axes, marks

HEIGHT = 300.0
"""Length of the vertical axis in pixels."""
STRETCHED = 1000.0
"""Width of the drawing of lines and bands, in its own units."""
WIDE, NARROW = 640.0, 260.0
"""Minimum width of a chart's horizontal axis in pixels: on a screen, on a phone."""
MARKERS = 16
"""Maximum number of points of a line with a marker at each point.

A line of more points has a marker at every second, third … point.
"""
CUT = 1.0
"""Length by which lines and bands extend past the axis before clipping, in axis lengths."""
GROUP = 0.8
"""Share of a category that a group of bars takes.

On an axis of numbers it is the share of the distance between two bars.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing, and the data that a page needs to place it."""

    svg: str
    styles: tuple[marks.Style, ...]
    """Style of each series."""
    left: float
    """Width of the labels on the left, in pixels."""
    foot: float
    """Height of the labels below, in pixels."""
    foot_narrow: float
    """Height of the labels below on a narrow page, in pixels."""
    x: axes.AxisScale
    banded: bool
    """Whether an interval is drawn as a band anywhere."""
    whiskered: bool
    """Whether an interval is drawn as a line through its point anywhere."""
    missing: int
    """Number of values outside the axes."""
    rows: Mapping[str, float] | None = None
    """Position of each category, as a share of the height, if the bars are horizontal."""


def draw(figure: Figure, known: Mapping[str, int]) -> Chart:
    """Draw a figure.

    `marks.known_styles` gives ``known``, so that a sender looks the same in every figure.
    """
    across, up = _scales(figure)
    styles = marks.styles(figure.series, known)
    drawing = _Drawing(figure=figure, x=across, y=up, styles=styles)
    x_ticks, y_ticks = list(across.ticks()), list(up.ticks())
    longest = max((axes.width(tick.label) for tick in x_ticks), default=0.0)
    turned, turned_narrow = (
        bool(across.names) and axes.crowded(x_ticks, room) for room in (WIDE, NARROW)
    )
    parts = "".join(drawing.parts())
    return Chart(
        svg="".join(
            (
                f'<svg class="chart" height="{HEIGHT:g}" role="img" aria-label="{escape(summary(figure))}">',
                *_vertical(y_ticks),
                *_horizontal(x_ticks, across, turned=turned, turned_narrow=turned_narrow),
                parts,
                '<line class="guide" y1="0" y2="100%" hidden="hidden"/>',
                "</svg>",
            )
        ),
        styles=styles,
        left=max((axes.width(tick.label) for tick in y_ticks), default=0.0) + 14,
        foot=_foot(longest, turned=turned),
        foot_narrow=_foot(longest, turned=turned_narrow),
        x=across,
        banded='class="band"' in parts,
        whiskered='class="interval"' in parts,
        missing=drawing.missing(),
    )


def titled(axis: Axis) -> str:
    """Name of an axis with its unit."""
    return f"{axis.label}, {axis.unit}" if axis.unit else axis.label


def summary(figure: Figure) -> str:
    """Description of a figure in one sentence, for readers who cannot see it."""
    return (
        f"{figure.title}: {titled(figure.y)} against {titled(figure.x)}; "
        f"{', '.join(series.label for series in figure.series)}. The values are in the table below."
    )


def _scales(figure: Figure) -> tuple[axes.AxisScale, axes.AxisScale]:
    xs = [x for series in figure.series for x in _places(series)]
    ys = [
        value for series in figure.series for value in _extent(series, log=figure.y.scale == "log")
    ]
    bars = any(series.style == "bar" for series in figure.series)
    if figure.x.scale == "category":
        across = axes.category(figure.x, xs)
    else:
        numbers = [axes.number(x, figure.x) for x in xs]
        across = axes.numeric(
            figure.x, [*numbers, *(_beside(numbers, figure.x) if bars else ())], ticks=8
        )
    return across, axes.numeric(figure.y, ys, ticks=6, rounded=True, zero=bars)


def _places(series: Series) -> Iterator[float | str]:
    for point in series.points:
        yield point.x
    for published in series.published:
        yield published.x


def _extent(series: Series, *, log: bool) -> Iterator[float]:
    """Yield the values that the vertical axis must contain.

    A logarithmic axis has no zero, so the lower end of an interval counts as at least half of its
    value.
    """
    for published in series.published:
        yield published.y
    for point in series.points:
        if point.y is None or (log and point.y.value <= 0):
            continue
        low, high = point.y.interval or (point.y.value, point.y.value)
        yield high
        yield max(low, point.y.value / 2) if log else low


def _beside(numbers: Sequence[float], axis: Axis) -> Iterator[float]:
    """Yield the ends of an axis with room beside the outermost positions.

    The room is enough for half a bar, or half a group of bars.
    """
    log = axis.scale == "log"
    places = [math.log10(number) if log else number for number in numbers if number > 0 or not log]
    if places:
        half = _gap(places) / 2
        for end in (min(places) - half, max(places) + half):
            yield 10.0**end if log else end


def _gap(numbers: Sequence[float]) -> float:
    """Minimum distance between two different positions."""
    places = sorted(set(numbers))
    return min((b - a for a, b in itertools.pairwise(places)), default=1.0)


def _foot(longest: float, *, turned: bool) -> float:
    """Height of the tick labels and of the axis' name below the axis, in pixels."""
    return (longest + 14 if turned else 22) + 24


def _vertical(ticks: Sequence[axes.Tick]) -> Iterator[str]:
    for tick in ticks:
        y = _down(tick.place)
        yield f'<line class="grid" x2="100%" y1="{y:g}" y2="{y:g}"/>'
        yield f'<text class="tick" x="-8" y="{y + 4:g}" text-anchor="end">{escape(tick.label)}</text>'


def _horizontal(
    ticks: Sequence[axes.Tick], scale: axes.AxisScale, *, turned: bool, turned_narrow: bool
) -> Iterator[str]:
    yield f'<line class="axis" x2="100%" y1="{HEIGHT:g}" y2="{HEIGHT:g}"/>'
    how = " turned" if turned else " turned-narrow" if turned_narrow else ""
    wide, narrow = (ticks if scale.names else axes.labelled(ticks, room) for room in (WIDE, NARROW))
    for tick in ticks:
        x = _percent(tick.place)
        if not scale.names:
            yield f'<line class="mark" x1="{x}" x2="{x}" y1="{HEIGHT:g}" y2="{HEIGHT + 5:g}"/>'
        if tick in wide:
            kind = f"tick{how}" if tick in narrow else "tick spare"
            yield f'<text class="{kind}" x="{x}" y="{HEIGHT + 18:g}" text-anchor="middle">{escape(tick.label)}</text>'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawing:
    figure: Figure
    x: axes.AxisScale
    y: axes.AxisScale
    styles: tuple[marks.Style, ...]

    def parts(self) -> Iterator[str]:
        """Yield bands, bars, lines, intervals and points, in this order of layers.

        Later layers cover earlier ones, so no series hides another's points.
        """
        for layer in (
            self._band,
            self._bars,
            self._line,
            self._whiskers,
            self._points,
            self._published,
        ):
            for number, (series, style) in enumerate(
                zip(self.figure.series, self.styles, strict=True)
            ):
                inside = "".join(layer(number, series, style))
                if inside:
                    yield f'<g class="{style.classes}" data-series="{number}">{inside}</g>'

    def missing(self) -> int:
        """Number of values outside the drawing."""
        ours = [
            (point.x, point.y.value)
            for each in self.figure.series
            for point in each.points
            if point.y is not None
        ]
        theirs = [(point.x, point.y) for each in self.figure.series for point in each.published]
        return sum(self.x.place(x) is None or self.y.place(y) is None for x, y in (*ours, *theirs))

    def _joined(self, series: Series) -> bool:
        return series.style not in ("bar", "point") and not self.x.names

    def _runs(self, series: Series) -> Iterator[list[tuple[float, Point]]]:
        """Yield unbroken rows of points from left to right.

        A point without a value breaks the line.
        """
        placed = [(self.x.place(point.x), point) for point in series.points]
        row: list[tuple[float, Point]] = []
        for place, point in sorted(
            ((p, point) for p, point in placed if p is not None), key=lambda pair: pair[0]
        ):
            if point.y is None:
                yield row
                row = []
            else:
                row.append((place, point))
        yield row

    def _band(self, _number: int, series: Series, _style: marks.Style) -> Iterator[str]:
        if not self._joined(series):
            return
        paths = []
        for row in self._runs(series):
            for part in _with_interval(row):
                step = series.style == "step"
                highs = _polyline(
                    [(x, self._y(point, +1, beyond=CUT)) for x, point in part], step=step
                )
                lows = _polyline(
                    [(x, self._y(point, -1, beyond=CUT)) for x, point in part], step=step
                )
                paths.append(f"M{' L'.join((*highs, *reversed(lows)))}Z")
        if paths:
            yield _stretched(f'<path class="band" d="{"".join(paths)}"/>')

    def _line(self, _number: int, series: Series, _style: marks.Style) -> Iterator[str]:
        if not self._joined(series):
            return
        paths = [
            "M"
            + " L".join(
                _polyline(
                    [(x, self._y(point, 0, beyond=CUT)) for x, point in row],
                    step=series.style == "step",
                )
            )
            for row in self._runs(series)
            if len(row) > 1
        ]
        if paths:
            yield _stretched(f'<path class="line" d="{"".join(paths)}"/>')

    def _bars(self, number: int, series: Series, _style: marks.Style) -> Iterator[str]:
        if series.style != "bar":
            return
        wide = self._slot() * GROUP / sum(each.style == "bar" for each in self.figure.series)
        ground = _down(self.y.clamped(0.0))
        for point in series.points:
            place = self._place(number, point.x)
            if place is None or point.y is None:
                continue
            end = self._y(point, 0)
            yield (
                f'<rect class="bar" x="{_percent(place - wide / 2)}" width="{_percent(wide)}" '
                f'y="{min(end, ground):.1f}" height="{abs(end - ground):.1f}"/>'
            )

    def _whiskers(self, number: int, series: Series, _style: marks.Style) -> Iterator[str]:
        """Yield intervals of points that no band covers."""
        banded = set()
        if self._joined(series):
            banded = {
                id(point)
                for row in self._runs(series)
                for part in _with_interval(row)
                for _, point in part
            }
        for point in series.points:
            place = self._place(number, point.x)
            if place is None or point.y is None or point.y.interval is None or id(point) in banded:
                continue
            x = _percent(place)
            low, high = self._y(point, -1), self._y(point, +1)
            yield f'<line class="interval" x1="{x}" x2="{x}" y1="{low:.1f}" y2="{high:.1f}"/>'

    def _points(self, number: int, series: Series, style: marks.Style) -> Iterator[str]:
        if series.style == "bar":
            return
        every = math.ceil(len(series.points) / MARKERS) if self._joined(series) else 1
        for index, point in enumerate(series.points):
            place = self._place(number, point.x)
            if (
                (index + number) % every
                or place is None
                or point.y is None
                or self.y.place(point.y.value) is None
            ):
                continue
            yield marks.use(marks.Kind.OURS, style, _percent(place), self._y(point, 0))

    def _published(self, number: int, series: Series, style: marks.Style) -> Iterator[str]:
        for point in series.published:
            place, y = self._place(number, point.x), self.y.place(point.y)
            if place is not None and y is not None:
                yield marks.use(marks.Kind.PUBLISHED, style, _percent(place), _down(y))

    def _y(self, point: Point, side: int, *, beyond: float = 0.0) -> float:
        """Vertical position of a point's value, or of an end of its interval, in pixels.

        The position is limited to the axis, and to ``beyond`` lengths past its ends.
        """
        if point.y is None:
            return HEIGHT
        low, high = point.y.interval or (point.y.value, point.y.value)
        return _down(self.y.clamped((low, point.y.value, high)[side + 1], beyond=beyond))

    def _slot(self) -> float:
        """Share of the axis that belongs to one position."""
        if self.x.names:
            return 1.0 / len(self.x.names)
        # These are the positions for which the axis was laid out.
        # A bar must not be wider than its room.
        places = [self.x.place(x) for series in self.figure.series for x in _places(series)]
        return min(_gap([place for place in places if place is not None]), 0.5)

    def _place(self, number: int, x: float | str) -> float | None:
        """Position of a series' point.

        In a category and among bars, it is beside the points of the other series.
        """
        place, ours = self.x.place(x), self.figure.series[number]
        if place is None or self._joined(ours) or (ours.style == "point" and not self.x.names):
            return place
        alike = [
            index
            for index, each in enumerate(self.figure.series)
            if self.x.names or (each.style == "bar") == (ours.style == "bar")
        ]
        step = GROUP / len(alike)
        if not any(each.style == "bar" for each in self.figure.series):
            step = min(step, 0.26)
        return place + (alike.index(number) - (len(alike) - 1) / 2) * step * self._slot()


def _with_interval(row: Sequence[tuple[float, Point]]) -> Iterator[list[tuple[float, Point]]]:
    """Yield the parts of a row, of two points or more, in which every point has an interval."""
    part: list[tuple[float, Point]] = []
    for place, point in row:
        if point.y is not None and point.y.interval is not None:
            part.append((place, point))
            continue
        if len(part) > 1:
            yield part
        part = []
    if len(part) > 1:
        yield part


def _polyline(points: Sequence[tuple[float, float]], *, step: bool) -> list[str]:
    """Corners of a line; a step keeps its height until the next point."""
    corners = []
    for number, (place, y) in enumerate(points):
        x = f"{place * STRETCHED:.1f}"
        if step and number:
            corners.append(f"{x} {points[number - 1][1]:.1f}")
        corners.append(f"{x} {y:.1f}")
    return corners


def _stretched(inside: str) -> str:
    box = f'viewBox="0 0 {STRETCHED:g} {HEIGHT:g}" preserveAspectRatio="none" width="100%" height="{HEIGHT:g}"'
    return f"<svg {box}>{inside}</svg>"


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _down(place: float) -> float:
    """Distance from the top in pixels."""
    return round(HEIGHT * (1 - place), 1)

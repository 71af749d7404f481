"""Charts as inline SVG, with colours from the style of the page.

The style has light, dark and paper colours. A chart is as wide as its column and has a fixed height
and type size. Horizontal positions are therefore percentages. Lines and bands are in a separate
drawing that is stretched horizontally. One chart thus serves desktop, phone and paper without a
script. The script zooms by a change of the width of the inner drawing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from tcpsf import text
from tcpsf.chart import axes, dense, marks
from tcpsf.chart.panel import Axis, Curve, Mark, Panel

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
class Drawn:
    """A drawing, and the data that a page needs to place it."""

    svg: str
    styles: tuple[marks.Style, ...]
    """Style of each curve."""
    left: float
    """Width of the labels on the left, in pixels."""
    foot: float
    """Height of the labels below, in pixels."""
    foot_narrow: float
    """Height of the labels below on a narrow page, in pixels."""
    x: axes.AxisScale
    y: axes.AxisScale
    banded: bool
    """Whether an interval is drawn as a band anywhere."""
    whiskered: bool
    """Whether an interval is drawn as a line through its point anywhere."""
    missing: int
    """Number of values outside the axes."""
    height: float = HEIGHT
    """Height of the drawing without the labels below, in pixels."""
    rows: Mapping[str, float] | None = None
    """Position of each category, as a share of the height, if the bars are horizontal."""


def draw(
    panel: Panel,
    known: marks.Palette,
    *,
    scales: tuple[axes.AxisScale, axes.AxisScale] | None = None,
    room: float = WIDE,
    width: float | None = None,
) -> Drawn:
    """Draw a panel.

    `marks.palette` gives ``known``, so that a sender looks the same in every panel. ``scales``
    are those of `fitted`, if several panels share them. The horizontal axis has a length of
    ``width`` pixels if that is known, and otherwise of at least ``room`` pixels.
    """
    across, up = scales or fitted([panel])
    styles = marks.styles(panel.curves, known)
    drawing = _Drawing(panel=panel, x=across, y=up, styles=styles, width=width or STRETCHED)
    x_ticks, y_ticks = list(across.ticks()), list(up.ticks())
    longest = max((axes.width(tick.label) for tick in x_ticks), default=0.0)
    rooms = (width or room, width or NARROW)
    turned, turned_narrow = (bool(across.names) and axes.crowded(x_ticks, room) for room in rooms)
    parts = "".join(drawing.parts())
    words = escape(summary(panel, tabled=width is None))
    return Drawn(
        svg="".join(
            (
                f'<svg class="chart" width="100%" height="{HEIGHT:g}" role="img" aria-label="{words}">',
                *_rungs(y_ticks, follows=panel.y.follows),
                '<g class="ticks">',
                *_horizontal(x_ticks, across, rooms, (turned, turned_narrow), width=width),
                "</g>",
                f'<svg class="view" width="100%" height="{HEIGHT:g}"><svg class="stage" width="100%" height="{HEIGHT:g}">',
                parts,
                "</svg></svg>",
                "</svg>",
            )
        ),
        styles=styles,
        left=max((axes.width(each) for each in _left_labels(panel, up)), default=0.0) + 14,
        foot=_foot(longest, turned=turned),
        foot_narrow=_foot(longest, turned=turned_narrow),
        x=across,
        y=up,
        banded='class="band"' in parts,
        whiskered='class="interval"' in parts,
        missing=drawing.missing(),
    )


def titled(axis: Axis) -> str:
    """Name of an axis with its unit."""
    return f"{axis.label}, {axis.unit}" if axis.unit else axis.label


def summary(panel: Panel, *, tabled: bool) -> str:
    """Description of a panel in a sentence, for readers who cannot see it.

    ``tabled`` adds that a table with the values follows.
    """
    title = f"{panel.title}: " if panel.title else ""
    curves = ", ".join(curve.label for curve in panel.curves)
    table = " The values are in the table below." if tabled else ""
    return f"{title}{titled(panel.y)} against {titled(panel.x)}; {curves}.{table}"


def fitted(panels: Sequence[Panel]) -> tuple[axes.AxisScale, axes.AxisScale]:
    """Axes that contain the values of all panels; the first panel sets their names and scales."""
    x, y = panels[0].x, panels[0].y
    curves = [curve for panel in panels for curve in panel.curves]
    xs = [place for curve in curves for place in _places(curve, x)]
    ys = [value for curve in curves for value in _extent(curve, log=y.scale == "log")]
    bars = any(curve.style == "bar" for curve in curves)
    if x.scale == "category":
        across = axes.category(x, xs)
    else:
        numbers = [axes.number(each, x) for each in xs]
        across = axes.numeric(x, [*numbers, *(_beside(numbers, x) if bars else ())], ticks=8)
    return across, axes.numeric(y, ys, ticks=6, rounded=True, zero=bars)


def _places(curve: Curve, axis: Axis) -> Iterator[float | str]:
    if curve.dense and axis.scale != "category":
        yield from dense.ends(curve.x)
    else:
        for mark in curve.marks():
            yield mark.x
    for x, _ in curve.published:
        yield x


def _extent(curve: Curve, *, log: bool) -> Iterator[float]:
    """Yield the values that the vertical axis must contain.

    A logarithmic axis has no zero, so the lower end of an interval counts as at least half of its
    value.
    """
    for _, value in curve.published:
        yield value
    if curve.dense:
        yield from dense.extent(curve, log=log)
        return
    for mark in curve.marks():
        if mark.value is None or (log and mark.value <= 0):
            continue
        low, high = mark.interval or (mark.value, mark.value)
        yield high
        yield max(low, mark.value / 2) if log else low


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


def _left_labels(panel: Panel, scale: axes.AxisScale) -> Iterator[str]:
    """Yield labels for which the left side needs room; after a zoom they have more digits."""
    yield from (tick.label for tick in scale.ticks())
    if panel.y.follows:
        yield text.plain(scale.high, 0)


def _rungs(ticks: Sequence[axes.Tick], *, follows: bool) -> Iterator[str]:
    """Yield the horizontal lines, in a group if the script replaces them."""
    yield from ('<g class="rungs">', *_vertical(ticks), "</g>") if follows else _vertical(ticks)


def _vertical(ticks: Sequence[axes.Tick]) -> Iterator[str]:
    for tick in ticks:
        y = _down(tick.place)
        yield f'<line class="grid" x2="100%" y1="{y:g}" y2="{y:g}"/>'
        yield f'<text class="tick" x="-8" y="{y + 4:g}" text-anchor="end">{escape(tick.label)}</text>'


def _horizontal(
    ticks: Sequence[axes.Tick],
    scale: axes.AxisScale,
    rooms: tuple[float, float],
    turned: tuple[bool, bool],
    *,
    width: float | None,
) -> Iterator[str]:
    yield f'<line class="axis" x2="100%" y1="{HEIGHT:g}" y2="{HEIGHT:g}"/>'
    how = " turned" if turned[0] else " turned-narrow" if turned[1] else ""
    wide, narrow = (ticks if scale.names else axes.labelled(ticks, room) for room in rooms)
    for tick in ticks:
        x = _percent(tick.place)
        if not scale.names:
            yield f'<line class="mark" x1="{x}" x2="{x}" y1="{HEIGHT:g}" y2="{HEIGHT + 5:g}"/>'
        if tick not in wide:
            continue
        if width is not None and turned[0]:
            at = f'transform="translate({tick.place * width + 4:.1f} {HEIGHT + 8:g}) rotate(-90)"'
            yield f'<text class="tick" {at} text-anchor="end">{escape(tick.label)}</text>'
            continue
        kind = f"tick{how}" if tick in narrow else "tick spare"
        yield f'<text class="{kind}" x="{x}" y="{HEIGHT + 18:g}" text-anchor="middle">{escape(tick.label)}</text>'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawing:
    panel: Panel
    x: axes.AxisScale
    y: axes.AxisScale
    styles: tuple[marks.Style, ...]
    width: float

    def parts(self) -> Iterator[str]:
        """Yield bands, bars, lines, intervals and points, in this order of layers.

        Later layers cover earlier ones, so no curve hides another's points.
        """
        layers = (
            (self._dense_band, self._dense, self._published)
            if self.panel.dense
            else (
                self._band,
                self._bars,
                self._line,
                self._spans,
                self._whiskers,
                self._points,
                self._published,
            )
        )
        for layer in layers:
            for number, (curve, style) in enumerate(
                zip(self.panel.curves, self.styles, strict=True)
            ):
                inside = "".join(layer(number, curve, style))
                if inside:
                    yield f'<g class="{style.classes}" data-series="{number}">{inside}</g>'

    def missing(self) -> int:
        """Number of values outside the drawing."""
        if self.panel.dense:
            return sum(dense.outside(curve, self.x, self.y) for curve in self.panel.curves)
        ours = [
            (mark.x, mark.value)
            for curve in self.panel.curves
            for mark in curve.marks()
            if mark.value is not None
        ]
        theirs = [each for curve in self.panel.curves for each in curve.published]
        return sum(self.x.place(x) is None or self.y.place(y) is None for x, y in (*ours, *theirs))

    def _joined(self, curve: Curve) -> bool:
        return curve.joined and not self.x.names

    def _banded(self, curve: Curve) -> bool:
        return self._joined(curve) and curve.style != "whiskers"

    def _runs(self, curve: Curve) -> Iterator[list[tuple[float, Mark]]]:
        """Yield unbroken rows of points from left to right.

        A point without a value breaks the line.
        """
        placed = [(self.x.place(mark.x), mark) for mark in curve.marks()]
        row: list[tuple[float, Mark]] = []
        for place, mark in sorted(
            ((p, mark) for p, mark in placed if p is not None), key=lambda pair: pair[0]
        ):
            if mark.value is None:
                yield row
                row = []
            else:
                row.append((place, mark))
        yield row

    def _band(self, _number: int, curve: Curve, _style: marks.Style) -> Iterator[str]:
        if not self._banded(curve):
            return
        paths = []
        for row in self._runs(curve):
            for part in _with_interval(row):
                step = curve.style == "step"
                highs = self._polyline(
                    [(x, self._y(mark, +1, beyond=CUT)) for x, mark in part], step=step
                )
                lows = self._polyline(
                    [(x, self._y(mark, -1, beyond=CUT)) for x, mark in part], step=step
                )
                paths.append(f"M{' L'.join((*highs, *reversed(lows)))}Z")
        if paths:
            yield self._stretched(f'<path class="band" d="{"".join(paths)}"/>')

    def _line(self, _number: int, curve: Curve, _style: marks.Style) -> Iterator[str]:
        if not self._joined(curve):
            return
        paths = [
            "M"
            + " L".join(
                self._polyline(
                    [(x, self._y(mark, 0, beyond=CUT)) for x, mark in row],
                    step=curve.style == "step",
                )
            )
            for row in self._runs(curve)
            if len(row) > 1
        ]
        if paths:
            yield self._stretched(f'<path class="line" d="{"".join(paths)}"/>')

    def _dense_band(self, _number: int, curve: Curve, _style: marks.Style) -> Iterator[str]:
        path = dense.band(curve, self.x, self.y, width=self.width, height=HEIGHT)
        if path and self._banded(curve):
            yield self._stretched(f'<path class="band" d="{path}"/>')

    def _dense(self, _number: int, curve: Curve, _style: marks.Style) -> Iterator[str]:
        path = dense.outline(curve, self.x, self.y, width=self.width, height=HEIGHT)
        if path:
            kind = "line" if curve.joined else "dots"
            if curve.spanned:
                kind = "spans bold" if curve.style == "bold-span" else "spans"
            yield self._stretched(f'<path class="{kind}" d="{path}"/>')

    def _spans(self, number: int, curve: Curve, style: marks.Style) -> Iterator[str]:
        if curve.spanned:
            yield from self._dense(number, curve, style)

    def _bars(self, number: int, curve: Curve, _style: marks.Style) -> Iterator[str]:
        if curve.style != "bar":
            return
        wide = self._slot() * GROUP / sum(each.style == "bar" for each in self.panel.curves)
        ground = _down(self.y.clamped(0.0))
        for mark in curve.marks():
            place = self._place(number, mark.x)
            if place is None or mark.value is None:
                continue
            end = self._y(mark, 0)
            yield (
                f'<rect class="bar" x="{_percent(place - wide / 2)}" width="{_percent(wide)}" '
                f'y="{min(end, ground):.1f}" height="{abs(end - ground):.1f}"/>'
            )

    def _whiskers(self, number: int, curve: Curve, _style: marks.Style) -> Iterator[str]:
        """Yield intervals of points that no band covers."""
        if curve.spanned:
            return
        banded = set()
        if self._banded(curve):
            banded = {
                (mark.x, mark.value)
                for row in self._runs(curve)
                for part in _with_interval(row)
                for _, mark in part
            }
        for mark in curve.marks():
            place = self._place(number, mark.x)
            if place is None or mark.value is None or mark.interval is None:
                continue
            if (mark.x, mark.value) in banded:
                continue
            x = _percent(place)
            low, high = self._y(mark, -1), self._y(mark, +1)
            yield f'<line class="interval" x1="{x}" x2="{x}" y1="{low:.1f}" y2="{high:.1f}"/>'

    def _points(self, number: int, curve: Curve, style: marks.Style) -> Iterator[str]:
        if curve.style == "bar" or curve.spanned:
            return
        every = math.ceil(len(curve.x) / MARKERS) if self._joined(curve) else 1
        for index, mark in enumerate(curve.marks()):
            place = self._place(number, mark.x)
            if (
                (index + number) % every
                or place is None
                or mark.value is None
                or self.y.place(mark.value) is None
            ):
                continue
            yield marks.use(marks.Kind.OURS, style, _percent(place), self._y(mark, 0))

    def _published(self, number: int, curve: Curve, style: marks.Style) -> Iterator[str]:
        for x, value in curve.published:
            place, y = self._place(number, x), self.y.place(value)
            if place is not None and y is not None:
                yield marks.use(marks.Kind.PUBLISHED, style, _percent(place), _down(y))

    def _y(self, mark: Mark, side: int, *, beyond: float = 0.0) -> float:
        """Vertical position of a point's value, or of an end of its interval, in pixels.

        The position is limited to the axis, and to ``beyond`` lengths past its ends.
        """
        if mark.value is None:
            return HEIGHT
        low, high = mark.interval or (mark.value, mark.value)
        return _down(self.y.clamped((low, mark.value, high)[side + 1], beyond=beyond))

    def _slot(self) -> float:
        """Share of the axis that belongs to one position."""
        if self.x.names:
            return 1.0 / len(self.x.names)
        # These are the positions for which the axis was laid out.
        # A bar must not be wider than its room.
        places = [
            self.x.place(x) for curve in self.panel.curves for x in _places(curve, self.panel.x)
        ]
        return min(_gap([place for place in places if place is not None]), 0.5)

    def _place(self, number: int, x: float | str) -> float | None:
        """Position of a curve's point.

        In a category and among bars, it is beside the points of the other curves.
        """
        place, ours = self.x.place(x), self.panel.curves[number]
        if place is None or self._joined(ours) or (ours.style == "point" and not self.x.names):
            return place
        alike = [
            index
            for index, each in enumerate(self.panel.curves)
            if self.x.names or (each.style == "bar") == (ours.style == "bar")
        ]
        step = GROUP / len(alike)
        if not any(each.style == "bar" for each in self.panel.curves):
            step = min(step, 0.26)
        return place + (alike.index(number) - (len(alike) - 1) / 2) * step * self._slot()

    def _polyline(self, points: Sequence[tuple[float, float]], *, step: bool) -> list[str]:
        """Corners of a line; a step keeps its height until the next point."""
        corners = []
        for number, (place, y) in enumerate(points):
            x = f"{place * self.width:.1f}"
            if step and number:
                corners.append(f"{x} {points[number - 1][1]:.1f}")
            corners.append(f"{x} {y:.1f}")
        return corners

    def _stretched(self, inside: str) -> str:
        box = f'viewBox="0 0 {self.width:g} {HEIGHT:g}" preserveAspectRatio="none" width="100%" height="{HEIGHT:g}"'
        return f"<svg {box}>{inside}</svg>"


def _with_interval(row: Sequence[tuple[float, Mark]]) -> Iterator[list[tuple[float, Mark]]]:
    """Yield the parts of a row, of two points or more, in which every point has an interval."""
    part: list[tuple[float, Mark]] = []
    for place, mark in row:
        if mark.value is not None and mark.interval is not None:
            part.append((place, mark))
            continue
        if len(part) > 1:
            yield part
        part = []
    if len(part) > 1:
        yield part


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _down(place: float) -> float:
    """Distance from the top in pixels."""
    return round(HEIGHT * (1 - place), 1)

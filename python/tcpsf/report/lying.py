"""Horizontal bars: categories below each other in groups, values from left to right.

This layout is for many categories with long names. Bars that are longer than the axis end at it,
with a mark and their value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from tcpsf import text
from tcpsf.errors import TcpsfError
from tcpsf.evaluation.data import Figure, Point
from tcpsf.report import axes, chart, marks

BAR = 11.0
"""Thickness of a bar in pixels."""
GAP = 7.0
"""Distance between two categories in pixels."""
HEAD = 26.0
"""Height of a group's heading in pixels."""
LABEL_LEFT = 12.0
"""Distance between the names and the axis, and before the names, in pixels."""


def draw(figure: Figure, known: Mapping[str, int]) -> chart.Chart:
    """Draw a figure of bars that has groups; ``known`` is as for `chart.draw`."""
    names = axes.category(
        figure.x, [point.x for series in figure.series for point in series.points]
    ).names
    if sum(count for _, count in figure.groups) != len(names):
        raise TcpsfError(
            f"cannot draw the figure `{figure.key}`: its groups and its series have different "
            "numbers of categories",
            hint=f"the series have {len(names)}",
        )
    ends = [end for series in figure.series for point in series.points for end in _ends(point)]
    across = axes.numeric(figure.y, ends, ticks=6, rounded=True, zero=True)
    styles = marks.styles(figure.series, known)
    layout = _Layout(figure=figure, names=names, across=across, styles=styles)
    ticks = list(across.ticks())
    left = max(axes.width(layout.label(name)) for name in names) + 2 * LABEL_LEFT
    parts, summary = "".join(layout.parts()), escape(chart.summary(figure))
    return chart.Chart(
        svg="".join(
            (
                f'<svg class="chart" height="{layout.height:g}" role="img" aria-label="{summary}">',
                *_grid(ticks, across, layout.height),
                *layout.names_and_heads(),
                parts,
                '<line class="guide" x1="0" x2="100%" hidden="hidden"/>',
                "</svg>",
            )
        ),
        styles=styles,
        left=left,
        foot=46.0,
        foot_narrow=64.0,
        x=axes.category(figure.x, names),
        banded=False,
        whiskered='class="interval"' in parts,
        missing=0,
        rows={name: layout.middle(name) / layout.height for name in names},
    )


def _ends(point: Point) -> Iterator[float]:
    if point.y is not None:
        yield from point.y.interval or (point.y.value,)


def _grid(ticks: Sequence[axes.Tick], across: axes.AxisScale, height: float) -> Iterator[str]:
    wide, narrow = (axes.labelled(ticks, room) for room in (chart.WIDE, chart.NARROW / 2))
    for tick in ticks:
        x = f"{100 * tick.place:.2f}%"
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="{height:g}"/>'
        if tick in wide:
            kind = "tick" if tick in narrow else "tick spare"
            yield f'<text class="{kind}" x="{x}" y="{height + 16:g}" text-anchor="middle">{escape(tick.label)}</text>'
    ground = f"{100 * across.clamped(0.0):.2f}%"
    yield f'<line class="axis" x1="{ground}" x2="{ground}" y1="0" y2="{height:g}"/>'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    figure: Figure
    names: Sequence[str]
    across: axes.AxisScale
    styles: Sequence[marks.Style]

    @property
    def row(self) -> float:
        """Distance from one category to the next in pixels."""
        return BAR * len(self.figure.series) + GAP

    @property
    def height(self) -> float:
        """Height of the whole chart in pixels."""
        return HEAD * len(self.figure.groups) + self.row * len(self.names)

    def group(self, name: str) -> tuple[int, str]:
        """Number and heading of a category's group."""
        place = self.names.index(name)
        ends = itertools.accumulate(count for _, count in self.figure.groups)
        number = next(number for number, end in enumerate(ends) if place < end)
        return number, self.figure.groups[number][0]

    def label(self, name: str) -> str:
        """Name of a category without the part that the heading of its group already states."""
        return name.removeprefix(f"{self.group(name)[1]}, ")

    def middle(self, name: str) -> float:
        """Distance from the top to the middle of a category in pixels."""
        number, _ = self.group(name)
        return HEAD * (number + 1) + self.row * (self.names.index(name) + 0.5)

    def names_and_heads(self) -> Iterator[str]:
        """Yield the words on the left."""
        seen: set[int] = set()
        for name in self.names:
            number, head = self.group(name)
            if number not in seen:
                seen.add(number)
                y = self.middle(name) - self.row / 2 - 7
                yield _word("head", head, y)
            yield _word("tick", self.label(name), self.middle(name) + 4)

    def parts(self) -> Iterator[str]:
        """Yield bars, and intervals above them."""
        for number, (series, style) in enumerate(zip(self.figure.series, self.styles, strict=True)):
            inside = "".join(
                self._bar(number, point) for point in series.points if point.y is not None
            )
            if inside:
                yield f'<g class="{style.classes}" data-series="{number}">{inside}</g>'

    def _bar(self, number: int, point: Point) -> str:
        found = point.y
        assert found is not None  # noqa: S101  the caller has looked
        top = self.middle(axes.name(point.x)) + (number - len(self.figure.series) / 2) * BAR
        ground, end = self.across.clamped(0.0), self.across.clamped(found.value)
        left, wide = 100 * min(ground, end), 100 * abs(end - ground)
        parts = [
            f'<rect class="bar" x="{left:.2f}%" width="{wide:.2f}%" y="{top:.1f}" height="{BAR:g}"/>'
        ]
        middle = top + BAR / 2
        if self.across.place(found.value) is None:
            below = found.value < self.across.low
            summary = f"◂ {text.significant(found)}" if below else f"{text.significant(found)} ▸"
            x, anchor = ("0%", "start") if below else ("100%", "end")
            parts.append(
                f'<text class="cut" x="{x}" y="{middle + 3.5:.1f}" text-anchor="{anchor}">{summary}</text>'
            )
        elif found.interval is not None:
            low, high = (100 * self.across.clamped(end) for end in found.interval)
            parts.append(
                f'<line class="interval" x1="{low:.2f}%" x2="{high:.2f}%" y1="{middle:.1f}" y2="{middle:.1f}"/>'
            )
        return "".join(parts)


def _word(kind: str, word: str, y: float) -> str:
    """A word to the left of the axis."""
    return f'<text class="{kind}" x="{-LABEL_LEFT:g}" y="{y:.1f}" text-anchor="end">{escape(word)}</text>'

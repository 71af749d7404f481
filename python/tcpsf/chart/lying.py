"""Horizontal bars: categories below each other in groups, values from left to right.

This layout is for many categories with long names. Bars that are longer than the axis end at it,
with a mark and their value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from tcpsf import text
from tcpsf.chart import axes, marks, upright
from tcpsf.chart.panel import Mark, Measured, Panel
from tcpsf.errors import TcpsfError

BAR = 11.0
"""Thickness of a bar in pixels."""
GAP = 7.0
"""Distance between two categories in pixels."""
HEAD = 26.0
"""Height of a group's heading in pixels."""
LABEL_LEFT = 12.0
"""Distance between the names and the axis, and before the names, in pixels."""


def draw(
    panel: Panel,
    known: marks.Palette,
    *,
    scales: tuple[axes.AxisScale, axes.AxisScale] | None = None,
    width: float | None = None,
) -> upright.Drawn:
    """Draw a panel of bars that has groups; the arguments are as for `upright.draw`.

    The first of the ``scales`` has the categories, and the second the values.
    """
    by_name, across = scales or fitted([panel])
    names = by_name.names
    if sum(count for _, count in panel.groups) != len(names):
        raise TcpsfError(
            f"cannot draw the figure `{panel.key}`: its groups and its series have different "
            "numbers of categories",
            hint=f"the series have {len(names)}",
        )
    styles = marks.styles(panel.curves, known)
    layout = _Layout(panel=panel, names=names, across=across, styles=styles)
    ticks = list(across.ticks())
    left = max(axes.width(layout.label(name)) for name in names) + 2 * LABEL_LEFT
    parts, summary = "".join(layout.parts()), escape(upright.summary(panel, tabled=width is None))
    return upright.Drawn(
        svg="".join(
            (
                f'<svg class="chart" width="100%" height="{layout.height:g}" role="img" aria-label="{summary}">',
                *_grid(ticks, across, layout.height, width),
                *layout.names_and_heads(),
                parts,
                "</svg>",
            )
        ),
        styles=styles,
        left=left,
        foot=46.0,
        foot_narrow=64.0,
        x=by_name,
        y=across,
        banded=False,
        whiskered='class="interval"' in parts,
        missing=0,
        height=layout.height,
        rows={name: layout.middle(name) / layout.height for name in names},
    )


def height(panel: Panel) -> float:
    """Approximate height of a panel's drawing in pixels."""
    rows = sum(count for _, count in panel.groups)
    return HEAD * len(panel.groups) + (BAR * len(panel.curves) + GAP) * rows


def fitted(panels: Sequence[Panel]) -> tuple[axes.AxisScale, axes.AxisScale]:
    """Axis of categories and axis of values for all panels."""
    found = [mark for panel in panels for curve in panel.curves for mark in curve.marks()]
    ends = [end for mark in found for end in _ends(mark)]
    ends += [value for panel in panels for curve in panel.curves for _, value in curve.published]
    return (
        axes.category(panels[0].x, [mark.x for mark in found]),
        axes.numeric(panels[0].y, ends, ticks=6, rounded=True, zero=True),
    )


def _ends(mark: Mark) -> Iterator[float]:
    if mark.value is not None:
        yield from mark.interval or (mark.value,)


def _grid(
    ticks: Sequence[axes.Tick], across: axes.AxisScale, height: float, width: float | None
) -> Iterator[str]:
    rooms = (width or upright.WIDE, width or upright.NARROW / 2)
    wide, narrow = (axes.labelled(ticks, room) for room in rooms)
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
    panel: Panel
    names: Sequence[str]
    across: axes.AxisScale
    styles: Sequence[marks.Style]

    @property
    def row(self) -> float:
        """Distance from one category to the next in pixels."""
        return BAR * len(self.panel.curves) + GAP

    @property
    def height(self) -> float:
        """Height of the whole chart in pixels."""
        return HEAD * len(self.panel.groups) + self.row * len(self.names)

    def group(self, name: str) -> tuple[int, str]:
        """Number and heading of a category's group."""
        place = self.names.index(name)
        ends = itertools.accumulate(count for _, count in self.panel.groups)
        number = next(number for number, end in enumerate(ends) if place < end)
        return number, self.panel.groups[number][0]

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
        for number, (curve, style) in enumerate(zip(self.panel.curves, self.styles, strict=True)):
            inside = "".join(
                self._bar(number, mark, mark.value)
                for mark in curve.marks()
                if mark.value is not None
            )
            inside += "".join(
                marks.use(
                    marks.Kind.PUBLISHED, style, f"{100 * place:.2f}%", self._middle(number, x)
                )
                for x, value in curve.published
                if (place := self.across.place(value)) is not None
            )
            if inside:
                yield f'<g class="{style.classes}" data-series="{number}">{inside}</g>'

    def _middle(self, number: int, x: float | str) -> float:
        """Distance from the top to the middle of a bar in pixels."""
        return self.middle(axes.name(x)) + (number - (len(self.panel.curves) - 1) / 2) * BAR

    def _bar(self, number: int, mark: Mark, value: float) -> str:
        top = self._middle(number, mark.x) - BAR / 2
        ground, end = self.across.clamped(0.0), self.across.clamped(value)
        left, wide = 100 * min(ground, end), 100 * abs(end - ground)
        parts = [
            f'<rect class="bar" x="{left:.2f}%" width="{wide:.2f}%" y="{top:.1f}" height="{BAR:g}"/>'
        ]
        middle = top + BAR / 2
        if self.across.place(value) is None:
            below, shown = value < self.across.low, text.significant(Measured(value, mark.interval))
            summary = f"◂ {shown}" if below else f"{shown} ▸"
            x, anchor = ("0%", "start") if below else ("100%", "end")
            parts.append(
                f'<text class="cut" x="{x}" y="{middle + 3.5:.1f}" text-anchor="{anchor}">{summary}</text>'
            )
        elif mark.interval is not None:
            low, high = (100 * self.across.clamped(end) for end in mark.interval)
            parts.append(
                f'<line class="interval" x1="{low:.2f}%" x2="{high:.2f}%" y1="{middle:.1f}" y2="{middle:.1f}"/>'
            )
        return "".join(parts)


def _word(kind: str, word: str, y: float) -> str:
    """A word to the left of the axis."""
    return f'<text class="{kind}" x="{-LABEL_LEFT:g}" y="{y:.1f}" text-anchor="end">{escape(word)}</text>'

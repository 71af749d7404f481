"""Figures as inline SVG: no library, no outside address, colours from the page's own style (light, dark, paper)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from tcpsf.stats import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One sender's points, one for each place on the horizontal axis."""

    key: str
    """CSS class that colours it."""
    label: str
    ours: tuple[Estimate | None, ...]
    published: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Where the plot stands in its drawing, and what its vertical axis covers."""

    width: float = 860.0
    height: float = 420.0
    left: float = 56.0
    right: float = 12.0
    top: float = 12.0
    bottom: float = 62.0
    low: float = 0.1
    high: float = 10.0

    def y(self, value: float) -> float:
        """Place a value on the logarithmic axis."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.height - self.bottom - share * (self.height - self.bottom - self.top), 1)

    def x(self, slot: float, slots: int) -> float:
        """Place the middle of a slot."""
        return round(self.left + (slot + 0.5) / slots * (self.width - self.left - self.right), 1)


def by_class(series: Sequence[Series], names: Sequence[str], *, axis: str, title: str) -> str:
    """Draw every sender's values by class on a logarithmic axis: ours filled with intervals, published hollow."""
    values = [value for each in series for value in _extent(each)]
    frame = Frame(low=_down(min(values)), high=_up(max(values)))
    parts = [
        f'<svg class="chart" viewBox="0 0 {frame.width:g} {frame.height:g}" role="img" aria-label="{escape(title)}">',
        *_axes(frame, names, axis),
    ]
    for number, each in enumerate(series):
        dodge = (number - (len(series) - 1) / 2) * 0.26
        parts += _points(frame, each, number, dodge, names)
    parts.append("</svg>")
    return "\n".join(parts)


def marker(shape: int, x: float, y: float, *, hollow: bool, radius: float = 4.2) -> str:
    """One point: the shape tells senders apart where colour cannot."""
    kind = "hollow" if hollow else "solid"
    if shape == 0:
        return f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>'
    if shape == 1:
        side = radius * 1.8
        corner = f'x="{x - side / 2:.1f}" y="{y - side / 2:.1f}"'
        return f'<rect class="{kind}" {corner} width="{side:.1f}" height="{side:.1f}"/>'
    tip, base, half = y - radius * 1.15, y + radius * 0.92, radius * 1.1
    corners = f"M{x:.1f} {tip:.1f} L{x + half:.1f} {base:.1f} L{x - half:.1f} {base:.1f} Z"
    return f'<path class="{kind}" d="{corners}"/>'


def legend_marker(shape: int, key: str, *, hollow: bool) -> str:
    """A point for the legend, as a drawing of its own."""
    return f'<svg class="key {key}" viewBox="0 0 12 12" aria-hidden="true">{marker(shape, 6, 6, hollow=hollow)}</svg>'


def _extent(series: Series) -> Iterator[float]:
    yield from series.published
    for found in series.ours:
        if found is not None:
            half = found.half_width or 0.0
            yield found.value + half
            yield max(found.value - half, found.value / 2)


def _down(value: float) -> float:
    return max(step for step in _steps() if step <= value)


def _up(value: float) -> float:
    return min(step for step in _steps() if step >= value)


def _steps() -> Iterator[float]:
    """1, 2, 5 and their decades: 1 ms to 5000 s."""
    for exponent in range(-3, 4):
        for digit in (1, 2, 5):
            yield digit * 10.0**exponent


def _axes(frame: Frame, names: Sequence[str], axis: str) -> Iterator[str]:
    bottom = frame.height - frame.bottom
    for step in _steps():
        if frame.low <= step <= frame.high:
            y = frame.y(step)
            yield f'<line class="grid" x1="{frame.left:g}" x2="{frame.width - frame.right:g}" y1="{y:g}" y2="{y:g}"/>'
            yield f'<text class="tick" x="{frame.left - 8:g}" y="{y + 4:g}" text-anchor="end">{step:g}</text>'
    yield f'<line class="axis" x1="{frame.left:g}" x2="{frame.width - frame.right:g}" y1="{bottom:g}" y2="{bottom:g}"/>'
    for slot, name in enumerate(names):
        x = frame.x(slot, len(names))
        yield f'<text class="tick" x="{x:g}" y="{bottom + 18:g}" text-anchor="middle">{escape(name)}</text>'
    middle = (frame.left + frame.width - frame.right) / 2
    yield f'<text class="label" x="{middle:g}" y="{frame.height - 14:g}" text-anchor="middle">flow size, bytes</text>'
    centre = (frame.top + bottom) / 2
    turned = f'transform="translate(14 {centre:g}) rotate(-90)"'
    yield f'<text class="label" {turned} text-anchor="middle">{escape(axis)}</text>'


def _points(frame: Frame, series: Series, shape: int, dodge: float, names: Sequence[str]) -> Iterator[str]:
    yield f'<g class="{series.key}">'
    for slot, (found, published) in enumerate(zip(series.ours, series.published, strict=True)):
        x = frame.x(slot + dodge, len(names))
        told = f"{series.label}, {names[slot]} bytes"
        yield f"<g><title>{escape(told)}: paper {published:g}</title>"
        yield f"{marker(shape, x, frame.y(published), hollow=True)}</g>"
        if found is None:
            continue
        half = found.half_width or 0.0
        spread = f" ± {half:.3g}" if half else ""
        low, high = frame.y(max(found.value - half, frame.low)), frame.y(min(found.value + half, frame.high))
        yield f"<g><title>{escape(told)}: ours {found.value:.3g}{spread}</title>"
        yield f'<line class="interval" x1="{x:g}" x2="{x:g}" y1="{low:g}" y2="{high:g}"/>'
        yield f"{marker(shape, x, frame.y(found.value), hollow=False)}</g>"
    yield "</g>"

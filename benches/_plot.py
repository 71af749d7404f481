"""A plot with two logarithmic axes, as a self-contained SVG for light and dark colour schemes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720.0, 400.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 20.0, 44.0, 74.0

STYLE = """
.plot { font: 12px system-ui, sans-serif; }
.plot text { fill: #444; } .plot .title { font-size: 15px; font-weight: 600; fill: #222; }
.plot .sheet { fill: #fff; } .plot .grid { stroke: #ddd; } .plot .axis { stroke: #777; }
.plot polyline { fill: none; stroke-width: 2; } .plot .quoted polyline { stroke-dasharray: 5 4; }
.plot .c0 { stroke: #1f5fbf; fill: #1f5fbf; } .plot .c1 { stroke: #c2540a; fill: #c2540a; }
.plot .c2 { stroke: #777; fill: #777; } .plot g text { stroke: none; }
@media (prefers-color-scheme: dark) {
  .plot .sheet { fill: #16181c; } .plot text { fill: #ccc; } .plot .title { fill: #eee; }
  .plot .grid { stroke: #333; } .plot .axis { stroke: #999; }
  .plot .c0 { stroke: #7fb0ff; fill: #7fb0ff; } .plot .c1 { stroke: #ffa25c; fill: #ffa25c; }
  .plot .c2 { stroke: #aaa; fill: #aaa; }
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Points that a line connects; all coordinates are positive."""

    label: str
    points: tuple[tuple[float, float], ...]
    quoted: bool = False
    """Whether the points come from another source; such a curve is dashed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """A logarithmic axis from ``low`` at ``start`` to ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def steps(self, digits: Sequence[int]) -> Iterator[float]:
        for exponent in range(
            math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1
        ):
            for digit in digits:
                if self.low <= (step := digit * 10.0**exponent) <= self.high:
                    yield step


def log_plot(curves: Sequence[Curve], *, title: str, across: str, up: str, foot: str) -> str:
    """Draw the curves; ``across`` and ``up`` label the axes, ``foot`` is a line below the plot."""
    xs = [x for curve in curves for x, _ in curve.points]
    ys = [y for curve in curves for _, y in curve.points]
    x = _Axis(low=min(xs), high=max(xs), start=LEFT + 14, end=WIDTH - RIGHT - 14)
    y = _Axis(
        low=_round(min(ys), up=False), high=_round(max(ys), up=True), start=HEIGHT - BOTTOM, end=TOP
    )
    size = f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}" width="{WIDTH:g}"'
    turned = f'transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2:g}) rotate(-90)"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" {size} role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<rect class="sheet" width="{WIDTH:g}" height="{HEIGHT:g}"/>',
        f'<text class="title" x="{LEFT:g}" y="24">{escape(title)}</text>',
        *_axes(x, y),
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT - 36:g}" text-anchor="middle">{escape(across)}</text>',
        f'<text {turned} text-anchor="middle">{escape(up)}</text>',
        f'<text x="{LEFT:g}" y="{HEIGHT - 10:g}">{escape(foot)}</text>',
    ]
    for number, curve in enumerate(curves):
        parts += _curve(number, curve, x, y)
    return "\n".join([*parts, "</svg>", ""])


def _round(value: float, *, up: bool) -> float:
    """The next larger or smaller value among 1, 2, 5 and their decades."""
    decade = 10.0 ** math.floor(math.log10(value))
    steps = [digit * decade for digit in (1, 2, 5, 10)]
    return (
        min(step for step in steps if step >= value)
        if up
        else max(step for step in steps if step <= value)
    )


def _axes(x: _Axis, y: _Axis) -> Iterator[str]:
    for step in y.steps((1, 2, 5)):
        yield f'<line class="grid" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y.at(step):g}" y2="{y.at(step):g}"/>'
        yield f'<text x="{LEFT - 8:g}" y="{y.at(step) + 4:g}" text-anchor="end">{step:g}</text>'
    yield f'<line class="axis" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{HEIGHT - BOTTOM:g}" y2="{HEIGHT - BOTTOM:g}"/>'
    for step in x.steps((1,)):
        label = f"{step:,.0f}".replace(",", "\u202f")
        yield f'<text x="{x.at(step):g}" y="{HEIGHT - BOTTOM + 18:g}" text-anchor="middle">{label}</text>'


def _curve(number: int, curve: Curve, x: _Axis, y: _Axis) -> Iterator[str]:
    places = [(x.at(across), y.at(up)) for across, up in curve.points]
    yield f'<g class="{"quoted" if curve.quoted else "measured"}">'
    joined = " ".join(f"{px:g},{py:g}" for px, py in places)
    yield f'<polyline class="c{number}" style="fill: none" points="{joined}"/>'
    for (px, py), (across, up) in zip(places, curve.points, strict=True):
        title = f"{curve.label}: {across:g} flows, {up:.0f} ns"
        yield f'<circle class="c{number}" cx="{px:g}" cy="{py:g}" r="4"><title>{escape(title)}</title></circle>'
    row = TOP + 14 + 18 * number
    yield f'<circle class="c{number}" cx="{LEFT + 24:g}" cy="{row - 4:g}" r="4"/>'
    yield f'<text x="{LEFT + 36:g}" y="{row:g}">{escape(curve.label)}</text></g>'

"""What a series looks like: its colour and shape, the same in every figure; markers and the legend's signs, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tcpsf.report.evaluation import Figure, Series


def _polygon(corners: int, *, radius: float, turn: float = 0.0, inner: float | None = None) -> str:
    """A regular polygon about the origin with a corner at the top, or a star; ``turn`` is in degrees."""
    points = []
    for number in range(corners):
        angle = math.radians(360.0 * number / corners + turn)
        away = radius if inner is None or number % 2 == 0 else inner
        points.append(f"{away * math.sin(angle):.2f} {-away * math.cos(angle):.2f}")
    return f"M{' L'.join(points)}Z"


SHAPES = (
    "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0 -8.4 0Z",
    _polygon(4, radius=5.2, turn=45),
    _polygon(3, radius=5.4),
    _polygon(4, radius=5.4),
    _polygon(3, radius=5.4, turn=180),
    _polygon(10, radius=6.0, inner=2.6),
    _polygon(6, radius=4.9),
    _polygon(8, radius=6.0, inner=2.2),
)
"""Markers, as paths; the page defines each once."""
COLOURS = len(SHAPES)
"""The page has as many colours as shapes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a series looks: a colour, and a shape for whom colour tells nothing."""

    colour: int
    shape: int


class Kind(StrEnum):
    """What stands for a value: the name of a family of shapes on the page."""

    OURS = "m"
    PUBLISHED = "p"


def known_styles(figures: Sequence[Figure]) -> dict[str, int]:
    """Number the series' keys in the order in which the figures show them."""
    keys = dict.fromkeys(series.key for figure in figures for series in figure.series)
    return {key: number for number, key in enumerate(keys)}


def styles(series: Sequence[Series], known: Mapping[str, int]) -> tuple[Style, ...]:
    """Everybody's own style, and the next free one for who finds it taken by an earlier key.

    There are as many styles as colours and shapes together: shapes move on when the colours come again.
    """
    taken: dict[int, int] = {}
    for number in sorted(range(len(series)), key=lambda number: known.get(series[number].key, 0)):
        slot = known.get(series[number].key, 0) % COLOURS
        while slot in taken:
            slot += 1
        taken[slot] = number
    slots = {number: slot for slot, number in taken.items()}
    return tuple(
        Style(colour=slots[number] % COLOURS, shape=(slots[number] + 3 * (slots[number] // COLOURS)) % COLOURS)
        for number in range(len(series))
    )


def use(kind: Kind, style: Style, x: str, y: float) -> str:
    """A point: a shape that the page defines, at a place across (per cent) and so many pixels down."""
    return f'<use class="{kind}" href="#{kind}{style.shape}" x="{x}" y="{y:.1f}"/>'


def legend_marker(series: Series, style: Style, *, joined: bool) -> str:
    """A series' line and marker, its marker alone, or its bar, as a drawing of its own."""
    if series.style == "bar":
        inside = '<rect class="bar" x="8" y="1" width="12" height="12"/>'
    else:
        line = '<line class="line" x1="0" x2="28" y1="7" y2="7"/>' if joined else ""
        inside = line + use(Kind.OURS, style, "14", 7)
    return _key(inside, f"c{style.colour}")


def published_marker() -> str:
    """The sign of a published value, for the legend."""
    return _key(use(Kind.PUBLISHED, Style(colour=0, shape=0), "14", 7))


def interval_marker(*, band: bool) -> str:
    """The sign of an interval, for the legend."""
    if band:
        return _key('<rect class="band" x="0" y="1" width="28" height="12"/>')
    return _key('<line class="interval" x1="14" x2="14" y1="0" y2="14"/>')


def _key(inside: str, colour: str = "") -> str:
    return f'<svg class="{f"key {colour}".strip()}" width="28" height="14" aria-hidden="true">{inside}</svg>'

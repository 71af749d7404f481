"""Appearance of a series, the same on every page: markers and signs of the legend, as SVG.

`STYLES` gives a fixed colour and shape to the senders, policies and models that several pages show.
Other series take the remaining colours, in the order in which a page shows them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tcpsf.chart.panel import Curve, Panel


def _polygon(corners: int, *, radius: float, turn: float = 0.0, inner: float | None = None) -> str:
    """A regular polygon about the origin with a corner at the top, or a star.

    ``turn`` is in degrees.
    """
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
"""Markers as paths; the page defines each once."""
COLOURS = len(SHAPES)
"""Number of colours, which equals the number of shapes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """Style of a series: a colour, and a shape for readers who cannot distinguish the colours."""

    colour: int
    shape: int
    light: bool = False
    """Whether it is a second curve or bar of the same colour, dashed or paler."""

    @property
    def classes(self) -> str:
        """CSS classes for the colour of the series."""
        return f"c{self.colour}{' light' if self.light else ''}"


def _of(colour: int, shape: int | None = None, *, light: bool = False) -> Style:
    return Style(colour=colour, shape=colour if shape is None else shape, light=light)


CLASSIC, VARIABLE, FIXED = 0, 1, 2
"""Colours that only full-sized, variable-size and fixed-size segments have."""

_REPAIRS = (
    (6, ("timeout", "syn_timeout", "syn_ack_timeout")),
    (VARIABLE, ("tail_loss_probe", "probe_of_new_data")),
    (
        FIXED,
        ("rack", "rack_timer", "sack", "fack", "three_duplicates", "early_retransmit"),
    ),
    (3, ("recovery", "slow_start", "lost_retransmission")),
    (5, ("unknown", "path_mtu")),
)
"""Colours of the causes of retransmissions in captures; causes of the same kind share one."""

STYLES: Mapping[str, Style] = {
    "classic": _of(CLASSIC),
    "full-sized": _of(CLASSIC),
    "reno": _of(CLASSIC),
    "classic-beside-vs": _of(CLASSIC, 5),
    "classic-beside-fs": _of(CLASSIC, 6, light=True),
    "vs": _of(VARIABLE),
    "vs-linear": _of(VARIABLE),
    "vs-constant": _of(VARIABLE, 5, light=True),
    "lt-vs": _of(VARIABLE),
    "w2-vs": _of(VARIABLE, 5, light=True),
    "fs": _of(FIXED),
    "fs-linear": _of(FIXED),
    "fs-constant": _of(FIXED, 6, light=True),
    "lt-fs": _of(FIXED),
    "w2-fs": _of(FIXED, 6, light=True),
    "lt": _of(4),
    "w2": _of(4, 7, light=True),
    "vegas": _of(3),
    "sc-1.5": _of(4),
    "sc-3": _of(5),
    "sc-5": _of(7),
    "epd": _of(3),
    "bpd": _of(4),
    "ppd": _of(5),
    "plain": _of(6),
    "gap-5": _of(5),
    "gap-10": _of(6),
    "gap-15": _of(7),
    "gap-20": _of(6),
    "gap-25": _of(4),
    "gap-35": _of(7),
    "kernel": _of(3),
    "kernel-median": _of(3, 7, light=True),
    "ours": _of(4),
    "lossless": _of(5),
    "lossless-2": _of(5, 3, light=True),
    "steady": _of(6),
    "short": _of(7),
    "short-2": _of(7, 2, light=True),
    "lossless_s": _of(5),
    "steady_state_s": _of(6),
    "short_flow_s": _of(7),
    "latency_s": _of(4),
    "sequence:segments": _of(CLASSIC),
    "sequence:acknowledged": _of(4),
    "sequence:window": _of(CLASSIC, 1, light=True),
    "sequence:sack": _of(7),
    "sequence:dsack": _of(7, 0, light=True),
    **{
        f"repair:{cause}": _of(colour, shape, light=shape % 2 == 1)
        for colour, causes in _REPAIRS
        for shape, cause in enumerate(causes)
    },
}
"""Styles by the key of a series."""

_FREE = tuple(range(FIXED + 1, COLOURS))
"""Colours of curves that `STYLES` does not name, beside curves that it names."""
_EVERY = (FIXED, VARIABLE, *_FREE, CLASSIC)
"""All colours, in the order in which curves without a named one take them."""


class Kind(StrEnum):
    """Kind of a marker, by the name of its family of shapes on the page."""

    OURS = "m"
    PUBLISHED = "p"


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """Styles of the keys that `STYLES` does not name."""

    numbers: Mapping[str, int] = field(default_factory=dict)
    """Number of each such key; a key without a number counts as 0."""
    colours: tuple[int, ...] = _FREE

    def slot(self, number: int) -> Style:
        """Style of a number: the colours in turn, with other shapes in each round."""
        turn, place = divmod(number, len(self.colours))
        colour = self.colours[place]
        return _of(colour, (colour + 3 * turn) % COLOURS, light=turn % 2 == 1)


def palette(panels: Iterable[Panel]) -> Palette:
    """Number the keys that `STYLES` does not name, in the order in which the panels show them.

    If it names none of the keys, no colour is reserved.
    """
    keys = dict.fromkeys(curve.key for panel in panels for curve in panel.curves)
    unnamed = [key for key in keys if key not in STYLES]
    return Palette(
        numbers={key: number for number, key in enumerate(unnamed)},
        colours=_EVERY if len(unnamed) == len(keys) else _FREE,
    )


def styles(curves: Sequence[Curve], known: Palette) -> tuple[Style, ...]:
    """Style of each curve: that of its key, or the next free one if that is taken."""
    taken: dict[Style, int] = {}
    order = sorted(
        range(len(curves)),
        key=lambda number: (
            curves[number].key not in STYLES,
            known.numbers.get(curves[number].key, 0),
        ),
    )
    for number in order:
        key = curves[number].key
        slot = known.numbers.get(key, 0)
        style = STYLES.get(key) or known.slot(slot)
        while style in taken:
            style = known.slot(slot)
            slot += 1
        taken[style] = number
    by_number = {number: style for style, number in taken.items()}
    return tuple(by_number[number] for number in range(len(curves)))


def use(kind: Kind, style: Style, x: str, y: float) -> str:
    """A point: a shape that the page defines.

    ``x`` is the horizontal position, with % or in pixels. ``y`` is the distance from the top in
    pixels.
    """
    return f'<use class="{kind}" href="#{kind}{style.shape}" x="{x}" y="{y:.1f}"/>'


def legend_marker(curve: Curve, style: Style, *, joined: bool) -> str:
    """A drawing of a curve's line and marker, its marker alone, or its bar."""
    if curve.style == "bar":
        inside = '<rect class="bar" x="8" y="1" width="12" height="12"/>'
    elif curve.spanned:
        bold = " bold" if curve.style == "bold-span" else ""
        inside = f'<path class="spans{bold}" d="M9 2V8M14 1V7M19 5V13"/>'
    else:
        line = '<line class="line" x1="0" x2="28" y1="7" y2="7"/>' if joined else ""
        inside = line + use(Kind.OURS, style, "14", 7)
    return _key(inside, style.classes)


def published_marker() -> str:
    """The sign of a published value, for the legend."""
    return _key(use(Kind.PUBLISHED, _of(CLASSIC), "14", 7))


def interval_marker(*, band: bool) -> str:
    """The sign of an interval, for the legend."""
    if band:
        return _key('<rect class="band" x="0" y="1" width="28" height="12"/>')
    return _key('<line class="interval" x1="14" x2="14" y1="0" y2="14"/>')


def _key(inside: str, colour: str = "") -> str:
    return f'<svg class="{f"key {colour}".strip()}" width="28" height="14" aria-hidden="true">{inside}</svg>'

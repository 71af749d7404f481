"""Charts as SVG documents of their own, for pages of documentation and for papers."""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Literal, TypeAlias

from tcpsf.chart import axes, layout, lying, marks, upright
from tcpsf.chart.panel import Panel

Theme: TypeAlias = Literal["auto", "light", "dark", "paper"]
"""Colours of a document; ``auto`` is light or dark, as the reader of a page prefers.

Only ``auto`` uses CSS variables, which many programs other than browsers do not support.
"""

MARGIN = 16.0
"""Empty border around the document, and between two panels, in pixels."""
LINE = 18.0
"""Height of a line of text in pixels."""
KEY = 34.0
"""Width of a sign of the legend with the space behind it, in pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lettering:
    """Words of a document around its panels."""

    title: str
    notes: Sequence[str] = ()
    reference: str
    """Source of the published values."""
    interval: str
    """Kind of the intervals."""


def document(
    panels: Sequence[Panel],
    known: marks.Palette,
    words: Lettering,
    *,
    theme: Theme,
    width: float,
    columns: int,
) -> str:
    """Draw panels in rows of ``columns``, with one legend.

    The document is ``width`` pixels wide. A series' key looks the same in each panel.
    """
    flat = bool(panels[0].groups)
    scales = (lying.fitted if flat else upright.fitted)(panels)
    columns = min(columns, len(panels))
    left = max(each.left for each in _drawn(panels, known, scales, 400.0)) + LINE
    room = (width - MARGIN) / columns - left - MARGIN
    room = max(room, 80.0)
    drawn = _drawn(panels, known, scales, room)
    shown = layout.placed(panels, known, reference=words.reference, interval=words.interval)
    above = MARGIN + (2 * LINE if words.title else 0.0)
    tall = [
        _height(panel, each, room, titled=len(panels) > 1)
        for panel, each in zip(panels, drawn, strict=True)
    ]
    rows = [max(tall[at : at + columns]) for at in range(0, len(panels), columns)]
    below = above + sum(rows)
    legend = list(_legend(shown, width))
    foot = below + LINE * len(words.notes) + (8 if words.notes else 0)
    height = foot + LINE * 1.3 * (legend[-1][1] + 1 if legend else 0) + MARGIN
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    kind = "plate chart solid" if shown.solid else "plate chart"
    parts = [
        f'<svg class="{kind}" xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(words.title)}">',
        f"<style>{_style(theme)}</style><defs>{''.join(_shapes())}</defs>",
        '<rect class="sheet" width="100%" height="100%"/>',
    ]
    if words.title:
        parts.append(_text("title", words.title, MARGIN, MARGIN + LINE))
    for number, (panel, each) in enumerate(zip(panels, drawn, strict=True)):
        x = MARGIN + (number % columns) * (left + room + MARGIN)
        y = above + sum(rows[: number // columns])
        parts += _panel(panel, each, x + left, y, room, titled=len(panels) > 1)
    for number, note in enumerate(words.notes, start=1):
        parts.append(_text("tick", note, MARGIN, below + number * LINE - 6))
    for x, row, sign, label in legend:
        y = foot + LINE * 1.3 * row
        parts.append(f'<g transform="translate({x:g} {y:g})">{sign}{_text("", label, KEY, 11)}</g>')
    return "".join([*parts, "</svg>\n"])


def _drawn(
    panels: Sequence[Panel],
    known: marks.Palette,
    scales: tuple[axes.AxisScale, axes.AxisScale],
    width: float,
) -> list[upright.Drawn]:
    draw = lying.draw if panels[0].groups else upright.draw
    return [draw(panel, known, scales=scales, width=width) for panel in panels]


def _height(panel: Panel, drawn: upright.Drawn, width: float, *, titled: bool) -> float:
    lines = (1 if titled else 0) + len(_below(panel, width))
    return lines * LINE + 8 + drawn.height + drawn.foot + MARGIN


def _panel(
    panel: Panel, drawn: upright.Drawn, x: float, y: float, width: float, *, titled: bool
) -> Iterator[str]:
    flat = bool(panel.groups)
    up = panel.x if flat else panel.y
    if titled:
        yield _text("head", panel.title, x, y + LINE - 6)
        y += LINE
    yield _text("", upright.titled(up), x, y + LINE - 6)
    y += LINE + 8
    kind = ' class="dense"' if panel.dense else ""
    yield f'<svg{kind} x="{x:g}" y="{y:g}" width="{width:g}" height="{drawn.height:g}" overflow="visible">'
    yield drawn.svg
    yield "</svg>"
    bottom = y + drawn.height + drawn.foot - 8
    for number, line in enumerate(_below(panel, width)):
        kind = "tick" if line in panel.notes else "along"
        at = f'x="{x + width / 2:g}" y="{bottom + LINE * number:g}"'
        yield f'<text class="{kind}" {at} text-anchor="middle">{escape(line)}</text>'


def _below(panel: Panel, width: float) -> list[str]:
    """Lines of text below a panel's ticks: the name of the axis, and the notes."""
    along = upright.titled(panel.y if panel.groups else panel.x)
    letters = max(int(width / axes.PIXELS_PER_LETTER), 12)
    return [*textwrap.wrap(along, letters), *panel.notes]


def _legend(shown: layout.Placed, width: float) -> Iterator[tuple[float, int, str, str]]:
    """Yield position, row, sign and label of each entry of the legend."""
    x, row = MARGIN, 0
    entries = [(sign, label) for _, sign, label in shown.keys] + list(shown.signs)
    for sign, label in entries:
        wide = KEY + axes.width(label) + MARGIN
        if x > MARGIN and x + wide > width:
            x, row = MARGIN, row + 1
        yield x, row, sign, label
        x += wide


def _text(kind: str, words: str, x: float, y: float) -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f'<text{attribute} x="{x:g}" y="{y:g}">{escape(words)}</text>'


def _shapes() -> Iterator[str]:
    for number, shape in enumerate(marks.SHAPES):
        yield f'<path id="m{number}" d="{shape}"/><path id="p{number}" d="{shape}" transform="scale(1.35)"/>'


@functools.cache
def _style(theme: Theme) -> str:
    """Style of a document: the part of the pages' style that concerns drawings."""
    sheet = (files("tcpsf.chart") / "templates" / "chart.css").read_text(encoding="utf-8")
    light, dark, paper = re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)
    rules = sheet.partition("/* drawings */")[2].partition("/* end of drawings */")[0]
    rules += ".sheet { fill: var(--page); } .plate .title { font-size: 15px; font-weight: 600; }\n"
    rules += ".spare { display: none; }\n"
    if theme == "auto":
        scheme = f"@media (prefers-color-scheme: dark) {{ .plate {{{dark}}} }}"
        return f".plate {{{light}}}\n{scheme}\n{rules}"
    chosen = {"light": light, "dark": dark, "paper": paper}[theme]
    colours = dict(re.findall(r"--(\w+): ([^;]+);", chosen))
    return re.sub(r"var\(--(\w+)\)", lambda name: colours[name[1]], rules)

"""Figures as a stand-alone SVG file for pages of the documentation, in light and dark.

``python -m tcpsf.pages.plate FOLDER`` draws the figures of the concept pages.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from tcpsf.evaluation.data import Figure
from tcpsf.report import chart, marks

WIDTH = 400.0
"""Length of a figure's horizontal axis in pixels."""
LEFT, RIGHT, TOP, FOOT = 58.0, 22.0, 64.0, 48.0
KEY_HEIGHT = 22.0
NOTE_HEIGHT = 18.0

STYLE = """
.plate { font: 12px system-ui, sans-serif; --ink: #222; --soft: #666; --rule: #dde0e4; --page: #fff;
  --c0: #4a5568; --c1: #b4530a; --c2: #0b65b0; --c3: #9c2a7b;
  --c4: #00735c; --c5: #6b5d00; --c6: #8b1a1a; --c7: #5b4bc4; }
@media (prefers-color-scheme: dark) { .plate { --ink: #e6e7e9; --soft: #a9aeb4; --rule: #363a3f; --page: #16181b;
  --c0: #b6bfca; --c1: #f0a35e; --c2: #6cb4f2; --c3: #ee8fc4;
  --c4: #4fc7a1; --c5: #d6c35a; --c6: #ff8a80; --c7: #b3a6ff; } }
.plate text { fill: var(--ink); } .plate .title { font-size: 14px; font-weight: 600; }
.plate .sheet { fill: var(--page); }
.plate .tick { fill: var(--soft); } .plate .grid { stroke: var(--rule); }
.plate .axis, .plate .mark { stroke: var(--ink); stroke-width: 1.2; } .plate .spare, .plate .guide { display: none; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); }
.plate .line { fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linejoin: round;
  vector-effect: non-scaling-stroke; }
.c3 .line, .c6 .line { stroke-dasharray: 7 3; } .c4 .line, .c7 .line { stroke-dasharray: 2 2.5; }
.c5 .line { stroke-dasharray: 8 3 2 3; }
.light .line { stroke-dasharray: 3 2; stroke-opacity: .85; }
.plate .bar { fill: currentColor; fill-opacity: .45; stroke: currentColor; }
.plate .m { fill: currentColor; stroke: var(--page); stroke-width: .6; }
.plate .p { fill: none; stroke: currentColor; stroke-width: 1.6; }
"""


def plate(figures: Sequence[Figure], *, title: str) -> str:
    """Draw figures side by side, with one legend for all.

    A series' key looks the same in each figure.
    """
    known = marks.known_styles(figures)
    labels = {series.key: series for figure in figures for series in figure.series}
    styles = {
        series.key: style
        for figure in figures
        for series, style in zip(figure.series, marks.styles(figure.series, known), strict=True)
    }
    wide = LEFT + WIDTH + RIGHT
    across = wide * len(figures)
    per_row = max(int((across - LEFT) // 130), 1)
    rows = -(-len(labels) // per_row)
    foot = FOOT + NOTE_HEIGHT * max(len(figure.notes) for figure in figures)
    height = TOP + chart.HEIGHT + foot + rows * KEY_HEIGHT
    size = f'width="{across:g}" height="{height:g}" viewBox="0 0 {across:g} {height:g}"'
    parts = [
        f'<svg class="plate" xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style><defs>{''.join(_shapes())}</defs>",
        '<rect class="sheet" width="100%" height="100%"/>',
    ]
    for number, figure in enumerate(figures):
        parts += _panel(figure, chart.draw(figure, known), number * wide)
    for number, (key, series) in enumerate(labels.items()):
        x = LEFT + number % per_row * 130.0
        y = TOP + chart.HEIGHT + foot + (number // per_row) * KEY_HEIGHT
        sign = marks.legend_marker(series, styles[key], joined=series.style != "bar")
        parts.append(
            f'<g transform="translate({x:g} {y:g})">{sign}<text x="36" y="11">{escape(series.label)}</text></g>'
        )
    return "".join([*parts, "</svg>\n"])


def _panel(figure: Figure, drawn: chart.Chart, left: float) -> Iterator[str]:
    x = left + LEFT
    yield f'<text class="title" x="{x:g}" y="24">{escape(figure.title)}</text>'
    yield f'<text x="{x:g}" y="{TOP - 14:g}">{escape(chart.titled(figure.y))}</text>'
    yield f'<svg x="{x:g}" y="{TOP:g}" width="{WIDTH:g}" height="{chart.HEIGHT:g}" overflow="visible">'
    yield drawn.svg.replace("<svg ", '<svg overflow="visible" width="100%" ', 1)
    yield "</svg>"
    middle, low = x + WIDTH / 2, TOP + chart.HEIGHT + 36
    yield f'<text x="{middle:g}" y="{low:g}" text-anchor="middle">{escape(chart.titled(figure.x))}</text>'
    for number, note in enumerate(figure.notes, start=1):
        y = low + number * NOTE_HEIGHT
        yield f'<text class="tick" x="{middle:g}" y="{y:g}" text-anchor="middle">{escape(note)}</text>'


def _shapes() -> Iterator[str]:
    for number, shape in enumerate(marks.SHAPES):
        yield f'<path id="m{number}" d="{shape}"/><path id="p{number}" d="{shape}" transform="scale(1.35)"/>'


def main() -> None:
    """Draw the figures of the concept pages into the folder that is given."""
    from tcpsf.reproduce.closed_best_framing import best_framing_figures

    if len(sys.argv) != 2:
        sys.exit("usage: python -m tcpsf.pages.plate FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    drawing = plate(
        best_framing_figures(), title="Cost of loss for a reply of 1200 bytes, by framing"
    )
    (folder / "best-framing.svg").write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Figures as stand-alone SVG files for pages of the documentation, in light and dark.

``python -m tcpsf.pages.plate FOLDER`` draws the figures of the concept pages.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tcpsf.chart import Plot
from tcpsf.evaluation.data import Figure
from tcpsf.report.evaluation_page import panel

WIDTH = 480.0
"""Width of a figure in pixels."""


def plate(figures: Sequence[Figure], *, title: str) -> str:
    """Draw figures, which share their axes, side by side, with one legend for all."""
    plot = Plot(title=title, panels=tuple(map(panel, figures)))
    return plot.svg(theme="auto", width=WIDTH * len(figures), columns=len(figures))


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

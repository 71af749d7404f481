"""Figures as files that stand by themselves: whole, with all they refer to, and as committed."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from conftest import REPOSITORY

from tcpsf.pages.plate import plate
from tcpsf.reproduce.closed_best_framing import best_framing_figures

SVG = "{http://www.w3.org/2000/svg}"


def test_a_plate_is_whole_and_as_committed() -> None:
    figures = best_framing_figures()
    drawing = plate(figures, title="a <title>")
    root = ET.fromstring(drawing)  # noqa: S314 (we have just drawn it)
    names = {each.get("id") for each in root.iter() if each.get("id")}
    used = {each.get("href", "").removeprefix("#") for each in root.iter(f"{SVG}use")}
    assert used
    assert used <= names
    texts = [text.text for text in root.iter(f"{SVG}text")]
    for figure in figures:
        assert figure.title in texts
        for series in figure.series:
            assert texts.count(series.label) == 1, "one legend for all"
    committed = (REPOSITORY / "docs" / "concepts" / "img" / "best-framing.svg").read_text(
        encoding="utf-8"
    )
    assert committed == plate(
        figures, title="Cost of loss for a reply of 1200 bytes, by framing"
    ), "run `make docs`"

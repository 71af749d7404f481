"""The example notebooks: they are as short as they say, they run, and they end in a plot."""

from __future__ import annotations

import base64
import html
import re
import zlib
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import pytest
from conftest import REPOSITORY

from tcpsf.papers.smart_framing import VARIANTS

NOTEBOOKS = sorted((REPOSITORY / "docs" / "examples").glob("*.ipynb"))


def read(path: Path) -> nbformat.NotebookNode:
    notebook: nbformat.NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def test_there_is_a_notebook() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["completion-times"]


def test_ten_lines_are_ten_lines() -> None:
    (code,) = (cell.source for cell in read(NOTEBOOKS[0]).cells if cell.cell_type == "code")
    assert len([line for line in code.splitlines() if line.strip()]) == 10


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_ends_in_a_plot(path: Path) -> None:
    notebook = read(path)
    assert not any(cell.get("outputs") for cell in notebook.cells), (
        "commit it without what it printed"
    )
    nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": path.parent}}
    ).execute()
    *_, last = (cell for cell in notebook.cells if cell.cell_type == "code")
    (output,) = last.outputs
    assert output.output_type == "execute_result"
    (page,) = re.findall(r'srcdoc="(.*?)"></iframe>', output.data["text/html"], re.DOTALL)
    drawn = html.unescape(page)
    for variant in VARIANTS:
        assert f"</svg>{variant.label}</span>" in drawn
    curves = re.findall(r'class="packed" data-count="(\d+)".*?>([^<]+)</script>', drawn)
    assert len(curves) == len(VARIANTS)
    for length, data in curves:  # both runs are one distribution, which only grows
        count = int(length)
        content = zlib.decompress(base64.b64decode(data))
        shares = np.frombuffer(content, "<f4", count, 4 * count)
        assert count > 1000
        assert (np.diff(shares) > 0).all()
        assert shares[-1] == 1.0

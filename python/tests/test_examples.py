"""The example notebooks: they run, their stored outputs are up to date, and they end in a plot."""

from __future__ import annotations

import base64
import html
import re
import zlib
from functools import cache
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import pytest
from conftest import REPOSITORY

from tcpsf.papers.smart_framing import VARIANTS

EXAMPLES = REPOSITORY / "docs" / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def read(path: Path) -> nbformat.NotebookNode:
    notebook: nbformat.NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


@cache
def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with new outputs."""
    notebook = read(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    resources = {"metadata": {"path": path.parent}}
    return nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()


def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_are_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "comparing-senders",
        "completion-times",
        "own-loss-model",
        "study",
    ]


def test_ten_lines_are_ten_lines() -> None:
    (cell,) = code(read(EXAMPLES / "completion-times.ipynb"))
    assert len([line for line in cell.source.splitlines() if line.strip()]) == 10


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_the_outputs_of_its_code(path: Path) -> None:
    """Tables and plots are those of a new execution. Plots are stored as SVG."""
    pairs = list(zip(code(read(path)), code(executed(path)), strict=True))
    for stored, new in pairs:
        (before,), (after,) = stored.outputs, new.outputs
        assert before.output_type == after.output_type == "execute_result"
        shown = {kind: after.data[kind] for kind in before.data}
        assert before.data == shown, "write them again: python tools/execute_notebooks.py"
    assert "image/svg+xml" in pairs[-1][0].outputs[0].data


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("completion-times", [variant.label for variant in VARIANTS]),
        ("comparing-senders", ["full-sized segments", "Smart Framing"]),
        ("own-loss-model", ["independent losses", "outages"]),
    ],
)
def test_a_notebook_ends_in_distributions(name: str, labels: list[str]) -> None:
    (output,) = code(executed(EXAMPLES / f"{name}.ipynb"))[-1].outputs
    (page,) = re.findall(r'srcdoc="(.*?)"></iframe>', output.data["text/html"], re.DOTALL)
    drawn = html.unescape(page)
    for label in labels:
        assert f"</svg>{label}</span>" in drawn
    curves = re.findall(r'class="packed" data-count="(\d+)".*?>([^<]+)</script>', drawn)
    assert len(curves) == len(labels)
    for length, data in curves:  # all runs are one distribution, which only grows
        count = int(length)
        content = zlib.decompress(base64.b64decode(data))
        columns = np.frombuffer(content, np.uint8, 4 * count, 4 * count).reshape(4, count)
        shares = np.ascontiguousarray(columns.T).view("<f4").ravel()
        assert count > 1000
        assert (np.diff(shares) > 0).all()
        assert shares[-1] == 1.0

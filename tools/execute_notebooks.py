"""Execute the example notebooks, and store their outputs, with the plots as SVG.

Usage: ``python tools/execute_notebooks.py [FILE…]``, by default every notebook of ``docs/examples``.
A page of a notebook on a forge shows SVG without a script.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbclient
import nbformat

EXAMPLES = Path(__file__).resolve().parents[1] / "docs" / "examples"

SVG = "image/svg+xml"


def execute(path: Path) -> None:
    """Execute a notebook in its folder, and write it with its outputs."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    metadata = dict(notebook.metadata)
    nbclient.NotebookClient(
        notebook,
        timeout=600,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    notebook.metadata = nbformat.from_dict(metadata)  # type: ignore[no-untyped-call]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, cell in enumerate(code, start=1):
        cell.execution_count = count
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = count
            if SVG in output.get("data", {}):
                output.data.pop("text/html", None)
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:] or sorted(map(str, EXAMPLES.glob("*.ipynb")))):
        execute(file.resolve())
        print(file)  # noqa: T201

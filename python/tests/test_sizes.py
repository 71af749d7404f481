"""Lengths of Python files and functions, as `crates/testkit/tests/sizes.rs` checks Rust files.

A longer file is divided by topic, into modules whose contents one sentence describes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

FOLDERS = ("python", "verification", "benches", "tools")
"""Folders of Python sources, relative to the root of the repository."""

MOST_LINES = 500
"""Maximum number of lines of a file."""
MOST_LINES_OF_A_FUNCTION = 60
"""Maximum number of lines of a function with its docstring, without its decorators."""

TO_DIVIDE = {"python/tcpsf/scenario/model.py"}
"""Files that are still too long; remove a file from this set when it is divided."""


def sources() -> list[Path]:
    """The Python files of `FOLDERS`."""
    return [path for folder in FOLDERS for path in sorted((REPOSITORY / folder).rglob("*.py"))]


def long_functions(text: str) -> Iterator[tuple[str, int]]:
    """Names and lengths of the functions that are too long."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MOST_LINES_OF_A_FUNCTION:
                yield node.name, lines


def test_no_file_is_too_long() -> None:
    found = sources()
    assert len(found) > 100
    lengths = {
        path.relative_to(REPOSITORY).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in found
    }
    too_long = {path: lines for path, lines in lengths.items() if lines > MOST_LINES}
    assert too_long.keys() == TO_DIVIDE


def test_no_function_is_too_long() -> None:
    found = {
        f"{path.relative_to(REPOSITORY)}: {name}": lines
        for path in sources()
        for name, lines in long_functions(path.read_text(encoding="utf-8"))
    }
    assert not found


def test_a_long_function_is_found() -> None:
    body = "\n".join("    x = 1" for _ in range(MOST_LINES_OF_A_FUNCTION))
    assert list(long_functions(f"def long():\n{body}\n")) == [("long", 61)]
    assert not list(long_functions("def short():\n    x = 1\n"))

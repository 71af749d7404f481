"""The reference page of each paper lists the options and the `--only` keys of its command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import click
import pytest
from conftest import REPOSITORY

from tcpsf.cli.reproduce_commands import reproduce
from tcpsf.reproduce import catalogue

PAGES = {
    "smart-framing": "evaluation.md",
    "santa-cruz": "santa-cruz.md",
    "packet-discard": "packet-discard.md",
    "short-flows": "short-flows.md",
}
"""Page of each paper below ``docs/reference``."""


def first_cells(paper: str, heading: str) -> list[str]:
    """First cells of the rows of the page's table whose first column has this heading."""
    page = (REPOSITORY / "docs" / "reference" / PAGES[paper]).read_text(encoding="utf-8")
    (table,) = re.findall(
        rf"^\| {heading} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", page, flags=re.MULTILINE
    )
    return [row.split("|")[1] for row in table.splitlines()]


def code(cell: str) -> Iterator[str]:
    """First word of each code span of a cell, without those in parentheses."""
    for span in re.findall(r"`([^`]+)`", re.sub(r"\([^)]*\)", "", cell)):
        yield span.split()[0]


def keys_of(cell: str) -> Iterator[str]:
    """Keys of a cell; the endings in parentheses belong to the key before them."""
    for key, endings in re.findall(r"`([^`]+)`(?: \(([^)]*)\))?", cell):
        yield key
        yield from (f"{key}{ending}" for ending in re.findall(r"`(-[^`]+)`", endings))


def options(paper: str) -> set[str]:
    """Options of the command `tcpsf reproduce` for a paper."""
    commands: Mapping[str, click.Command] = reproduce.commands
    return {
        option
        for parameter in commands[paper].params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }


def test_every_paper_has_a_page() -> None:
    assert list(PAGES) == [paper.key for paper in catalogue.papers()]


@pytest.mark.parametrize("paper", PAGES)
def test_the_page_lists_every_option(paper: str) -> None:
    listed = {word for cell in first_cells(paper, "option") for word in code(cell)}
    assert {word for word in listed if word.startswith("--")} == options(paper)


@pytest.mark.parametrize("paper", PAGES)
def test_the_page_lists_every_key(paper: str) -> None:
    keys, cells = catalogue.keys(paper), first_cells(paper, "key")
    assert set(keys) <= {key for cell in cells for key in keys_of(cell)}
    unknown = {
        word
        for cell in cells
        for word in code(cell)
        if not any(key == word or key.startswith(f"{word}-") for key in keys)
    }
    assert not unknown


def test_endings_of_keys() -> None:
    assert list(keys_of(" `a`, `b` (`-c`, `-d`) ")) == ["a", "b", "b-c", "b-d"]
    assert list(code(" `--only KEY,…`, `closest` (`-c`) ")) == ["--only", "closest"]

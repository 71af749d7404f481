"""The coverage page: what it says of what is there, of what is not, and of what it cannot know."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from conftest import REPOSITORY

from tcpsf.pages import coverage
from tcpsf.pages.coverage import CoverageEntry, Item
from tcpsf.reproduce import catalogue

PAGE = REPOSITORY / "docs" / "reference" / "coverage.md"


@pytest.mark.parametrize(
    ("there", "missing"),
    [
        ("only:packet-discard/fig-17", "only:packet-discard/fig-5"),
        ("section:packet-discard/spacing", "section:packet-discard/none"),
        ("part:table-2", "part:table-9"),
        ("claim:santa-cruz/basic-similar-throughput", "claim:santa-cruz/none"),
        ("py:tcpsf.models.short_flows.padhye", "py:tcpsf.models.short_flows.none"),
        ("py:tcpsf.pages.coverage", "py:tcpsf.none.none"),
        ("sender:reno+sack1 / full / iw=1", "sender:reno+none / full / iw=1"),
        ("option:model smart-framing --chain", "option:model smart-framing --none"),
        ("option:proxy", "option:none"),
        ("file:scripts/loss/two-lost-*.script", "file:scripts/loss/none.script"),
        ("doc:reference/senders.md", "doc:reference/none.md"),
    ],
)
def test_what_exists(there: str, missing: str) -> None:
    assert coverage.exists(there)
    assert not coverage.exists(missing)


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="of no kind that is known"):
        coverage.exists("url:somewhere")


def row(*names: str, why: str = "") -> Callable[[], Item]:
    return lambda: coverage._row(CoverageEntry("An item", "section 1", names, why))


def test_a_reason_stands_until_what_is_named_is_there() -> None:
    assert row("py:tcpsf.run")() == Item(what="An item", place="section 1", here="`tcpsf.run`")
    assert row("py:tcpsf.run", why="not yet")().why == ""
    partly = row("py:tcpsf.run", "py:tcpsf.none", why="not yet")()
    assert (partly.here, partly.why) == ("`tcpsf.run`", "not yet")
    assert row(why="cannot be")().why == "cannot be"
    with pytest.raises(ValueError, match=r"names what is not there: py:tcpsf\.none"):
        row("py:tcpsf.none")()
    with pytest.raises(ValueError, match="names nothing and tells no reason"):
        row()()


def test_the_list_is_of_all_papers_and_right() -> None:
    """Nothing is named without a reason that is not there; claims alone need runs, so they are left out here."""
    found = coverage.listed()
    assert set(found) == {paper.key for paper in catalogue.papers()}
    checked = 0
    for paper, items in found.items():
        for item in items:
            names = [name for name in item.names if not name.startswith("claim:")]
            missing = [name for name in names if not coverage.exists(name)]
            assert item.why or not missing, (paper, item.what, missing)
            assert item.why or item.names, (paper, item.what)
            checked += len(names)
    assert checked > 80


def test_exhibits_and_claims_are_rows() -> None:
    items = coverage.items("santa-cruz")
    here = {item.here for item in items}
    assert {f"`santa-cruz` `{key}`" for key in catalogue.keys("santa-cruz")} <= here
    report = coverage.reports("santa-cruz")["santa-cruz"]
    claims = [finding.claim for section in report.sections for finding in section.findings]
    assert [item.what for item in items if item.what.startswith("Claim: ")] == [
        f"Claim: {each}" for each in claims
    ]


def test_the_committed_page_has_every_exhibit() -> None:
    """`make docs` writes all of it again; this comparison is quick."""
    committed = PAGE.read_text(encoding="utf-8")
    for paper in catalogue.papers():
        for key in catalogue.keys(paper.key):
            assert f"`{paper.key}` `{key}`" in committed, "write it again: make docs"
    rows = [line for line in committed.splitlines() if line.startswith("| ")]
    assert len(rows) > 400
    assert all(len(re.split(r"(?<!\\)\|", line)) in (6, 7) for line in rows)

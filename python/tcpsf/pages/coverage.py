"""Coverage of the papers by this project: ``python -m tcpsf.pages.coverage``.

The program writes ``docs/reference/coverage.md``. Figures, tables and claims come from the
exhibits, which are computed from very short runs: their titles, sources and claims do not depend on
the length of a run. ``coverage.toml`` lists the other items of the papers. The program checks that
the names in it exist, and that the claims exist that ``claims.toml`` names. Paths of files are
relative to the source tree.
"""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import click

from tcpsf import text
from tcpsf.cli.app import app
from tcpsf.errors import ScenarioError
from tcpsf.evaluation.data import OWN, Report
from tcpsf.evaluation.evaluate import evaluate
from tcpsf.pages import claims
from tcpsf.papers.smart_framing import web_scenario
from tcpsf.reproduce import catalogue
from tcpsf.reproduce.closed_models import model_section

TREE = Path(__file__).resolve().parents[3]
"""Root of the source tree, if the package is an editable installation."""

SHORTEST = {
    "smart-framing": ("12s", "2s"),
    "santa-cruz": ("1s", "0s"),
    "packet-discard": ("1s", "0s"),
    "short-flows": ("10000s", "0s"),
}
"""Simulated time and warm-up of a run."""

INTRODUCTION = """\
# Coverage

<!-- Written by `python -m tcpsf.pages.coverage` from the exhibits and `python/tcpsf/pages/coverage.toml`. -->

What the papers have, and where it is here. An item is covered if it is implemented and, where it is
a result, made again beside the published numbers. Whether a claim holds is another question, which
the reports answer: a claim that does not hold is covered, too. Figures, tables and claims are those
of the exhibits; `tcpsf reproduce all` makes all of them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A row of the page on coverage: an item of a paper, and where this project has it."""

    what: str
    place: str
    """Position of the item in the paper."""
    here: str
    """Location of the item in this project, as Markdown."""
    why: str = ""
    """Reason why the item is not covered; empty if it is."""


@dataclass(frozen=True, slots=True)
class CoverageEntry:
    """An entry of ``coverage.toml``."""

    what: str
    place: str
    names: tuple[str, ...]
    """Names of the items in this project, each with its kind: ``py:tcpsf.run``."""
    why: str


KINDS = ("only", "section", "part", "claim", "py", "sender", "option", "file", "doc")


def listed() -> dict[str, tuple[CoverageEntry, ...]]:
    """Read the entries of ``coverage.toml``, by paper."""
    content = resources.files("tcpsf.pages").joinpath("coverage.toml").read_text(encoding="utf-8")
    return {
        paper: tuple(
            CoverageEntry(what, place, tuple(_names(names)), why)
            for what, place, names, why in found["items"]
        )
        for paper, found in tomllib.loads(content).items()
    }


def _names(value: str) -> Iterator[str]:
    """Split a list of names; names of senders contain blanks.

    >>> list(_names("file:a.py sender:reno / full / iw=1 only:p/k"))
    ['file:a.py', 'sender:reno / full / iw=1', 'only:p/k']
    """
    words: list[str] = []
    for word in value.split():
        if words and word.partition(":")[0] in KINDS and ":" in word:
            yield " ".join(words)
            words = []
        words.append(word)
    if words:
        yield " ".join(words)


def exists(name: str) -> bool:
    """Whether an item that ``coverage.toml`` names exists.

    >>> exists("py:tcpsf.run"), exists("py:tcpsf.nothing"), exists("sender:reno / full / iw=1")
    (True, False, True)
    """
    kind, _, value = name.partition(":")
    if kind == "only":
        paper, _, key = value.partition("/")
        return key in catalogue.keys(paper)
    if kind == "section":
        paper, _, key = value.partition("/")
        return key in {exhibit.section for exhibit in catalogue.exhibits(paper)}
    if kind == "claim":
        paper, _, key = value.partition("/")
        return any(
            key == finding.key
            for report in reports(paper).values()
            for finding in _findings(report)
        )
    if kind == "part":
        return value in {part.key for part in catalogue.parts()}
    if kind == "py":
        return _is_python(value)
    if kind == "option":
        return _is_option(value)
    if kind == "sender":
        return _is_sender(value)
    if kind in ("file", "doc"):
        return any(TREE.glob(f"docs/{value}" if kind == "doc" else value))
    raise ValueError(f"`{name}` is of no kind that is known: {', '.join(KINDS)}")


def _is_python(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    try:
        if hasattr(importlib.import_module(module), attribute):
            return True
        importlib.import_module(name)
    except ModuleNotFoundError:
        return False
    return True


def _is_option(value: str) -> bool:
    command: click.Command = app
    for word in value.split():
        if word.startswith("--"):
            return any(word in parameter.opts for parameter in command.params)
        if not isinstance(command, click.Group) or word not in command.commands:
            return False
        command = command.commands[word]
    return True


def _is_sender(name: str) -> bool:
    try:
        web_scenario(sender=name, duration="1s")
    except ScenarioError:
        return False
    return True


@cache
def reports(paper: str) -> Mapping[str, Report]:
    """Make the paper's simulated and closed reports, by the keys of their parts.

    Runs are as short as possible.
    """
    made: dict[str, Report] = {}
    for part in catalogue.parts([paper]):
        if part.kind == "simulated":
            duration, warm_up = SHORTEST[paper]
            quick = catalogue.scales(paper)["quick"]
            scale = replace(quick, duration=duration, warm_up=warm_up, runs=1)
            made[part.key] = evaluate(catalogue.prepare(paper, scale=scale))
        elif part.kind == "closed":
            made[part.key] = model_section(part.section or "", command="")
    return made


def _findings(report: Report) -> Iterator[Any]:
    return (finding for section in report.sections for finding in section.findings)


def items(paper: str) -> tuple[Item, ...]:
    """Return all rows of a paper: the listed items, then the exhibits, then their claims."""
    rows = [_row(each) for each in listed()[paper]]
    claim_rows = []
    for part, report in reports(paper).items():
        shown = {
            (kind, each.key): each
            for section in report.sections
            for kind in ("drawings", "figures", "tables")
            for each in getattr(section, kind)
        }
        findings = {finding.key: finding for finding in _findings(report)}
        for exhibit in report.exhibits:
            here = f"`{part}` `{exhibit.key}`"
            for kind in ("drawings", "figures", "tables"):
                for key in getattr(exhibit, kind):
                    each = shown[kind, key]
                    rows.append(Item(what=each.title, place=_place(each.source), here=here))
            claim_rows += [_claim(findings[key], here) for key in exhibit.findings]
        if not report.exhibits:
            rows += [
                Item(what=each.title, place=_place(each.source), here=f"`{part}`")
                for each in shown.values()
            ]
            claim_rows += [_claim(finding, f"`{part}`") for finding in findings.values()]
    return (*rows, *claim_rows)


def _claim(finding: Any, here: str) -> Item:
    return Item(what=f"Claim: {finding.claim}", place=_place(finding.source), here=here)


def _place(source: str) -> str:
    return "not in the paper" if source.startswith(OWN) else source


def _row(each: CoverageEntry) -> Item:
    missing = [name for name in each.names if not exists(name)]
    if missing and not each.why:
        raise ValueError(
            f"coverage.toml: `{each.what}` names what is not there: {', '.join(missing)}"
        )
    if not each.names and not each.why:
        raise ValueError(f"coverage.toml: `{each.what}` names nothing and tells no reason")
    here = ", ".join(_here(name) for name in each.names if name not in missing)
    return Item(
        what=each.what,
        place=each.place,
        here=here,
        why="" if each.names and not missing else each.why,
    )


def _here(name: str) -> str:
    """Describe the location of an item, as Markdown for a page in ``docs/reference``."""
    kind, _, value = name.partition(":")
    if kind == "option":
        return f"`tcpsf {value}`"
    if kind in ("only", "claim", "section"):
        paper, _, key = value.partition("/")
        return f"`{paper}` `{key}`"
    if kind == "doc":
        return f"[{value}](../{value})"
    if kind == "file" and not any(sign in value for sign in "*?"):
        return f"[{value.rpartition('/')[2]}](../../{value})"
    return f"`{value}`"


def page() -> str:
    """Return the page on the coverage of the papers, as Markdown."""
    made = {
        key: report for paper in catalogue.papers() for key, report in reports(paper.key).items()
    }
    if stale := claims.without_claims(made):
        raise ValueError(f"claims.toml names claims that no report has: {', '.join(stale)}")
    blocks = [INTRODUCTION, _summary()]
    for paper in catalogue.papers():
        rows = ["| item | in the paper | here | covered |", "| --- | --- | --- | --- |"]
        rows += [
            f"| {_cell(item.what)} | {_cell(item.place)} | {_cell(item.here)} | {_cell(item.why) or 'yes'} |"
            for item in items(paper.key)
        ]
        blocks.append(
            f"## {paper.title}\n\n{'; '.join(paper.citations)}.\n\n" + "\n".join(rows) + "\n"
        )
    return "\n".join(blocks)


def _summary() -> str:
    rows = [
        "| paper | items | of them claims | covered | not covered |",
        "| --- | --- | --- | --- | --- |",
    ]
    for paper in catalogue.papers():
        found = items(paper.key)
        judged = sum(item.what.startswith("Claim: ") for item in found)
        missing = sum(bool(item.why) for item in found)
        numbers = (len(found), judged, len(found) - missing, missing)
        rows.append(
            f"| [{paper.title}](#{_anchor(paper.title)}) | {' | '.join(map(str, numbers))} |"
        )
    return "\n".join(rows) + "\n"


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _cell(value: str) -> str:
    return text.label(value).replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    sys.stdout.write(page())

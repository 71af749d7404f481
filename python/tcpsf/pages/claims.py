"""Verdicts on the papers' claims: ``python -m tcpsf.pages.claims FOLDER CLOSEST``.

The program writes ``docs/reference/claims.md`` from two folders of reports. ``FOLDER`` is that of
``tcpsf reproduce all --full``. ``CLOSEST`` has one folder for each paper with other readings, made
by ``tcpsf reproduce PAPER --full --readings closest``. ``claims.toml`` has what the
reports do not: earlier verdicts, and the alternatives that were tried for single claims.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from tcpsf import text
from tcpsf.evaluation.data import Report
from tcpsf.reproduce import catalogue

VERDICTS = ("holds", "does not hold", "undecided")

READINGS = ("smart-framing", "packet-discard", "short-flows")
"""Papers with the option ``--readings closest``."""

INTRODUCTION = """\
# Claims

<!-- Written by `python -m tcpsf.pages.claims` from the reports of `tcpsf reproduce all --full`
and from `python/tcpsf/pages/claims.toml`. -->

Each claim of the papers that can be measured is judged by `tcpsf reproduce PAPER`. The
[evaluation](evaluation.md#how-claims-are-judged) says how. This page has the verdicts at full scale,
and lists the claims that do not hold or are undecided with the text's readings. The column
*closest* has the verdict and the value with the readings that come closest to the paper's numbers
(`--readings closest`). The last column names what else was tried. Claims that are not in the paper
compare the proposals with other senders and networks.
"""


@dataclass(frozen=True, slots=True)
class Before:
    """Verdicts on the claims of a report at the commit that the audit examined."""

    holds: int
    fails: int
    undecided: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """A claim with its verdict, from a report."""

    report: str
    key: str
    claim: str
    source: str
    published: str
    ours: str
    verdict: str


@cache
def _content() -> Mapping[str, Any]:
    file = resources.files("tcpsf.pages").joinpath("claims.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def before() -> Mapping[str, Before]:
    """Return the earlier verdicts, by the report's key."""
    return {key: Before(**numbers) for key, numbers in _content()["before"].items()}


def tried() -> Sequence[tuple[str, str]]:
    """Return the readings that were tried, by pattern of ``REPORT/KEY``, in order of precedence."""
    return [
        (pattern, explanation)
        for entry in _content()["tried"]
        for pattern, explanation in _pairs(entry)
    ]


def _pairs(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for pattern in entry["claims"]:
        yield pattern, " ".join(entry["reading"].split())


def without_claims(reports: Mapping[str, Report]) -> list[str]:
    """Return the patterns of `tried` that match no claim of their report.

    Patterns about other reports than those given by their keys are left out.
    """
    names = {
        f"{key}/{finding.key}"
        for key, report in reports.items()
        for section in report.sections
        for finding in section.findings
    }
    return [
        pattern
        for pattern, _ in tried()
        if pattern.partition("/")[0] in reports
        and not any(fnmatchcase(name, pattern) for name in names)
    ]


def tried_for(judgement: Judgement) -> str:
    """Return the readings that were tried for a claim; empty if none is recorded."""
    name = f"{judgement.report}/{judgement.key}"
    return next((explanation for pattern, explanation in tried() if fnmatchcase(name, pattern)), "")


def judgements(folder: Path) -> tuple[Judgement, ...]:
    """Read the claims of every report in a folder of ``tcpsf reproduce all``.

    Raises :class:`OSError` if a report is missing.
    """
    return tuple(
        each
        for part in catalogue.parts()
        if part.kind != "live"
        for each in _judgements(folder, part.key)
    )


def _judgements(folder: Path, key: str) -> Iterator[Judgement]:
    report = json.loads((folder / key / "report.json").read_text(encoding="utf-8"))
    for section in report["sections"]:
        for finding in section["findings"]:
            yield Judgement(key, *(finding[name] for name in Judgement.__slots__[1:]))


def page(folder: Path, closest: Path) -> str:
    """Return the page on claims from the full-scale reports of two folders."""
    found = judgements(folder)
    other = {
        (each.report, each.key): each for key in READINGS for each in _judgements(closest, key)
    }
    blocks = [INTRODUCTION, _summary(found, tuple(other.values()))]
    for part in catalogue.parts():
        here = [each for each in found if each.report == part.key and each.verdict != VERDICTS[0]]
        if here:
            rows = [
                "| claim | in the paper | published | text | closest | also tried |",
                "| --- | --- | --- | --- | --- | --- |",
                *(_row(each, other.get((each.report, each.key))) for each in here),
            ]
            blocks.append(f"## `{part.key}`\n\n" + "\n".join(rows) + "\n")
    return "\n".join(blocks)


def _summary(found: Sequence[Judgement], closest: Sequence[Judgement]) -> str:
    rows = [
        "| report | claims | hold; do not; undecided | closest | before: claims | hold; do not; undecided |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for part in catalogue.parts():
        if part.kind == "live":
            continue
        total, counts = _counted(found, part.key)
        _, others = _counted(closest, part.key)
        earlier = before().get(part.key)
        then = ("–", "–")
        if earlier is not None:
            numbers = (earlier.holds, earlier.fails, earlier.undecided)
            then = (str(sum(numbers)), "; ".join(map(str, numbers)))
        cells = (total, counts, others if part.key in READINGS else "–", *then)
        rows.append(f"| `{part.key}` | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n\n" + " ".join(_content()["note"].split()) + "\n"


def _counted(found: Sequence[Judgement], report: str) -> tuple[str, str]:
    """Return the number of a report's claims, and the numbers by verdict."""
    verdicts = [each.verdict for each in found if each.report == report]
    return str(len(verdicts)), "; ".join(str(verdicts.count(verdict)) for verdict in VERDICTS)


def _row(each: Judgement, closest: Judgement | None) -> str:
    cells = (
        each.claim,
        each.source,
        each.published,
        f"{each.verdict}: {each.ours}",
        "–" if closest is None else f"{closest.verdict}: {closest.ours}",
        tried_for(each),
    )
    return "| " + " | ".join(text.label(cell).replace("|", "\\|") for cell in cells) + " |"


def main(words: Sequence[str]) -> int:
    """Print the page; exit status 2 if a report is missing."""
    if len(words) != 2:
        sys.stderr.write("usage: python -m tcpsf.pages.claims FOLDER CLOSEST\n")
        return 2
    try:
        sys.stdout.write(page(*map(Path, words)))
    except (OSError, json.JSONDecodeError, KeyError) as error:
        sys.stderr.write(
            f"error: cannot read the reports of `{' '.join(words)}`: {error}\n"
            "hint: tcpsf reproduce all --full --out FOLDER makes them\n"
        )
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

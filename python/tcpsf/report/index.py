"""Index of `tcpsf reproduce all`: every figure and table of every paper, with verdicts and links.

The index is made from the data of the reports alone (``report.json``), so it contains everything
that a report has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tcpsf import text
from tcpsf.evaluation.data import Plain
from tcpsf.report.evaluation_page import environment

SCHEMA = "tcpsf.index/1"
VERDICTS = ("holds", "does not hold", "undecided")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedExhibit(Plain):
    """A figure, table or drawing of a report."""

    title: str
    source: str
    """The paper and the figure in it, or this project."""
    place: str
    """Address relative to the index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Plain):
    """Figures and tables that one key of ``--only`` makes.

    In a report without keys, an entry is a section.
    """

    key: str
    links: tuple[ListedExhibit, ...]
    verdicts: Mapping[str, int]
    """Number of claims that depend on the entry, by verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedReport(Plain):
    """A report, or the reason why it was not made."""

    key: str
    paper: str
    kind: Literal["simulated", "closed", "live"]
    what: str
    command: str
    """Command that makes the report alone."""
    status: Literal["made", "not run"]
    reason: str
    """Reason why the report was not run; empty otherwise."""
    page: str
    """Address relative to the index; empty if the report was not run."""
    entries: tuple[Entry, ...]
    verdicts: Mapping[str, int]
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPaper(Plain):
    """A paper and its reports in the index of all papers."""

    key: str
    title: str
    citations: tuple[str, ...]
    parts: tuple[ListedReport, ...]

    @property
    def verdicts(self) -> Mapping[str, int]:
        """Number of claims of all its reports, by verdict."""
        return summed([part.verdicts for part in self.parts])


@dataclass(frozen=True, slots=True, kw_only=True)
class Index(Plain):
    """The index of all papers' reports, with the verdicts on their claims."""

    version: str
    command: str
    scale: str
    papers: tuple[ListedPaper, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, as ``report/schema/index.json`` describes it."""
        return {"schema": SCHEMA, **Plain.to_dict(self)}

    @property
    def verdicts(self) -> Mapping[str, int]:
        """Number of claims of all papers, by verdict."""
        return summed([paper.verdicts for paper in self.papers])


def summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Add numbers of claims by verdict."""
    return {verdict: sum(each.get(verdict, 0) for each in counts) for verdict in VERDICTS}


def entries(report: Mapping[str, Any], page: str) -> tuple[Entry, ...]:
    """Return the contents of a report, by the keys of ``--only``, or by section without such keys.

    ``report`` is its ``report.json``. ``page`` is the address of its page relative to the index.
    """
    links = dict(_links(report, page))
    found = {
        each["key"]: each["verdict"]
        for section in report["sections"]
        for each in section["findings"]
    }
    return tuple(
        Entry(
            key=each["key"],
            links=tuple(links[kind, key] for kind in KINDS for key in each[f"{kind}s"])
            or (links["section", each["section"]],),
            verdicts=summed([Counter(found[key] for key in each["findings"])]),
        )
        for each in report.get("exhibits") or list(_by_section(report))
    )


KINDS = ("drawing", "figure", "table")


def _links(report: Mapping[str, Any], page: str) -> Iterator[tuple[tuple[str, str], ListedExhibit]]:
    for section in report["sections"]:
        place = f"{page}#section-{section['key']}"
        yield (
            ("section", section["key"]),
            ListedExhibit(title=section["title"], source="", place=place),
        )
        for kind in KINDS:
            for each in section[f"{kind}s"]:
                place = f"{page}#{kind}-{each['key']}"
                yield (
                    (kind, each["key"]),
                    ListedExhibit(title=each["title"], source=each["source"], place=place),
                )


def _by_section(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for section in report["sections"]:
        yield {
            "key": section["key"],
            "section": section["key"],
            **{f"{kind}s": [each["key"] for each in section[f"{kind}s"]] for kind in KINDS},
            "findings": [each["key"] for each in section["findings"]],
        }


def page(index: Index) -> str:
    """Return the index of all papers as an HTML page."""
    return (
        environment()
        .get_template("index.html")
        .render(index=index, names=NAMES, verdict_summary=verdict_summary, verdict_names=VERDICTS)
    )


NAMES = {"simulated": "simulated", "closed": "closed models", "live": "measured on live kernels"}


def verdict_summary(verdicts: Mapping[str, int]) -> str:
    """Numbers of claims in words.

    >>> verdict_summary({"holds": 1, "does not hold": 2, "undecided": 0})
    '1 of 3 claims holds, 2 do not, 0 undecided'
    """
    count, holds, fails = sum(verdicts.values()), verdicts["holds"], verdicts["does not hold"]
    if count == 0:
        return "no claims"
    return (
        f"{holds} of {text.count(count, 'claim')} {'holds' if holds == 1 else 'hold'}, "
        f"{fails} {'does' if fails == 1 else 'do'} not, {verdicts['undecided']} undecided"
    )


def as_text(index: Index) -> str:
    """Lay out every report with a line for each of its exhibits."""
    blocks = [f"All papers, {index.scale} scale: {verdict_summary(index.verdicts)}."]
    for paper in index.papers:
        blocks.append(f"{paper.title}: {verdict_summary(paper.verdicts)}")
        for part in paper.parts:
            head = f"{part.what} ({NAMES[part.kind]}, `{part.command}`)"
            if part.status == "not run":
                blocks.append(f"{head}: not run: {part.reason}")
                continue
            rows = [["key", "hold", "do not", "undecided", "what"]]
            for entry in part.entries:
                counts = [
                    str(entry.verdicts[verdict]) if any(entry.verdicts.values()) else ""
                    for verdict in VERDICTS
                ]
                rows.append(
                    [entry.key, *counts, _clipped("; ".join(link.title for link in entry.links))]
                )
            blocks.append(f"{head}\n\n{text.table(rows, left=[0, 4])}")
    return "\n\n".join(blocks)


MOST = 60
"""Maximum characters of a title on a terminal."""


def _clipped(title: str) -> str:
    return title if len(title) <= MOST else f"{title[: MOST - 1].rstrip()}…"

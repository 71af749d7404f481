"""An evaluation's findings as text for the terminal; the files have the numbers behind them."""

from __future__ import annotations

import textwrap
from collections import Counter

from tcpsf import text
from tcpsf.evaluation.data import Report, Table, TableCell
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.ranges import Verdict

WIDTH = 80
WIDEST = 100
"""Maximum columns of a table on a terminal."""
INDENT = " " * len("does not hold  ")


def as_text(report: Report, *, tables: bool = False) -> str:
    """Lay out the conclusion and every claim with its verdict; tables on request."""
    source = report.provenance
    seeds = f"{source.seeds[0]} to {source.seeds[-1]}"
    return _laid_out(
        report,
        f"{report.title}\n{source.size}, seeds {seeds}; {text.count(source.jobs, 'run')} in all.",
        tables=tables,
    )


def as_findings(report: Report) -> str:
    """Lay out the conclusion and every claim of a report without runs."""
    return _laid_out(report, report.title, tables=False)


def _laid_out(report: Report, head: str, *, tables: bool) -> str:
    blocks = [head, *map(_wrapped, report.conclusion.sentences)]
    for section in report.sections:
        if tables:
            blocks += [_laid(table) for table in section.tables]
        keys = [drawing.key for drawing in section.drawings] + [
            figure.key for figure in section.figures
        ]
        keys += [table.key for table in section.tables]
        shown = ", ".join(keys)
        findings = [claim(finding) for finding in section.findings]
        blocks.append("\n".join([_wrapped(f"{section.title} ({shown})"), *findings]))
    blocks.append(_summary(report))
    return "\n\n".join(blocks)


def _summary(report: Report) -> str:
    verdicts = Counter(
        finding.verdict for section in report.sections for finding in section.findings
    )
    counted = ", ".join(
        f"{verdicts[verdict]} {label}" for verdict, label in _VERDICT_LABELS.items()
    )
    return f"Of {text.count(verdicts.total(), 'claim')}: {counted}."


_VERDICT_LABELS: dict[Verdict, str] = {
    "holds": "hold",
    "does not hold": "do not hold",
    "undecided": "undecided",
}


def _laid(table: Table) -> str:
    """Lay out a table with the paper's values, its caption above and its notes below."""
    paired = [
        any(_published(row.cells[at]) is not None for row in table.rows)
        for at in range(len(table.columns) - 1)
    ]
    heads = [table.columns[0]]
    for at, (name, both) in enumerate(zip(table.columns[1:], paired, strict=True)):
        units = {
            cell.unit
            for cell in (row.cells[at] for row in table.rows)
            if isinstance(cell, TableCell)
        }
        unit = units.pop() if len(units) == 1 else ""
        heads += [text.titled(name, unit)] + ["paper"] * both
    columns = [[text.label(row.label) for row in table.rows]]
    for at, both in enumerate(paired):
        cells = [row.cells[at] for row in table.rows]
        ours = iter(text.column([cell.ours for cell in cells if isinstance(cell, TableCell)]))
        columns.append([cell if isinstance(cell, str) else next(ours) for cell in cells])
        if both:
            columns.append(
                [
                    text.NOTHING if value is None else text.short(value)
                    for value in map(_published, cells)
                ]
            )
    rows = [heads, *map(list, zip(*columns, strict=True))]
    parts = [_wrapped(f"{table.title}. {table.caption}"), text.folded(rows, width=WIDEST, left=[0])]
    parts += [_wrapped(f"- {note}", "  ") for note in table.notes]
    return "\n\n".join(parts[:2]) + "".join(f"\n{part}" for part in ["", *parts[2:]] if parts[2:])


def _published(cell: TableCell | str) -> float | None:
    return None if isinstance(cell, str) else cell.published


def claim(finding: Finding) -> str:
    """Lay out a claim with its verdict; an undecided claim also has the wording of its test."""
    first = f"{finding.verdict:<{len(INDENT)}}"
    paper = f"paper: {finding.published}; " if finding.published else ""
    lines = [first + finding.claim, f"{INDENT}{paper}tcpsf: {finding.ours}"]
    if finding.verdict == "undecided":
        lines.append(INDENT + finding.test.wording)
    return "\n".join(_wrapped(line, INDENT) for line in lines)


def _wrapped(line: str, indent: str = "") -> str:
    return textwrap.fill(line, width=WIDTH, subsequent_indent=indent, break_on_hyphens=False)

"""An evaluation's findings as text, for the terminal; the numbers behind them are in the files."""

from __future__ import annotations

import textwrap
from collections import Counter

from tcpsf.report import text
from tcpsf.report.evaluation import Report, Table, TableCell
from tcpsf.reproduce.judge import Finding, Verdict

WIDTH = 80
INDENT = " " * len("does not hold  ")


def as_text(report: Report, *, tables: bool = False) -> str:
    """Lay out every claim with its verdict, section by section, and how many there are of each; tables on request."""
    source = report.provenance
    seeds = f"{source.seeds[0]} to {source.seeds[-1]}"
    return _laid_out(
        report,
        f"{report.title}\n{source.size}, seeds {seeds}; {text.count(source.jobs, 'run')} in all.",
        tables=tables,
    )


def as_findings(report: Report) -> str:
    """Lay out the same for a report that rests on no run."""
    return _laid_out(report, report.title, tables=False)


def _laid_out(report: Report, head: str, *, tables: bool) -> str:
    blocks = [head]
    for section in report.sections:
        if tables:
            blocks += [_laid(table) for table in section.tables]
        keys = [figure.key for figure in section.figures] + [table.key for table in section.tables]
        shown = ", ".join(keys)
        findings = [_finding(finding) for finding in section.findings]
        blocks.append("\n".join([_wrapped(f"{section.title} ({shown})"), *findings]))
    blocks.append(_summary(report))
    return "\n\n".join(blocks)


def _summary(report: Report) -> str:
    verdicts = Counter(finding.verdict for section in report.sections for finding in section.findings)
    counted = ", ".join(f"{verdicts[verdict]} {told}" for verdict, told in _TOLD.items())
    return f"Of {text.count(verdicts.total(), 'claim')}: {counted}."


_TOLD: dict[Verdict, str] = {"holds": "hold", "does not hold": "do not hold", "undecided": "undecided"}


def _laid(table: Table) -> str:
    """A table with the paper's values beside ours, its caption above and its notes below."""
    paired = [any(_published(row.cells[at]) is not None for row in table.rows) for at in range(len(table.columns) - 1)]
    heads = [table.columns[0]]
    for at, (name, both) in enumerate(zip(table.columns[1:], paired, strict=True)):
        units = {cell.unit for cell in (row.cells[at] for row in table.rows) if isinstance(cell, TableCell)}
        unit = units.pop() if len(units) == 1 else ""
        heads += [f"{name}, {unit}" if unit and not name.endswith(unit) else name] + ["paper"] * both
    rows = [heads]
    for row in table.rows:
        cells = [row.label]
        for cell, both in zip(row.cells, paired, strict=True):
            cells.append(cell if isinstance(cell, str) else text.significant(cell.ours))
            theirs = _published(cell)
            cells += [text.NOTHING if theirs is None else f"{theirs:g}"] * both
        rows.append(cells)
    parts = [_wrapped(f"{table.title}. {table.caption}"), text.table(rows, left=[0])]
    parts += [_wrapped(f"- {note}", "  ") for note in table.notes]
    return "\n\n".join(parts[:2]) + "".join(f"\n{part}" for part in ["", *parts[2:]] if parts[2:])


def _published(cell: TableCell | str) -> float | None:
    return None if isinstance(cell, str) else cell.published


def _finding(finding: Finding) -> str:
    first = f"{finding.verdict:<{len(INDENT)}}"
    return "\n".join(
        (
            _wrapped(first + finding.claim, INDENT),
            _wrapped(f"{INDENT}paper: {finding.published}; ours: {finding.ours}", INDENT),
        )
    )


def _wrapped(line: str, indent: str = "") -> str:
    return textwrap.fill(line, width=WIDTH, subsequent_indent=indent, drop_whitespace=True)

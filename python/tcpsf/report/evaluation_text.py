"""An evaluation's findings as text, for the terminal; the numbers behind them are in the files."""

from __future__ import annotations

import textwrap
from collections import Counter

from tcpsf.report import text
from tcpsf.report.evaluation import Report
from tcpsf.reproduce.judge import Finding, Verdict

WIDTH = 80
INDENT = " " * len("does not hold  ")


def as_text(report: Report) -> str:
    """Lay out every claim with its verdict, section by section, and how many there are of each."""
    source = report.provenance
    seeds = f"{source.seeds[0]} to {source.seeds[-1]}"
    runs = f"{text.count(source.runs, 'run')} of {source.duration} a point, seeds {seeds}"
    return _laid_out(report, f"{report.title}\n{runs}; {text.count(source.jobs, 'run')} in all.")


def as_findings(report: Report) -> str:
    """Lay out the same for a report that rests on no run."""
    return _laid_out(report, report.title)


def _laid_out(report: Report, head: str) -> str:
    blocks = [head]
    for section in report.sections:
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

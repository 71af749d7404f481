"""Effect of each reading of section 3.1.2 on Tables 2, 3 and 4.

The rows show Santa Cruz with one reading changed at a time.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tcpsf import stats, text
from tcpsf.evaluation.data import Row, Table, TableCell
from tcpsf.evaluation.evaluate import Heading
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.papers import santa_cruz as paper
from tcpsf.reproduce.santa_cruz.exhibit_parts import case, columns, measured

SECTION = "readings"


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of section 3.1.2, as arguments of the sender."""

    key: str
    label: str
    arguments: str


READINGS = (
    Reading("adopted", "as adopted", ""),
    Reading("held", "windows sent before a change are not evaluated", ", hold=window"),
    Reading("windows-end", "slow start evaluates n at the end of a window", ", startup=window"),
    Reading("at-once", "one segment at once", ", change=step"),
    Reading(
        "neither", "one segment at once, n at the end of a window", ", startup=window, change=step"
    ),
)

ADOPTED = (
    (
        "Slow start ends as soon as n exceeds half of `n`: `if any relative delay measurement or n_ti exceeds`, "
        "`once any queue buildup is detected`."
    ),
    (
        "The window changes by a segment in proportion to the arrived bytes: `increased linearly during the "
        "next interval`."
    ),
    (
        "Every window is evaluated: `at the end of the interval`, `in the time taken to empty a windowful "
        "of data from "
        "the network`. The effect of a change is visible one window later. If no window is evaluated before "
        "that, the window becomes stable as in Fig. 9. However, it then grows by one segment in two round "
        "trips, and cannot reach the throughput of Table 2 with n=1.5."
    ),
)

HEADINGS = (
    Heading(
        SECTION,
        "Readings of the rules for the window",
        (
            (
                "Section 3.1.2 is ambiguous. The table has the rows of Santa Cruz with one reading changed at a "
                "time. The adopted readings are:"
            ),
        ),
        ADOPTED,
    ),
)


def exhibits() -> tuple[Exhibit, ...]:
    """Return a table for each of the paper's tables."""
    return (
        _exhibit(
            "readings",
            "Table 2",
            lambda sender: (case(paper.basic(sender=sender), once=True),),
            lambda sender: sender.basic,
            rate_bps=paper.BOTTLENECK_BPS,
        ),
        _exhibit(
            "readings-3",
            "Table 3",
            lambda sender: tuple(
                case(paper.reverse(sender=sender, access_ms=split)) for split in paper.SPLITS_MS
            ),
            lambda sender: sender.reverse,
            rate_bps=paper.BOTTLENECK_BPS,
        ),
        _exhibit(
            "readings-4",
            "Table 4",
            lambda sender: (case(paper.asymmetric(sender=sender)),),
            lambda sender: sender.asymmetric,
            rate_bps=paper.ASYMMETRIC_BPS,
            micro=True,
        ),
    )


def read_as(sender: str, reading: Reading) -> str:
    """Return the sender with a reading's arguments.

    >>> read_as("santa-cruz(n=3) / full / iw=2", READINGS[1])
    'santa-cruz(n=3, hold=window) / full / iw=2'
    """
    return sender.replace(")", f"{reading.arguments})", 1)


def _exhibit(
    key: str,
    of: str,
    cases_of: Callable[[str], tuple[Case, ...]],
    published: Callable[[paper.Sender], paper.PublishedRow],
    *,
    rate_bps: int,
    micro: bool = False,
) -> Exhibit:
    cases: Mapping[tuple[str, str], tuple[Case, ...]] = {
        (sender.key, reading.key): cases_of(read_as(sender.sender, reading))
        for sender in paper.SANTA_CRUZ
        for reading in READINGS
    }
    shown = [column for column in columns(micro=micro) if column[0] != "utilisation"]

    def build(runs: Runs) -> Part:
        rows = []
        for sender in paper.SANTA_CRUZ:
            for reading in READINGS:
                found = [
                    measured(run, rate_bps=rate_bps)
                    for each in cases[sender.key, reading.key]
                    for run in runs.of(each)
                ]
                cells = [
                    cell
                    for _, unit, ours, theirs in shown
                    for cell in _cells(
                        [ours(run) for run in found], theirs(published(sender)), unit
                    )
                ]
                rows.append(Row(label=f"{sender.label}, {reading.label}", cells=tuple(cells)))
        table = Table(
            key=key,
            title=f"{of} by reading",
            source=f"{paper.SHORT}, {of}",
            caption="Nothing is random: one run each."
            if of == "Table 2"
            else f"Medians and ranges over the ensemble of {of}.",
            columns=(
                "protocol",
                *(head for name, *_ in shown for head in _heads(name, ranges=of != "Table 2")),
            ),
            rows=tuple(rows),
        )
        return Part(tables=(table,))

    return Exhibit(
        key=key,
        section=SECTION,
        cases=tuple(each for some in cases.values() for each in some),
        build=build,
    )


def _heads(name: str, *, ranges: bool) -> tuple[str, ...]:
    return (f"{name}, median", "range") if ranges else (name,)


def _cells(values: Sequence[float], published: float, unit: str) -> tuple[TableCell | str, ...]:
    """The median beside the paper's value, with the range of several values."""
    middle = stats.Estimate(statistics.median(values), None, len(values))
    cell = TableCell(ours=middle, published=published, unit=unit)
    return (cell,) if len(values) == 1 else (cell, text.span(min(values), max(values)))

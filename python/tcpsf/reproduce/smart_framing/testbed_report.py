"""Table II as measured, with the published values and the claims of the text.

`testbed_table_3` does the same for Table III.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Axis, Figure, Row, Section, Table, TableCell
from tcpsf.evaluation.exhibit import bars
from tcpsf.evaluation.judge import Finding
from tcpsf.live import estimates
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_testbed as testbed
from tcpsf.reproduce.smart_framing import testbed_table_3
from tcpsf.reproduce.smart_framing.exhibit_parts import FRAMED
from tcpsf.reproduce.smart_framing.testbed_checks import SHORT
from tcpsf.reproduce.smart_framing.testbed_read import (
    CLASSIC,
    FIXED,
    PathResults,
    Which,
    apart,
    by_path,
    flows_of,
)

if TYPE_CHECKING:
    import polars as pl


def section(which: Which, cells: PathResults) -> Section:
    """Return the section of a report with the measured and published Table II or III."""
    return _section_2(cells) if which == "table-2" else testbed_table_3.section(cells)


def _section_2(cells: PathResults) -> Section:
    fast = {v.key: by_path(cells, v, estimates.fast_percent) for v in paper.VARIANTS}
    late = {v.key: by_path(cells, v, estimates.timeout_percent) for v in paper.VARIANTS}
    rows = []
    for host in testbed.TABLE_2:
        for short, pair in (
            ("Classic", (host.classic_fast, host.classic_timeout)),
            ("FS", (host.framed_fast, host.framed_timeout)),
        ):
            published = tuple(TableCell(ours=None, published=value, unit="%") for value in pair)
            rows.append(Row(label=f"{host.name}, {short}", cells=published))
    for name in cells:
        for v in paper.VARIANTS:
            ours = tuple(
                TableCell(ours=each[v.key][name], published=None, unit="%") for each in (fast, late)
            )
            rows.append(Row(label=f"{name}, {SHORT[v.key]}", cells=ours))
    table = Table(
        key="table-2",
        title="Fast recoveries and timeouts of 10-Kbyte transfers",
        source=testbed.SOURCE_2,
        caption="%FR and %RTO: shares of fast recoveries and of timeouts among the sender's recoveries. The "
        "hosts of the paper come first, then the emulated paths.",
        columns=("host or path, sender", "%FR", "%RTO"),
        rows=tuple(rows),
        notes=(
            (
                "The hosts of the paper no longer exist, and the losses on their paths are not known. The "
                "emulated paths represent such paths: packets are lost independently of their size, at "
                "random or in bursts."
            ),
        ),
    )
    figure = Figure(
        key="table-2-fast",
        title="Fast recoveries of 10-Kbyte transfers",
        source=testbed.SOURCE_2,
        caption="As a percentage of the sender's recoveries.",
        x=Axis(label="path", unit="", scale="category"),
        y=Axis(label="fast recoveries", unit="%", scale="linear", low=0.0, high=100.0),
        series=tuple(
            bars(v.key, v.label, list(cells), list(fast[v.key].values())) for v in paper.VARIANTS
        ),
        notes=("In the paper: Classic 11 to 34 %, FS-TCP-SF 53 to 73 %.",),
    )
    return Section(
        why=WHY_2,
        key="table-2",
        title="Section IV-B: 10-Kbyte files",
        text=(
            "Senders alternate from one connection to the next. Assumptions where the text is silent or ambiguous:",
        ),
        items=testbed.READINGS_2,
        figures=(figure,),
        tables=(table,),
        findings=tuple(_claims_2(cells, fast)),
    )


def _claims_2(
    cells: PathResults, fast: Mapping[str, Mapping[str, stats.Estimate | None]]
) -> Iterator[Finding]:
    where = "section IV-B, Table II"
    for variant in FRAMED:
        yield judge.finding(
            key=f"table-2-more-fast-{variant.key}",
            claim=f"{variant.label}: more of the recoveries are fast than with Classic, on every path",
            source=where if variant is FIXED else OWN,
            published="more on each of 4" if variant is FIXED else "",
            judged=judge.all_above(
                apart(fast[variant.key], fast["classic"]), 0.0, "percentage points"
            ),
        )
    ratios = [host.framed_fast / host.classic_fast for host in testbed.TABLE_2]
    together = {
        v.key: estimates.fast_percent(_joined(flows_of(cells, v))) for v in (CLASSIC, FIXED)
    }
    yield judge.finding(
        key="table-2-four-times",
        claim="FS-TCP-SF: fast recovery about four times as often as with Classic (ratio of %FR, all paths)",
        source="section IV-B",
        published=f"about 4; Table II: {min(ratios):.1f} to {max(ratios):.1f}",
        judged=judge.is_within(
            stats.quotient(together["fs"], together["classic"]), 3.5, 4.5, "times"
        ),
    )


WHY_2 = "the paper's hosts no longer exist, and the losses on their paths are not known"
HEADLINE = {
    "table-2": ("table-2-four-times", "table-2-more-fast-fs"),
    "table-3": ("table-3-fewer-timeouts-fs", "table-3-shorter-fs", "table-3-shorter-timer-fs"),
}
"""Keys of the papers' main claims."""


def _joined(flows: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    return pl.concat(flows.values())

"""Table I as a report, and as its HTML page."""

from __future__ import annotations

from collections.abc import Callable

from tcpsf import stats
from tcpsf.evaluation.data import (
    Axis,
    Figure,
    Point,
    PublishedPoint,
    Report,
    ReportProvenance,
    Row,
    Section,
    Series,
    Table,
    TableCell,
)
from tcpsf.papers import smart_framing as paper
from tcpsf.report.evaluation_page import page
from tcpsf.reproduce.smart_framing import table_1_text
from tcpsf.reproduce.smart_framing.table_1 import ClassResult, Table1

SOURCE = "Mellia et al. 2005, Table I"
ABOUT = (
    "Short flows and ten greedy ones share a 10 Mb/s bottleneck with 50 ms delay and a 150 kB buffer. Classic TCP "
    "sends full-sized segments; VS- and FS-TCP-SF send smaller ones while the window is small, so that fast "
    "retransmit can repair a loss that would otherwise need the timer."
)


def as_html(result: Table1) -> str:
    """Return the HTML page of Table I."""
    return page(as_report(result))


def as_report(result: Table1) -> Report:
    """Arrange the table with a chart, the claims and the assumptions."""
    title, *lines = table_1_text.heading(result).splitlines()
    sections = _sections(result)
    return Report(
        title=f"{title}: simulated and published",
        conclusion=result.conclusion,
        subtitle=" ".join(lines),
        sections=sections,
        provenance=_provenance(result),
    )


def _sections(result: Table1) -> tuple[Section, ...]:
    return (
        Section(
            key="completion",
            title="Completion time",
            text=(ABOUT,),
            figures=(chart(result),),
            tables=(
                _by_class(
                    result,
                    key="completion",
                    title="Completion time by flow size",
                    caption=(
                        "From the start of a flow until its sender has the ACK of all data: mean ± 95 % "
                        "interval over runs."
                    ),
                    unit="s",
                    ours=lambda cell: cell.completion_s,
                    theirs=lambda cell: cell.completion_s,
                ),
            ),
        ),
        Section(
            key="fast-retransmits",
            title="Fast retransmits",
            tables=(
                _by_class(
                    result,
                    key="fast-retransmits",
                    title="Share of fast retransmits (%FR) by flow size",
                    caption=(
                        "Losses detected by fast retransmit, as a share of all detected losses; the others "
                        "waited for the timer. A dash: no fast retransmit occurred."
                    ),
                    unit="%",
                    ours=table_1_text.seen,
                    theirs=lambda cell: cell.fast_percent,
                ),
            ),
        ),
        result.claims,
        Section(key="bottleneck", title="The bottleneck", tables=(_bottleneck(result),)),
        Section(
            key="readings",
            title="Assumptions where the paper is silent or ambiguous",
            items=paper.READINGS,
        ),
        Section(
            key="differences",
            title="Causes of the differences",
            items=(
                *paper.DIFFERENCES,
                "`--readings closest` sets the first two assumptions; `--set` changes any other.",
            ),
        ),
    )


def _provenance(result: Table1) -> ReportProvenance:
    scale = result.scale
    words = "demo" if scale.name == "demo" else f"reproduce smart-framing table-1 --{scale.name}"
    changes = " --set …" if result.changes else ""
    return ReportProvenance(
        version=result.version,
        command=f"tcpsf {words} --seed {result.seeds[0]}{changes}",
        scale=scale.name,
        runs=scale.runs,
        duration=scale.duration,
        seeds=result.seeds,
        scenarios={v.label: result.provenance[v.key].scenario.to_dict() for v in paper.VARIANTS},
        jobs=scale.runs * len(paper.VARIANTS),
    )


def chart(result: Table1) -> Figure:
    """Return the figure of completion times by flow size."""
    return Figure(
        key="completion-time",
        title="Mean completion time by flow size",
        source=SOURCE,
        caption="Three senders, simulated and published.",
        x=Axis(label="flow size", unit="bytes", scale="category"),
        y=Axis(label="completion time", unit="s", scale="log"),
        series=tuple(
            Series(
                key=variant.key,
                label=variant.label,
                points=tuple(
                    Point(x=str(size), y=row[variant.key].completion_s)
                    for size, row in zip(paper.CLASS_BYTES, result.classes, strict=True)
                ),
                published=tuple(
                    PublishedPoint(x=str(size), y=cell.completion_s)
                    for size, cell in zip(paper.CLASS_BYTES, variant.published, strict=True)
                ),
            )
            for variant in paper.VARIANTS
        ),
    )


def _by_class(
    result: Table1,
    *,
    key: str,
    title: str,
    caption: str,
    unit: str,
    ours: Callable[[ClassResult], stats.Estimate | None],
    theirs: Callable[[paper.PublishedCell], float | None],
) -> Table:
    def cell(found: ClassResult) -> TableCell:
        published = None if found.published is None else theirs(found.published)
        return TableCell(ours=ours(found), published=published, unit=unit)

    return Table(
        key=key,
        title=title,
        source=SOURCE,
        caption=caption,
        columns=("bytes", *(variant.label for variant in paper.VARIANTS)),
        rows=tuple(
            Row(label=label, cells=tuple(cell(row[variant.key]) for variant in paper.VARIANTS))
            for label, row in zip(
                (*map(str, paper.CLASS_BYTES), "all"),
                (*result.classes, result.overall),
                strict=True,
            )
        ),
    )


def _bottleneck(result: Table1) -> Table:
    return Table(
        key="bottleneck",
        title="The bottleneck by sender",
        source="The same runs",
        caption="The senders differ only in the segmentation.",
        columns=("sender", "utilisation", "packets lost", "mean queue"),
        rows=tuple(
            Row(
                label=f"{variant.label}: {variant.sender}",
                cells=tuple(
                    TableCell(ours=found, published=None, unit=unit)
                    for found, unit in (
                        (link.utilisation_percent, "%"),
                        (link.loss_percent, "%"),
                        (link.queue_bytes.scaled(1e-3), "kB"),
                    )
                ),
            )
            for variant in paper.VARIANTS
            for link in (result.bottleneck[variant.key],)
        ),
    )

"""A made-up report with every kind of figure, table and finding, and what could break a page."""

from __future__ import annotations

import math

from plus_minus import plus_minus

from tcpsf.evaluation.conclusion import conclude
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
from tcpsf.evaluation.judge import Finding, Test
from tcpsf.evaluation.ranges import Verdict
from tcpsf.stats import Estimate

SENDERS = (("classic", "Classic"), ("vs", "VS-TCP-SF"), ("fs", "FS-TCP-SF"))
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
SIZES = (119, 179, 251, 334, 428, 529, 658, 948, 1650, 2861, 4706, 8015, 13681, 26641, 284454)
NASTY = "<script>alert(1)</script> & \"quotes\" 'too'"

LOAD = Axis(label="load", unit="", scale="linear")
TIME = Axis(label="mean completion time", unit="s", scale="linear")


def estimate(value: float, half_width: float | None = 0.1, runs: int = 8) -> Estimate:
    """A value ± a half width of 95 %, or without an interval."""
    return plus_minus(value, half_width, runs)


def example() -> Report:
    sections = _sections()
    return Report(
        title="An evaluation that never was",
        conclusion=conclude(sections, headline=("claim-2", "claim-0")),
        subtitle="Made-up numbers; `make` no more of them.",
        sections=sections,
        provenance=ReportProvenance(
            version="0.0.0",
            command="tcpsf reproduce nothing --quick --seed 1",
            scale="quick",
            runs=8,
            duration="500s",
            seeds=tuple(range(1, 9)),
            scenarios={f"load {load}": {"name": NASTY, "load": load} for load in LOADS},
            jobs=240,
            started="2005-04-01T12:00:00+00:00",
            seconds=754.4,
        ),
    )


def _sections() -> tuple[Section, ...]:
    return (
        Section(
            key="load",
            title="Against load",
            text=("The first paragraph, with `code`.", f"The second: {NASTY}."),
            items=("One point.", "Another."),
            figures=(over_load(), fast_retransmits(), distribution(), overlapping()),
        ),
        Section(
            key="classes",
            title="By class",
            figures=(by_class(), gains(), buffers(), many(), matrix(), lying(), chunks()),
        ),
        Section(key="edges", title="Edges", figures=(nothing(), single())),
        Section(key="tables", title="Tables", tables=(table(), mixed_table(), wide_table())),
        Section(
            key="claims",
            title="Claims",
            findings=tuple(finding(number) for number in range(30)),
            why="none of it was run",
        ),
    )


def over_load() -> Figure:
    """Lines with bands, one with a gap and a point alone, and published values."""

    def points(number: int) -> tuple[Point, ...]:
        made = []
        for load in LOADS:
            value = (0.5 + 0.1 * number) / (1.05 - load)
            found = estimate(value, 0.05 * value * (1 + load * number))
            made.append(Point(x=load, y=None if (number, load) == (1, 0.8) else found))
        return tuple(made)

    return Figure(
        key="over-load",
        title="Completion time against load",
        source="Nobody 2005, Fig. 2",
        caption="Mean over flows.",
        x=LOAD,
        y=TIME,
        series=tuple(
            Series(
                key=key,
                label=label,
                points=points(number),
                published=(
                    PublishedPoint(x=0.8, y=2.1 + 0.4 * number),
                    PublishedPoint(x=0.85, y=3.0),
                ),
            )
            for number, (key, label) in enumerate(SENDERS)
        ),
        notes=("VS saw nothing at 0.8.",),
    )


def fast_retransmits() -> Figure:
    """Other senders first, so that colours must follow keys."""
    return Figure(
        key="fast",
        title="Fast retransmits against load",
        source="Nobody 2005, Fig. 5",
        caption="Per cent.",
        x=LOAD,
        y=Axis(label="%FR", unit="%", scale="linear", low=0, high=60),
        series=tuple(
            Series(
                key=key,
                label=label,
                points=tuple(
                    Point(x=load, y=estimate(100 * load * (0.9 - 0.25 * number), 2.0))
                    for load in LOADS
                ),
            )
            for number, (key, label) in enumerate(reversed(SENDERS))
        ),
    )


def distribution() -> Figure:
    """Steps with many points on a logarithmic axis, three decades wide."""
    places = [0.1 * 10 ** (3 * number / 199) for number in range(200)]
    return Figure(
        key="distribution",
        title="Distribution of completion times",
        source="Nobody 2005, Fig. 4",
        caption="Share of flows that are done.",
        x=Axis(label="completion time", unit="s", scale="log"),
        y=Axis(label="share of flows", unit="", scale="linear", low=0, high=1),
        series=tuple(
            Series(
                key=key,
                label=label,
                style="step",
                points=tuple(
                    Point(x=x, y=estimate(1 - math.exp(-x / (0.7 + 0.6 * number)), 0.02))
                    for x in places
                ),
            )
            for number, (key, label) in enumerate(SENDERS)
        ),
    )


def overlapping() -> Figure:
    """Eight lines at once."""
    return Figure(
        key="eight",
        title="Eight variants at once",
        source="Nobody 2005, Fig. 6",
        caption="Too many.",
        x=Axis(label="round-trip time", unit="ms", scale="log"),
        y=Axis(label="throughput", unit="b/s", scale="log"),
        series=tuple(
            Series(
                key=f"variant-{number}",
                label=f"Reno with Limited Transmit, variant {number}",
                points=tuple(
                    Point(
                        x=float(rtt), y=estimate(4e6 * (1 + number) / rtt, 3e5 * (1 + number) / rtt)
                    )
                    for rtt in (1, 3, 10, 30, 100, 300, 1000)
                ),
            )
            for number in range(8)
        ),
    )


def by_class() -> Figure:
    """Fifteen categories with published values for each."""
    return Figure(
        key="by-class",
        title="Completion time by class",
        source="Nobody 2005, Table I",
        caption="Ours and theirs.",
        x=Axis(label="flow size", unit="bytes", scale="category"),
        y=Axis(label="mean completion time", unit="s", scale="log"),
        series=tuple(
            Series(
                key=key,
                label=label,
                points=tuple(
                    Point(
                        x=str(size),
                        y=estimate(size**0.5 / 40 * (1.3 - 0.1 * number), size**0.5 / 400),
                    )
                    for size in SIZES
                ),
                published=tuple(PublishedPoint(x=str(size), y=size**0.5 / 38) for size in SIZES),
            )
            for number, (key, label) in enumerate(SENDERS)
        ),
    )


def gains() -> Figure:
    """Bars above and below zero."""
    return Figure(
        key="gains",
        title="Gain by class",
        source="Nobody 2005, Fig. 3",
        caption="Over Classic.",
        x=Axis(label="class", unit="", scale="category"),
        y=Axis(label="gain", unit="%", scale="linear"),
        series=tuple(
            Series(
                key=key,
                label=label,
                style="bar",
                points=tuple(
                    Point(x=float(number), y=estimate(35 * math.sin(number / 4) + 3 * place, 4))
                    for number in range(1, 16)
                ),
                published=(PublishedPoint(x=9.0, y=30.0),) if key == "fs" else (),
            )
            for place, (key, label) in enumerate(SENDERS[1:])
        ),
    )


def buffers() -> Figure:
    """Bars on an axis of numbers."""
    return Figure(
        key="buffers",
        title="Friendliness",
        source="Nobody 2005, Fig. 7",
        caption="Bars where numbers are.",
        x=Axis(label="share of FS flows", unit="%", scale="linear"),
        y=Axis(label="throughput of a flow", unit="kb/s", scale="linear"),
        series=tuple(
            Series(
                key=key,
                label=label,
                style="bar",
                points=tuple(
                    Point(x=float(share), y=estimate(1000 + 3 * share * place, 60))
                    for share in range(0, 101, 20)
                ),
            )
            for place, (key, label) in enumerate((SENDERS[0], SENDERS[2]))
        ),
    )


def many() -> Figure:
    """More series than colours."""
    return Figure(
        key="many",
        title="More series than colours",
        source="Nobody 2005",
        caption="Ten of them.",
        x=Axis(label="network", unit="", scale="category"),
        y=Axis(label="gain", unit="%", scale="linear"),
        series=tuple(
            Series(
                key=f"series-{number}",
                label=f"Series {number}",
                points=tuple(
                    Point(x=x, y=estimate(10.0 * number + 5 * place, 3))
                    for place, x in enumerate(("a", "b", "c"))
                ),
            )
            for number in range(10)
        ),
    )


def matrix() -> Figure:
    """Long names of categories."""
    names = [
        f"{recovery}, delayed ACKs {acks}, IW {window}"
        for recovery in ("Tahoe", "Reno", "NewReno", "SACK")
        for acks in ("on", "off")
        for window in (1, 10)
    ]
    return Figure(
        key="matrix",
        title="Where framing still helps",
        source="Ours",
        caption="Sixteen settings.",
        x=Axis(label="setting", unit="", scale="category"),
        y=Axis(label="gain over full segments", unit="%", scale="linear"),
        series=tuple(
            Series(
                key=key,
                label=label,
                points=tuple(
                    Point(x=x, y=estimate(30 - 2.0 * place - 3 * number, 4))
                    for place, x in enumerate(names)
                ),
            )
            for number, (key, label) in enumerate(SENDERS[1:])
        ),
    )


def lying() -> Figure:
    """Bars in groups, below each other; some reach beyond the axis."""
    names = [
        f"{recovery}, RED by packets, ECN, IW {window}"
        for recovery in ("Tahoe", "SACK")
        for window in (1, 2, 10)
    ]
    return Figure(
        key="lying",
        title="Framing with other senders",
        source="Ours",
        caption="Six settings.",
        x=Axis(label="setting", unit="", scale="category"),
        y=Axis(label="gain over full segments", unit="%", scale="linear", low=-100),
        groups=(("Tahoe", 3), ("SACK", 3)),
        series=tuple(
            Series(
                key=key,
                label=label,
                style="bar",
                points=tuple(
                    Point(x=x, y=estimate(40 - 60.0 * place * (number + 1), 14))
                    for place, x in enumerate(names)
                ),
            )
            for number, (key, label) in enumerate(SENDERS[1:])
        ),
    )


def chunks() -> Figure:
    """Numbers as places far apart, one run only, a value that a logarithmic axis does not reach."""
    sizes = (1, 64, 128, 256, 512, 1024, 1500)
    return Figure(
        key="chunks",
        title="Buffer counted in chunks",
        source="Nobody 2005, Fig. 14",
        caption=NASTY,
        x=Axis(label="chunk", unit="bytes", scale="log"),
        y=Axis(label="loss", unit="%", scale="log"),
        series=(
            Series(
                key="classic",
                label=NASTY,
                points=tuple(Point(x=x, y=estimate(x / 100, None, 1)) for x in sizes),
            ),
            Series(
                key="fs",
                label="FS",
                points=tuple(Point(x=x, y=estimate(x / 50 - 0.02, x / 40)) for x in sizes),
            ),
        ),
    )


def nothing() -> Figure:
    return Figure(
        key="nothing",
        title="Nothing was seen",
        source="Ours",
        caption="No value at all.",
        x=LOAD,
        y=TIME,
        series=(
            Series(key="fs", label="FS", points=tuple(Point(x=load, y=None) for load in LOADS)),
        ),
    )


def single() -> Figure:
    return Figure(
        key="single",
        title="One point",
        source="Ours",
        caption="Of one run.",
        x=LOAD,
        y=TIME,
        series=(Series(key="fs", label="FS", points=(Point(x=0.5, y=estimate(2.0, 0.25)),)),),
    )


def table() -> Table:
    return Table(
        key="times",
        title="Completion times",
        source="Nobody 2005, Table I",
        caption="Mean ± 95 % interval.",
        columns=("bytes", *(label for _, label in SENDERS)),
        rows=tuple(
            Row(
                label=str(size),
                cells=tuple(
                    TableCell(
                        ours=estimate(size**0.5 / 40, size**0.5 / 400),
                        published=round(size**0.5 / 38, 2),
                        unit="s",
                    )
                    for _ in SENDERS
                ),
            )
            for size in SIZES
        ),
        notes=("A note below.",),
    )


def mixed_table() -> Table:
    return Table(
        key="mixed",
        title="Of several kinds",
        source="Ours",
        caption="Text, units that differ, nothing.",
        columns=("what", "value", "remark"),
        rows=(
            Row(
                label=NASTY,
                cells=(TableCell(ours=estimate(0.5), published=None, unit="s"), "short"),
            ),
            Row(
                label="loss",
                cells=(TableCell(ours=estimate(3.25, None), published=3.0, unit="%"), NASTY),
            ),
            Row(label="none", cells=(TableCell(ours=None, published=None), "")),
        ),
    )


def wide_table() -> Table:
    """Too wide for a phone."""
    return Table(
        key="wide",
        title="A matrix",
        source="Ours",
        caption="Many columns.",
        columns=(
            "recovery",
            *(f"delayed ACKs {acks}, IW {window}" for acks in ("on", "off") for window in (1, 10)),
        ),
        rows=tuple(
            Row(
                label=name,
                cells=tuple(
                    TableCell(ours=estimate(12.5, 1.2), published=None, unit="%") for _ in range(4)
                ),
            )
            for name in ("Tahoe", "Reno", "NewReno", "SACK")
        ),
    )


def finding(number: int) -> Finding:
    verdicts: tuple[Verdict, ...] = ("holds", "holds", "does not hold", "undecided")
    return Finding(
        key=f"claim-{number}",
        claim=NASTY
        if number == 7
        else f"FS is better than VS below 80 % load, and so on, claim {number}",
        source="section IV-A.1, Fig. 2",
        published="30 %",
        ours="35.1 ± 2.0 %",
        estimate=estimate(35.1, 2.0),
        verdict=verdicts[number % 4],
        test=Test(
            kind="interval",
            wording="The 95 % interval, [33.1, 37.1] %, is above 30 %.",
            interval=(33.1, 37.1),
            confidence=0.95,
        ),
    )

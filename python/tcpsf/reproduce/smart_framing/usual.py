"""Section IV-A.1 at 80 % load: Figs. 3 and 4, and Table I."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from tcpsf import stats, text
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Axis, Figure, Point, Row, Series, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.ranges import shown
from tcpsf.papers import smart_framing as paper
from tcpsf.reproduce import web_runs
from tcpsf.reproduce.smart_framing import table_1_claims
from tcpsf.reproduce.smart_framing.exhibit_parts import (
    FRAMED,
    JOURNAL,
    Setting,
    by_variant,
    class_gain_figure,
    class_gains,
    class_table,
)
from tcpsf.summary import RunSummary

STEP = {"text": (3.0, 3.5), "closest": (6.0, 6.5)}
"""Fig. 4, by readings: first timeout and a few round trips after it, in seconds."""

QUANTILES = tuple(0.1 * 200.0 ** (step / 80) for step in range(81))
"""Fig. 4: completion times in seconds at which the distribution is shown, 0.1 to 20 s."""

PUBLISHED = {variant.key: variant.published for variant in paper.VARIANTS}
"""Table I, by variant."""

ByVariant = Mapping[str, Sequence[RunSummary]]


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Table I and Figs. 3 and 4, by flow size at 80 % load."""
    cases = by_variant(setting.base)
    step = STEP[setting.readings]

    def exhibit(key: str, build: Callable[[ByVariant], Part]) -> Exhibit:
        return Exhibit(
            key=key,
            section="load-80",
            cases=tuple(cases.values()),
            build=lambda runs: build({variant: runs.of(case) for variant, case in cases.items()}),
            shown={
                f"{variant.label}, load 0.8": cases[variant.key].scenario
                for variant in paper.VARIANTS
            },
        )

    return (
        exhibit("table-1", _table_1),
        exhibit("fig-3", _figure_3),
        exhibit("fig-4", lambda runs: _figure_4(runs, step)),
    )


def _figure_3(runs: ByVariant) -> Part:
    gains = {
        v.key: class_gains(runs[v.key], runs["classic"], len(paper.CLASS_BYTES)) for v in FRAMED
    }
    figure = class_gain_figure(
        key="fig-3",
        title="Gain by flow size at 80 % load",
        source=f"{JOURNAL}, Fig. 3",
        caption="Reduction of the mean completion time of a class relative to Classic, with the same arrivals.",
        sizes=paper.CLASS_BYTES,
        gains=gains,
        published=PUBLISHED,
        notes=("The published points are computed from Table I.",),
    )
    return Part(figures=(figure,), findings=tuple(_claims_3(gains)))


def _claims_3(gains: Mapping[str, Mapping[int, stats.Estimate | None]]) -> Iterator[Finding]:
    for variant in FRAMED:
        named = {
            text.count(paper.CLASS_BYTES[number - 1], "byte"): found
            for number, found in gains[variant.key].items()
        }
        yield judge.finding(
            key=f"most-classes-gain-{variant.key}",
            claim=f"{variant.label}: the majority of classes gain",
            source="section IV-A.1, Fig. 3",
            published="more than half of 15",
            judged=judge.most_above(named, 0.0),
        )
        ours, theirs = variant.published[-1].completion_s, paper.CLASSIC.published[-1].completion_s
        yield judge.finding(
            key=f"longest-flows-gain-{variant.key}",
            claim=f"{variant.label}: the longest flows (195 segments) gain too",
            source="sections IV-A.1 and VIII, Fig. 3",
            published=f"Table I: {text.plain(100.0 * (1.0 - ours / theirs), 1)} %",
            judged=judge.is_above(gains[variant.key][len(paper.CLASS_BYTES)], 0.0, "%"),
        )
    largest = max(
        (found for found in gains["vs"].values() if found is not None),
        key=lambda g: g.value,
        default=None,
    )
    yield judge.finding(
        key="largest-gain-vs",
        claim="VS-TCP-SF: improvements up to 35 % (the class that gains most, to the nearest 5 %)",
        source="section VII",
        published="35 %",
        judged=judge.is_within(largest, 32.5, 37.5, "%"),
    )


def _figure_4(runs: ByVariant, step: tuple[float, float]) -> Part:
    lines = []
    for variant in paper.VARIANTS:
        points = tuple(
            Point(
                x=round(at, 4),
                y=web_runs.mean(
                    web_runs.shares_below(runs[variant.key], at), possible=stats.PERCENT
                ),
            )
            for at in QUANTILES
        )
        lines.append(Series(key=variant.key, label=variant.label, points=points, style="step"))
    figure = Figure(
        key="fig-4",
        title="Distribution of completion times at 80 % load",
        source=f"{JOURNAL}, Fig. 4",
        caption="Share of the short flows that took less than the time on the axis.",
        x=Axis(
            label="completion time", unit="s", scale="log", low=QUANTILES[0], high=QUANTILES[-1]
        ),
        y=Axis(label="flows", unit="%", scale="linear", low=0.0, high=100.0),
        series=tuple(lines),
        notes=(
            f"The step after {step[0]:g} s: flows whose first window was lost waited for the first timeout.",
        ),
    )
    return Part(figures=(figure,), findings=tuple(_claims_4(runs, step)))


def _claims_4(runs: ByVariant, step: tuple[float, float]) -> Iterator[Finding]:
    for variant in FRAMED:
        within_1_s = web_runs.mean(
            web_runs.shares_below(runs[variant.key], 1.0), possible=stats.PERCENT
        )
        yield judge.finding(
            key=f"most-flows-are-fast-{variant.key}",
            claim=f"{variant.label}: small completion times predominate (more than half below 1 s)",
            source="section IV-A.1, Fig. 4",
            published="more than half",
            judged=judge.is_above(within_1_s, 50.0, "%"),
        )
    steps = {variant.key: _step(runs[variant.key], step) for variant in paper.VARIANTS}
    for variant in FRAMED:
        found = web_runs.paired(steps[variant.key], steps["classic"])
        judged = judge.is_below(found, 0.0, "percentage points")
        sizes = [
            web_runs.mean(steps[key], possible=stats.PERCENT) for key in ("classic", variant.key)
        ]
        ours = f"{shown(sizes[0], '%')} of Classic flows, {shown(sizes[1], '%')} here"
        yield judge.finding(
            key=f"step-{variant.key}",
            claim=f"{variant.label}: the step at the first timeout is smaller ({step[0]:g} to {step[1]:g} s)",
            source="section IV-A.1, Fig. 4",
            published="much smaller, at 3 s",
            judged=replace(judged, ours=ours),
        )


def _step(runs: Sequence[RunSummary], step: tuple[float, float]) -> list[float] | None:
    before, after = (web_runs.shares_below(runs, at) for at in step)
    return (
        None
        if before is None or after is None
        else [b - a for a, b in zip(before, after, strict=True)]
    )


def _table_1(runs: ByVariant) -> Part:
    table = class_table(
        key="table-1",
        title="Completion time and fast retransmits by flow size",
        source=f"{JOURNAL}, Table I",
        caption="At 80 % load. %FR: fast recoveries as a percentage of recoveries; a dash where there was none.",
        sizes=paper.CLASS_BYTES,
        published=PUBLISHED,
        runs=runs,
        notes=paper.DIFFERENCES,
    )
    return Part(tables=(table, _bottleneck(runs)), findings=tuple(_claims_of_table(runs)))


def _bottleneck(runs: ByVariant) -> Table:
    rows = []
    for variant in paper.VARIANTS:
        made = runs[variant.key]
        queue = web_runs.queue_bytes(made)
        cells = (
            TableCell(ours=web_runs.utilisation_percent(made), published=None, unit="%"),
            TableCell(ours=web_runs.lost_percent(made), published=None, unit="%"),
            TableCell(
                ours=None if queue is None else queue.scaled(1e-3), published=None, unit="kB"
            ),
            TableCell(ours=stats.mean(web_runs.greedy_mbps(made)), published=None, unit="Mb/s"),
        )
        rows.append(Row(label=variant.label, cells=cells))
    return Table(
        key="bottleneck",
        title="The bottleneck at 80 % load",
        source=OWN,
        caption="Results of the three senders with the same arrivals, and the payload rate of the greedy "
        "Classic flows.",
        columns=(
            "sender of the short flows",
            "utilisation",
            "packets lost",
            "mean queue",
            "ten greedy flows",
        ),
        rows=tuple(rows),
    )


def _claims_of_table(runs: ByVariant) -> Iterator[Finding]:
    classes = range(1, len(paper.CLASS_BYTES) + 1)
    yield from table_1_claims.findings(
        {
            key: [web_runs.each(of_variant, classes=(number,)) for number in classes]
            for key, of_variant in runs.items()
        }
    )
    where = "section IV-A.1, Table I"
    for variant in FRAMED:
        fast = web_runs.paired(
            web_runs.fast_shares(runs[variant.key]), web_runs.fast_shares(runs["classic"])
        )
        yield judge.finding(
            key=f"more-fast-retransmits-{variant.key}",
            claim=f"{variant.label}: fast retransmit detects more of the losses than with Classic",
            source=where,
            published="more",
            judged=judge.is_above(fast, 0.0, "percentage points"),
        )
        timers = web_runs.paired(
            web_runs.timeouts_a_flow(runs[variant.key]),
            web_runs.timeouts_a_flow(runs["classic"]),
            stats.gain,
        )
        yield judge.finding(
            key=f"fewer-timeouts-{variant.key}",
            claim=f"{variant.label}: fewer timeouts than with Classic",
            source=where,
            published="fewer",
            judged=judge.is_above(timers, 0.0, "% fewer"),
        )
    yield judge.finding(
        key="four-times-as-often",
        claim="FS-TCP-SF: fast retransmit about four times as often as with Classic (ratio of %FR, all flows)",
        source='section IV-B, "confirm what we observed in simulation"',
        published="about 4",
        judged=judge.is_within(_times_as_often(runs, None), 3.5, 4.5, "times"),
    )
    where_both = 13
    published = [
        cells.published[where_both - 1].fast_percent or math.nan
        for cells in (paper.FIXED_SIZE, paper.CLASSIC)
    ]
    yield judge.finding(
        key="four-times-as-often-13681",
        claim=f"The same for flows of {text.count(13_681, 'byte')}, the shortest that have fast retransmit "
        "with either",
        source="section IV-B, Table I",
        published=f"about 4; Table I: {published[0] / published[1]:.1f}",
        judged=judge.is_within(_times_as_often(runs, (where_both,)), 3.5, 4.5, "times"),
    )


def _times_as_often(runs: ByVariant, classes: tuple[int, ...] | None) -> stats.Estimate | None:
    fixed, classic = (web_runs.fast_shares(runs[key], classes=classes) for key in ("fs", "classic"))
    return web_runs.paired(fixed, classic, stats.ratio)

"""Section IV-A.1: results against load (Figs. 2 and 5)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Axis, Figure, PublishedPoint
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Runs
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_figures as figures
from tcpsf.reproduce import web_runs
from tcpsf.reproduce.smart_framing.exhibit_parts import (
    FRAMED,
    GAIN,
    JOURNAL,
    LOAD,
    SECONDS,
    Setting,
    by_variant,
    unstable,
)
from tcpsf.summary import RunSummary, fast_percent

ABOUT = 5.0
"""Tolerance in percentage points for a share that the text gives as "about" a multiple of ten.

It is half of the last step.
"""

ByVariant = Mapping[str, Sequence[RunSummary]]


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Figs. 2 and 5, results by load."""
    at = {load: by_variant(partial(setting.base, load=load)) for load in figures.LOADS}
    cases = tuple(case for of_load in at.values() for case in of_load.values())

    def sweep(runs: Runs) -> dict[float, ByVariant]:
        return {
            load: {key: runs.of(case) for key, case in of_load.items()}
            for load, of_load in at.items()
        }

    shown = {
        f"{variant.label}, load 0.8": at[paper.LOAD][variant.key].scenario
        for variant in paper.VARIANTS
    }
    return (
        Exhibit(
            key="fig-2",
            section="load",
            cases=cases,
            build=lambda runs: _figure_2(sweep(runs)),
            shown=shown,
        ),
        Exhibit(
            key="fig-5",
            section="load",
            cases=cases,
            build=lambda runs: _figure_5(sweep(runs)),
            shown=shown,
        ),
    )


def _figure_2(runs: Mapping[float, ByVariant]) -> Part:
    lines = []
    for variant in paper.VARIANTS:
        table = sum(cell.completion_s for cell in variant.published) / len(variant.published)
        lines.append(
            series(
                variant.key,
                variant.label,
                list(runs),
                [web_runs.mean_time(of_load[variant.key]) for of_load in runs.values()],
                published=(PublishedPoint(x=paper.LOAD, y=table),),
            )
        )
    figure = Figure(
        key="fig-2",
        title="Mean completion time against load",
        source=f"{JOURNAL}, Fig. 2",
        caption="Mean completion time of all short flows.",
        x=LOAD,
        y=SECONDS,
        series=tuple(lines),
        notes=(
            "The published points are the mean of Table I's column; its classes are equally likely.",
            *unstable(lines),
        ),
    )
    return Part(figures=(figure, _gain(runs)), findings=tuple(_claims_2(runs)))


def _gain(runs: Mapping[float, ByVariant]) -> Figure:
    return Figure(
        key="fig-2-gain",
        title="Gain over Classic against load",
        source=f"this project, from the runs of {JOURNAL}, Fig. 2",
        caption="Reduction of the mean completion time relative to Classic, in paired runs with the same arrivals.",
        x=LOAD,
        y=GAIN,
        series=tuple(
            series(variant.key, variant.label, list(runs), list(_gains(runs, variant).values()))
            for variant in FRAMED
        ),
    )


def _claims_2(runs: Mapping[float, ByVariant]) -> Iterator[Finding]:
    loads = list(runs)
    for variant in paper.VARIANTS:
        steps = {
            f"{low:g} to {high:g}": web_runs.longer(runs[high][variant.key], runs[low][variant.key])
            for low, high in itertools.pairwise(loads)
        }
        yield judge.finding(
            key=f"time-grows-with-load-{variant.key}",
            claim=f"{variant.label}: the mean completion time grows with the load",
            source="section IV-A.1, Fig. 2",
            published="at every step of load",
            judged=judge.all_above(steps, 0.0, "s"),
        )
    for variant in FRAMED:
        yield judge.finding(
            key=f"outperforms-classic-{variant.key}",
            claim=f"{variant.label} outperforms Classic at every load",
            source="section IV-A.1, Fig. 2",
            published="gain above 0",
            judged=judge.all_above(_gains(runs, variant), 0.0, "%"),
        )
    yield judge.finding(
        key="fs-better-than-vs-below-80",
        claim="Below 80 % load FS-TCP-SF does better than VS-TCP-SF",
        source="section IV-A.1, Fig. 2",
        published="at every load below 0.8",
        judged=judge.all_above(
            _fs_over_vs(runs, [load for load in loads if load < paper.LOAD]), 0.0, "%"
        ),
    )
    yield judge.finding(
        key="vs-better-than-fs-above-80",
        claim="Above 80 % load VS-TCP-SF does better than FS-TCP-SF",
        source="section IV-A.1, Fig. 2",
        published="at every load above 0.8",
        judged=judge.all_below(
            _fs_over_vs(runs, [load for load in loads if load > paper.LOAD]), 0.0, "%"
        ),
    )
    for variant in FRAMED:
        gains = [
            web_runs.gains(of_load[variant.key], of_load["classic"]) for of_load in runs.values()
        ]
        found = web_runs.slope(loads, gains)
        yield judge.finding(
            key=f"gain-grows-with-load-{variant.key}",
            claim=f"{variant.label}: the larger the load, the larger the gain (slope of the gain over load above 0)",
            source="sections IV-A.1 and VII, Fig. 2",
            published="above 0",
            judged=judge.is_above(found, 0.0, "percentage points from load 0 to 1"),
        )


def _gains(
    runs: Mapping[float, ByVariant], variant: paper.Variant
) -> dict[str, stats.Estimate | None]:
    return {
        f"{load:g}": web_runs.gain(of_load[variant.key], of_load["classic"])
        for load, of_load in runs.items()
    }


def _fs_over_vs(
    runs: Mapping[float, ByVariant], loads: Sequence[float]
) -> dict[str, stats.Estimate | None]:
    return {f"{load:g}": web_runs.gain(runs[load]["fs"], runs[load]["vs"]) for load in loads}


def _figure_5(runs: Mapping[float, ByVariant]) -> Part:
    published = {"classic": (PublishedPoint(x=figures.LOADS[0], y=50.0),)}
    lines = [
        series(
            variant.key,
            variant.label,
            list(runs),
            [fast_percent(web_runs.each(of_load[variant.key])) for of_load in runs.values()],
            published=published.get(variant.key, ()),
        )
        for variant in paper.VARIANTS
    ]
    figure = Figure(
        key="fig-5",
        title="Share of fast retransmits against load",
        source=f"{JOURNAL}, Fig. 5",
        caption="Fast recoveries of short flows, as a percentage of fast recoveries and timeouts (%FR).",
        x=LOAD,
        y=Axis(
            label="fast retransmits among recoveries", unit="%", scale="linear", low=0.0, high=100.0
        ),
        series=tuple(lines),
        notes=('The published point is the text\'s "about 50 % of the time under light load".',),
    )
    return Part(figures=(figure,), findings=tuple(_claims_5(runs)))


def _claims_5(runs: Mapping[float, ByVariant]) -> Iterator[Finding]:
    loads = list(runs)
    light, heavy = runs[loads[0]], runs[loads[-1]]
    usual = runs[paper.LOAD]
    where = "section IV-A.1, Fig. 5"
    yield judge.finding(
        key="classic-fr-light-load",
        claim="Classic: about 50 % fast retransmits under light load (0.1)",
        source=where,
        published="about 50 %",
        judged=judge.is_within(
            fast_percent(web_runs.each(light["classic"])), 50.0 - ABOUT, 50.0 + ABOUT, "%"
        ),
    )
    yield judge.finding(
        key="classic-fr-highest-load",
        claim="Classic: less than 25 % fast retransmits at the highest load (0.95)",
        source=where,
        published="below 25 %",
        judged=judge.is_below(fast_percent(web_runs.each(heavy["classic"])), 25.0, "%"),
    )
    yield judge.finding(
        key="vs-fr-falls",
        claim="VS-TCP-SF: fewer fast retransmits at the highest load than under light load, as for Classic",
        source=where,
        published="lower at 0.95 than at 0.1",
        judged=judge.is_below(
            web_runs.paired(web_runs.fast_shares(heavy["vs"]), web_runs.fast_shares(light["vs"])),
            0.0,
            "percentage points",
        ),
    )
    yield judge.finding(
        key="vs-fr-share",
        claim="VS-TCP-SF: fast retransmit for about 45 % of drops (at 0.8)",
        source=where,
        published="about 45 %",
        judged=judge.is_within(
            fast_percent(web_runs.each(usual["vs"])), 45.0 - ABOUT, 45.0 + ABOUT, "%"
        ),
    )
    yield from _claims_of_fixed_size(runs)


def _claims_of_fixed_size(runs: Mapping[float, ByVariant]) -> Iterator[Finding]:
    loads = list(runs)
    found = web_runs.slope(
        loads, [web_runs.fast_shares(of_load["fs"]) for of_load in runs.values()]
    )
    yield judge.finding(
        key="fs-fr-grows",
        claim="FS-TCP-SF: the share of fast retransmits grows with the load (slope above 0)",
        source="section IV-A.1, Fig. 5",
        published="above 0",
        judged=judge.is_above(found, 0.0, "percentage points from load 0 to 1"),
    )
    lost = {
        f"{load:g}": stats.difference(
            web_runs.losses(runs[load]["fs"]), web_runs.losses(runs[load]["classic"])
        )
        for load in loads
        if load > paper.LOAD
    }
    yield judge.finding(
        key="fs-drops-more",
        claim="FS-TCP-SF raises the dropping probability above 80 % load",
        source="section IV-A.1, Figs. 2 and 5",
        published="more than Classic",
        judged=judge.all_above(lost, 0.0, "percentage points"),
    )

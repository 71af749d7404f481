"""Section 5: balanced packet discard (Figs. 12 to 14).

The results are shown against the lower threshold, for each recovery period.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Figure, PublishedPoint, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.models import packet_discard as model
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import packet_discard_networks as networks
from tcpsf.papers.packet_discard_networks import A, B, Topology
from tcpsf.reproduce.packet_discard import thresholds
from tcpsf.reproduce.packet_discard.exhibit_parts import (
    ABOUT,
    ACTIVE,
    NEAR_ONE,
    SHARE,
    THRESHOLD,
    Setting,
    active,
    best,
    each,
    fairness,
    goodput,
    mean,
    mean_share,
    over,
    timeouts,
)
from tcpsf.reproduce.packet_discard.thresholds import TopologyRuns
from tcpsf.reproduce.web_runs import slope as slope_of
from tcpsf.summary import RunSummary

ByGap = Mapping[int, Mapping[float, Sequence[RunSummary]]]
"""Runs by recovery period and lower threshold."""
LOWER = tuple(at for at in paper.THRESHOLDS if at < paper.UPPER)
"""Lower thresholds below the upper one; with equal thresholds the policy is EPD."""


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Figs. 12 to 14, all policies, and the bound on the recovery period."""
    a, b = _cases(setting, A), _cases(setting, B)
    epd_a, epd_b = thresholds.cases(setting, A), thresholds.cases(setting, B)

    def of(runs: Runs, cases: Mapping[int, Mapping[float, Case]]) -> ByGap:
        return {gap: {at: runs.of(case) for at, case in row.items()} for gap, row in cases.items()}

    def all_of(cases: Mapping[int, Mapping[float, Case]]) -> tuple[Case, ...]:
        return tuple(case for row in cases.values() for case in row.values())

    return (
        Exhibit(
            key="fig-12",
            section="bpd",
            cases=(*all_of(b), *epd_b.all),
            build=lambda runs: _figure_12(of(runs, b), epd_b.of(runs)),
            shown={"topology B, BPD 0.4, gap 25": b[paper.GAP][paper.LOWER].scenario},
        ),
        Exhibit(
            key="fig-13",
            section="bpd",
            cases=(*b[paper.GAP].values(), *epd_b.all),
            build=lambda runs: _figure_13(
                of(runs, {paper.GAP: b[paper.GAP]})[paper.GAP], epd_b.of(runs)
            ),
        ),
        Exhibit(
            key="fig-14",
            section="bpd",
            cases=(*all_of(a), *epd_a.all),
            build=lambda runs: _figure_14(of(runs, a), epd_a.of(runs)),
        ),
        Exhibit(
            key="policies",
            section="bpd",
            cases=(*epd_a.all, *epd_b.all, a[paper.GAP][paper.LOWER], b[paper.GAP][paper.LOWER]),
            build=lambda runs: _policies(
                {
                    A.key: (epd_a.of(runs), runs.of(a[paper.GAP][paper.LOWER])),
                    B.key: (epd_b.of(runs), runs.of(b[paper.GAP][paper.LOWER])),
                }
            ),
        ),
        Exhibit(
            key="recovery-bound", section="bpd", cases=(), build=lambda _: Part(tables=(_bound(),))
        ),
    )


def _cases(setting: Setting, topology: Topology) -> dict[int, dict[float, Case]]:
    return {
        gap: {at: setting.case(topology, networks.bpd(at, gap=gap)) for at in LOWER}
        for gap in paper.GAPS
    }


def _figures(
    number: int,
    topology: Topology,
    seen: ByGap,
    epd: TopologyRuns,
    *,
    published: Mapping[int, PublishedPoint],
) -> tuple[Figure, ...]:
    """Plot throughput by threshold in two panels, for shorter and for longer recovery periods."""
    gaps = sorted(seen)
    half = len(gaps) // 2
    parts = ((f"fig-{number}", gaps[:half]), (f"fig-{number}-long", gaps[half:]))
    return tuple(
        _panel(number, key, topology, {gap: seen[gap] for gap in some}, epd, published)
        for key, some in parts
    )


def _panel(
    number: int,
    key: str,
    topology: Topology,
    seen: ByGap,
    epd: TopologyRuns,
    published: Mapping[int, PublishedPoint],
) -> Figure:
    measure = goodput(topology)
    named = f"Gap {min(seen)} to {max(seen)}"
    return Figure(
        key=key,
        title=f"Effective throughput with balanced packet discard in {topology.label}, {named}",
        source=f"{paper.SHORT}, Fig. {number}",
        caption="By recovery period (Gap, in packets), with EPD at the same threshold.",
        x=THRESHOLD,
        y=SHARE if topology is B else NEAR_ONE,
        series=(
            series("epd", "EPD", LOWER, [mean_share(epd.epd[at], measure) for at in LOWER]),
            *(
                series(
                    f"gap-{gap}",
                    f"BPD, Gap {gap}",
                    list(row),
                    [mean_share(runs, measure) for runs in row.values()],
                    published=(published[gap],) if gap in published else (),
                )
                for gap, row in seen.items()
            ),
        ),
        notes=(
            "The paper prints the maximum without Gap and threshold; it is drawn at the maximum of tcpsf.",
        )
        if any(gap in published for gap in seen)
        else (),
    )


def _top(seen: ByGap, topology: Topology) -> tuple[int, float]:
    """Return the recovery period and threshold with the highest throughput."""
    measure = goodput(topology)
    found = {
        (gap, at): sum(each(runs, measure)) for gap, row in seen.items() for at, runs in row.items()
    }
    return max(found, key=lambda key: found[key])


def _figure_12(seen: ByGap, epd: TopologyRuns) -> Part:
    gap, at = _top(seen, B)
    point = PublishedPoint(x=at, y=paper.BPD_BEST)
    figures = _figures(12, B, seen, epd, published={gap: point})
    return Part(figures=figures, findings=tuple(_claims_12(seen, epd, seen[gap][at])))


def _claims_12(seen: ByGap, epd: TopologyRuns, top: Sequence[RunSummary]) -> Iterator[Finding]:
    where = "section 5, Fig. 12"
    measure = goodput(B)
    epd_top = epd.epd[best(epd.epd, measure)]
    yield judge.finding(
        key="bpd-best",
        claim="Topology B: BPD's highest effective throughput is 0.932 (within 0.05)",
        source=where,
        published=f"{paper.BPD_BEST}",
        judged=judge.is_within(
            mean_share(top, measure), paper.BPD_BEST - ABOUT, paper.BPD_BEST + ABOUT, ""
        ),
    )
    ours, theirs = each(top, measure), each(epd_top, measure)
    more = stats.ratio([100.0 * (a - b) for a, b in zip(ours, theirs, strict=True)], theirs)
    yield judge.finding(
        key="bpd-improvement",
        claim="Topology B: BPD's highest effective throughput is more than 25 % above EPD's",
        source="abstract, sections 5 and 7",
        published="25.8 %",
        judged=judge.is_above(more, paper.IMPROVEMENT, "%"),
    )
    at_each = {f"{at:g}": over(runs, epd.epd[at], measure) for at, runs in seen[paper.GAP].items()}
    yield judge.finding(
        key="bpd-over-epd",
        claim="Topology B: BPD with a Gap of 25 has a higher throughput than EPD at every threshold",
        source=where,
        published="difference above 0",
        judged=judge.all_above(at_each, 0.0, ""),
    )
    yield from _claims_of_gaps(seen, epd)


def _claims_of_gaps(seen: ByGap, epd: TopologyRuns) -> Iterator[Finding]:
    where = "section 5, Fig. 12"
    measure = goodput(B)
    twice = {
        f"Gap {gap}, {at:g}": stats.difference(
            each(runs, measure), [2.0 * value for value in each(epd.epd[at], measure)]
        )
        for gap, row in seen.items()
        for at, runs in row.items()
    }
    yield judge.finding(
        key="bpd-twice",
        claim="In some cases BPD's throughput is twice that of EPD at the same threshold",
        source="section 1",
        published="100 % higher",
        judged=judge.some_above(twice, 0.0),
    )
    for gap in (min(seen), paper.GAP):
        slope = slope_of(list(seen[gap]), [each(runs, measure) for runs in seen[gap].values()])
        yield judge.finding(
            key=f"bpd-grows-{gap}",
            claim=f"Topology B, Gap {gap}: the throughput grows with the lower threshold (slope above 0)",
            source=where,
            published="general increase",
            judged=judge.is_above(slope, 0.0, "for each whole buffer"),
        )
    long = seen[max(seen)]
    yield judge.finding(
        key="bpd-long-gap-falls",
        claim=f"Topology B, Gap {max(seen)}: above a certain lower threshold the throughput falls",
        source=where,
        published="highest before the end",
        judged=judge.is_below(over(long[max(long)], long[best(long, measure)], measure), 0.0, ""),
    )


def _figure_13(seen: Mapping[float, Sequence[RunSummary]], epd: TopologyRuns) -> Part:
    top = best(seen, goodput(B))
    figure = Figure(
        key="fig-13",
        title="Time in which connections are active in topology B with BPD",
        source=f"{paper.SHORT}, Fig. 13",
        caption="Gap 25, with EPD at the same threshold.",
        x=THRESHOLD,
        y=ACTIVE,
        series=(
            series("epd", "EPD", LOWER, [mean_share(epd.epd[at], active) for at in LOWER]),
            series(
                f"gap-{paper.GAP}",
                f"BPD, Gap {paper.GAP}",
                list(seen),
                [mean_share(runs, active) for runs in seen.values()],
                published=(PublishedPoint(x=top, y=paper.BPD_ACTIVE),),
            ),
        ),
        notes=(
            "The paper prints this value without its threshold; it is drawn at the highest simulated throughput.",
        ),
    )
    where = "section 5, Fig. 13"
    finding = judge.finding(
        key="bpd-active",
        claim="Topology B: with BPD (Gap 25, at its best threshold) connections are active 92 % of the time "
        "(within 5)",
        source=where,
        published=f"{paper.BPD_ACTIVE:g}",
        judged=judge.is_within(
            mean_share(seen[top], active), paper.BPD_ACTIVE - ABOUT, paper.BPD_ACTIVE + ABOUT, ""
        ),
    )
    more = {f"{at:g}": over(runs, epd.epd[at], active) for at, runs in seen.items()}
    also = judge.finding(
        key="bpd-more-active",
        claim="Topology B: connections are more active with BPD (Gap 25) than with EPD, at every threshold",
        source=where,
        published="difference above 0",
        judged=judge.all_above(more, 0.0, ""),
    )
    return Part(figures=(figure,), findings=(finding, also))


def _figure_14(seen: ByGap, epd: TopologyRuns) -> Part:
    measure = goodput(A)
    gap, at = _top(seen, A)
    gain = over(seen[gap][at], epd.epd[best(epd.epd, measure)], measure)
    finding = judge.finding(
        key="a-bpd-minor",
        claim="Topology A: BPD at its best is no significant improvement over EPD at its best (less than 0.05)",
        source="section 5, Fig. 14",
        published="minor",
        judged=judge.is_below(gain, ABOUT, ""),
    )
    return Part(figures=_figures(14, A, seen, epd, published={}), findings=(finding,))


def _policies(seen: Mapping[str, tuple[TopologyRuns, Sequence[RunSummary]]]) -> Part:
    rows = []
    for topology in (A, B):
        flat, bpd = seen[topology.key]
        policies = {
            "Plain ATM": flat.plain,
            "PPD": flat.ppd,
            f"EPD {paper.BEST_THRESHOLD:g}": flat.epd[paper.BEST_THRESHOLD],
            f"BPD {paper.LOWER:g}, {paper.UPPER:g}, Gap {paper.GAP}": bpd,
        }
        for name, runs in policies.items():
            found = (
                mean_share(runs, goodput(topology)),
                mean_share(runs, active),
                mean(runs, timeouts),
                mean_share(runs, fairness),
            )
            cells = tuple(TableCell(ours=value, published=None) for value in found)
            rows.append(Row(label=f"{topology.label}, {name}", cells=cells))
    table = Table(
        key="policies",
        title="Comparison of the four policies",
        source="this project, from the runs of the figures",
        caption="Timeouts are per connection and run. Fairness is Jain's index of the throughputs of the "
        "connections.",
        columns=("policy", "effective throughput", "active", "timeouts", "fairness"),
        rows=tuple(rows),
    )
    return Part(tables=(table,))


def _bound() -> Table:
    """Return a table of the recovery periods that fit if all connections are damaged at once."""
    rows = []
    for at in LOWER:
        space = round((paper.UPPER - at) * paper.BUFFER_CELLS)
        longest = {
            topology.key: float(
                model.longest_recovery(space=space, connections=topology.connections)
            )
            for topology in (A, B)
        }
        cells = [
            TableCell(ours=judge.exact(longest[key]), published=None, unit="packets")
            for key in ("a", "b")
        ]
        rows.append(
            Row(
                label=f"{at:g}",
                cells=(TableCell(ours=judge.exact(space), published=None, unit="cells"), *cells),
            )
        )
    return Table(
        key="recovery-bound",
        title="Recovery periods that fit between the thresholds",
        source=f"{paper.SHORT}, section 4",
        caption=(
            "N·Gap·M < B, with N connections damaged at once, M = 13 cells per packet, and B cells between "
            "the lower threshold and an upper threshold of 0.9. The paper uses longer periods intentionally."
        ),
        columns=("lower threshold", "cells between", "topology A", "topology B"),
        rows=tuple(rows),
    )

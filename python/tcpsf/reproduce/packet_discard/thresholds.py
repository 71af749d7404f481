"""Section 3: plain ATM, PPD and EPD in topologies A and B (Figs. 6 to 9).

The results are shown against the EPD threshold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Axis, Figure, PublishedPoint
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import packet_discard_networks as networks
from tcpsf.papers.packet_discard_networks import A, B, Topology
from tcpsf.reproduce.packet_discard.exhibit_parts import (
    ABOUT,
    ACTIVE,
    NEAR_ONE,
    SHARE,
    THRESHOLD,
    Measure,
    Setting,
    active,
    best,
    goodput,
    mean_share,
    over,
)
from tcpsf.summary import RunSummary

FLAT = {"plain": ("Plain ATM", networks.PLAIN), "ppd": ("PPD", networks.PPD)}
"""Policies without a threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyRuns:
    """Runs of a topology with plain ATM, PPD and EPD."""

    plain: Sequence[RunSummary]
    ppd: Sequence[RunSummary]
    epd: Mapping[float, Sequence[RunSummary]]
    """Runs by threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyCases:
    """Cases of a topology with plain ATM, PPD and EPD."""

    plain: Case
    ppd: Case
    epd: Mapping[float, Case]

    @property
    def all(self) -> tuple[Case, ...]:
        """All cases of the topology, of every policy."""
        return (self.plain, self.ppd, *self.epd.values())

    def of(self, runs: Runs) -> TopologyRuns:
        """Return the finished runs of these cases."""
        return TopologyRuns(
            plain=runs.of(self.plain),
            ppd=runs.of(self.ppd),
            epd={threshold: runs.of(case) for threshold, case in self.epd.items()},
        )


def cases(setting: Setting, topology: Topology) -> TopologyCases:
    """Return the cases of a topology with plain ATM, PPD and EPD."""
    return TopologyCases(
        plain=setting.case(topology, networks.PLAIN),
        ppd=setting.case(topology, networks.PPD),
        epd={
            threshold: setting.case(topology, networks.epd(threshold))
            for threshold in paper.THRESHOLDS
        },
    )


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Figs. 6 to 9, policies by threshold in both topologies."""
    a, b = cases(setting, A), cases(setting, B)
    shown = {"topology A, EPD 0.5": a.epd[0.5].scenario}
    also = {"topology B, EPD 0.5": b.epd[0.5].scenario}
    return (
        Exhibit(
            key="fig-6",
            section="a",
            cases=a.all,
            build=lambda runs: _figure_6(a.of(runs)),
            shown=shown,
        ),
        Exhibit(key="fig-7", section="a", cases=a.all, build=lambda runs: _figure_7(a.of(runs))),
        Exhibit(
            key="fig-8",
            section="b",
            cases=(*b.all, *a.all),
            build=lambda runs: _figure_8(b.of(runs), a.of(runs)),
            shown=also,
        ),
        Exhibit(key="fig-9", section="b", cases=b.all, build=lambda runs: _figure_9(b.of(runs))),
    )


def _figure(
    number: int,
    topology: Topology,
    what: str,
    y: Axis,
    seen: TopologyRuns,
    measure: Measure,
    *,
    published: tuple[PublishedPoint, ...] = (),
    notes: tuple[str, ...] = (),
) -> Figure:
    at = list(seen.epd)
    flat = {"plain": seen.plain, "ppd": seen.ppd}
    return Figure(
        key=f"fig-{number}",
        title=f"{what} in {topology.label}",
        source=f"{paper.SHORT}, Fig. {number}",
        caption="Plain ATM, partial and early packet discard. Plain ATM and PPD have no threshold.",
        x=THRESHOLD,
        y=y,
        series=(
            *(
                series(key, label, [at[0], at[-1]], [mean_share(flat[key], measure)] * 2)
                for key, (label, _) in FLAT.items()
            ),
            series(
                "epd",
                "EPD",
                at,
                [mean_share(runs, measure) for runs in seen.epd.values()],
                published=published,
            ),
        ),
        notes=notes,
    )


def _figure_6(seen: TopologyRuns) -> Part:
    measure = goodput(A)
    figure = _figure(6, A, "Effective throughput", NEAR_ONE, seen, measure)
    return Part(figures=(figure,), findings=tuple(_claims_6(seen, measure)))


def _claims_6(seen: TopologyRuns, measure: Measure) -> Iterator[Finding]:
    where = "section 3, Fig. 6"
    yield judge.finding(
        key="a-ppd-over-plain",
        claim="Topology A: PPD performs better than plain ATM",
        source=where,
        published="difference above 0",
        judged=judge.is_above(over(seen.ppd, seen.plain, measure), 0.0, ""),
    )
    usual = {
        f"{at:g}": over(runs, seen.ppd, measure)
        for at, runs in seen.epd.items()
        if at <= paper.BEST_THRESHOLD
    }
    yield judge.finding(
        key="a-epd-slightly",
        claim="Topology A: EPD improves on PPD only slightly, up to a threshold of 0.7 (by less than 0.05)",
        source=where,
        published="small",
        judged=judge.all_below(usual, ABOUT, ""),
    )
    top = seen.epd[
        best({at: runs for at, runs in seen.epd.items() if at <= paper.BEST_THRESHOLD}, measure)
    ]
    yield judge.finding(
        key="a-epd-over-ppd",
        claim="Topology A: EPD, at its best threshold up to 0.7, improves on PPD",
        source=where,
        published="difference above 0",
        judged=judge.is_above(over(top, seen.ppd, measure), 0.0, ""),
    )
    yield judge.finding(
        key="a-threshold-above-70",
        claim="Topology A: an EPD-threshold above 0.7 lowers the throughput (0.9 against 0.7)",
        source=where,
        published="difference below 0",
        judged=judge.is_below(
            over(seen.epd[0.9], seen.epd[paper.BEST_THRESHOLD], measure), 0.0, ""
        ),
    )


def _figure_7(seen: TopologyRuns) -> Part:
    figure = _figure(7, A, "Time in which connections are active", ACTIVE, seen, active)
    less = {f"{at:g}": over(runs, seen.ppd, active) for at, runs in seen.epd.items()}
    finding = judge.finding(
        key="a-epd-less-active",
        claim="Topology A: connections are less active with EPD than with PPD, at every threshold",
        source="section 3, Fig. 7",
        published="difference below 0",
        judged=judge.all_below(less, 0.0, ""),
    )
    return Part(figures=(figure,), findings=(finding,))


def _figure_8(seen: TopologyRuns, in_a: TopologyRuns) -> Part:
    measure = goodput(B)
    top = best(seen.epd, measure)
    figure = _figure(
        8,
        B,
        "Effective throughput",
        SHARE,
        seen,
        measure,
        published=(PublishedPoint(x=top, y=paper.EPD_BEST),),
        notes=(
            "The paper prints the maximum of EPD without its threshold; it is drawn at the maximum of tcpsf.",
        ),
    )
    return Part(figures=(figure,), findings=tuple(_claims_8(seen, in_a, top)))


def _claims_8(seen: TopologyRuns, in_a: TopologyRuns, top: float) -> Iterator[Finding]:
    where = "section 3, Fig. 8"
    measure = goodput(B)
    yield judge.finding(
        key="b-epd-best",
        claim="Topology B: EPD's highest effective throughput is 0.741 (within 0.05)",
        source="section 5",
        published=f"{paper.EPD_BEST}",
        judged=judge.is_within(
            mean_share(seen.epd[top], measure), paper.EPD_BEST - ABOUT, paper.EPD_BEST + ABOUT, ""
        ),
    )
    for key, runs in (("plain", seen.plain), ("ppd", seen.ppd)):
        yield judge.finding(
            key=f"b-epd-over-{key}",
            claim=f"Topology B: EPD, at its best threshold, is better than {FLAT[key][0]}",
            source=where,
            published="difference above 0",
            judged=judge.is_above(over(seen.epd[top], runs, measure), 0.0, ""),
        )
    lower = {f"EPD {at:g}": over(runs, in_a.epd[at], measure) for at, runs in seen.epd.items()}
    lower |= {
        "PPD": over(seen.ppd, in_a.ppd, measure),
        "plain ATM": over(seen.plain, in_a.plain, measure),
    }
    yield judge.finding(
        key="b-lower-than-a",
        claim="Every policy and threshold gives less in topology B than in topology A",
        source=where,
        published="difference below 0",
        judged=judge.all_below(lower, 0.0, ""),
    )


def _figure_9(seen: TopologyRuns) -> Part:
    top = best(seen.epd, goodput(B))
    figure = _figure(
        9,
        B,
        "Time in which connections are active",
        ACTIVE,
        seen,
        active,
        published=(PublishedPoint(x=top, y=paper.EPD_ACTIVE),),
        notes=(
            "The paper prints this value without its threshold; it is drawn at the highest simulated throughput.",
            "Section 3 gives 49 % idle, and section 5 gives 49 % active.",
        ),
    )
    finding = judge.finding(
        key="b-epd-active",
        claim="Topology B: with EPD connections are active about half of the time (49 to 51 %, within 5 points)",
        source="sections 3 and 5, Fig. 9",
        published=f"{paper.EPD_ACTIVE:g} or {1 - paper.EPD_IDLE:g}",
        judged=judge.is_within(
            mean_share(seen.epd[top], active),
            paper.EPD_ACTIVE - ABOUT,
            1.0 - paper.EPD_IDLE + ABOUT,
            "",
        ),
    )
    return Part(figures=(figure,), findings=(finding,))

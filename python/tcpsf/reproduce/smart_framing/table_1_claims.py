"""Claims that the Smart Framing paper draws from Table I, each tested on the simulated runs.

Every threshold is the paper's own, or follows from what its table can show. No threshold was
chosen after a result was seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tcpsf import stats, text
from tcpsf.evaluation import judge
from tcpsf.evaluation.judge import Finding, Judged
from tcpsf.evaluation.ranges import Verdict
from tcpsf.papers import smart_framing as paper
from tcpsf.reproduce import web_runs
from tcpsf.summary import Totals, fast_percent, total

ByClass = Mapping[str, Sequence[Sequence[Totals]]]
"""Totals by variant, by class and by run."""

MIDDLE = range(9, 13)
"""Classes of 1650 to 8015 bytes.

Fast retransmit is possible at these sizes with framing; without framing they are too short for it.
"""

VISIBLE_GAIN = 100 * 0.01 / 0.27
"""Smallest gain of class 1, in per cent, that the table can show.

The table prints 0.27 s with a resolution of 0.01 s.
"""


def findings(totals: ByClass) -> Iterator[Finding]:
    """Judge every claim of the paper that is based on Table I."""
    for variant, size in (
        (paper.VARIABLE_SIZE, 1650),
        (paper.FIXED_SIZE, 1650),
        (paper.CLASSIC, 13681),
    ):
        yield _first_fast(variant, size, totals)
    for variant in (paper.VARIABLE_SIZE, paper.FIXED_SIZE):
        yield _middle_gain(variant, totals)
    for variant in (paper.VARIABLE_SIZE, paper.FIXED_SIZE):
        yield _smallest_gain(variant, totals)
    yield _classic_share(totals)


def _first_fast(variant: paper.Variant, size: int, totals: ByClass) -> Finding:
    """Judge from which flow size on fast retransmit occurs at all."""
    seen = [sum(run.fast_retransmits for run in runs) for runs in totals[variant.key]]
    recoveries = [sum(run.recoveries for run in runs) for runs in totals[variant.key]]
    first = next((index for index, count in enumerate(seen) if count), None)
    expected = paper.CLASS_BYTES.index(size)
    if first is None:
        ours = "none seen"
    else:
        ours = f"{text.count(paper.CLASS_BYTES[first], 'byte')} ({seen[first]} of {recoveries[first]} recoveries)"
    return judge.finding(
        key=f"first-fast-retransmit-{variant.key}",
        claim=f"{variant.label}: fast retransmit from {text.count(size, 'byte')} on",
        source="section IV-A.1, Table I",
        published=f"{text.count(size, 'byte')}",
        judged=_first_judged(
            first, size, variant.published[expected].fast_percent or 0.0, recoveries[expected], ours
        ),
    )


def _first_judged(
    first: int | None, size: int, percent: float, recoveries: int, ours: str
) -> Judged:
    """Judge the class in which fast retransmit first occurs: as claimed, too early, or too late.

    A first fast retransmit in a later class than claimed may be chance.
    """
    expected = paper.CLASS_BYTES.index(size)
    by_chance = (1.0 - percent / 100.0) ** recoveries
    missing = f"No fast retransmit was seen in {recoveries} recoveries of flows of {text.count(size, 'byte')}."
    verdict: Verdict
    if first == expected:
        verdict, wording = (
            "holds",
            f"The first class with a fast retransmit is that of {text.count(size, 'byte')}.",
        )
    elif first is not None and first < expected:
        verdict, wording = (
            "does not hold",
            f"A fast retransmit was seen in the class of {text.count(paper.CLASS_BYTES[first], 'byte')}.",
        )
    else:
        verdict = "undecided" if by_chance > 0.05 else "does not hold"
        wording = missing + judge.expected_none(percent, by_chance)
    return Judged(None, verdict, ours, judge.Test(kind="count", wording=wording))


def _middle_gain(variant: paper.Variant, totals: ByClass) -> Finding:
    """Judge whether the gain over Classic is above 30 % for the classes in the middle."""
    return judge.finding(
        key=f"middle-gain-{variant.key}",
        claim=f"{variant.label}: gain above 30 % for 1650 to 8015 bytes",
        source="section IV-A.1, Fig. 3",
        published=f"{text.plain(_published_gain(variant, MIDDLE), 1)} %",
        judged=judge.is_above(_gain(variant, MIDDLE, totals), 30.0, "%"),
    )


def _smallest_gain(variant: paper.Variant, totals: ByClass) -> Finding:
    """Judge whether the smallest flows gain nothing."""
    smallest = range(1, 2)
    return judge.finding(
        key=f"smallest-gain-{variant.key}",
        claim=f"{variant.label}: no gain (below {VISIBLE_GAIN:.1f} %) for 119 bytes",
        source="section IV-A.1, Fig. 3",
        published=f"{text.plain(_published_gain(variant, smallest), 1)} %",
        judged=judge.is_below(_gain(variant, smallest, totals), VISIBLE_GAIN, "%"),
    )


def _classic_share(totals: ByClass) -> Finding:
    """Judge whether Classic TCP detects less than a quarter of its losses by fast retransmit."""
    by_run = [total(of_run) for of_run in zip(*totals[paper.CLASSIC.key], strict=True)]
    return judge.finding(
        key="overall-fast-retransmit-classic",
        claim="Classic: less than 25 % fast retransmits at high load",
        source="section IV-A.1, Fig. 5",
        published="below 25 %",
        judged=judge.is_below(fast_percent(by_run), 25.0, "%"),
    )


def _gain(variant: paper.Variant, classes: range, totals: ByClass) -> stats.Estimate | None:
    """Gain over Classic in the mean of the classes' completion times, with runs compared in pairs.

    Each class has the same weight.
    """
    pair = (totals[variant.key], totals[paper.CLASSIC.key])
    ours, theirs = (
        web_runs.mean_times([by_class[number - 1] for number in classes]) for by_class in pair
    )
    return None if ours is None or theirs is None else stats.gain(ours, theirs)


def _published_gain(variant: paper.Variant, classes: range) -> float:
    ours = sum(variant.published[number - 1].completion_s for number in classes)
    theirs = sum(paper.CLASSIC.published[number - 1].completion_s for number in classes)
    return 100.0 * (1.0 - ours / theirs)

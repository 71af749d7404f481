"""Sections 4.2 and 5.3: window reductions of a transfer (Figs. 14 to 16).

The figures show the number of reductions and the cost of each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Axis, Figure
from tcpsf.evaluation.exhibit import Exhibit, Part, bars, series
from tcpsf.evaluation.judge import Finding, exact
from tcpsf.evaluation.plan import Runs
from tcpsf.intervals import Student
from tcpsf.models import short_flows as sf
from tcpsf.papers import short_flows as paper
from tcpsf.papers.short_flows_simulated import TransferPoint
from tcpsf.report.sheet import bar
from tcpsf.reproduce.short_flows.trials import RESAMPLES, PointTrials, Setting, Trials

SHOWN = {14: ("10 kB", TransferPoint()), 15: ("128 kB", TransferPoint(size=128_000))}
APART = 0.1
"""Largest total variation at which a law describes a distribution "very well".

It was chosen before the results were seen.
"""
MOST = 0.9
"""Share of timeouts from which on transfers hardly ever use fast retransmit."""


COSTLY = TransferPoint(size=64_000)
"""The point of Fig. 16."""
ENOUGH = 30
"""Smallest number of transfers for a median and a mean.

It applies to the transfers with the same number of reductions.
"""
SCATTER = 1000
"""Number of transfers plotted as points."""
GOLDEN = (5.0**0.5 - 1.0) / 2.0
ASIDE = 0.35
"""Horizontal spread of the points with the same number of reductions, to either side."""


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Figs. 14 to 16, for trials of ``setting``."""
    case = setting.case(COSTLY)
    costs = Exhibit(
        key="fig-16",
        section="events",
        cases=(case,),
        build=lambda runs: _costs(setting.seen(COSTLY, runs)),
        shown={"Fig. 16": case.scenario},
    )
    return (*(_exhibit(number, setting) for number in SHOWN), costs)


def _exhibit(number: int, setting: Setting) -> Exhibit:
    case = setting.case(SHOWN[number][1])
    return Exhibit(
        key=f"fig-{number}",
        section="events",
        cases=(case,),
        build=lambda runs: _part(number, setting, runs),
        shown={f"Fig. {number}": case.scenario},
    )


def _part(number: int, setting: Setting, runs: Runs) -> Part:
    seen = setting.seen(SHOWN[number][1], runs)
    return Part(figures=(_figure(number, seen),), findings=tuple(_findings(number, seen)))


def binomial(segments: int, chance: float, most: int) -> list[float]:
    """Return the probabilities of 0, 1, … ``most`` losses among a number of segments.

    >>> [round(each, 3) for each in binomial(2, 0.5, 2)]
    [0.25, 0.5, 0.25]
    """
    return [
        math.comb(segments, count) * chance**count * (1.0 - chance) ** (segments - count)
        for count in range(most + 1)
    ]


def _counts(trials: Trials) -> list[int]:
    return [int(count) for count in np.bincount(trials.events.astype(np.int64), minlength=2)]


def _figure(number: int, seen: PointTrials) -> Figure:
    counts = _counts(seen.trials)
    names = [str(count) for count in range(len(counts))]
    law = binomial(seen.point.segments, seen.point.loss, len(counts) - 1)
    return Figure(
        key=f"fig-{number}",
        title=f"Fig. {number}: reductions of the window, {SHOWN[number][0]}",
        source=f"{paper.SHORT}, Fig. {number}",
        caption=f"{len(seen.trials)} transfers; the binomial distribution has a trial for each of "
        f"{seen.point.segments} "
        f"segments, with a probability of {seen.point.loss:g}.",
        x=Axis(label="reductions", unit="", scale="category"),
        y=Axis(label="share of the transfers", unit="", scale="linear"),
        series=(
            bars(
                "seen",
                "transfers",
                names,
                [stats.proportion(count, len(seen.trials)) for count in counts],
            ),
            bar("binomial", "binomial law", names, law),
        ),
    )


def _apart(shares: Sequence[float], law: Sequence[float]) -> float:
    """Total variation between a distribution and a law that has further, higher values."""
    return 0.5 * (sum(abs(a - b) for a, b in zip(shares, law, strict=True)) + 1.0 - sum(law))


def variation(seen: PointTrials) -> stats.Estimate:
    """Total variation between the number of reductions and the binomial law."""
    trials = seen.trials
    counts = np.asarray(_counts(trials), dtype=np.float64)
    shares = counts / counts.sum()
    law = binomial(seen.point.segments, seen.point.loss, len(counts) - 1)
    drawn = trials.generator("reductions").multinomial(len(trials), shares, RESAMPLES) / len(trials)
    return stats.resampled(
        _apart(shares.tolist(), law), [_apart(row.tolist(), law) for row in drawn], len(trials)
    )


def _ratio(found: stats.Estimate | None, to: float) -> stats.Estimate | None:
    return None if found is None else found.scaled(1.0 / to)


def timeout_share(trials: Trials) -> stats.Estimate | None:
    """Share of timeouts among the reductions of the window."""
    return stats.share(trials.timeouts.tolist(), trials.events.tolist())


def _findings(number: int, seen: PointTrials) -> Iterator[Finding]:
    size, trials = SHOWN[number][0], seen.trials
    expected = float(sf.expected_losses(seen.point.size, seen.point.loss, mss=seen.point.mss))
    near = math.exp(-paper.CLOSE), math.exp(paper.CLOSE)
    yield judge.finding(
        key=f"fig-{number}-binomial",
        claim=f"Fig. {number}: reductions follow the binomial law very well (total variation up to {APART})",
        source=f"{paper.SHORT}, section 5.3.1",
        published="very well",
        judged=judge.is_below(variation(seen), APART, ""),
    )
    yield judge.finding(
        key=f"fig-{number}-mean",
        claim=f"Fig. {number}: (5) gives their mean (tcpsf over (5), within a fifth)",
        source=f"{paper.SHORT}, section 5.3.1",
        published=f"{expected:.2f}",
        judged=judge.is_within(_ratio(stats.mean(trials.events.tolist()), expected), *near, ""),
    )
    share = timeout_share(trials)
    yield judge.finding(
        key=f"fig-{number}-no-fast-retransmit",
        claim=f"Transfers of {size} hardly ever use fast retransmit (above 90 % of the reductions are timeouts)",
        source=f"{paper.SHORT}, section 4.2",
        published="never big enough",
        judged=judge.is_above(share, MOST, ""),
    )
    q = float(sf.timeout_probability(seen.point.loss))
    yield judge.finding(
        key=f"fig-{number}-q",
        claim=f"(6) gives the share of timeouts among the reductions in {size} (tcpsf over Q, within a fifth)",
        source=f"{paper.SHORT}, section 4.2.1",
        published=f"{100.0 * q:.0f} %",
        judged=judge.is_within(_ratio(share, q), *near, ""),
    )


def by_events(trials: Trials) -> dict[int, Trials]:
    """Return the trials without a lost SYN by number of reductions, if there are `ENOUGH`."""
    quick = trials.syn_timeouts == 0
    found = {
        count: trials.chosen(quick & (trials.events == count))
        for count in range(int(trials.events.max()) + 1)
    }
    return {
        count: each for count, each in found.items() if each is not None and len(each) >= ENOUGH
    }


def _costs(seen: PointTrials) -> Part:
    columns = by_events(seen.trials)
    return Part(figures=(_figure_16(seen.trials, columns),), findings=tuple(_findings_16(columns)))


def _figure_16(trials: Trials, columns: Mapping[int, Trials]) -> Figure:
    quick = np.flatnonzero(trials.syn_timeouts == 0)
    drawn = quick[:SCATTER]
    # The fractional parts of the multiples of the golden ratio are spread evenly for any number
    # of points.
    beside = (2.0 * ((np.arange(len(drawn)) * GOLDEN) % 1.0) - 1.0) * ASIDE
    counts = list(columns)
    return Figure(
        key="fig-16",
        title="Fig. 16: time by reductions of the window, 64 kB",
        source=f"{paper.SHORT}, Fig. 16",
        caption=f"The first {len(drawn)} of {len(quick)} transfers without a lost SYN, grouped by number of "
        f"reductions; median and mean of groups of {ENOUGH} or more.",
        x=Axis(label="reductions", unit="", scale="linear"),
        y=Axis(label="time", unit="s", scale="log"),
        series=(
            series(
                "trials",
                "transfers",
                [round(float(at), 4) for at in trials.events[drawn] + beside],
                [exact(float(each)) for each in trials.seconds[drawn]],
                style="point",
            ),
            series("median", "median", counts, [each.median() for each in columns.values()]),
            series("mean", "mean", counts, [each.mean() for each in columns.values()]),
        ),
    )


def _findings_16(columns: Mapping[int, Trials]) -> Iterator[Finding]:
    steps = {
        f"{one} to {two}": stats.resampled(
            float(columns[two].medians[0] - columns[one].medians[0]),
            (columns[two].medians[1:] - columns[one].medians[1:]).tolist(),
            min(len(columns[one]), len(columns[two])),
        )
        for one, two in itertools.pairwise(columns)
    }
    yield judge.finding(
        key="fig-16-grows",
        claim=f"Fig. 16: the time grows with the number of reductions (medians of {ENOUGH} transfers or more)",
        source=f"{paper.SHORT}, section 5.3.2",
        published="smooth correlation",
        judged=judge.all_above(steps, 0.0, "s"),
    )
    yield judge.finding(
        key="fig-16-costlier",
        claim="Fig. 16: each reduction costs more than the previous one (mean cost in the upper half minus "
        "that in the lower half)",
        source=f"{paper.SHORT}, Fig. 16",
        published="more costly than the last",
        judged=judge.is_above(_costlier(columns), 0.0, "s"),
    )


def _costlier(columns: Mapping[int, Trials]) -> stats.Estimate | None:
    """Mean cost of one more reduction in the upper half of their numbers minus that in the lower.

    The halves meet at the middle number of reductions. The columns are independent.
    """
    counts = list(columns)
    if len(counts) < 3:
        return None
    low, middle, high = counts[0], counts[len(counts) // 2], counts[-1]
    weights = {
        low: 1.0 / (middle - low),
        middle: -1.0 / (middle - low) - 1.0 / (high - middle),
        high: 1.0 / (high - middle),
    }
    value = sum(weight * float(columns[at].seconds.mean()) for at, weight in weights.items())
    error = math.sqrt(
        sum(
            weight**2 * float(columns[at].seconds.var(ddof=1)) / len(columns[at])
            for at, weight in weights.items()
        )
    )
    least = min(len(columns[at]) for at in weights)
    return stats.Estimate(value, Student(error, least - 1), least)

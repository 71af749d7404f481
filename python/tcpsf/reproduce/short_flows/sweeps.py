"""Section 5.2: completion time against size, MSS, round-trip time and loss rate.

The exhibits are Figs. 7 to 13.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Axis, Figure, Series
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Runs
from tcpsf.papers import short_flows as paper
from tcpsf.papers import short_flows_simulated as simulated
from tcpsf.papers.short_flows_simulated import TransferPoint
from tcpsf.report.sheet import line
from tcpsf.reproduce.short_flows.trials import (
    MODELS,
    NAMED,
    STATISTICS,
    Array,
    Model,
    PointTrials,
    Setting,
    closed,
    fitted,
    nearer,
    of_medians,
    off,
    off_minimum,
    straight,
)

STRAIGHT = 0.98
"""R² from which on a curve is regarded as linear, chosen before the results were seen."""
RARE = 0.01
"""Loss rate below which (4) is "a factor of two or three off"."""
LESS_BACK, MORE_BACK = TransferPoint(loss_back=0.04), TransferPoint(loss_back=0.06)
"""Points with a return-path loss rate slightly below and above that of the forward path.

Section 5.2.4 compares the two directions.
"""
CURVE = 60
"""Number of points of a model's curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A figure in which one quantity varies."""

    number: int
    what: str
    along: str
    unit: str
    scale: Literal["linear", "log"]
    values: tuple[float, ...]
    point: Callable[[float], TransferPoint]

    @property
    def key(self) -> str:
        """Key of the figure, such as ``fig-7``."""
        return f"fig-{self.number}"

    @property
    def source(self) -> str:
        """Paper and number of the figure."""
        return f"{paper.SHORT}, Fig. {self.number}"

    @property
    def points(self) -> tuple[TransferPoint, ...]:
        """Return the simulated setting at each value of the abscissa."""
        return tuple(self.point(value) for value in self.values)

    def seen(self, setting: Setting, runs: Runs) -> list[PointTrials]:
        """Return the trials and the models at each point of the figure."""
        return [setting.seen(point, runs) for point in self.points]


SWEEPS = (
    Sweep(
        number=7, what="sizes to 32 kB", along="size", unit="bytes", scale="log", values=simulated.SMALL,
        point=lambda size: TransferPoint(size=int(size)),
    ),
    Sweep(
        number=8, what="sizes to 512 kB", along="size", unit="bytes", scale="linear", values=simulated.LARGE,
        point=lambda size: TransferPoint(size=int(size)),
    ),
    Sweep(
        number=9, what="MSS", along="MSS", unit="bytes", scale="log", values=simulated.SEGMENTS,
        point=lambda mss: TransferPoint(mss=int(mss)),
    ),
    Sweep(
        number=10, what="round trip", along="round trip", unit="s", scale="linear", values=simulated.ROUND_TRIPS,
        point=lambda rtt: TransferPoint(rtt=rtt),
    ),
    Sweep(
        number=11, what="loss, 10 kB", along="loss", unit="", scale="linear", values=simulated.HIGH,
        point=lambda loss: TransferPoint(loss=loss),
    ),
    Sweep(
        number=12, what="low loss, 10 kB", along="loss", unit="", scale="log", values=simulated.LOW,
        point=lambda loss: TransferPoint(loss=loss),
    ),
    Sweep(
        number=13, what="low loss, 128 kB", along="loss", unit="", scale="log", values=simulated.LOW,
        point=lambda loss: TransferPoint(size=128_000, loss=loss),
    ),
)  # fmt: skip
BY_NUMBER = {sweep.number: sweep for sweep in SWEEPS}

Claims = Callable[[Sweep, Sequence[PointTrials]], Iterator[Finding]]


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Figs. 7 to 13, for trials of ``setting``."""
    claims: dict[int, Claims] = {
        7: _figure_7, 8: _figure_8, 9: _figure_9, 10: _figure_10, 11: _figure_11, 12: _low, 13: _low,
    }  # fmt: skip
    made = [_exhibit(sweep, setting, claims[sweep.number]) for sweep in SWEEPS]
    back = Exhibit(
        key="loss-back",
        section="sizes",
        cases=tuple(setting.case(point) for point in (LESS_BACK, TransferPoint(), MORE_BACK)),
        build=lambda runs: _back(setting, runs),
    )
    return (*made, back)


def _exhibit(sweep: Sweep, setting: Setting, claims: Claims) -> Exhibit:
    def build(runs: Runs) -> Part:
        seen = sweep.seen(setting, runs)
        return Part(figures=(_figure(sweep, seen),), findings=tuple(claims(sweep, seen)))

    cases = tuple(setting.case(point) for point in sweep.points)
    shown = {f"Fig. {sweep.number}, {sweep.along} {sweep.values[0]:g}": cases[0].scenario}
    return Exhibit(key=sweep.key, section="sizes", cases=cases, build=build, shown=shown)


def _figure(sweep: Sweep, seen: Sequence[PointTrials]) -> Figure:
    return Figure(
        key=sweep.key,
        title=f"Fig. {sweep.number}: {sweep.what}",
        source=sweep.source,
        caption=f"{len(seen[0].trials)} transfers a point, and the three models.",
        x=Axis(label=sweep.along, unit=sweep.unit, scale=sweep.scale),
        y=Axis(label="time", unit="s", scale="log"),
        series=(*statistics(sweep.values, seen), *_curves(sweep, seen[0])),
    )


def statistics(across: Sequence[float], seen: Sequence[PointTrials]) -> Iterator[Series]:
    """Yield the curves of the trials' statistics that the paper plots."""
    for name in STATISTICS:
        key = "80" if name == "80 %" else name
        yield series(key, name, list(across), [each.trials.statistic(name) for each in seen])


def _curves(sweep: Sweep, seen: PointTrials) -> Iterator[Series]:
    ends = sweep.values[0], sweep.values[-1]
    between = np.geomspace(*ends, CURVE) if sweep.scale == "log" else np.linspace(*ends, CURVE)
    across = sorted(
        {*map(float, sweep.values), *(float(f"{value:.4g}") for value in between[1:-1])}
    )
    for number in MODELS:
        times = [closed(sweep.point(value), number, seen.assumed) for value in across]
        yield line(f"model-{number}", NAMED[number], across, times)


def models(seen: Sequence[PointTrials], number: Model) -> list[float]:
    """Return the time in seconds that a model gives at each point."""
    return [each.model(number) for each in seen]


def fit(seen: Sequence[PointTrials], number: Model) -> stats.Estimate | None:
    """Mean deviation of a model from the medians of the points over which fits are taken."""
    chosen = fitted(seen)
    return off(chosen, models(chosen, number))


def _claim(sweep: Sweep, key: str, claim: str, published: str, judged: judge.Judged) -> Finding:
    return judge.finding(
        key=f"{sweep.key}-{key}",
        claim=f"Fig. {sweep.number}: {claim}",
        source=f"{paper.SHORT}, section 5.2",
        published=published,
        judged=judged,
    )


def _log(values: Sequence[float]) -> list[float]:
    return [math.log(value) for value in values]


def _figure_7(sweep: Sweep, seen: Sequence[PointTrials]) -> Iterator[Finding]:
    logs = _log(sweep.values)
    better = of_medians(seen, lambda rows: straight(logs, rows) - straight(sweep.values, rows))
    yield _claim(
        sweep,
        "logarithmic",
        "the time is logarithmic in the size (R² above that of a straight line)",
        "basically logarithmic",
        judge.is_above(better, 0.0, ""),
    )
    chosen = fitted(seen)
    yield _claim(
        sweep,
        "lossless",
        "(1) fits the minimum well",
        "well",
        judge.is_below(off_minimum(chosen, models(chosen, 1)), paper.CLOSE, ""),
    )
    yield _claim(
        sweep,
        "short",
        "(14) fits the median closely",
        "closely",
        judge.is_below(fit(seen, 14), paper.CLOSE, ""),
    )
    yield _claim(
        sweep,
        "steady",
        "(4) fits the median almost as well",
        "almost as well",
        judge.is_below(fit(seen, 4), paper.FAIR, ""),
    )


def _figure_8(sweep: Sweep, seen: Sequence[PointTrials]) -> Iterator[Finding]:
    yield _claim(
        sweep,
        "linear",
        f"the time is linear in the size (R² of {STRAIGHT})",
        "basically linear",
        judge.is_above(of_medians(seen, lambda rows: straight(sweep.values, rows)), STRAIGHT, ""),
    )
    largest = seen[-1].trials
    yield _claim(
        sweep,
        "all-lose",
        "at 512 kB every transfer has a loss",
        "all",
        judge.is_none(int((largest.events == 0).sum()), len(largest)),
    )
    for number in (4, 14):
        grown = _apart(seen[-1], seen[0], number)
        yield _claim(
            sweep,
            f"diverges-{number}",
            f"({number}) gradually diverges from the median (ln(median/model) grows from 32 to 512 kB)",
            "gradually diverge",
            judge.is_above(grown, 0.0, ""),
        )
    yield _claim(
        sweep,
        "short-closer",
        "(14) is closer to the median than (4)",
        "closer",
        judge.is_above(nearer(seen, models(seen, 14), models(seen, 4)), 0.0, ""),
    )


def _apart(large: PointTrials, small: PointTrials, number: Model) -> stats.Estimate:
    """Difference of ln(median/model) between two points."""
    predicted = math.log(large.model(number) / small.model(number))
    return of_medians([large, small], lambda rows: np.log(rows[0] / rows[1]) - predicted)


def nearer_than(one: PointTrials, other: PointTrials, number: Model) -> stats.Estimate:
    """Decrease of a model's |ln(median/model)| from ``other`` to ``one``."""
    a, b = one.model(number), other.model(number)
    return of_medians(
        [one, other], lambda rows: np.abs(np.log(rows[1] / b)) - np.abs(np.log(rows[0] / a))
    )


def _figure_9(sweep: Sweep, seen: Sequence[PointTrials]) -> Iterator[Finding]:
    steps = {
        f"{one.point.mss} to {two.point.mss}": of_medians(
            [one, two], lambda rows: np.log(rows[0] / rows[1])
        )
        for one, two in itertools.pairwise(seen)
    }
    yield _claim(
        sweep,
        "falls",
        "a larger MSS has the effect of a smaller size: the time does not grow (by 0.1 %)",
        "roughly the inverse of Fig. 7",
        judge.all_above(steps, -0.001, ""),
    )


def _figure_10(sweep: Sweep, seen: Sequence[PointTrials]) -> Iterator[Finding]:
    yield _claim(
        sweep,
        "linear",
        f"the time is linear in the round trip (R² of {STRAIGHT})",
        "essentially linear",
        judge.is_above(of_medians(seen, lambda rows: straight(sweep.values, rows)), STRAIGHT, ""),
    )
    for number in MODELS:
        yield _claim(
            sweep,
            f"fits-{number}",
            f"({number}) fits the median fairly well",
            "fairly well",
            judge.is_below(fit(seen, number), paper.FAIR, ""),
        )
    by_trip = {each.point.rtt: each for each in seen}
    farther = {
        f"{1000 * rtt:.0f} ms": nearer_than(by_trip[0.05], by_trip[rtt], 14) for rtt in (0.2, 0.4)
    }
    yield _claim(
        sweep,
        "diverges",
        "(14) diverges at 200 and 400 ms (off by more than at 50 ms)",
        "diverges",
        judge.all_above(farther, 0.0, ""),
    )


def _figure_11(sweep: Sweep, seen: Sequence[PointTrials]) -> Iterator[Finding]:
    for number in MODELS:
        yield _claim(
            sweep,
            f"fits-{number}",
            f"({number}) fits the median fairly well",
            "fairly well",
            judge.is_below(fit(seen, number), paper.FAIR, ""),
        )
    yield _claim(
        sweep,
        "skyrockets",
        "the mean increases strongly (at 15 % more than ten times that at 1 %)",
        "skyrockets",
        judge.is_above(stats.quotient(seen[-1].trials.mean(), seen[0].trials.mean()), 10.0, ""),
    )


def _low(sweep: Sweep, seen: Sequence[PointTrials]) -> Iterator[Finding]:
    yield _claim(
        sweep,
        "short-closer",
        "(14) is better than (4) at low loss",
        "better",
        judge.is_above(nearer(seen, models(seen, 14), models(seen, 4)), 0.0, ""),
    )
    rare = [each for each in seen if each.point.loss < RARE]
    predicted = np.asarray(models(rare, 4))[:, np.newaxis]

    def worst(rows: Array) -> Array:
        return np.asarray((rows / predicted).max(axis=0))

    yield _claim(
        sweep,
        "factor",
        "below 1 % (4) is off by a factor of two or three (1.5 to 3.5 at the most)",
        "two or three",
        judge.is_within(of_medians(rare, worst), 1.5, 3.5, ""),
    )


def _back(setting: Setting, runs: Runs) -> Part:
    seen = [setting.seen(point, runs) for point in (LESS_BACK, TransferPoint(), MORE_BACK)]
    share = [
        100.0 * (each.point.loss if each.point.loss_back is None else each.point.loss_back)
        for each in seen
    ]
    change = stats.quotient(seen[2].trials.mean(), seen[0].trials.mean())
    figure = Figure(
        key="loss-back",
        title="Slightly more or less loss on the return path",
        source=f"{paper.SHORT}, section 5.2.4",
        caption="10 kB, 5 % loss on the forward path.",
        x=Axis(label="loss on the return path", unit="%", scale="linear"),
        y=Axis(label="time", unit="s", scale="log"),
        series=tuple(statistics(share, seen)),
    )
    return Part(
        figures=(figure,),
        findings=(
            judge.finding(
                key="loss-back",
                claim="Slightly more loss on the return path has little effect (mean at 6 % over that at 4 "
                "%: at most a fifth, on a logarithmic scale)",
                source=f"{paper.SHORT}, section 5.2.4",
                published="little difference",
                judged=judge.is_within(change, math.exp(-paper.CLOSE), math.exp(paper.CLOSE), ""),
            ),
        ),
    )

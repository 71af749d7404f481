"""Means, ratios, proportions and differences over independent runs, with their 95 % confidence intervals.

One run gives one observation, however many flows it holds: flows of a run share the queue and are
not independent. Where they share none, as on a path that only loses at random, each flow counts as
a run. Intervals of means use Student's t over the runs. A ratio of two totals (mean completion time
= seconds / flows) is estimated by the ratio of the sums, its variance by linearisation: the
residuals a_i − r·b_i of the runs (Cochran, Sampling Techniques, §6.3). A proportion (share of fast
retransmits = fast retransmits / recoveries) has Wilson's interval with an effective number of
observations, which the same variance gives (`intervals.Wilson`). Pairs of runs on the same seed
stay pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tcpsf.distribution import Distribution, RunTimes
from tcpsf.intervals import (
    EVERYTHING,
    Apart,
    Ends,
    Over,
    Quantile,
    Resampled,
    Same,
    Spread,
    Student,
    Wilson,
)
from tcpsf.sums import ROUNDING, Sums

CONFIDENCE = 0.95
"""Of every interval that a report shows, unless it says otherwise."""

POSITIVE: Ends = (0.0, math.inf)
"""The possible range of times, sizes and counts."""

SHARE: Ends = (0.0, 1.0)
"""The possible range of a share that is no count of observations, such as a link's utilisation."""

PERCENT: Ends = (0.0, 100.0)
"""The same in per cent."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value over ``runs`` runs and how uncertain it is."""

    value: float
    spread: Spread | None
    """``None`` where fewer than two runs say anything: the uncertainty is unknown."""
    runs: int

    @property
    def random(self) -> bool:
        """Whether more runs could give another value: ``False`` where nothing is random or all runs gave the same."""
        return not isinstance(self.spread, Same)

    @property
    def interval(self) -> Ends | None:
        """The 95 % interval; ``None`` where it is unknown, and where the value has no spread."""
        return self.interval_at(CONFIDENCE)

    def interval_at(self, confidence: float) -> Ends | None:
        """Return the interval of another level of confidence."""
        return self._ends(confidence) if self.spread is not None and self.random else None

    def _ends(self, confidence: float) -> Ends:
        return EVERYTHING if self.spread is None else self.spread.interval(self.value, confidence)

    @property
    def low(self) -> float:
        """The 95 % interval's lower end; minus infinity where it is unknown, the value where it has no spread."""
        return self._ends(CONFIDENCE)[0]

    @property
    def high(self) -> float:
        """The 95 % interval's upper end; infinity where it is unknown, the value where it has no spread."""
        return self._ends(CONFIDENCE)[1]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        interval = self.interval
        return {
            "value": self.value,
            "interval": None if interval is None else list(interval),
            "runs": self.runs,
            "random": self.random,
        }

    def scaled(self, factor: float) -> Estimate:
        """The same estimate in another unit."""
        return Estimate(
            self.value * factor,
            None if self.spread is None else self.spread.scaled(factor),
            self.runs,
        )

    def shifted(self, by: float) -> Estimate:
        """The estimate plus a constant."""
        return Estimate(
            self.value + by, None if self.spread is None else self.spread.shifted(by), self.runs
        )


def symmetric(value: float, interval: Ends) -> bool:
    """Whether both ends are as far from ``value``, so that "value ± half width" says all.

    >>> symmetric(2.0, (1.0, 3.0)), symmetric(2.0, (0.0, 3.0))
    (True, False)
    """
    below, above = value - interval[0], interval[1] - value
    return math.isclose(below, above, rel_tol=1e-6)


def mean(observations: Sequence[float], *, possible: Ends = EVERYTHING) -> Estimate | None:
    """Mean of one observation a run.

    >>> found = mean([1.0, 2.0, 3.0])
    >>> found.value, found.interval
    (2.0, (-0.484..., 4.484...))
    >>> mean([1.0, 2.0, 3.0], possible=POSITIVE).interval
    (0.0, 4.484...)
    """
    return ratio(observations, [1.0] * len(observations), possible=possible)


def ratio(
    numerators: Sequence[float], denominators: Sequence[float], *, possible: Ends = EVERYTHING
) -> Estimate | None:
    """Ratio of two totals, observed together in each run; ``None`` when the denominators sum to zero.

    >>> ratio([2, 4], [4, 8])
    Estimate(value=0.5, spread=Same(), runs=2)
    """
    pairs = list(zip(numerators, denominators, strict=True))
    runs = len(pairs)
    below = math.fsum(b for _, b in pairs)
    if below == 0:
        return None
    value = math.fsum(a for a, _ in pairs) / below
    return _estimate(value, _error(pairs, value, below) if runs > 1 else None, runs, possible)


def ratio_of(sums: Sums, runs: int, *, possible: Ends = EVERYTHING) -> Estimate | None:
    """The same as `ratio`, from sums over ``runs`` runs.

    >>> sums = Sums()
    >>> for seconds, flows in ((2, 4), (4, 8)):
    ...     sums.add(seconds, flows)
    >>> ratio_of(sums, 2)
    Estimate(value=0.5, spread=Same(), runs=2)
    """
    if sums.below == 0:
        return None
    return _estimate(
        float(sums.above / sums.below), sums.error(runs) if runs > 1 else None, runs, possible
    )


def _estimate(value: float, error: float | None, runs: int, possible: Ends) -> Estimate:
    if error is None:
        return Estimate(value, None, runs)
    return Estimate(value, Student(error, runs - 1, possible) if error else Same(), runs)


def _error(pairs: Sequence[tuple[float, float]], value: float, below: float) -> float:
    """Standard error of a ratio by linearisation."""
    runs = len(pairs)
    residuals = [a - value * b for a, b in pairs]
    if max(map(abs, residuals)) <= ROUNDING * max(abs(a) for a, _ in pairs):
        return 0.0
    return math.sqrt(math.fsum(each**2 for each in residuals) / (runs - 1) / runs) / (below / runs)


def share(hits: Sequence[float], of: Sequence[float]) -> Estimate | None:
    """Proportion of ``hits`` among ``of``, each the sum over a run; ``None`` where there was nothing to observe.

    >>> found = share([0, 0], [10, 10])
    >>> found.value, [round(end, 3) for end in found.interval]
    (0.0, [0.0, 0.161])
    """
    return _proportion(ratio(hits, of), math.fsum(of))


def share_of(sums: Sums, runs: int, *, observations: float | None = None) -> Estimate | None:
    """The same as `share`, from sums over ``runs`` runs.

    ``observations`` is how much was observed where the second sum does not count it: segments, where that is bytes.

    >>> sums = Sums()
    >>> for _ in range(2):
    ...     sums.add(0, 10)
    >>> share_of(sums, 2) == share([0, 0], [10, 10])
    True
    """
    return _proportion(
        ratio_of(sums, runs), float(sums.below if observations is None else observations)
    )


def _proportion(found: Estimate | None, seen: float) -> Estimate | None:
    """Give a ratio the interval of a proportion of so many observations."""
    if found is None or found.runs < 2:
        return found
    error = found.spread.error if isinstance(found.spread, Student) else 0.0
    inside = found.value * (1.0 - found.value)
    effective = inside / error**2 if error and inside > 0 else math.inf
    return Estimate(found.value, Wilson(effective, max(seen, 1.0), found.runs - 1), found.runs)


def quantile(runs: Sequence[Distribution], part: float) -> Estimate | None:
    """Seconds that ``part`` of all runs' times do not exceed; ``None`` where there are none.

    >>> quantile([Distribution([10**9, 2 * 10**9, 3 * 10**9])], 0.5)
    Estimate(value=2.0, spread=None, runs=1)
    """
    times = RunTimes()
    for run in runs:
        times.add(run)
    return quantile_of(times, len(runs), part)


def quantile_of(times: RunTimes, runs: int, part: float) -> Estimate | None:
    """The same as `quantile`, from the times of ``runs`` runs."""
    together = times.together
    value = together.quantile(part)
    if value is None:
        return None
    found = share_of(times.up_to(value), runs)
    if found is None or not isinstance(found.spread, Wilson):
        return Estimate(value, None, runs)
    if together.quantile(0.0) == together.quantile(1.0):
        return Estimate(value, Same(), runs)
    return Estimate(value, Quantile(together, part, found.spread), runs)


def proportion(hits: int, of: int) -> Estimate | None:
    """Share of ``hits`` among ``of`` independent observations; ``None`` where there are none.

    >>> found = proportion(0, 20)
    >>> found.value, [round(end, 3) for end in found.interval]
    (0.0, [0.0, 0.161])
    """
    return Estimate(hits / of, Wilson(math.inf, of, max(of - 1, 1)), of) if of else None


def quantile_of_one(times: Distribution, part: float) -> Estimate | None:
    """Seconds that ``part`` of independent times do not exceed; ``None`` where there are none.

    >>> found = quantile_of_one(Distribution(range(1_000_000_000, 101_000_000_000, 1_000_000_000)), 0.5)
    >>> found.value, found.interval
    (50.0, (41.0, 60.0))
    """
    value, observed = times.quantile(part), len(times)
    if value is None:
        return None
    if times.quantile(0.0) == times.quantile(1.0):
        return Estimate(value, Same() if observed > 1 else None, observed)
    return Estimate(
        value, Quantile(times, part, Wilson(math.inf, observed, observed - 1)), observed
    )


def resampled(value: float, values: Iterable[float], runs: int) -> Estimate:
    """Estimate a statistic of ``runs`` observations by its ``values`` on resampled ones (bootstrap).

    >>> resampled(2.0, [float(each) for each in range(1001)], 50).interval
    (2.0, 975.0)
    """
    ordered = tuple(sorted(map(float, values)))
    return Estimate(value, Same() if ordered[0] == ordered[-1] else Resampled(ordered), runs)


def difference(ours: Sequence[float], theirs: Sequence[float]) -> Estimate | None:
    """Mean of ``ours`` − ``theirs`` over pairs of runs on the same seed.

    >>> difference([2.0, 3.0], [1.0, 2.0])
    Estimate(value=1.0, spread=Same(), runs=2)
    """
    return mean([a - b for a, b in zip(ours, theirs, strict=True)])


def apart(ours: Estimate | None, theirs: Estimate | None) -> Estimate | None:
    """``ours`` − ``theirs`` where the two are independent; ``None`` where one of them says nothing.

    >>> found = apart(Estimate(5.0, Student(3.0, 900), 901), Estimate(1.0, Student(4.0, 900), 901))
    >>> found.value, found.interval
    (4.0, (-5.8..., 13.8...))
    """
    if ours is None or theirs is None:
        return None
    value, runs = ours.value - theirs.value, min(ours.runs, theirs.runs)
    if ours.spread is None or theirs.spread is None:
        return Estimate(value, None, runs)
    if not ours.random and not theirs.random:
        return Estimate(value, Same(), runs)
    return Estimate(value, Apart((ours.value, ours.spread), (theirs.value, theirs.spread)), runs)


def quotient(ours: Estimate | None, theirs: Estimate | None) -> Estimate | None:
    """``ours`` / ``theirs`` where the two are independent and positive; ``None`` where one of them says nothing.

    >>> found = quotient(Estimate(8.0, Student(0.6, 900), 901), Estimate(4.0, Student(0.4, 900), 901))
    >>> found.value, found.interval
    (2.0, (1.57..., 2.58...))
    >>> quotient(proportion(30, 40), proportion(10, 40)).interval
    (1.77..., 5.37...)
    """
    if ours is None or theirs is None or theirs.value <= 0:
        return None
    value, runs = ours.value / theirs.value, min(ours.runs, theirs.runs)
    if ours.spread is None or theirs.spread is None or ours.value < 0:
        return Estimate(value, None, runs)
    if not ours.random and not theirs.random:
        return Estimate(value, Same(), runs)
    return Estimate(value, Over((ours.value, ours.spread), (theirs.value, theirs.spread)), runs)


def gain(ours: Sequence[float], theirs: Sequence[float]) -> Estimate | None:
    """How much less ``ours`` is than ``theirs``, in per cent of ``theirs``, over pairs of runs on the same seed.

    >>> gain([1.0, 3.0], [2.0, 6.0]).value
    50.0
    """
    found = ratio([b - a for a, b in zip(ours, theirs, strict=True)], theirs)
    return None if found is None else found.scaled(100.0)


def jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness, (Σx)² / n Σx²: 1 if all have the same, 1/n if one has all.

    >>> jain([1.0, 1.0]), jain([1.0, 0.0])
    (1.0, 0.5)
    """
    squares = math.fsum(share * share for share in shares)
    return math.fsum(shares) ** 2 / (len(shares) * squares) if squares else 1.0

"""Means, ratios, proportions and differences over independent runs, with confidence intervals.

A run is one observation for any number of flows, because flows of a run share a queue and are not
independent. If flows do not share a queue, as on a path with only random loss, each flow counts as
a run. Intervals of means use Student's t over the runs. A ratio of two totals, such as the mean
completion time (seconds / flows), is estimated by the ratio of the sums. Its variance follows by
linearisation from the residuals a_i − r·b_i of the runs (Cochran, Sampling Techniques, §6.3).
A proportion, such as the share of fast retransmits among recoveries, has Wilson's interval. Its
effective number of observations follows from the same variance (`intervals.Wilson`). Runs with the
same seed are compared in pairs.
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
"""Confidence of all intervals in reports, unless a report states another value."""

POSITIVE: Ends = (0.0, math.inf)
"""The possible range of times, sizes and counts."""

SHARE: Ends = (0.0, 1.0)
"""The possible range of a share that is not a proportion of observations, e.g. utilisation."""

PERCENT: Ends = (0.0, 100.0)
"""The possible range of a share as a percentage."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value over ``runs`` runs, with its uncertainty."""

    value: float
    """The value, in the unit of the quantity."""
    spread: Spread | None
    """Kind of the uncertainty; ``None`` with fewer than two observations, if it is unknown."""
    runs: int
    """Number of runs."""

    @property
    def random(self) -> bool:
        """Whether more runs could give another value.

        ``False`` if nothing is random, or if all runs have the same value.
        """
        return not isinstance(self.spread, Same)

    @property
    def interval(self) -> Ends | None:
        """The 95 % interval; ``None`` if it is unknown, or if the value has no spread."""
        return self.interval_at(CONFIDENCE)

    def interval_at(self, confidence: float) -> Ends | None:
        """Return the interval at another level of confidence, between 0 and 1."""
        return self._ends(confidence) if self.spread is not None and self.random else None

    def _ends(self, confidence: float) -> Ends:
        return EVERYTHING if self.spread is None else self.spread.interval(self.value, confidence)

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval.

        Minus infinity if the interval is unknown, and the value itself if it has no spread.
        """
        return self._ends(CONFIDENCE)[0]

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval.

        Infinity if the interval is unknown, and the value itself if it has no spread.
        """
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
        """Return the estimate times ``factor``, for example in another unit."""
        return Estimate(
            self.value * factor,
            None if self.spread is None else self.spread.scaled(factor),
            self.runs,
        )

    def shifted(self, by: float) -> Estimate:
        """Return the estimate plus a constant."""
        return Estimate(
            self.value + by, None if self.spread is None else self.spread.shifted(by), self.runs
        )


def symmetric(value: float, interval: Ends) -> bool:
    """Return whether both ends have the same distance from ``value``.

    The notation "value ± half width" is then complete.

    >>> symmetric(2.0, (1.0, 3.0)), symmetric(2.0, (0.0, 3.0))
    (True, False)
    """
    below, above = value - interval[0], interval[1] - value
    return math.isclose(below, above, rel_tol=1e-6)


def mean(observations: Sequence[float], *, possible: Ends = EVERYTHING) -> Estimate | None:
    """Mean of the observations, one per run; ``None`` without observations.

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
    """Ratio of two totals that are observed together in each run.

    ``None`` if the sum of the denominators is zero.

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
    """Ratio as in `ratio`, from sums over ``runs`` runs.

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
    """Proportion of ``hits`` among ``of`` observations, given as one pair of sums per run.

    ``None`` if there are no observations.

    >>> found = share([0, 0], [10, 10])
    >>> found.value, [round(end, 3) for end in found.interval]
    (0.0, [0.0, 0.161])
    """
    return _proportion(ratio(hits, of), math.fsum(of))


def share_of(sums: Sums, runs: int, *, observations: float | None = None) -> Estimate | None:
    """Proportion as in `share`, from sums over ``runs`` runs.

    ``observations`` is the number of observations if the second sum is not this number. For
    example, the sum can be in bytes while each segment is one observation.

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
    """Replace the interval of a ratio by that of a proportion of ``seen`` observations."""
    if found is None or found.runs < 2:
        return found
    error = found.spread.error if isinstance(found.spread, Student) else 0.0
    inside = found.value * (1.0 - found.value)
    effective = inside / error**2 if error and inside > 0 else math.inf
    return Estimate(found.value, Wilson(effective, max(seen, 1.0), found.runs - 1), found.runs)


def quantile(runs: Sequence[Distribution], part: float) -> Estimate | None:
    """Quantile ``part`` of the times of all runs, in seconds; ``None`` if there are no times.

    >>> quantile([Distribution([10**9, 2 * 10**9, 3 * 10**9])], 0.5)
    Estimate(value=2.0, spread=None, runs=1)
    """
    times = RunTimes()
    for run in runs:
        times.add(run)
    return quantile_of(times, len(runs), part)


def quantile_of(times: RunTimes, runs: int, part: float) -> Estimate | None:
    """Quantile as in `quantile`, from the combined times of ``runs`` runs."""
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
    """Share of ``hits`` among ``of`` independent observations; ``None`` if there are none.

    >>> found = proportion(0, 20)
    >>> found.value, [round(end, 3) for end in found.interval]
    (0.0, [0.0, 0.161])
    """
    return Estimate(hits / of, Wilson(math.inf, of, max(of - 1, 1)), of) if of else None


def quantile_of_one(times: Distribution, part: float) -> Estimate | None:
    """Quantile ``part`` of independent times, in seconds; ``None`` if there are no times.

    >>> second = 1_000_000_000
    >>> found = quantile_of_one(Distribution(range(second, 101 * second, second)), 0.5)
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
    """Estimate a statistic of ``runs`` observations by bootstrap.

    ``values`` are the values of the statistic on resampled observations.

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
    """Difference ``ours`` − ``theirs`` of independent estimates; ``None`` if one of them is.

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
    """Ratio ``ours`` / ``theirs`` of independent positive estimates.

    ``None`` if one of them is, or if ``theirs`` is not positive.

    >>> eight, four = Student(0.6, 900), Student(0.4, 900)
    >>> found = quotient(Estimate(8.0, eight, 901), Estimate(4.0, four, 901))
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
    """Reduction of ``ours`` relative to ``theirs``, as a percentage of ``theirs``.

    The values are pairs of runs on the same seed.

    >>> gain([1.0, 3.0], [2.0, 6.0]).value
    50.0
    """
    found = ratio([b - a for a, b in zip(ours, theirs, strict=True)], theirs)
    return None if found is None else found.scaled(100.0)


def jain(shares: Sequence[float]) -> float:
    """Jain's fairness index, (Σx)² / n Σx²: 1 for equal shares, 1/n if one share has everything.

    >>> jain([1.0, 1.0]), jain([1.0, 0.0])
    (1.0, 0.5)
    """
    squares = math.fsum(share * share for share in shares)
    return math.fsum(shares) ** 2 / (len(shares) * squares) if squares else 1.0

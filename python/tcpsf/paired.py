"""Differences between two senders that were simulated with the same random seeds.

Runs with the same seed are a pair: arrivals, flow sizes and random losses are equal, so the
difference of a pair varies less than its two values. Each statistic is computed from all runs
together, and its uncertainty from the pairs of runs:

- The difference of two ratios of totals, such as means, has the jackknife over pairs of runs (Tukey
  1958): the difference is computed again without each pair. Intervals use Student's t with one
  degree of freedom less than there are pairs.
- The difference of two percentiles has Woodruff's intervals of both percentiles, combined with the
  correlation over the pairs of the proportions below (`intervals.Apart`). The jackknife fails for
  percentiles of completion times, because these cluster at multiples of timeouts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tcpsf.distribution import Distribution
from tcpsf.intervals import Apart, Over, Same, Student, t_cdf
from tcpsf.stats import Estimate
from tcpsf.sums import ROUNDING


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of a statistic between two senders."""

    absolute: Estimate
    """The second sender's value minus the first sender's."""
    percent: Estimate | None
    """The difference as a percentage of the first sender's value; ``None`` if that is 0."""


Pairs = Sequence[tuple[float, float]]
"""Numerator and denominator of a ratio of totals, for each run."""


def ratios(first: Pairs, second: Pairs) -> Difference | None:
    """Compare a ratio of totals of two senders; ``None`` if a sum of denominators is zero.

    >>> found = ratios([(2, 1), (3, 1)], [(4, 1), (5, 1)])
    >>> found.absolute, round(found.percent.value)
    (Estimate(value=2.0, spread=Same(), runs=2), 80)
    """
    runs = len(first)
    (one, *without_one), (other, *without_other) = _ratios(first), _ratios(second)
    if one is None or other is None:
        return None
    without = zip(without_one, without_other, strict=True)
    known = [(a, b) for a, b in without if a is not None and b is not None]
    if runs < 2 or len(known) < runs:
        known = []
    absolute = _jackknife(other - one, [b - a for a, b in known], runs)
    percent = None
    if one > 0 and all(a > 0 for a, _ in known):
        changes = [_percent(a, b) for a, b in known]
        percent = _jackknife(_percent(one, other), changes, runs)
    return Difference(absolute, percent)


def _ratios(runs: Pairs) -> list[float | None]:
    """Return the ratio of the totals of all runs, and then those without each of the runs."""
    above = math.fsum(a for a, _ in runs)
    below = math.fsum(b for _, b in runs)
    return [(above - a) / (below - b) if below - b > 0 else None for a, b in ((0.0, 0.0), *runs)]


def _percent(one: float, other: float) -> float:
    return 100.0 * (other / one - 1.0)


def _jackknife(value: float, without: Sequence[float], runs: int) -> Estimate:
    """Estimate a statistic. ``without`` has its values without each of the runs."""
    if not without:
        return Estimate(value, None, runs)
    middle = math.fsum(without) / runs
    distances = [each - middle for each in without]
    if max(map(abs, distances)) <= ROUNDING * max(map(abs, without)):
        return Estimate(value, Same(), runs)
    squares = math.fsum(each**2 for each in distances)
    return Estimate(value, Student(math.sqrt(squares * (runs - 1) / runs), runs - 1), runs)


Times = Sequence[Distribution]
"""Completion times of each run."""


def quantiles(
    first: Times, second: Times, one: Estimate | None, other: Estimate | None
) -> Difference | None:
    """Compare a quantile of the times of all runs, in seconds.

    ``one`` and ``other`` are the quantiles of ``first`` and ``second`` (`stats.quantile`). ``None``
    if one of the senders has no times.

    >>> from tcpsf import stats
    >>> second = 1_000_000_000
    >>> times = [Distribution([k * second, 2 * k * second]) for k in (1, 2, 3)]
    >>> median = stats.quantile(times, 0.5)
    >>> found = quantiles(times, times, median, median)
    >>> found.absolute.value, found.percent.value, p_value(found.absolute)
    (0.0, 0.0, 1.0)
    """
    if one is None or other is None:
        return None
    correlation = _correlation(first, one.value, second, other.value)
    absolute = _apart(one, other, correlation)
    percent = None
    if one.value > 0:
        spread = absolute.spread
        if isinstance(spread, Apart):
            spread = Over(spread.ours, spread.theirs, correlation).scaled(100.0).shifted(-100.0)
        percent = Estimate(_percent(one.value, other.value), spread, len(first))
    return Difference(absolute, percent)


def _apart(one: Estimate, other: Estimate, correlation: float) -> Estimate:
    """Return the difference ``other`` − ``one`` of two percentiles of paired runs."""
    value = other.value - one.value
    if one.spread is None or other.spread is None:
        return Estimate(value, None, one.runs)
    if not one.random and not other.random:
        return Estimate(value, Same(), one.runs)
    ends = (other.value, other.spread), (one.value, one.spread)
    return Estimate(value, Apart(*ends, correlation), one.runs)


def _correlation(first: Times, one: float, second: Times, other: float) -> float:
    """Correlation over the pairs of runs of the numbers of times up to each quantile.

    Each number is taken relative to its expectation, the run's share of all times.
    """
    a, b = _residuals(first, one), _residuals(second, other)
    squares = math.fsum(x * x for x in a) * math.fsum(y * y for y in b)
    return (
        math.fsum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(squares) if squares else 0.0
    )


def _residuals(runs: Times, seconds: float) -> list[float]:
    # A time that equals the quantile counts. The next representable time does not.
    counts = [run.below(math.nextafter(seconds, math.inf)) for run in runs]
    sizes = [len(run) for run in runs]
    share = sum(counts) / max(sum(sizes), 1)
    return [count - share * size for count, size in zip(counts, sizes, strict=True)]


def p_value(found: Estimate) -> float | None:
    """Return the two-sided p-value of a difference of zero.

    It is 1 − the confidence at which the interval reaches zero; for percentiles it is rounded up, by
    at most 0.1 %. If the estimate is the same without each of the runs, no interval exists. The
    p-value is then that of the sign test, 2 · 2⁻ⁿ for n pairs with the same sign. ``None`` with
    fewer than two runs, or for a value of zero without any variation.

    >>> round(p_value(Estimate(2.3646, Student(1.0, 7), 8)), 4)
    0.05
    """
    if isinstance(found.spread, Student):
        return 2.0 * (1.0 - t_cdf(abs(found.value) / found.spread.error, found.spread.degrees))
    if found.spread is None or (found.value == 0 and not found.random):
        return None
    if not found.random:
        return 2.0 ** (1 - found.runs)
    if found.value == 0:
        return 1.0
    if not _contains_zero(found, 1.0 - LEAST):
        return LEAST
    excluded, included = 1.0, LEAST
    while excluded > included * (1.0 + PRECISION):
        middle = math.sqrt(excluded * included)
        if _contains_zero(found, 1.0 - middle):
            included = middle
        else:
            excluded = middle
    return excluded


LEAST = 1e-9
"""Smallest p-value that is computed from intervals; smaller ones are reported as this value."""

PRECISION = 1e-3
"""Relative precision of p-values that are computed from intervals."""


def _contains_zero(found: Estimate, confidence: float) -> bool:
    interval = found.interval_at(confidence)
    return interval is None or interval[0] <= 0.0 <= interval[1]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for the number of comparisons (Holm 1979). ``None`` remains ``None``.

    The probability that any adjusted p-value of a true null hypothesis is below 0.05 is at most
    0.05, also for dependent comparisons.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    known = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, at) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        adjusted[at] = least
    return adjusted

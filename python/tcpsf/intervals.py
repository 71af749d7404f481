"""Confidence intervals as data: each kind of spread computes its interval at any confidence.

Reports show 95 % intervals. A claim about several values needs wider intervals (Bonferroni), so
that a spread keeps the data from which intervals are computed. There are eight kinds:

- `Student` for means, ratios and differences of runs: value ± t · standard error, limited to the
  possible range.
- `Wilson` for proportions: Wilson's score interval (1927) with quantiles of Student's t, and with
  the effective number of observations that gives the variance among the runs (Kish 1965, §8.2).
  Korn and Graubard (1998) propose both for clustered samples, and Franco et al. (2019) compare
  them. If the proportion is 0 or 1, or equal in all runs, the data show no effect of clusters, and
  observations count as independent.
- `Quantile` for quantiles over all runs: the interval of the proportion of values below,
  transformed to values (Woodruff 1952).
- `Apart` for the difference of two estimates: the root of the sum of the squared distances to the
  ends of both intervals (Newcombe 1998, method 10). Estimates of paired runs are correlated. The
  part of the distances that both have in common is then subtracted (Zou and Donner 2008).
- `Over` for the ratio of two positive estimates: the same method on their logarithms. For two
  independent proportions of many observations this is the interval of Katz et al. (1978).
- `Resampled` for other statistics, such as the distance between medians and a curve: percentiles of
  the values on resampled observations (bootstrap; Efron and Tibshirani 1993, §13.3).
- `Same` if nothing is random, or if every run has the same value. It has no interval.
- `Stated` for an interval whose ends were read from a table.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Self, TypeAlias

from tcpsf.distribution import Distribution

Ends: TypeAlias = "tuple[float, float]"
"""The lower and the upper end of an interval."""

EVERYTHING: Ends = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Student:
    """A value with a standard error and its degrees of freedom."""

    error: float
    degrees: int
    possible: Ends = EVERYTHING
    """Possible range of the value, to which the interval is limited."""

    def interval(self, value: float, confidence: float) -> Ends:
        """Return the interval around ``value``."""
        half = t_quantile((1.0 + confidence) / 2.0, self.degrees) * self.error
        least, most = self.possible
        return max(value - half, min(least, value)), min(value + half, max(most, value))

    def scaled(self, factor: float) -> Student:
        """Return the spread of the value times ``factor``."""
        least, most = sorted(end * factor if factor else 0.0 for end in self.possible)
        return replace(self, error=self.error * abs(factor), possible=(least, most))

    def shifted(self, by: float) -> Student:
        """Return the spread of the value plus ``by``."""
        return replace(self, possible=(self.possible[0] + by, self.possible[1] + by))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Linear:
    """A linear function of the quantity for which the interval is computed."""

    factor: float = 1.0
    offset: float = 0.0

    def scaled(self, factor: float) -> Self:
        """Return the spread of the value times ``factor``."""
        return replace(self, factor=self.factor * factor, offset=self.offset * factor)

    def shifted(self, by: float) -> Self:
        """Return the spread of the value plus ``by``."""
        return replace(self, offset=self.offset + by)


@dataclass(frozen=True, slots=True)
class Wilson(_Linear):
    """A proportion of observations in clusters, times ``factor``, plus ``offset``."""

    effective: float
    """Number of independent observations that has the variance among the runs.

    Infinite if this variance is zero.
    """
    observations: float
    """Total number of observations."""
    degrees: int
    """Degrees of freedom of the variance among the runs."""

    def interval(self, value: float, confidence: float) -> Ends:
        """Return the interval around ``value``."""
        share = min(max((value - self.offset) / self.factor, 0.0), 1.0)
        upper = (1.0 + confidence) / 2.0
        if math.isfinite(self.effective):
            low, high = wilson(share, self.effective, t_quantile(upper, self.degrees))
        else:
            low, high = wilson(share, self.observations, NormalDist().inv_cdf(upper))
        ends = self.offset + self.factor * low, self.offset + self.factor * high
        return min(*ends, value), max(*ends, value)


@dataclass(frozen=True, slots=True)
class Quantile(_Linear):
    """A quantile of values in clusters, times ``factor``, plus ``offset``."""

    values: Distribution
    """Values of all runs, in nanoseconds."""
    share: float
    """Share of the values that do not exceed the quantile."""
    proportion: Wilson
    """Uncertainty of this share."""

    def interval(self, value: float, confidence: float) -> Ends:
        """Return the interval around ``value``."""
        low, high = (
            self.offset + self.factor * (self.values.quantile(end) or 0.0)
            for end in self.proportion.interval(self.share, confidence)
        )
        return min(low, high, value), max(low, high, value)


@dataclass(frozen=True, slots=True)
class Same:
    """A value without spread: nothing is random, or every run has the same value."""

    def interval(self, value: float, confidence: float) -> Ends:  # noqa: ARG002
        """Return the value itself, twice."""
        return value, value

    def scaled(self, factor: float) -> Same:  # noqa: ARG002
        """Return the spread of the value times ``factor``."""
        return self

    def shifted(self, by: float) -> Same:  # noqa: ARG002
        """Return the spread of the value plus ``by``."""
        return self


@dataclass(frozen=True, slots=True)
class Stated:
    """An interval whose ends are given, at the only confidence that is known."""

    low: float
    high: float

    def interval(self, value: float, confidence: float) -> Ends:  # noqa: ARG002
        """Return the given ends."""
        return self.low, self.high

    def scaled(self, factor: float) -> Stated:
        """Return the spread of the value times ``factor``."""
        low, high = sorted((self.low * factor, self.high * factor))
        return Stated(low, high)

    def shifted(self, by: float) -> Stated:
        """Return the spread of the value plus ``by``."""
        return Stated(self.low + by, self.high + by)


@dataclass(frozen=True, slots=True)
class Apart:
    """The difference of two values, each with its own spread."""

    ours: tuple[float, Spread]
    theirs: tuple[float, Spread]
    correlation: float = 0.0
    """Correlation of both values; 0 for independent runs."""

    def interval(self, value: float, confidence: float) -> Ends:
        """Return the interval around ``value``."""
        (a, ours), (b, theirs) = self.ours, self.theirs
        low_a, high_a = ours.interval(a, confidence)
        low_b, high_b = theirs.interval(b, confidence)
        ours_ends, theirs_ends = (a - low_a, high_a - a), (b - low_b, high_b - b)
        below, above = _distances(ours_ends, theirs_ends, self.correlation)
        return value - below, value + above

    def scaled(self, factor: float) -> Apart:
        """Return the spread of the value times ``factor``."""
        (a, ours), (b, theirs) = self.ours, self.theirs
        return Apart(
            (a * factor, ours.scaled(factor)), (b * factor, theirs.scaled(factor)), self.correlation
        )

    def shifted(self, by: float) -> Apart:
        """Return the spread of the value plus ``by``."""
        a, ours = self.ours
        return Apart((a + by, ours.shifted(by)), self.theirs, self.correlation)


@dataclass(frozen=True, slots=True)
class Over(_Linear):
    """The ratio of two positive values, each with its own spread.

    The value is the ratio times ``factor``, plus ``offset``.
    """

    ours: tuple[float, Spread]
    theirs: tuple[float, Spread]
    correlation: float = 0.0
    """Correlation of both values; 0 for independent runs."""

    def interval(self, value: float, confidence: float) -> Ends:
        """Return the interval around ``value``.

        It extends to 0 or infinity if an end of one of the two intervals is 0.
        """
        (a, ours), (b, theirs) = self.ours, self.theirs
        low_a, high_a = ours.interval(a, confidence)
        low_b, high_b = theirs.interval(b, confidence)
        ours_ends = _log_ratio(a, low_a), _log_ratio(high_a, a)
        theirs_ends = _log_ratio(b, low_b), _log_ratio(high_b, b)
        below, above = _distances(ours_ends, theirs_ends, self.correlation)
        ratio = self.factor * a / b
        ends = (
            self.offset + ratio * math.exp(-below),
            self.offset + (ratio * math.exp(above) if above < 700 else math.inf),
        )
        return min(*ends, value), max(*ends, value)


def _distances(ours: Ends, theirs: Ends, correlation: float) -> Ends:
    """Distances of a difference to the ends of its interval.

    ``ours`` and ``theirs`` are the distances of both values to the lower and to the upper ends of
    their intervals.
    """
    return (
        _distance(ours, (theirs[1], theirs[0]), correlation),
        _distance((ours[1], ours[0]), theirs, correlation),
    )


def _distance(ours: Ends, theirs: Ends, correlation: float) -> float:
    """Distance to one end, at which both values move by the first numbers of their pairs.

    The second numbers are the distances in the other direction. With a positive correlation, one
    value moves to its end, and the other in the same direction by the correlated part and towards
    its end by the rest. For symmetric intervals both orders give the formula of Zou and Donner.
    """
    if math.isinf(ours[0]) or math.isinf(theirs[0]):
        return math.inf
    if correlation <= 0 or math.isinf(ours[1]) or math.isinf(theirs[1]):
        together = ours[0] ** 2 + theirs[0] ** 2
        return math.sqrt(together - 2.0 * min(correlation, 0.0) * ours[0] * theirs[0])
    rest = math.sqrt(max(0.0, 1.0 - correlation**2))
    return max(
        math.hypot(ours[0] - correlation * theirs[1], rest * theirs[0]),
        math.hypot(theirs[0] - correlation * ours[1], rest * ours[0]),
    )


def _log_ratio(high: float, low: float) -> float:
    """Logarithm of ``high`` / ``low``; infinite if ``low`` is 0 or ``high`` infinite."""
    return math.log(high / low) if low > 0 and high < math.inf else math.inf


@dataclass(frozen=True, slots=True)
class Resampled(_Linear):
    """Any statistic, times ``factor``, plus ``offset``, with its values on resampled data."""

    values: tuple[float, ...]
    """Values of the statistic in ascending order."""

    def interval(self, value: float, confidence: float) -> Ends:
        """Return the interval around ``value``: percentiles of the resampled values."""
        tail, last = (1.0 - confidence) / 2.0, len(self.values) - 1
        low = self.offset + self.factor * self.values[math.floor(tail * last)]
        high = self.offset + self.factor * self.values[math.ceil((1.0 - tail) * last)]
        return min(low, high, value), max(low, high, value)


Spread: TypeAlias = "Student | Wilson | Quantile | Same | Stated | Apart | Over | Resampled"


def wilson(share: float, observations: float, quantile: float) -> Ends:
    """Wilson's score interval of a proportion.

    >>> [round(end, 4) for end in wilson(0.0, 10, 1.959964)]
    [0.0, 0.2775]
    >>> [round(end, 4) for end in wilson(0.5, 10, 1.959964)]
    [0.2366, 0.7634]
    """
    square = quantile**2 / observations
    middle = (share + square / 2.0) / (1.0 + square)
    half = (
        quantile
        / (1.0 + square)
        * math.sqrt(share * (1.0 - share) / observations + square / (4.0 * observations))
    )
    return max(0.0, middle - half), min(1.0, middle + half)


MANY = 2000
"""Maximum degrees of freedom: for more, the quantile of ``MANY`` is used.

This makes intervals at most 0.15 % too wide, for probabilities up to 0.9995.
"""


def t_quantile(probability: float, degrees: int) -> float:
    """The ``probability`` quantile of Student's t with an integer number of degrees of freedom.

    >>> round(t_quantile(0.975, 7), 4), round(t_quantile(0.975, 10**6), 4)
    (2.3646, 1.9612)
    """
    if not 0.5 < probability < 1.0 or degrees < 1:
        raise ValueError(
            f"no t quantile for probability {probability} and {degrees} degrees of freedom"
        )
    return _quantile(probability, min(degrees, MANY))


@functools.cache
def _quantile(probability: float, degrees: int) -> float:
    low, high = 0.0, 1.0
    while t_cdf(high, degrees) < probability:
        low, high = high, high * 2.0
    while high - low > 1e-13 * high:
        middle = (low + high) / 2.0
        if t_cdf(middle, degrees) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def t_cdf(t: float, degrees: int) -> float:
    """Probability that Student's t is below ``t``.

    This is the finite series for integer degrees of freedom: Abramowitz and Stegun, 26.7.3 and
    26.7.4.
    """
    theta = math.atan(t / math.sqrt(degrees))
    sine, square = math.sin(theta), math.cos(theta) ** 2
    if degrees % 2:
        term, total = math.cos(theta), 0.0
        for k in range(1, (degrees - 1) // 2 + 1):
            total += term
            term *= square * (2 * k) / (2 * k + 1)
        both_sides = 2.0 / math.pi * (theta + sine * total)
    else:
        term, total = 1.0, 0.0
        for k in range(1, degrees // 2 + 1):
            total += term
            term *= square * (2 * k - 1) / (2 * k)
        both_sides = sine * total
    return (1.0 + both_sides) / 2.0

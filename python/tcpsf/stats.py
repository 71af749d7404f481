"""Means, ratios and differences over independent runs, with their 95 % confidence intervals.

One run gives one observation, however many flows it holds: flows of a run share the queue and are not independent.
Where they share none, as on a path that only loses at random, each flow counts as a run. Intervals use Student's t over
the runs. A ratio of two totals (mean completion time = seconds / flows, share of fast retransmits = fast retransmits /
recoveries) is estimated by the ratio of the sums, its variance by linearisation: the residuals a_i − r·b_i of the runs
(Cochran, Sampling Techniques, §6.3). Pairs of runs on the same seed stay pairs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and the half width of its 95 % confidence interval over ``runs`` runs."""

    value: float
    half_width: float | None
    """``None`` where fewer than two runs say anything."""
    runs: int

    @property
    def low(self) -> float:
        """The interval's lower end; minus infinity where there is no interval."""
        return -math.inf if self.half_width is None else self.value - self.half_width

    @property
    def high(self) -> float:
        """The interval's upper end; infinity where there is no interval."""
        return math.inf if self.half_width is None else self.value + self.half_width

    def to_dict(self) -> dict[str, float | int | None]:
        """Return plain data for JSON."""
        return {"value": self.value, "half_width": self.half_width, "runs": self.runs}

    def scaled(self, factor: float) -> Estimate:
        """The same estimate in another unit."""
        half = None if self.half_width is None else self.half_width * abs(factor)
        return Estimate(self.value * factor, half, self.runs)


def mean(observations: Sequence[float]) -> Estimate | None:
    """Mean of one observation a run.

    >>> mean([1.0, 2.0, 3.0])
    Estimate(value=2.0, half_width=2.484..., runs=3)
    """
    return ratio(observations, [1.0] * len(observations))


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate | None:
    """Ratio of two totals, observed together in each run; ``None`` when the denominators sum to zero.

    >>> ratio([2, 4], [4, 8])
    Estimate(value=0.5, half_width=0.0, runs=2)
    """
    pairs = list(zip(numerators, denominators, strict=True))
    runs = len(pairs)
    below = math.fsum(b for _, b in pairs)
    if below == 0:
        return None
    value = math.fsum(a for a, _ in pairs) / below
    if runs < 2:
        return Estimate(value, None, runs)
    squares = math.fsum((a - value * b) ** 2 for a, b in pairs)
    error = math.sqrt(squares / (runs - 1) / runs) / (below / runs)
    return Estimate(value, t_quantile(0.975, runs - 1) * error, runs)


def difference(ours: Sequence[float], theirs: Sequence[float]) -> Estimate | None:
    """Mean of ``ours`` − ``theirs`` over pairs of runs on the same seed.

    >>> difference([2.0, 3.0], [1.0, 2.0])
    Estimate(value=1.0, half_width=0.0, runs=2)
    """
    return mean([a - b for a, b in zip(ours, theirs, strict=True)])


def apart(ours: Estimate | None, theirs: Estimate | None) -> Estimate | None:
    """``ours`` − ``theirs`` where the two are independent and large; ``None`` where one of them says nothing.

    >>> apart(Estimate(5.0, 3.0, 900), Estimate(1.0, 4.0, 800))
    Estimate(value=4.0, half_width=5.0, runs=800)
    """
    if ours is None or theirs is None:
        return None
    halves = ours.half_width, theirs.half_width
    half = None if halves[0] is None or halves[1] is None else math.hypot(halves[0], halves[1])
    return Estimate(ours.value - theirs.value, half, min(ours.runs, theirs.runs))


def quotient(ours: Estimate | None, theirs: Estimate | None) -> Estimate | None:
    """``ours`` / ``theirs`` where the two are independent and large; ``None`` where one says nothing or that is zero.

    >>> quotient(Estimate(8.0, 0.6, 900), Estimate(4.0, 0.4, 800))
    Estimate(value=2.0, half_width=0.25, runs=800)
    """
    if ours is None or theirs is None or theirs.value == 0:
        return None
    value = ours.value / theirs.value
    halves = ours.half_width, theirs.half_width
    half = None if halves[0] is None or halves[1] is None else math.hypot(halves[0], value * halves[1]) / theirs.value
    return Estimate(value, half, min(ours.runs, theirs.runs))


def gain(ours: Sequence[float], theirs: Sequence[float]) -> Estimate | None:
    """How much less ``ours`` is than ``theirs``, in per cent of ``theirs``, over pairs of runs on the same seed.

    >>> gain([1.0, 3.0], [2.0, 6.0]).value
    50.0
    """
    found = ratio([b - a for a, b in zip(ours, theirs, strict=True)], theirs)
    return None if found is None else found.scaled(100.0)


MANY = 2000
"""From so many degrees of freedom on the quantile of ``MANY`` is taken: at most 0.15 % too wide up to 0.9995."""


def t_quantile(probability: float, degrees: int) -> float:
    """The ``probability`` quantile of Student's t with a whole number of degrees of freedom.

    >>> round(t_quantile(0.975, 7), 4), round(t_quantile(0.975, 10**6), 4)
    (2.3646, 1.9612)
    """
    if not 0.5 < probability < 1.0 or degrees < 1:
        raise ValueError(f"no t quantile for probability {probability} and {degrees} degrees of freedom")
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
    """Probability that Student's t is below ``t``: the finite series for whole degrees of freedom.

    Abramowitz and Stegun, 26.7.3 and 26.7.4.
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


def jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness, (Σx)² / n Σx²: 1 if all have the same, 1/n if one has all.

    >>> jain([1.0, 1.0]), jain([1.0, 0.0])
    (1.0, 0.5)
    """
    squares = math.fsum(share * share for share in shares)
    return math.fsum(shares) ** 2 / (len(shares) * squares) if squares else 1.0

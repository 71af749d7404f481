"""χ² and Kolmogorov–Smirnov tests, in the plain forms that large samples permit.

Special functions are those of Abramowitz and Stegun, *Handbook of Mathematical Functions* (1964).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

SMALLEST_EXPECTED: Final = 10.0
"""Cells with a smaller expected count are joined with the next one."""


def chi_squared(observed: Numbers, expected: Numbers) -> float:
    """Return the p-value of counts in cells, whose expected counts have the same sum.

    Cells are joined in their order until each has an expected count of `SMALLEST_EXPECTED`.
    """
    cells: list[list[float]] = []
    seen = wanted = 0.0
    for count, mean in zip(observed, expected, strict=True):
        seen, wanted = seen + float(count), wanted + float(mean)
        if wanted >= SMALLEST_EXPECTED:
            cells.append([seen, wanted])
            seen = wanted = 0.0
    if cells:
        cells[-1][0] += seen
        cells[-1][1] += wanted
    if len(cells) < 2:
        message = "a χ² test needs two cells"
        raise ValueError(message)
    statistic = sum((seen - wanted) ** 2 / wanted for seen, wanted in cells)
    return chi_squared_above(statistic, len(cells) - 1)


def chi_squared_above(statistic: float, freedom: int) -> float:
    """P(χ² > statistic) for these degrees of freedom (26.4.4, 26.4.5)."""
    half = statistic / 2
    if freedom % 2:
        term = math.sqrt(half) * math.exp(-half) / math.gamma(1.5)
        total, first = math.erfc(math.sqrt(half)), 3
    else:
        term = math.exp(-half)
        total, first = 0.0, 2
    for degrees in range(first, freedom + 1, 2):
        total += term
        term *= half / (degrees / 2)
    return total


def kolmogorov(values: Numbers, law: Callable[[Numbers], Numbers]) -> float:
    """Return the p-value of a sample for a continuous distribution function.

    It is the limit for large samples, the series of Kolmogorov (1933).
    """
    ordered = np.sort(values)
    count = len(ordered)
    below = law(ordered)
    steps = np.arange(count + 1) / count
    distance = float(max(np.max(steps[1:] - below), np.max(below - steps[:-1])))
    scaled = distance * math.sqrt(count)
    if scaled < 0.2:
        return 1.0
    terms = ((-1) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 101))
    return float(min(1.0, max(0.0, 2 * sum(terms))))


def one_sided_margin(count: int, level: float) -> float:
    """Return the distance that one side of a distribution function exceeds with this probability.

    Massart (1990): P(sup (Fₙ − F) > x) ≤ exp(−2 n x²).
    """
    return math.sqrt(-math.log(level) / (2 * count))


def binomial(trials: int, share: float) -> Numbers:
    """Return the probabilities of 0 to `trials` successes."""
    return np.array(
        [math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(trials + 1)]
    )


def geometric(most: int, end: float) -> Numbers:
    """Return the probabilities of the lengths 1 to `most` and of all longer ones.

    `end` is the probability that a run ends after a packet.
    """
    lengths = (1 - end) ** np.arange(most) * end
    return np.append(lengths, (1 - end) ** most)

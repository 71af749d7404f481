"""Intervals that hold at every time at which one looks at them.

An ordinary confidence interval holds at a time that is fixed in advance. A decision that is made as soon
as such an interval excludes zero is wrong too often. A *confidence sequence* contains the true value at
all times together with the given probability.

Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, *Time-uniform central limit theory and
asymptotic confidence sequences*, Annals of Statistics 52(6), 2024, theorem 2.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ERROR = 0.05
"""Probability with which the true value is outside at some time."""


@dataclass(frozen=True, slots=True)
class ClusteredMean:
    """Mean of observations that come in independent groups, such as those of one connection."""

    value: float
    variance: float
    """Variance of the mean."""
    clusters: int

    @classmethod
    def of(cls, clusters: list[tuple[int, float]]) -> ClusteredMean | None:
        """Estimate the mean from the number of observations and their sum in each group.

        Returns ``None`` for fewer than two groups. The variance is that of a ratio estimator.
        """
        count = len(clusters)
        observations = sum(number for number, _ in clusters)
        if count < 2 or observations == 0:
            return None
        mean = sum(total for _, total in clusters) / observations
        squares = sum((total - mean * number) ** 2 for number, total in clusters)
        variance = squares * count / (count - 1) / observations**2
        return cls(mean, variance, count)


@dataclass(slots=True)
class AnytimeSums:
    """Sums over observations that come in independent groups, which grow one by one.

    >>> sums = AnytimeSums()
    >>> for before, after in [(None, (1, 2.0)), (None, (1, 4.0)), ((1, 4.0), (2, 9.0))]:
    ...     sums.replace(before, after)
    >>> found, expected = sums.mean(), ClusteredMean.of([(1, 2.0), (2, 9.0)])
    >>> abs(found.value - expected.value) < 1e-9, abs(found.variance - expected.variance) < 1e-9
    (True, True)
    """

    clusters: int = 0
    observations: int = 0
    total: float = 0.0
    _count_squares: int = 0
    _products: float = 0.0
    _total_squares: float = 0.0

    def replace(self, before: tuple[int, float] | None, after: tuple[int, float]) -> None:
        """Change the number of observations of a group and their sum, or add the group."""
        if before is not None:
            self._add(*before, -1)
        self._add(*after, 1)

    def _add(self, number: int, total: float, times: int) -> None:
        self.clusters += times
        self.observations += times * number
        self.total += times * total
        self._count_squares += times * number * number
        self._products += times * number * total
        self._total_squares += times * total * total

    def update(self, other: AnytimeSums) -> None:
        """Add the groups of other sums."""
        self.clusters += other.clusters
        self.observations += other.observations
        self.total += other.total
        self._count_squares += other._count_squares
        self._products += other._products
        self._total_squares += other._total_squares

    def mean(self) -> ClusteredMean | None:
        """Estimate the mean, as `ClusteredMean.of` does."""
        if self.clusters < 2 or self.observations == 0:
            return None
        mean = self.total / self.observations
        squares = self._total_squares - 2 * mean * self._products + mean**2 * self._count_squares
        variance = max(0.0, squares) * self.clusters / (self.clusters - 1) / self.observations**2
        return ClusteredMean(mean, variance, self.clusters)


@dataclass(frozen=True, slots=True)
class AnytimeDifference:
    """Difference of two means, with the ends of a confidence sequence."""

    value: float
    low: float
    high: float


def difference(
    ours: ClusteredMean | None,
    theirs: ClusteredMean | None,
    *,
    tight_at: int,
    error: float = ERROR,
) -> AnytimeDifference | None:
    """Estimate ``ours`` less ``theirs``.

    The interval is shortest when both together have ``tight_at`` groups. The true value is outside
    at some time with the probability ``error``. Returns ``None`` if one of them is missing.

    >>> few, many = (ClusteredMean(1.0, 1.0 / count, count) for count in (100, 10_000))
    >>> found = difference(few, many, tight_at=1000)
    >>> found.value, found.low < -0.2, found.high > 0.2
    (0.0, True, True)
    """
    if ours is None or theirs is None:
        return None
    value = ours.value - theirs.value
    wide = math.sqrt(ours.variance + theirs.variance)
    radius = wide * _multiple(ours.clusters + theirs.clusters, tight_at, error)
    return AnytimeDifference(value, value - radius, value + radius)


def _multiple(count: int, tight_at: int, error: float) -> float:
    """Return the half width of the interval in standard errors."""
    least = -2.0 * math.log(error)
    scaled = count * (least + math.log(least + 1.0)) / tight_at
    return math.sqrt(2.0 * (scaled + 1.0) / scaled * math.log(math.sqrt(scaled + 1.0) / error))

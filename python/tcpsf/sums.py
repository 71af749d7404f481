"""Sums over runs for a ratio and its standard error, in constant memory.

The sums are exact: integers remain integers, and other numbers are added as fractions. Therefore
the result does not depend on the order of the runs. The sum of squared residuals, a small
difference of large numbers, has no cancellation error.
"""

from __future__ import annotations

import math
from fractions import Fraction

ROUNDING = 1e-12
"""Relative size of the residuals below which they count as rounding errors, not as spread."""


class Sums:
    """Sums of pairs (a, b), one pair per run, and of their squares and products."""

    __slots__ = ("_aa", "_ab", "_bb", "above", "below")

    def __init__(self) -> None:
        self.above: int | Fraction = 0
        """Sum of a."""
        self.below: int | Fraction = 0
        """Sum of b."""
        self._aa: int | Fraction = 0
        self._ab: int | Fraction = 0
        self._bb: int | Fraction = 0

    @classmethod
    def of(cls, above: int, below: int, *, aa: int, ab: int, bb: int) -> Sums:
        """Return an object with the given sums of a, b, a², ab and b²."""
        found = cls()
        found.above, found.below, found._aa, found._ab, found._bb = above, below, aa, ab, bb
        return found

    def add(self, above: float, below: float) -> None:
        """Add the pair of a run. A run with the pair (0, 0) can be omitted."""
        a, b = _exact(above), _exact(below)
        self.above += a
        self.below += b
        self._aa += a * a
        self._ab += a * b
        self._bb += b * b

    def error(self, runs: int) -> float:
        """Standard error of Σa / Σb by linearisation (`tcpsf.stats`).

        ``runs`` is the number of runs, at least two. The error is 0 if the ratio is equal in all
        runs.

        >>> sums = Sums()
        >>> for value in (1.0, 2.0, 3.0):
        ...     sums.add(value, 1)
        >>> round(sums.error(3), 6) == round(1 / 3**0.5, 6)
        True
        """
        value = Fraction(self.above) / Fraction(self.below)
        squares = self._aa - 2 * value * self._ab + value * value * self._bb
        if squares <= self._aa * Fraction(ROUNDING) ** 2:
            return 0.0
        return math.sqrt(squares / (self.below * self.below) * Fraction(runs, runs - 1))


def _exact(value: float) -> int | Fraction:
    return value if isinstance(value, int) else Fraction(value)

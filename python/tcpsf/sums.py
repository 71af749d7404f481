"""Sums over runs from which a ratio and its standard error follow, in memory that does not grow with the runs.

The sums are exact: whole numbers stay whole, other numbers are added as fractions. So the order of
the runs changes no digit, and the sum of squared residuals, a small difference of large numbers,
loses none.
"""

from __future__ import annotations

import math
from fractions import Fraction

ROUNDING = 1e-12
"""Residuals below this part of the values are rounding, not spread."""


class Sums:
    """Sums of pairs (a, b), one pair a run, and of their squares and products."""

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
        """Return sums that were made elsewhere: of a, b, a², ab and b²."""
        found = cls()
        found.above, found.below, found._aa, found._ab, found._bb = above, below, aa, ab, bb
        return found

    def add(self, above: float, below: float) -> None:
        """Take the pair of a run. A run whose pair is (0, 0) need not be added."""
        a, b = _exact(above), _exact(below)
        self.above += a
        self.below += b
        self._aa += a * a
        self._ab += a * b
        self._bb += b * b

    def error(self, runs: int) -> float:
        """Standard error of Σa / Σb over ``runs`` runs, at least two, by linearisation (`tcpsf.stats`).

        It is 0 where the ratio is the same in all runs.

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

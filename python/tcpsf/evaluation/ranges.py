"""Verdicts on an interval and a range of permitted values, and both in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tcpsf import stats, text
from tcpsf.intervals import Ends

Verdict = Literal["holds", "does not hold", "undecided"]
"""``undecided``: the test's interval contains the threshold, or there are too few observations."""


@dataclass(frozen=True, slots=True)
class Range:
    """Range of the values that a claim allows."""

    low: float = -math.inf
    high: float = math.inf
    closed: bool = False
    """Whether the ends themselves are allowed."""

    def verdict(
        self, found: stats.Estimate | None, confidence: float = stats.CONFIDENCE
    ) -> Verdict:
        """Judge by the whole interval, or by the value if it has no spread."""
        if found is None or found.spread is None:
            return "undecided"
        if not found.random:
            return "holds" if self._allows(found.value) else "does not hold"
        low, high = found.spread.interval(found.value, confidence)
        if self._allows(low) and self._allows(high):
            return "holds"
        return "does not hold" if high < self.low or low > self.high else "undecided"

    def _allows(self, value: float) -> bool:
        return self.low <= value <= self.high if self.closed else self.low < value < self.high

    def describe(self, verdict: Verdict, unit: str) -> str:
        """Describe where an interval with this verdict lies."""
        if verdict == "holds":
            return "is " + self.place(unit)
        if verdict == "does not hold":
            return "is " + self._place("below", "above", "outside", unit)
        if math.isinf(self.low) or math.isinf(self.high):
            return f"contains {number(self.low if math.isfinite(self.low) else self.high, unit)}"
        return f"is partly inside and partly outside {number(self.low, '')} to {number(self.high, unit)}"

    def ends(self, interval: Ends, unit: str) -> str:
        """Format an interval by its ends.

        The number of digits is large enough to show on which side of the thresholds the ends are.
        """
        thresholds = [end for end in (self.low, self.high) if math.isfinite(end)]
        digits = _decimals(unit)
        while digits < MOST_DIGITS and any(
            (round(end, digits) > at, round(end, digits) < at) != (end > at, end < at)
            for end in interval
            for at in thresholds
        ):
            digits += 1
        return ends(interval, unit, digits)

    def place(self, unit: str) -> str:
        """Describe the allowed values in words, such as "above 30 %"."""
        return self._place("above", "below", "within", unit)

    def _place(self, over: str, under: str, between: str, unit: str) -> str:
        if math.isinf(self.high):
            return f"{over} {number(self.low, unit)}"
        if math.isinf(self.low):
            return f"{under} {number(self.high, unit)}"
        return f"{between} {number(self.low, '')} to {number(self.high, unit)}"


DIGITS = (("percentage points", 1), ("%", 1), ("s", 3))
"""Decimals of a value whose unit begins with this word; other units have two."""
MOST_DIGITS = 9
"""Largest number of decimals, however near an end is to a threshold."""


def shown(estimate: stats.Estimate | None, unit: str, confidence: float = stats.CONFIDENCE) -> str:
    """Format a value with its interval and unit.

    >>> from tcpsf.intervals import Same
    >>> shown(stats.Estimate(0.12345, Same(), 1), "s"), shown(None, "s")
    ('0.123 s', 'no data')
    """
    if estimate is None:
        return "no data"
    digits = _decimals(unit)
    interval = estimate.interval_at(confidence)
    value = text.plain(estimate.value, digits)
    if interval is None:
        return f"{value} {unit}".rstrip()
    if stats.symmetric(estimate.value, interval):
        half, least = interval[1] - estimate.value, math.pow(10.0, -digits)
        half_text = (
            text.plain(half, digits) if half >= least / 2.0 else f"<{text.plain(least, digits)}"
        )
        return f"{value} ± {half_text} {unit}".rstrip()
    return f"{value} {ends(interval, unit)}"


def ends(interval: Ends, unit: str, digits: int | None = None) -> str:
    """Format an interval by its ends.

    >>> ends((0.0, 12.34), "%")
    '[0.0, 12.3] %'
    """
    digits = _decimals(unit) if digits is None else digits
    return f"[{text.plain(interval[0], digits)}, {text.plain(interval[1], digits)}] {unit}".rstrip()


def _decimals(unit: str) -> int:
    return next(
        (digits for word, digits in DIGITS if unit == word or unit.startswith(f"{word} ")), 2
    )


def number(value: float, unit: str) -> str:
    """Format a threshold with four significant digits."""
    rounded = float(f"{value:.4g}")
    return f"{text.short(rounded)} {unit}".rstrip()

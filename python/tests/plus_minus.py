"""Estimates by their half widths, for tests that only care about the interval."""

from __future__ import annotations

from tcpsf.intervals import Same, Student, t_quantile
from tcpsf.stats import Estimate


def plus_minus(value: float, half_width: float | None, runs: int) -> Estimate:
    """A value ± a half width of 95 %; ``None``: without an interval."""
    if half_width is None:
        return Estimate(value, None, runs)
    if half_width == 0:
        return Estimate(value, Same(), runs)
    return Estimate(value, Student(half_width / t_quantile(0.975, runs - 1), runs - 1), runs)

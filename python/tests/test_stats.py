"""Intervals, against known values and against their promise."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpsf import stats

# Student's t, two-sided 95 %: the table in every textbook (Fisher and Yates, table III).
T_975 = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    9: 2.262,
    10: 2.228,
    15: 2.131,
    20: 2.086,
    30: 2.042,
    60: 2.000,
    120: 1.980,
}


@pytest.mark.parametrize("degrees", T_975)
def test_quantiles_are_those_of_the_table(degrees: int) -> None:
    assert round(stats.t_quantile(0.975, degrees), 3) == T_975[degrees]


def test_quantiles_with_one_and_two_degrees_have_closed_forms() -> None:
    for p in (0.6, 0.9, 0.975, 0.9995):
        assert stats.t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-12)
        assert stats.t_quantile(p, 2) == pytest.approx((2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-12)


@given(st.floats(0.501, 0.9999), st.integers(1, 200))
def test_a_quantile_is_where_the_distribution_reaches_it(p: float, degrees: int) -> None:
    assert stats.t_cdf(stats.t_quantile(p, degrees), degrees) == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize(("p", "degrees"), [(0.5, 3), (1.0, 3), (0.975, 0)])
def test_there_is_no_quantile_outside(p: float, degrees: int) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        stats.t_quantile(p, degrees)


def test_a_mean_with_its_interval() -> None:
    found = stats.mean([9.0, 10.0, 11.0, 10.0])
    assert found is not None
    # s² = 2/3, so the standard error is √(2/3)/2; times 3.182.
    assert found.value == 10.0
    assert found.half_width == pytest.approx(3.1824 * math.sqrt(2 / 3) / 2, rel=1e-4)
    assert (found.low, found.high) == (10.0 - (found.half_width or 0), 10.0 + (found.half_width or 0))


def test_one_run_has_no_interval_and_none_no_value() -> None:
    assert stats.mean([4.0]) == stats.Estimate(4.0, None, 1)
    assert stats.mean([]) is None
    assert stats.ratio([0, 0], [0, 0]) is None
    assert stats.mean([4.0]).low == -math.inf  # type: ignore[union-attr]


def test_pairs_cancel_what_they_share() -> None:
    theirs = [10.0, 50.0, 90.0, 20.0]
    ours = [value - 2.0 + wobble for value, wobble in zip(theirs, (0.1, -0.1, 0.1, -0.1), strict=True)]
    found = stats.difference(ours, theirs)
    assert found is not None
    assert found.value == pytest.approx(-2.0)
    assert found.half_width is not None
    assert found.half_width < 0.2


def test_gain_is_in_per_cent_of_theirs() -> None:
    found = stats.gain([6.0, 14.0], [10.0, 20.0])
    assert found is not None
    assert found.value == pytest.approx(100 * (1 - 20 / 30))


@pytest.mark.parametrize("kind", ["mean", "ratio"])
def test_intervals_hold_the_truth_as_often_as_they_say(kind: str) -> None:
    """2000 experiments of 8 runs: the share that covers is binomial, so within 4 standard deviations of 95 %."""
    generator = random.Random(5)  # noqa: S311
    covered = 0
    for _ in range(2000):
        below = [generator.uniform(800, 1200) for _ in range(8)]
        above = [b * 0.3 + generator.gauss(0, 20) for b in below]
        if kind == "mean":
            found, truth = stats.mean([generator.gauss(5, 2) for _ in range(8)]), 5.0
        else:
            found, truth = stats.ratio(above, below), 0.3
        assert found is not None
        covered += found.low <= truth <= found.high
    spread = math.sqrt(0.95 * 0.05 / 2000)
    assert abs(covered / 2000 - 0.95) < 4 * spread

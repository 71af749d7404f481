"""Intervals, against known values and against their promise."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpsf import distribution, stats
from tcpsf.distribution import Distribution, RunTimes
from tcpsf.intervals import Same, Student, t_cdf, t_quantile, wilson
from tcpsf.sums import Sums

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
    assert round(t_quantile(0.975, degrees), 3) == T_975[degrees]


def test_quantiles_with_one_and_two_degrees_have_closed_forms() -> None:
    for p in (0.6, 0.9, 0.975, 0.9995):
        assert t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-12)
        assert t_quantile(p, 2) == pytest.approx(
            (2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-12
        )


@given(st.floats(0.501, 0.9999), st.integers(1, 200))
def test_a_quantile_is_where_the_distribution_reaches_it(p: float, degrees: int) -> None:
    assert t_cdf(t_quantile(p, degrees), degrees) == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize(("p", "degrees"), [(0.5, 3), (1.0, 3), (0.975, 0)])
def test_there_is_no_quantile_outside(p: float, degrees: int) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(p, degrees)


def test_a_mean_with_its_interval() -> None:
    found = stats.mean([9.0, 10.0, 11.0, 10.0])
    assert found is not None
    # s² = 2/3, so the standard error is √(2/3)/2; times 3.182.
    assert found.value == 10.0
    half = 3.1824 * math.sqrt(2 / 3) / 2
    assert found.interval == pytest.approx((10.0 - half, 10.0 + half), rel=1e-4)
    assert (found.low, found.high) == found.interval


def test_one_run_has_no_interval_and_none_no_value() -> None:
    assert stats.mean([4.0]) == stats.Estimate(4.0, None, 1)
    assert stats.mean([]) is None
    assert stats.ratio([0, 0], [0, 0]) is None
    assert stats.mean([4.0]).low == -math.inf  # type: ignore[union-attr]


def test_pairs_cancel_what_they_share() -> None:
    theirs = [10.0, 50.0, 90.0, 20.0]
    ours = [
        value - 2.0 + wobble for value, wobble in zip(theirs, (0.1, -0.1, 0.1, -0.1), strict=True)
    ]
    found = stats.difference(ours, theirs)
    assert found is not None
    assert found.value == pytest.approx(-2.0)
    assert found.interval is not None
    assert found.interval[1] - found.interval[0] < 0.4


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


def test_a_proportion_of_none_and_of_all_has_an_interval() -> None:
    none, every = stats.share([0, 0, 0], [10, 20, 30]), stats.share([10, 20, 30], [10, 20, 30])
    assert none is not None
    assert every is not None
    # Wilson's interval of 0 of 60: z²/(n + z²).
    top = 1.959964**2 / (60 + 1.959964**2)
    assert none.interval == pytest.approx((0.0, top), rel=1e-5)
    assert every.interval == pytest.approx((1.0 - top, 1.0), rel=1e-5)
    assert none.random


def test_a_proportion_stays_between_zero_and_one() -> None:
    found = stats.share([1, 0], [4, 5])
    assert found is not None
    low, high = found.interval or (math.nan, math.nan)
    assert 0.0 <= low < found.value < high <= 1.0
    assert stats.share([1], [4]) == stats.Estimate(0.25, None, 1)
    assert stats.share([0], [0]) is None


def test_clusters_widen_a_proportion() -> None:
    even = stats.share([5, 5, 4, 6], [10, 10, 10, 10])
    apart = stats.share([10, 0, 10, 0], [10, 10, 10, 10])
    assert even is not None
    assert apart is not None
    assert apart.high - apart.low > 2 * (even.high - even.low)
    # No difference at all among runs: as independent observations, never a point.
    same = stats.share([5, 5], [10, 10])
    assert same is not None
    assert same.interval == pytest.approx(wilson(0.5, 20, 1.959964), rel=1e-6)


def test_equal_values_have_no_interval() -> None:
    found = stats.mean([0.1, 0.1, 0.1])
    assert found is not None
    assert (found.spread, found.interval, found.low, found.high) == (
        Same(),
        None,
        found.value,
        found.value,
    )
    assert found.to_dict()["interval"] is None
    assert not found.random
    assert stats.mean([4.0, 4.0]) == stats.Estimate(4.0, Same(), 2)


def test_an_interval_keeps_to_the_possible_range() -> None:
    found = stats.mean([0.9, 1.0], possible=stats.SHARE)
    assert found is not None
    assert found.high == 1.0
    assert found.low == pytest.approx(0.95 - 12.706 * 0.05, rel=1e-3)
    percent = found.scaled(100.0)
    assert percent.high == 100.0
    fewer = stats.mean([0.1, 2.0], possible=stats.POSITIVE)
    assert fewer is not None
    assert fewer.low == 0.0
    assert fewer.scaled(-1.0).high == 0.0


def test_two_runs_have_a_wide_interval() -> None:
    found = stats.mean([1.0, 2.0])
    assert found is not None
    assert found.interval == pytest.approx((1.5 - 12.706 * 0.5, 1.5 + 12.706 * 0.5), rel=1e-3)


def test_the_difference_of_proportions_adds_their_distances_in_squares() -> None:
    one, other = stats.share([50, 60], [100, 100]), stats.share([0, 0], [100, 100])
    found = stats.apart(one, other)
    assert found is not None
    assert one is not None
    assert other is not None
    assert found.high - found.value == pytest.approx(one.high - one.value)
    assert found.value - found.low == pytest.approx(math.hypot(one.value - one.low, other.high))


def test_the_ratio_of_proportions_has_the_interval_of_its_logarithm() -> None:
    """Katz et al. (1978): ln(p/q) ± 1.96·sqrt((1 − p)/(n·p) + (1 − q)/(m·q)), here with large n and m."""
    found = stats.quotient(stats.proportion(8000, 10_000), stats.proportion(2000, 10_000))
    assert found is not None
    assert found.interval is not None
    half = 1.959964 * math.sqrt(0.2 / 8000 + 0.8 / 2000)
    assert found.interval == pytest.approx((4.0 * math.exp(-half), 4.0 * math.exp(half)), rel=1e-3)
    doubled = found.scaled(2.0)
    assert doubled.interval == pytest.approx([2.0 * end for end in found.interval])


def test_the_ratio_to_what_may_be_zero_has_no_upper_end() -> None:
    one = stats.proportion(5, 10)
    assert stats.quotient(one, stats.proportion(0, 10)) is None
    may_be_zero = stats.Estimate(0.1, Student(1.0, 9, stats.POSITIVE), 10)
    found = stats.quotient(one, may_be_zero)
    assert found is not None
    assert found.high == math.inf
    assert 0.0 < found.low < found.value
    found = stats.quotient(may_be_zero, one)
    assert found is not None
    assert found.low == 0.0


def test_quantiles_are_values_and_have_intervals() -> None:
    alone = stats.quantile([Distribution([3_330_240_000])], 0.5)
    assert alone == stats.Estimate(3.33024, None, 1)
    runs = [
        Distribution(range(start, start + 100 * 10**9, 10**9)) for start in (0, 10**8, 2 * 10**8)
    ]
    found = stats.quantile(runs, 0.5)
    assert found is not None
    assert found.low < found.value < found.high
    assert stats.quantile([], 0.5) is None
    assert stats.quantile([Distribution()], 0.5) is None


def test_a_distribution_is_exact_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "EXACT", 100)
    chance = random.Random(4)  # noqa: S311
    values = [chance.randrange(10**6, 10**10) for _ in range(150)]
    few, many, parts = Distribution(values[:100]), Distribution(values), Distribution()
    for value in reversed(values):
        parts.update(Distribution([value]))
    assert few.is_exact
    assert not many.is_exact
    assert parts == many == Distribution.from_dict(many.to_dict())
    assert few.quantile(0.5) == sorted(values[:100])[49] / 1e9
    exact = sorted(values)[74] / 1e9
    assert many.quantile(0.5) == pytest.approx(exact, rel=1.01 * distribution.ERROR)
    assert few.below(few.quantile(0.5) or 0.0) == 49


def summed(pairs: Sequence[tuple[float, float]]) -> Sums:
    sums = Sums()
    for above, below in pairs:
        sums.add(above, below)
    return sums


@given(st.lists(st.tuples(st.integers(0, 10**15), st.integers(0, 10**4)), min_size=2, max_size=20))
def test_a_ratio_of_sums_is_that_of_the_runs(pairs: list[tuple[int, int]]) -> None:
    listed, folded = (
        stats.ratio(*zip(*pairs, strict=True)),
        stats.ratio_of(summed(pairs), len(pairs)),
    )
    if listed is None or folded is None:
        assert listed is folded
        return
    assert folded.value == pytest.approx(listed.value, rel=1e-14)
    if isinstance(listed.spread, Student):
        assert isinstance(folded.spread, Student)
        # Residuals a − r·b of floating-point numbers have an error of at most 4 units in the last
        # place of Σa. The sums are exact.
        above, below, runs = sum(a for a, _ in pairs), sum(b for _, b in pairs), len(pairs)
        residual = 4.0 * 2.0**-53 * above
        rounding = residual * math.sqrt(runs) * math.sqrt(runs / (runs - 1)) / below
        assert folded.spread.error == pytest.approx(listed.spread.error, rel=1e-9, abs=rounding)


def test_sums_know_equal_values_and_no_order() -> None:
    values = [0.1 + 1e-3 * number for number in range(50)]
    forth, back = (
        summed([(value, 1) for value in values]),
        summed([(value, 1) for value in reversed(values)]),
    )
    assert forth.error(50) == back.error(50) > 0.0
    for value in (0.1, 0.1 + 0.2, 7):
        found = stats.ratio_of(summed([(value, 1)] * 3), 3)
        assert found == stats.Estimate(value, Same(), 3)
    # The same up to the rounding of a division.
    assert summed([(0.3, 1), (0.1 + 0.2, 1)]).error(2) == 0.0
    # A small spread beside large values: floating-point sums of squares would lose it.
    sums = summed([(10**15 + number, 1) for number in (-1, 0, 1)])
    assert sums.error(3) == 0.0  # below the rounding that values in seconds have
    sums = summed([(10**15 + number * 10**5, 1) for number in (-1, 0, 1)])
    assert sums.error(3) == pytest.approx(10**5 / math.sqrt(3), rel=1e-12)


def test_a_run_without_observations_need_not_be_added() -> None:
    folded = stats.share_of(summed([(1, 4), (3, 5)]), 3)
    assert folded is not None
    listed = stats.share([1, 0, 3], [4, 0, 5])
    assert listed is not None
    assert folded.interval == pytest.approx(listed.interval, rel=1e-12)
    assert stats.share_of(Sums(), 3) is None


def test_a_proportion_of_bytes_counts_segments() -> None:
    none = stats.share_of(summed([(0, 15_000), (0, 15_000)]), 2, observations=20)
    assert none is not None
    assert none.interval == pytest.approx((0.0, 1.959964**2 / (20 + 1.959964**2)), rel=1e-5)


@pytest.mark.parametrize("most", [10_000, 60, 0])
def test_times_of_runs_are_counted_run_by_run(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Whether each time is kept, none, or each up to some run."""
    monkeypatch.setattr(distribution, "EXACT", most)
    chance = random.Random(6)  # noqa: S311
    runs = [
        [chance.randrange(10**6, 10**10) for _ in range(chance.randrange(30))] for _ in range(12)
    ]
    times = RunTimes()
    for run in runs:
        times.add(Distribution(run))
    assert times.together.is_exact == (most == 10_000)
    for part in (0.05, 0.5, 0.95):
        value = times.together.quantile(part) or 0.0

        def up_to(run: list[int], value: float = value) -> int:
            if times.together.is_exact:
                return sum(each <= round(value * 1e9) for each in run)
            bins = Distribution(run).bins()
            return sum(bins[at] for at in bins if math.exp(at * distribution.BIN) <= value)

        found = stats.share_of(times.up_to(value), len(runs))
        listed = stats.share([up_to(run) for run in runs], [len(run) for run in runs])
        assert found is not None
        assert listed is not None
        assert found.value == pytest.approx(listed.value, rel=1e-12)
        assert found.interval == pytest.approx(listed.interval, rel=1e-9)


def test_times_of_runs_have_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "EXACT", 50)
    chance = random.Random(7)  # noqa: S311
    runs = [Distribution(chance.randrange(10**6, 10**10) for _ in range(20)) for _ in range(8)]
    forth, back = stats.quantile(runs, 0.5), stats.quantile(runs[::-1], 0.5)
    assert forth is not None
    assert back is not None
    assert (forth.value, forth.interval) == (back.value, back.interval)

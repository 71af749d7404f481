"""Confidence sequences: their coverage at all times together."""

from __future__ import annotations

import random

import pytest

from tcpsf.sequential import ClusteredMean, difference


def mean_of(values: list[float]) -> ClusteredMean:
    found = ClusteredMean.of([(1, value) for value in values])
    assert found is not None
    return found


def test_a_mean_of_single_observations_has_the_usual_variance() -> None:
    found = mean_of([1.0, 2.0, 3.0, 6.0])
    assert (found.value, found.clusters) == (3.0, 4)
    assert found.variance == pytest.approx(14 / 3 / 4)


def test_equal_observations_of_a_connection_count_once() -> None:
    once = mean_of([1.0, 2.0, 4.0])
    thrice = ClusteredMean.of([(3, 3.0), (3, 6.0), (3, 12.0)])
    assert thrice is not None
    assert thrice.value == once.value
    assert thrice.variance == pytest.approx(once.variance)


def test_there_is_no_mean_of_one_group() -> None:
    assert ClusteredMean.of([(5, 1.0)]) is None
    assert difference(None, None, tight_at=100) is None


def test_equal_groups_are_seldom_told_apart_although_one_looks_often() -> None:
    """Of 200 trials without an effect, at most 5 % exclude zero at some of 15 looks."""
    draw = random.Random(20261127)  # noqa: S311 (no secret)
    wrong = ordinary = 0
    for _ in range(200):
        ours: list[float] = []
        theirs: list[float] = []
        excluded = excluded_by_ordinary = False
        for _ in range(15):
            for group in (ours, theirs):
                group += [draw.expovariate(1.0) for _ in range(50)]
            one, other = mean_of(ours), mean_of(theirs)
            found = difference(one, other, tight_at=1000)
            assert found is not None
            excluded |= found.low > 0 or found.high < 0
            error = (one.variance + other.variance) ** 0.5
            excluded_by_ordinary |= abs(found.value) > 1.96 * error
        wrong += excluded
        ordinary += excluded_by_ordinary
    assert wrong <= 10
    assert ordinary > 20

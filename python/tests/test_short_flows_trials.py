"""Trials of one point of the short-flow experiments: medians, intervals and fits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tcpsf import TcpsfError, stats
from tcpsf.intervals import Resampled, Same
from tcpsf.models import short_flows as sf
from tcpsf.papers import short_flows_simulated as simulated
from tcpsf.papers.short_flows_simulated import CLOSEST, TEXT, TransferPoint
from tcpsf.reproduce.short_flows import trials as read
from tcpsf.reproduce.short_flows.trials import PointTrials, Trials


def trials(seconds: list[float], **columns: list[float]) -> Trials:
    named = {"receiver_s": seconds} | columns
    zeros = [0.0] * len(seconds)
    every = {
        name: np.asarray(named.get(name, zeros), dtype=np.float64) for name in read.OUTCOMES.columns
    }
    return Trials(every, name="made up")


def one(
    seconds: list[float], point: TransferPoint | None = None, assumed: simulated.Assumptions = TEXT
) -> PointTrials:
    return PointTrials(point=point or TransferPoint(), assumed=assumed, trials=trials(seconds))


def test_what_is_read_of_trials() -> None:
    found = trials([3.0, 1.0, 1.0, 5.0], timeouts=[1, 0, 0, 2], fast_retransmits=[0, 0, 0, 1])
    assert found.events.tolist() == [1.0, 0.0, 0.0, 3.0]
    assert found.minimum() == stats.Estimate(1.0, Same(), 1)
    assert trials([3.0, 1.0]).minimum() == stats.Estimate(1.0, None, 2)
    mean, median = found.mean(), found.median()
    assert mean is not None
    assert median is not None
    assert (mean.value, median.value) == (2.5, 1.0)
    share = found.share(found.events > 0)
    assert share is not None
    assert share.value == 0.5


def test_a_transfer_that_did_not_end_is_an_error() -> None:
    with pytest.raises(TcpsfError, match="1 of 2 did not end"):
        trials([1.0, math.nan])


def test_flows_at_once_end_with_the_last() -> None:
    found = trials([1.0, 4.0, 2.0, 3.0, 9.0], timeouts=[0, 1, 0, 0, 5]).together(2)
    assert found.seconds.tolist() == [4.0, 3.0]
    assert found.timeouts.tolist() == [1.0, 0.0]


def test_medians_are_those_of_resampled_trials() -> None:
    """Drawn at once by their order, they are distributed as those of sets that are really resampled."""
    chance = np.random.default_rng(5)
    seconds = chance.exponential(size=201)
    quick = trials(seconds.tolist()).medians
    assert quick[0] == np.median(seconds)
    slow = [np.median(seconds[chance.integers(0, 201, 201)]) for _ in range(4000)]
    for percent in (2.5, 25, 50, 75, 97.5):
        below = float((quick[1:] <= np.percentile(slow, percent)).mean())
        assert below == pytest.approx(percent / 100, abs=0.04)


def test_intervals_of_medians_cover() -> None:
    """Of 400 sets of trials, 95 % have an interval that holds the true median."""
    chance = np.random.default_rng(7)
    covered = 0
    for _ in range(400):
        found = read.of_medians([one(chance.exponential(size=99).tolist())], lambda rows: rows[0])
        covered += found.low <= math.log(2.0) <= found.high
    assert 0.91 <= covered / 400 <= 0.99


def test_a_fit_is_a_mean_logarithm() -> None:
    seen = [one([2.0] * 9), one([4.0] * 9)]
    found = read.off(seen, [2.0 * math.e, 4.0])
    assert found is not None
    assert found.value == pytest.approx(0.5)
    assert found.spread == Same()
    assert read.off([], []) is None
    nearer = read.nearer(seen, [2.0, 4.0], [2.0 * math.e, 4.0])
    assert nearer is not None
    assert nearer.value == pytest.approx(0.5)
    spread = read.off([one([float(each) for each in range(1, 100)])], [50.0])
    assert spread is not None
    assert isinstance(spread.spread, Resampled)
    assert spread.value == 0.0
    assert spread.high > 0.1


def test_a_least_time_that_one_trial_had_decides_nothing() -> None:
    sure, unsure = one([2.0, 2.0, 3.0]), one([2.0, 3.0])
    assert read.off_minimum([sure], [2.0]) == stats.Estimate(0.0, Same(), 1)
    found = read.off_minimum([sure, unsure], [2.0, 2.0])
    assert found is not None
    assert found.spread is None


def test_models_are_told_what_was_assumed() -> None:
    point = TransferPoint()
    assert read.closed(point, 14, TEXT) == float(sf.short_flow(10_000, 0.05, rtt=0.07))
    assert read.closed(point, 14, CLOSEST) == float(sf.short_flow(10_000, 0.05, rtt=0.07, rto=0.2))
    assert read.closed(point, 14, TEXT, rto=0.2) == read.closed(point, 14, CLOSEST)
    assert read.closed(point, 4, TEXT) == float(sf.steady_state(10_000, 0.05, rtt=0.07))
    each = replace(TEXT, ack_every=1)
    assert read.closed(point, 1, each) == float(
        sf.lossless(10_000, rtt=0.07, ack_every=1.0, delayed_ack=0.0)
    )


def test_a_straight_line() -> None:
    rows = np.asarray([[1.0, 1.0, 2.0], [2.0, 4.0, 2.0], [3.0, 9.0, 2.0]])
    assert read.straight([1.0, 2.0, 3.0], rows).round(3).tolist() == [1.0, 0.98, 1.0]

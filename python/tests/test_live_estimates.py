"""Estimates from the flows of a live measurement."""

from __future__ import annotations

import math
import random

import polars as pl
import pytest
from test_testbed import CLASSIC, FS

from tcpsf.live import estimates


def flows(sender: str, rows: list[tuple[float | None, int, int, float]]) -> pl.DataFrame:
    """Made-up flows: completion time, fast retransmits, timeouts, timer."""
    columns = ("completion_s", "fast_retransmits", "timeouts", "rto_s")
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    server_s = pl.col("completion_s") + 1.0
    return frame.with_columns(
        variant=pl.lit(sender), size_bytes=pl.lit(1650), idle_s=pl.lit(0.0), server_s=server_s
    )


def test_shares_and_means_over_flows() -> None:
    found = flows(FS, [(0.1, 0, 0, 0.2), (0.3, 1, 0, 0.2), (0.9, 1, 2, 0.8), (None, 0, 4, 3.2)])
    share = estimates.timeout_percent(found)
    assert share is not None
    assert share.value == pytest.approx(75.0)
    assert share.runs == 4
    fast = estimates.fast_percent(found)
    assert fast is not None
    assert fast.value == pytest.approx(25.0)
    assert share.interval is not None
    assert fast.interval == pytest.approx((100.0 - share.interval[1], 100.0 - share.interval[0]))
    timer, time = estimates.timer_ms(found), estimates.completion_s(found)
    assert timer is not None
    assert timer.value == pytest.approx(1100.0)
    assert time is not None
    assert time.value == pytest.approx(1.3 / 3)
    assert time.runs == 3
    assert estimates.recoveries(found) == 8


def test_saved_time_is_over_flows_with_a_loss() -> None:
    classic = flows(CLASSIC, [(0.1, 0, 0, 0.2), (0.5, 0, 1, 0.2), (0.7, 0, 1, 0.2)])
    framed = flows(FS, [(5.0, 0, 0, 0.2), (0.2, 1, 0, 0.2), (0.4, 1, 0, 0.2)])
    saved = estimates.saved_s(classic, framed)
    assert saved is not None
    assert saved.value == pytest.approx(0.3)
    one = estimates.completion_s(estimates.with_a_loss(classic))
    assert one is not None
    # Both intervals are cut off at zero, so the difference reaches as far down as one goes up and
    # down together.
    half = one.high - one.value
    assert saved.high - saved.value == pytest.approx(math.hypot(half, 0.3))


def test_nothing_is_made_of_nothing() -> None:
    quiet = flows(FS, [(0.1, 0, 0, 0.2), (0.2, 0, 0, 0.2)])
    assert estimates.timeout_percent(quiet) is None
    assert estimates.saved_s(quiet, quiet) is None
    assert estimates.completion_s(quiet.head(0)) is None


def test_an_interval_covers_what_it_should() -> None:
    """Of many samples of flows whose share is known, about 95 % have it in their interval."""
    chance = random.Random(7)  # noqa: S311  not for secrets
    covered = 0
    for _ in range(400):
        rows: list[tuple[float | None, int, int, float]] = []
        for _ in range(300):
            lost = chance.random() < 0.2
            fast = lost and chance.random() < 0.6
            rows.append((0.1, int(fast), int(lost and not fast), 0.2))
        found = estimates.fast_percent(flows(FS, rows))
        assert found is not None
        covered += found.low <= 60.0 <= found.high
    assert 0.92 * 400 < covered < 0.98 * 400


def test_time_at_the_client_leaves_idle_times_out() -> None:
    found = flows(FS, [(0.5, 0, 0, 0.2), (0.7, 1, 0, 0.2), (None, 0, 1, 0.2)]).with_columns(
        idle_s=pl.Series([0.1, 0.3, 0.0]), size_bytes=pl.Series([9_999, 10_000, 10_001])
    )
    busy, server = estimates.busy_s(found), estimates.server_s(found)
    assert busy is not None
    assert busy.value == pytest.approx(0.4)
    assert server is not None
    assert server.value == pytest.approx(1.6)
    assert estimates.shorter_than(found, 10_000)["size_bytes"].to_list() == [9_999]
    assert estimates.from_size(found, 10_000)["size_bytes"].to_list() == [10_000, 10_001]
    assert estimates.server_s(found.with_columns(server_s=pl.lit(None, pl.Float64))) is None

"""Sessions of browsers: what is drawn, how it is divided among connections, and what makes no sense."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tcpsf import TcpsfError
from tcpsf.live.experiment import Experiment, Kernel
from tcpsf.live.sessions import Browsing, connections
from tcpsf.scenario import PacketLoss


def experiment(**changes: Any) -> Experiment:
    values: dict[str, Any] = {
        "name": "x",
        "latency_ms": 20,
        "loss": PacketLoss(probability=0.1),
        "senders": ("reno / full / iw=1",),
        "through": "proxy",
        "browsing": Browsing(),
        "sizes": (100, 2000),
        "rate": 100.0,
        "duration_s": 5.0,
    }
    return Experiment(**(values | changes))


def test_a_page_embeds_as_many_objects_as_the_model_says() -> None:
    """3GPP2 C.R1002-0: 5.64 in the mean, 53 at the most; rounding moves the mean by less than 0.1."""
    chance = random.Random(1)  # noqa: S311  not for secrets
    drawn = [Browsing().embedded(chance) for _ in range(100_000)]
    assert min(drawn) == 0
    assert max(drawn) == 53
    assert sum(drawn) / len(drawn) == pytest.approx(5.64, abs=0.2)
    times = [Browsing().parsed_s(chance) for _ in range(100_000)]
    assert sum(times) / len(times) == pytest.approx(0.13, rel=0.02)


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_every_object_is_on_one_connection(count: int) -> None:
    browsing = Browsing(connections=count)
    for objects in range(1, 12):
        sizes = list(range(1, objects + 1))
        parts = browsing.divided(sizes)
        assert parts[0][0] == sizes[0]
        assert sorted(size for part in parts for size in part) == sizes
        assert all(parts)
        # A connection is opened only when those before it have an embedded object.
        assert len(parts) == min(count, max(1, objects - 1))


def test_connections_are_the_same_for_the_same_seed() -> None:
    found = experiment().connections()
    assert found == experiment().connections()
    assert found != experiment(seed=2).connections()
    starts, sizes = experiment().fetches()
    assert [start for start in found.starts_s if start is not None] == starts
    assert sum(map(len, found.sizes)) == sum(map(len, sizes))
    opened = [other for others in found.opens for other in others]
    assert opened == [number for number, start in enumerate(found.starts_s) if start is None]
    assert len(found.sizes) == len(found.starts_s) == len(found.parsing_s) == len(found.opens)
    for number, others in enumerate(found.opens):
        assert not others or found.parsing_s[number] > 0
        assert all(not found.opens[other] for other in others)


def test_senders_and_who_has_them_change_no_connection() -> None:
    other = experiment(senders=("reno / vs / iw=1", "reno / fs / iw=1"), through="server")
    assert other.connections() == experiment().connections()


def test_without_sessions_each_start_is_a_connection() -> None:
    plain = experiment(browsing=None, objects=3)
    starts, sizes = plain.fetches()
    found = plain.connections()
    assert (found.starts_s, found.sizes) == (starts, sizes)
    assert set(found.parsing_s) == {0.0}
    assert not any(found.opens)
    assert connections([], [], None, random.Random(1)).sizes == []  # noqa: S311


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"connections": 0}, "`connections` is 0"),
        ({"shape": 0.0}, "`shape` is 0"),
        ({"cut": 1.0}, "`cut` is 1"),
        ({"parsing_s": 0.0}, "`parsing_s` is 0"),
        ({"linger_s": float("nan")}, "`linger_s` is nan"),
    ],
)
def test_sessions_that_make_no_sense(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(TcpsfError, match=told) as caught:
        Browsing(**changes)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"objects": 2}, "it has both sessions of browsers and 2 files per connection"),
        ({"senders": (), "kernel": Kernel()}, "the kernel is no proxy"),
        ({"rate": 500.0, "duration_s": 60.0}, "500 sessions per second for 60 s are too many"),
    ],
)
def test_experiments_with_sessions_that_make_no_sense(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(TcpsfError, match=told) as caught:
        experiment(**changes)
    assert caught.value.hint

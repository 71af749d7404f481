"""Chains of Classic TCP and FS-TCP-SF in the small-window region (Smart Framing paper, V-A, V-B).

All segments of a chain have one size. Each window is a level. The chain climbs from level to level
and falls back after a loss. The flows in both directions between two neighbouring levels balance.
This balance gives the mean number of visits in closed form, without a matrix.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tcpsf.models._arguments import Array
from tcpsf.models._passage_sums import PassageSums
from tcpsf.models.chain import State

ALWAYS_FAST = 8
"""Size in segments from which a window repairs every loss fast, unless it is the first window.

Section V-B says this of eight segments.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """One window of the small-window region."""

    name: str
    segments: int
    passed: Array
    """Probability that no segment is lost."""
    fast: Sequence[Array]
    """Per segment: probability that it is the first lost one and fast recovery repairs it.

    The sequence is empty where a loss is repaired within the window.
    """
    again: Array
    """Probability of a loss that is repaired in the window."""
    timeout: Array
    """Probability of a loss that ends in a timeout."""
    extra: Array
    """Mean number of new segments that are sent before the first loss."""


def exit_name(segments: int, threshold: int) -> str:
    """Name of the first window outside the small-window region."""
    return f"S{segments * (2 * _windows(threshold)[-1])}"


def solve(
    loss: Array,
    *,
    segments: int,
    threshold: int,
    rtt: Array,
    timeout: Array,
    size: Array,
    returns: bool,
    everything: bool,
) -> tuple[PassageSums, Callable[[], list[State]]]:
    """Compute the sums over a passage, and return a function that makes the chain's states.

    With ``returns``, the state TO sends a window of ``segments`` and may lead to itself. Without
    it, the state TO retransmits until it succeeds and leads to the second window.
    """
    arrives = 1.0 - loss
    levels = [
        _level(arrives, segments * window, first=window == 1, everything=everything)
        for window in _windows(threshold)
    ]
    visits = _visits(levels)
    fallen = sum(
        (level.timeout * times for level, times in zip(levels[1:], visits[1:], strict=True)),
        np.zeros(()),
    )
    first = levels[0]
    if returns:
        starts = (1.0 + fallen) / (1.0 - first.timeout)
        timeouts = starts - 1.0
        timeout_offered = segments + first.extra
        timeout_delivered = timeout_offered * arrives
    else:
        starts, timeouts = np.ones(()), first.timeout + fallen
        timeout_offered = 1.0 / arrives
        timeout_delivered = np.ones_like(arrives)
    visits[0] = starts
    # S_N itself has one visit. Later starts of a first window count as visits of TO.
    time = rtt * (1.0 + sum(visits[1:], np.zeros(()))) + timeout * timeouts
    offered = first.segments + first.extra + timeouts * timeout_offered
    delivered = (first.segments + first.extra) * arrives + timeouts * timeout_delivered
    sums = _with_recoveries(levels, visits, (time, offered, delivered), arrives, rtt, size)

    def states() -> list[State]:
        to_first = _leads(levels, 0)
        end = State(
            name="TO",
            time_s=timeout,
            offered=timeout_offered,
            delivered=timeout_delivered,
            offered_bytes=timeout_offered * size,
            delivered_bytes=timeout_delivered * size,
            to=to_first if returns else {_up(levels, 0): np.ones(())},
        )
        return [*_states(levels, rtt, arrives, size), end]

    return sums, states


def _with_recoveries(
    levels: Sequence[_Level],
    visits: Sequence[Array],
    start: tuple[Array, Array, Array],
    arrives: Array,
    rtt: Array,
    size: Array,
) -> PassageSums:
    """Add the windows above the first and all fast recoveries to the sums ``start``.

    ``start`` has the time in seconds, and the segments offered and delivered.
    """
    time, offered, delivered = start
    for level, times in zip(levels, visits, strict=True):
        if level is not levels[0]:
            offered = offered + times * (level.segments + level.extra)
            delivered = delivered + times * (level.segments + level.extra) * arrives
        for number, fast in enumerate(level.fast):
            recoveries = fast * times
            time = time + recoveries * (rtt if number == 0 else 2.0 * rtt)
            offered = offered + recoveries
            delivered = delivered + recoveries * arrives
    return PassageSums(
        time_s=time,
        offered=offered,
        delivered=delivered,
        offered_bytes=offered * size,
        delivered_bytes=delivered * size,
    )


def first_lost(arrives: Array, segments: int) -> list[Array]:
    """Per segment: probability that it is the first lost one and three later segments arrive (V-B).

    After the i-th of N segments, N − i segments of its window follow. Another 2 (i − 1) segments
    follow, which the acknowledgments before it let out.
    """
    powers = list(
        itertools.accumulate([arrives] * (3 * segments), np.multiply, initial=np.ones_like(arrives))
    )
    lost = 1.0 - arrives
    losses = list(
        itertools.accumulate([lost] * (2 * segments), np.multiply, initial=np.ones_like(arrives))
    )
    found = []
    for i in range(1, segments + 1):
        after = segments + i - 2
        terms = (math.comb(after, j) * powers[after - j] * losses[j] for j in range(after - 2))
        found.append(powers[i - 1] * lost * sum(terms, np.zeros_like(arrives)))
    return found


def _windows(threshold: int) -> list[int]:
    windows = [1]
    while 2 * windows[-1] < threshold:
        windows.append(2 * windows[-1])
    return windows


def _level(arrives: Array, segments: int, *, first: bool, everything: bool) -> _Level:
    passed = arrives**segments
    none = np.zeros_like(arrives)
    if not first and segments >= ALWAYS_FAST:
        return _Level(
            name=f"S{segments}",
            segments=segments,
            passed=passed,
            fast=(),
            again=1.0 - passed,
            timeout=none,
            extra=none,
        )
    fast = first_lost(arrives, segments)
    lost_first = [(1.0 - arrives) * arrives**before for before in range(segments)]
    extra = (
        sum((before * each for before, each in enumerate(lost_first)), none) if everything else none
    )
    return _Level(
        name=f"S{segments}",
        segments=segments,
        passed=passed,
        fast=fast,
        again=none,
        timeout=1.0 - passed - sum(fast, none),
        extra=extra,
    )


def _visits(levels: Sequence[_Level]) -> list[Array]:
    """Mean visits of each level above the first.

    Between two neighbouring levels, one more transition leads up than down.
    """
    visits = [np.ones(())] * len(levels)
    fallen = np.zeros(())
    above = np.zeros(())
    for number in range(len(levels) - 1, 0, -1):
        level = levels[number]
        visits[number] = (1.0 + fallen + above) / level.passed
        fallen = fallen + level.timeout * visits[number]
        above = (level.again + sum(level.fast, np.zeros(()))) * visits[number]
    return visits


def _up(levels: Sequence[_Level], number: int) -> str:
    return levels[number + 1].name if number + 1 < len(levels) else f"S{2 * levels[-1].segments}"


def _half(levels: Sequence[_Level], number: int) -> str:
    """Name of the state after a fast repair: half the window, at least two full-sized segments."""
    return _up(levels, 0) if number <= 1 else levels[number - 1].name


def _fast_name(level: _Level, number: int, i: int) -> str:
    return f"FR{i + 1}" if number == 0 else f"{level.name}FR{i + 1}"


def _leads(levels: Sequence[_Level], number: int) -> dict[str, Array]:
    level = levels[number]
    to = {_up(levels, number): level.passed, "TO": level.timeout}
    to |= {_fast_name(level, number, i): fast for i, fast in enumerate(level.fast)}
    if not level.fast:
        back = _half(levels, number)
        to[back] = to.get(back, np.zeros(())) + level.again
    return to


def _states(levels: Sequence[_Level], rtt: Array, arrives: Array, size: Array) -> Iterator[State]:
    for number, level in enumerate(levels):
        offered = level.segments + level.extra
        yield State(
            name=level.name,
            time_s=rtt,
            offered=offered,
            delivered=offered * arrives,
            offered_bytes=offered * size,
            delivered_bytes=offered * arrives * size,
            to=_leads(levels, number),
        )
        for i, _ in enumerate(level.fast):
            yield State(
                name=_fast_name(level, number, i),
                time_s=rtt if i == 0 else 2.0 * rtt,
                offered=np.ones(()),
                delivered=arrives,
                offered_bytes=size,
                delivered_bytes=arrives * size,
                to={_half(levels, number): np.ones(())},
            )

"""Search for the division into segments that completes soonest; exact for up to 12 segments.

This model is from this project and not from a paper; docs/concepts/best-framing.md describes its
results. A path has a loss law and a round trip. A sender has a window and timers.

The model evaluates each of the 2ⁿ patterns of losses among n first transmissions and weights it by
its probability. Every retransmission arrives, so the effect of a second loss is left out. Times are
in seconds, from the first transmission until the body is acknowledged. Sizes are in bytes.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tcpsf.errors import ModelError
from tcpsf.models import _variable
from tcpsf.models._arguments import Array, Taking
from tcpsf.models.sender import Detection, Train, acknowledged
from tcpsf.models.smart_framing import Law, size_loss

Objective: TypeAlias = Literal["mean", "p99"]
MOST_SEGMENTS = 12
"""Largest number of segments: 2¹² patterns of losses."""
SMALLEST_GAIN_S = 1e-9
"""The search makes no move that gains less than this time, in seconds."""
GRID, COARSE_GRID = 16, 8
"""Parts into which the search divides the body at first.

The first number is for times that depend on the number of segments alone, the second for others.
"""


def duplicates(*, rto: float = 1.0) -> Detection:
    """Loss detection with three SACKed segments above a hole (RFC 6675), or a timer (RFC 6298).

    ``rto`` is the timer's duration in seconds.
    """
    timer = float(Taking("best_framing.duplicates").positive("rto", rto))
    return Detection(rack=False, rto=timer)


def linux(*, rtt: float, rto_min: float = 0.2) -> Detection:
    """Loss detection with RACK-TLP (RFC 8985) and Linux's timers after a handshake; in seconds.

    The handshake took one round trip. rto = rtt + max(2 rtt, rto_min): the deviation begins at half
    the round trip and counts four times. A probe waits two round trips. With one segment in flight
    it waits rto_min longer. It never waits longer than the timer.

    >>> round(linux(rtt=0.05).rto, 3), round(linux(rtt=0.15).rto, 3)
    (0.25, 0.45)
    """
    take = Taking("best_framing.linux")
    r, least = float(take.positive("rtt", rtt)), float(take.positive("rto_min", rto_min))
    return Detection(rack=True, rto=r + max(2.0 * r, least), probe_allowance=least)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCase:
    """A body to send, the path and the sender."""

    size: int
    """Size of the body in bytes."""
    rtt: float
    loss: float
    """Probability that a packet with a full-sized segment is lost, below 1."""
    law: Law
    """Dependence of a packet's loss on its size in bytes, header included."""
    sender: Detection
    cwnd: float = 14_600.0
    """Congestion window in bytes."""
    mss: int = 1460
    header: int = 40
    """Bytes of a packet's header."""
    window_counts: Literal["bytes", "packets"] = "bytes"
    """Unit of the congestion window; Linux counts packets."""
    rate: float | None = None
    """Rate of the line in bytes per second, headers included; ``None``: sending takes no time."""

    def __post_init__(self) -> None:
        take = Taking("best_framing")
        take.whole("size", self.size, least=1, most=1 << 30)
        take.whole("mss", self.mss, least=1, most=65_535)
        take.whole("header", self.header, least=0, most=1000)
        take.positive("rtt", self.rtt)
        take.probability("loss", self.loss)
        take.number("cwnd", self.cwnd, least=float(self.mss))
        take.choice("window_counts", self.window_counts, ("bytes", "packets"))
        size_loss(self.loss, 1.0, law=self.law)
        if self.rate is not None:
            take.positive("rate", self.rate)

    def losses(self, cuts: Array) -> Array:
        """Probability that each segment of a framing is lost."""
        power = (
            {"linear": 1.0, "constant": 0.0}.get(self.law, self.law)
            if isinstance(self.law, str)
            else self.law
        )
        return np.asarray(
            self.loss * ((cuts + self.header) / (self.mss + self.header)) ** float(power)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """A division of the body into segments, and optionally a guard packet after the body.

    The loss of the guard packet itself delays no data.
    """

    name: str
    cuts: tuple[int, ...]
    guard: int | None = None
    """Payload of the guard packet in bytes: 0 for a FIN; ``None``: no guard packet."""

    @property
    def packets(self) -> int:
        """Number of packets of a reply, with the guard."""
        return len(self.cuts) + (self.guard is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Times and bytes of a reply with one framing."""

    framing: Framing
    mean_s: float
    p99_s: float
    lossless_s: float
    wire_bytes: int

    def of(self, objective: Objective) -> float:
        """Time in seconds that the objective minimizes: the mean or the 99th percentile."""
        return self.mean_s if objective == "mean" else self.p99_s


def outcome(case: ReplyCase, framing: Framing) -> Outcome:
    """Evaluate every pattern of losses.

    >>> case = ReplyCase(size=1200, rtt=0.05, loss=0.01, law="constant", sender=linux(rtt=0.05))
    >>> found = outcome(case, Framing(name="whole", cuts=(1200,)))
    >>> round(1000 * found.mean_s, 2), round(1000 * found.p99_s)
    (52.5, 50)
    """
    if sum(framing.cuts) != case.size or min(framing.cuts) < 1 or max(framing.cuts) > case.mss:
        raise ModelError(
            f"cannot compute best_framing.outcome: `cuts` is {framing.cuts}",
            hint=f"expected segments of 1 to {case.mss} bytes with a sum of {case.size} bytes",
        )
    sizes = np.array(
        [*framing.cuts, *([] if framing.guard is None else [framing.guard])], dtype=np.float64
    )
    times = _times(case, sizes, guarded=framing.guard is not None)
    mean, p99 = _judge(times, case.losses(sizes)[None, :])
    wire = int(sizes.sum()) + case.header * len(sizes)
    body = sum(framing.cuts) + case.header * len(framing.cuts)
    line = body / case.rate if case.rate is not None else 0.0
    return Outcome(
        framing=framing,
        mean_s=float(mean[0]) + line,
        p99_s=float(p99[0]) + line,
        lossless_s=float(times[0]) + line,
        wire_bytes=wire,
    )


def policies(
    case: ReplyCase, *, segments: int = 4, alpha: float = 1.32, marker: int = 5
) -> list[Framing]:
    """Framings of real senders: full-sized segments, FS and VS Smart Framing, guards of the tail.

    A *tiny tail* is the last byte in a packet of its own. A *tail guard* is a marker of ``marker``
    bytes that a protocol sends after its body, such as HTTP's last chunk. A *FIN guard* is a FIN
    that is sent at once. Framings with too many packets for an enumeration are left out.

    >>> case = ReplyCase(size=1200, rtt=0.05, loss=0.01, law="constant", sender=linux(rtt=0.05))
    >>> [(each.name, each.cuts) for each in policies(case)][:3]
    [('full-sized', (1200,)), ('FS', (365, 365, 365, 105)), ('VS', (365, 365, 365, 105))]
    """
    take = Taking("best_framing.policies")
    segments = take.whole("segments", segments, least=2, most=64)
    marker = take.whole("marker", marker, least=1, most=case.mss)
    full = _filled(case.size, itertools.repeat(case.mss))
    growing = [max(int(case.mss * share), 1) for share in _variable.shares(segments, alpha)]
    fixed = _filled(case.size, itertools.repeat(max(case.mss // segments, 1)))
    variable = _filled(
        case.size,
        itertools.chain([growing[0]] * (segments - 1), growing, itertools.repeat(case.mss)),
    )
    found = [
        Framing(name="full-sized", cuts=full),
        Framing(name="FS", cuts=fixed),
        Framing(name="VS", cuts=variable),
        Framing(name="halves", cuts=_even(case.size, max(2, 2 * len(full)))),
        Framing(name="tiny tail", cuts=(*full[:-1], full[-1] - 1, 1)),
        Framing(name="tail guard", cuts=full, guard=marker),
        Framing(name="FIN guard", cuts=full, guard=0),
    ]
    return [each for each in found if min(each.cuts) > 0 and each.packets <= MOST_SEGMENTS]


def best(case: ReplyCase, *, objective: Objective = "mean", most_segments: int = 8) -> Outcome:
    """Find the framing with the least mean or 99th percentile of the time.

    The framing has at most ``most_segments`` segments, a number up to 12. For each number of
    segments, the search tries every division on a grid of sixteenths of the body. It then moves
    bytes from segment to segment as long as that reduces the time. With a window in bytes and a
    body of more than one segment, times also depend on the sizes. The grid then has eighths, and no
    bytes are moved.

    The search also tries equal parts of a full-sized segment, tails of one to three single bytes,
    and the framings of `policies`. Of equal times, the framing with fewer segments is chosen.

    >>> from dataclasses import replace
    >>> case = ReplyCase(size=1200, rtt=0.05, loss=0.01, law="constant", sender=linux(rtt=0.05))
    >>> best(case).framing.cuts
    (1200,)
    >>> best(replace(case, law="linear")).framing.packets > 1
    True
    """
    take = Taking("best_framing.best")
    take.choice("objective", objective, ("mean", "p99"))
    most = take.whole("most_segments", most_segments, least=1, most=MOST_SEGMENTS)
    fewest = -(-case.size // case.mss)
    if fewest > most:
        raise ModelError(
            f"cannot compute best_framing.best: `size` is {case.size}",
            hint=f"{fewest} segments of {case.mss} bytes exceed the maximum of {most}",
        )
    pieces = [
        _filled(case.size, itertools.repeat(max(case.mss // count, 1)))
        for count in range(1, most + 1)
    ]
    candidates = [*pieces, *(each.cuts for each in policies(case) if each.guard is None)]
    full = pieces[0]
    candidates += [
        (*full[:-1], full[-1] - tails, *[1] * tails) for tails in (1, 2, 3) if full[-1] > tails
    ]
    aims: tuple[Objective, ...] = ("mean",) if objective == "mean" else ("mean", objective)
    # The search by the mean finds the least mean among framings with one 99th percentile.
    for count, what in itertools.product(range(fewest, min(most, case.size) + 1), aims):
        cuts = _best_of(case, count, what)
        if cuts is not None:
            candidates.append(cuts)
    outcomes = [
        outcome(case, Framing(name="best", cuts=cuts))
        for cuts in dict.fromkeys(candidates)
        if len(cuts) <= MOST_SEGMENTS
    ]
    return min(outcomes, key=lambda each: _key(each, objective))


def compare(
    case: ReplyCase, *, objective: Objective = "mean", most_segments: int = 8
) -> list[Outcome]:
    """Outcomes of all policies and of the best framing, in increasing order of time."""
    found = [outcome(case, framing) for framing in policies(case)]
    found.append(best(case, objective=objective, most_segments=most_segments))
    return sorted(found, key=lambda each: _key(each, objective))


def _key(each: Outcome, objective: Objective) -> tuple[float, float, int]:
    other = each.p99_s if objective == "mean" else each.mean_s
    return (round(each.of(objective), 9), round(other, 9), each.framing.packets)


def _filled(size: int, cuts: Iterator[int]) -> tuple[int, ...]:
    found = []
    while size > 0:
        found.append(min(next(cuts), size))
        size -= found[-1]
    return tuple(found)


def _even(size: int, count: int) -> tuple[int, ...]:
    count = min(count, size)
    return tuple(size // count + (i < size % count) for i in range(count))


def _alike(case: ReplyCase, sizes: Array) -> bool:
    """Whether times depend on the number of segments alone.

    This is so where each segment costs one, or where all segments fit in the smallest window.
    """
    return case.window_counts == "packets" or float(sizes.sum()) <= case.mss


def _times(case: ReplyCase, sizes: Array, *, guarded: bool) -> Array:
    """Time until the body is acknowledged, for each pattern of losses; bit i is segment i."""
    count = len(sizes)
    if count > MOST_SEGMENTS:
        raise ModelError(
            f"cannot compute best_framing.outcome: {count} packets",
            hint=f"the maximum is {MOST_SEGMENTS}, because every loss pattern is enumerated",
        )
    if case.window_counts == "packets":
        costs, window, full = (1.0,) * count, float(case.cwnd // case.mss), 1.0
    elif _alike(case, sizes):
        costs, window, full = (1.0,) * count, float(count), float(count)
    else:
        costs, window, full = tuple(sizes.tolist()), case.cwnd, float(case.mss)
    return _enumerated(costs, window, full, case.rtt, case.sender, guarded)


@functools.lru_cache(maxsize=4096)
def _enumerated(
    costs: tuple[float, ...],
    window: float,
    full: float,
    rtt: float,
    sender: Detection,
    guarded: bool,
) -> Array:
    train = Train(costs=costs, window=window, full=full, rtt=rtt)
    body = len(costs) - guarded
    times = [
        acknowledged(train, sender, [bool(pattern >> i & 1) for i in range(len(costs))])[body - 1]
        for pattern in range(2 ** len(costs))
    ]
    return np.array(times)


def _means(times: Array, losses: Array) -> Array:
    """Mean for each row of losses."""
    expected = times[np.newaxis, :]
    for lost in losses.T[::-1]:
        arrives, is_lost = np.split(expected, 2, axis=1)
        expected = arrives + lost[:, np.newaxis] * (is_lost - arrives)
    return np.asarray(expected[:, 0])


def _judge(times: Array, losses: Array) -> tuple[Array, Array]:
    """Mean and 99th percentile for each row of losses."""
    odds = np.ones((losses.shape[0], 1))
    for i in range(losses.shape[1]):
        lost = losses[:, i : i + 1]
        odds = np.concatenate([odds * (1.0 - lost), odds * lost], axis=1)
    order = np.argsort(times, kind="stable")
    reached = np.cumsum(odds[:, order], axis=1) >= 0.99 - 1e-12
    return odds @ times, times[order][np.argmax(reached, axis=1)]


def _best_of(case: ReplyCase, count: int, objective: Objective) -> tuple[int, ...] | None:
    alike = _alike(case, np.array([case.size]))
    grid = GRID if alike else COARSE_GRID
    rows = _on_grid(case.size, count, grid, case.mss)
    if rows.size == 0:
        rows = np.array([_even(case.size, count)], dtype=np.float64)
        if rows.max() > case.mss:
            return None
    if not alike:
        outcomes = [
            outcome(case, Framing(name="", cuts=tuple(int(cut) for cut in row))) for row in rows
        ]
        return min(outcomes, key=lambda each: _key(each, objective)).framing.cuts
    times = _times(case, rows[0], guarded=False)
    values = _values(case, times, rows, objective)
    at = int(np.argmin(values))
    row, value, step = rows[at], values[at], max(case.size // (2 * grid), 1)
    while True:
        moved = _moves(row, step, case.mss)
        values = _values(case, times, moved, objective)
        if len(moved) and values.min() < value - SMALLEST_GAIN_S:
            at = int(np.argmin(values))
            row, value = moved[at], values[at]
        elif step == 1:
            return tuple(int(cut) for cut in row)
        else:
            step //= 2


def _values(case: ReplyCase, times: Array, rows: Array, objective: Objective) -> Array:
    """Values that the search minimizes; among equal 99th percentiles the mean decides."""
    if objective == "mean":
        return _means(times, case.losses(rows))
    mean, p99 = _judge(times, case.losses(rows))
    return p99 + 1e-6 * mean


def _on_grid(size: int, count: int, grid: int, most: int) -> Array:
    """Every division into ``count`` segments, each a whole number of parts of a grid.

    The remaining bytes are added to the first segments.
    """
    if count > min(grid, size):
        return np.empty((0, count))
    ends = np.array(list(itertools.combinations(range(1, grid), count - 1)), dtype=np.int64)
    pieces = np.diff(np.pad(ends, ((0, 0), (1, 1)), constant_values=((0, 0), (0, grid))), axis=1)
    bounds = np.cumsum(pieces, axis=1) * size // grid
    rows = np.diff(bounds, axis=1, prepend=0).astype(np.float64)
    return np.asarray(rows[(rows.max(axis=1) <= most) & (rows.min(axis=1) >= 1)])


def _moves(row: Array, step: int, most: int) -> Array:
    """Copies of the row, each with ``step`` bytes moved from one segment to another."""
    moves: list[Sequence[float]] = []
    for giver, taker in itertools.permutations(range(len(row)), 2):
        if row[giver] - step >= 1 and row[taker] + step <= most:
            changed = row.copy()
            changed[giver] -= step
            changed[taker] += step
            moves.append(changed.tolist())
    return np.array(moves).reshape(-1, len(row))

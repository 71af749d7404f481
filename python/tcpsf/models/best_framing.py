"""Which cut of the bytes completes soonest? Exact over every pattern of losses, for a few segments.

Ours, not a paper's; docs/concepts/best-framing.md tells what comes out. A path has a loss law and a
round trip, a sender a window and timers. Every one of the 2ⁿ patterns of losses among n first
transmissions is played through, weighted by its probability. What is sent again arrives: what a
second loss would add is left out. Times are from the first sending until the body is acknowledged,
in seconds; sizes in bytes.
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
"""2¹² patterns."""
SMALLEST_GAIN_S = 1e-9
"""Moves that gain less are not made."""
GRID, COARSE_GRID = 16, 8
"""Pieces that the search moves first: where times depend on the number of segments alone, and where not."""


def duplicates(*, rto: float = 1.0) -> Detection:
    """A sender that needs three SACKed segments above a hole (RFC 6675), or its timer of ``rto`` seconds (RFC 6298)."""
    timer = float(Taking("best_framing.duplicates").positive("rto", rto))
    return Detection(rack=False, rto=timer)


def linux(*, rtt: float, rto_min: float = 0.2) -> Detection:
    """A sender with RACK-TLP (RFC 8985) and Linux's timers after a handshake took one round trip; seconds.

    rto = rtt + max(2 rtt, rto_min): the deviation begins at half the round trip and counts four times. A probe waits
    two round trips, and rto_min longer with one segment out, never longer than the timer.

    >>> round(linux(rtt=0.05).rto, 3), round(linux(rtt=0.15).rto, 3)
    (0.25, 0.45)
    """
    take = Taking("best_framing.linux")
    r, least = float(take.positive("rtt", rtt)), float(take.positive("rto_min", rto_min))
    return Detection(rack=True, rto=r + max(2.0 * r, least), probe_allowance=least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is sent, over what, by whom."""

    size: int
    """Bytes of the body."""
    rtt: float
    loss: float
    """Probability that a packet with a full-sized segment is lost, below 1."""
    law: Law
    """How a packet's loss depends on its bytes, header included."""
    sender: Detection
    cwnd: float = 14_600.0
    """Bytes."""
    mss: int = 1460
    header: int = 40
    """Bytes of a packet beside its segment."""
    window_counts: Literal["bytes", "packets"] = "bytes"
    """What the window is counted in; Linux counts packets."""
    rate: float | None = None
    """Bytes per second of the line, headers included; without, it takes no time."""

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
        """Probability that each segment is lost."""
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
    """A cut of the body, and perhaps a packet behind it whose own fate delays nobody."""

    name: str
    cuts: tuple[int, ...]
    guard: int | None = None
    """Bytes of that packet: 0 for a FIN."""

    @property
    def packets(self) -> int:
        """How many are sent."""
        return len(self.cuts) + (self.guard is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a framing comes to."""

    framing: Framing
    mean_s: float
    p99_s: float
    lossless_s: float
    wire_bytes: int

    def of(self, objective: Objective) -> float:
        """The time that is to be small."""
        return self.mean_s if objective == "mean" else self.p99_s


def outcome(case: Case, framing: Framing) -> Outcome:
    """Play every pattern of losses.

    >>> case = Case(size=1200, rtt=0.05, loss=0.01, law="constant", sender=linux(rtt=0.05))
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
    case: Case, *, segments: int = 4, alpha: float = 1.32, marker: int = 5
) -> list[Framing]:
    """What senders do: full-sized segments, FS and VS Smart Framing, and what guards a tail.

    A *tiny tail* is the last byte in a packet of its own; a *tail guard* is a marker of ``marker`` bytes that a
    protocol puts behind its body, such as HTTP's last chunk; a *FIN guard* closes at once. Those with too many packets
    for an enumeration are left out.

    >>> case = Case(size=1200, rtt=0.05, loss=0.01, law="constant", sender=linux(rtt=0.05))
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


def best(case: Case, *, objective: Objective = "mean", most_segments: int = 8) -> Outcome:
    """The cut, into ``most_segments`` (to 12) at the most, whose mean or 99th percentile is least.

    For each number of segments: every cut on a grid of sixteenths of the body, then bytes are moved from segment to
    segment as long as that helps. With a window in bytes and a body of more than a segment, times depend on the cut
    too; the grid is one of eighths then, and nothing is moved. Equal parts of a full-sized segment, tails of one to
    three single bytes and the cuts of `policies` are tried as well. Fewer segments win a draw.

    >>> from dataclasses import replace
    >>> case = Case(size=1200, rtt=0.05, loss=0.01, law="constant", sender=linux(rtt=0.05))
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
    # By the mean too: of cuts with one 99th percentile, it finds the one with the least mean.
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


def compare(case: Case, *, objective: Objective = "mean", most_segments: int = 8) -> list[Outcome]:
    """Outcomes of all policies and of the best cut, the least first."""
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


def _alike(case: Case, sizes: Array) -> bool:
    """Whether times depend on the number of segments alone: each costs one, or all fit the smallest window."""
    return case.window_counts == "packets" or float(sizes.sum()) <= case.mss


def _times(case: Case, sizes: Array, *, guarded: bool) -> Array:
    """When the body is acknowledged, for each pattern of losses: bit i is the i-th segment."""
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


def _judge(times: Array, losses: Array) -> tuple[Array, Array]:
    """Mean and 99th percentile, for each row of losses."""
    odds = np.ones((losses.shape[0], 1))
    for i in range(losses.shape[1]):
        lost = losses[:, i : i + 1]
        odds = np.concatenate([odds * (1.0 - lost), odds * lost], axis=1)
    order = np.argsort(times, kind="stable")
    reached = np.cumsum(odds[:, order], axis=1) >= 0.99 - 1e-12
    return odds @ times, times[order][np.argmax(reached, axis=1)]


def _best_of(case: Case, count: int, objective: Objective) -> tuple[int, ...] | None:
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


def _values(case: Case, times: Array, rows: Array, objective: Objective) -> Array:
    """What is to be small; among equal 99th percentiles the mean decides."""
    mean, p99 = _judge(times, case.losses(rows))
    return mean if objective == "mean" else p99 + 1e-6 * mean


def _on_grid(size: int, count: int, grid: int, most: int) -> Array:
    """Every cut into ``count`` whole pieces of a grid; the bytes that are left over go to the first segments."""
    if count > min(grid, size):
        return np.empty((0, count))
    ends = np.array(list(itertools.combinations(range(1, grid), count - 1)), dtype=np.int64)
    pieces = np.diff(np.pad(ends, ((0, 0), (1, 1)), constant_values=((0, 0), (0, grid))), axis=1)
    bounds = np.cumsum(pieces, axis=1) * size // grid
    rows = np.diff(bounds, axis=1, prepend=0).astype(np.float64)
    return np.asarray(rows[(rows.max(axis=1) <= most) & (rows.min(axis=1) >= 1)])


def _moves(row: Array, step: int, most: int) -> Array:
    """The row with ``step`` bytes moved from one segment to another, each way."""
    moves: list[Sequence[float]] = []
    for giver, taker in itertools.permutations(range(len(row)), 2):
        if row[giver] - step >= 1 and row[taker] + step <= most:
            changed = row.copy()
            changed[giver] -= step
            changed[taker] += step
            moves.append(changed.tolist())
    return np.array(moves).reshape(-1, len(row))

"""Chain of VS-TCP-SF in the small-window region (Smart Framing paper, V-C).

Segments grow with each acknowledgment. A state S_j is a window whose first segment has the j-th
size. The chain never goes back, so one pass through it in order gives every mean number of visits.

The paper's states 2FRi and 2TOi are named by the size of the lost segment. This name leaves open
whether the lost segment was the first of its window. The fast repair of a later segment takes one
more round trip, which is counted in S_j.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tcpsf.errors import ModelError
from tcpsf.models._arguments import Array
from tcpsf.models._passage_sums import PassageSums
from tcpsf.models.chain import State

MOST_SIZES = 256


@dataclass(slots=True, kw_only=True)
class _Node:
    name: str
    rank: tuple[int, int]
    """Position in an order in which every transition leads forward."""
    time_s: Array
    sends: dict[int, Array] = field(default_factory=dict)
    """Mean number of segments sent, by size."""
    to: dict[str, Array] = field(default_factory=dict)

    def leads(self, name: str, probability: Array) -> None:
        self.to[name] = self.to[name] + probability if name in self.to else probability

    def sent(self, size: int, times: Array) -> None:
        """Add ``times`` segments of one size; ``times`` is a mean number."""
        self.sends[size] = self.sends[size] + times if size in self.sends else times


ONE = np.ones(())


def shares(segments: int, alpha: float) -> list[float]:
    """Sizes as shares of a full-sized segment, from the first size to the full-sized segment.

    >>> [round(share, 3) for share in shares(4, 1.32)]
    [0.25, 0.33, 0.436, 0.575, 0.759, 1.0]
    """
    found = [1.0 / segments]
    while found[-1] < 1.0 - 1e-9:
        if len(found) == MOST_SIZES:
            raise ModelError(
                f"cannot compute smart_framing.variable_size: `alpha` is {alpha:g}",
                hint=f"more than {MOST_SIZES} segments would be needed to reach the full size",
            )
        found.append(min(found[-1] * alpha, 1.0))
    return [*found[:-1], 1.0]


def solve(
    losses: Sequence[Array],
    *,
    segments: int,
    rtt: Array,
    timeouts: Sequence[Array],
    sizes: Sequence[Array],
    everything: bool,
) -> tuple[PassageSums, Callable[[], list[State]]]:
    """Compute the sums over a passage, and return a function that makes the chain's states.

    Sizes are numbered from 0.
    """
    last = len(sizes) - 1
    nodes: dict[str, _Node] = {}

    def node(name: str, rank: tuple[int, int], time_s: Array) -> _Node:
        return nodes.setdefault(name, _Node(name=name, rank=rank, time_s=time_s))

    for start in range(last):
        _window(node, start, losses, segments, rtt, timeouts, everything=everything)
    ordered = sorted(nodes.values(), key=lambda each: each.rank)
    sums = _summed(ordered, losses, sizes)

    def states() -> list[State]:
        return [_state(each, losses, sizes) for each in ordered]

    return sums, states


def _summed(
    ordered: Sequence[_Node], losses: Sequence[Array], sizes: Sequence[Array]
) -> PassageSums:
    visits: dict[str, Array] = {ordered[0].name: ONE}
    time = np.zeros(())
    sent: dict[int, Array] = {}
    for each in ordered:
        if each.name not in visits:
            continue
        seen = visits[each.name]
        for name, probability in each.to.items():
            through = seen if probability is ONE else seen * probability
            visits[name] = visits[name] + through if name in visits else through
        time = time + seen * each.time_s
        for size, times in each.sends.items():
            through = seen if times is ONE else seen * times
            sent[size] = sent[size] + through if size in sent else through
    arrived = {size: times * (1.0 - losses[size]) for size, times in sent.items()}
    none = np.zeros(())
    return PassageSums(
        time_s=time,
        offered=sum(sent.values(), none),
        delivered=sum(arrived.values(), none),
        offered_bytes=sum((times * sizes[size] for size, times in sent.items()), none),
        delivered_bytes=sum((times * sizes[size] for size, times in arrived.items()), none),
    )


def _state(node: _Node, losses: Sequence[Array], sizes: Sequence[Array]) -> State:
    none = np.zeros(())
    arrived = {size: times * (1.0 - losses[size]) for size, times in node.sends.items()}
    return State(
        name=node.name,
        time_s=node.time_s,
        offered=sum(node.sends.values(), none),
        delivered=sum(arrived.values(), none),
        offered_bytes=sum((times * sizes[size] for size, times in node.sends.items()), none),
        delivered_bytes=sum((times * sizes[size] for size, times in arrived.items()), none),
        to=node.to,
    )


def _window(
    node: Callable[[str, tuple[int, int], Array], _Node],
    start: int,
    losses: Sequence[Array],
    segments: int,
    rtt: Array,
    timeouts: Sequence[Array],
    *,
    everything: bool,
) -> None:
    last = len(losses) - 1
    first = start == 0
    # In the first window all segments have the first size. Later, each has the next size.
    window = [0 if first else min(start + i, last) for i in range(segments)]
    fresh = 1 if first else start + segments
    state = node(f"S{start + 1}", (start, 0), rtt)
    number = 1 if first else 2
    unharmed = ONE
    for at, size in enumerate(window):
        state.sent(size, ONE)
        here = unharmed * losses[size]
        new = [min(fresh + i, last) for i in range(at)]
        fast = here * _three_arrive([losses[k] for k in (*window[at + 1 :], *new)])
        label = at + 1 if first else size + 1
        rank = (size, 1)
        repaired = node(f"{number}FR{label}", rank, rtt if not first or at == 0 else 2.0 * rtt)
        waited = node(f"{number}TO{label}", rank, timeouts[size])
        if not first and at > 0:
            state.time_s = state.time_s + rtt * fast
        if not repaired.to:
            repaired.sent(size, ONE)
            waited.sent(size, 1.0 / (1.0 - losses[size]))
        target = f"S{min(fresh + at, last) + 1}"
        state.leads(repaired.name, fast)
        state.leads(waited.name, here - fast)
        repaired.to.setdefault(target, ONE)
        waited.to.setdefault(target, ONE)
        if everything:
            for k in new:
                if k < last:
                    state.sent(k, here)
        unharmed = unharmed * (1.0 - losses[size])
    state.leads(f"S{min(fresh, last) + 1}", unharmed)


def _three_arrive(losses: Sequence[Array]) -> Array:
    """Probability that at least three of these segments arrive."""
    if len(losses) < 3:
        return np.zeros(())
    if len(losses) == 3:
        return np.asarray((1.0 - losses[0]) * (1.0 - losses[1]) * (1.0 - losses[2]))
    few = [np.ones(()), np.zeros(()), np.zeros(())]  # none, one, two arrived so far
    for loss in losses:
        arrives = 1.0 - loss
        few = [few[0] * loss, few[1] * loss + few[0] * arrives, few[2] * loss + few[1] * arrives]
    return np.asarray(1.0 - few[0] - few[1] - few[2])

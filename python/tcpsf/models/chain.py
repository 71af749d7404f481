"""Absorbing Markov chains with rewards: the matrix form of section V of the Smart Framing paper.

Equations (5), (6), (8), (10) and (12): the mean reward until the exit is π(0) (I − P)⁻¹ r, where r
has the reward of each state. The row of the exit is zero, so that the inverse exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tcpsf.models._arguments import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A state: the rewards of one visit, and the probabilities of the next states."""

    name: str
    time_s: Array
    offered: Array
    """Number of segments that are sent."""
    delivered: Array
    """Number of these segments that arrive."""
    offered_bytes: Array
    delivered_bytes: Array
    to: Mapping[str, Array]
    """Probability of each next state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A Markov chain. The first state is its start, the last one its exit.

    The leading axes of the arrays have the shape of the arguments.
    """

    states: tuple[str, ...]
    transition: Array
    """Transition probabilities from one state (second to last axis) to another (last axis)."""
    time_s: Array
    offered: Array
    delivered: Array
    offered_bytes: Array
    delivered_bytes: Array

    def collected(self, reward: Array) -> Array:
        """Mean total reward from the start to the exit: π(0) (I − P)⁻¹ reward."""
        system = np.eye(len(self.states)) - self.transition
        return np.asarray(np.linalg.solve(system, reward[..., None])[..., 0, 0])

    def visits(self) -> Array:
        """Mean number of visits of each state, including the one visit of the exit."""
        system = np.swapaxes(np.eye(len(self.states)) - self.transition, -1, -2)
        start = np.zeros((*self.transition.shape[:-1], 1))
        start[..., 0, 0] = 1.0
        return np.asarray(np.linalg.solve(system, start)[..., 0])


def chain(states: list[State], *, exit_name: str) -> Chain:
    """Combine the states and the exit into arrays."""
    names = (*(state.name for state in states), exit_name)
    shape = np.broadcast_shapes(
        *(
            np.shape(part)
            for state in states
            for part in (state.time_s, state.offered, *state.to.values())
        )
    )
    transition = np.zeros((*shape, len(names), len(names)))
    for row, state in enumerate(states):
        for name, probability in state.to.items():
            transition[..., row, names.index(name)] += probability

    def rewards(each: list[Array]) -> Array:
        columns = [np.broadcast_to(part, shape) for part in (*each, np.zeros(()))]
        return np.stack(columns, axis=-1)

    return Chain(
        states=names,
        transition=transition,
        time_s=rewards([state.time_s for state in states]),
        offered=rewards([state.offered for state in states]),
        delivered=rewards([state.delivered for state in states]),
        offered_bytes=rewards([state.offered_bytes for state in states]),
        delivered_bytes=rewards([state.delivered_bytes for state in states]),
    )

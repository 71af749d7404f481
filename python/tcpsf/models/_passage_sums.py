"""Means over a passage through a Markov chain, computed in blocks of points.

A block is small enough for the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from tcpsf.models._arguments import Array

BLOCK = 8192
"""Number of points in a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageSums:
    """Means over one passage."""

    time_s: Array
    offered: Array
    delivered: Array
    offered_bytes: Array
    delivered_bytes: Array


def in_blocks(compute: Callable[..., PassageSums], *arrays: Array) -> PassageSums:
    """Apply ``compute`` to arrays that broadcast, and return the sums in their common shape."""
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    points = int(np.prod(shape))
    if points <= BLOCK:
        return _shaped(compute(*arrays), shape)
    flat = [
        array if array.ndim == 0 else np.broadcast_to(array, shape).reshape(-1) for array in arrays
    ]
    names = [field.name for field in fields(PassageSums)]
    whole = {name: np.empty(points) for name in names}
    for start in range(0, points, BLOCK):
        part = slice(start, start + BLOCK)
        sums = compute(*(array if array.ndim == 0 else array[part] for array in flat))
        for name in names:
            whole[name][part] = getattr(sums, name)
    return _shaped(PassageSums(**whole), shape)


def _shaped(sums: PassageSums, shape: tuple[int, ...]) -> PassageSums:
    found = {}
    for field in fields(PassageSums):
        value = np.asarray(getattr(sums, field.name))
        found[field.name] = (
            value.reshape(shape) if value.size == np.prod(shape) else np.broadcast_to(value, shape)
        )
    return PassageSums(**found)

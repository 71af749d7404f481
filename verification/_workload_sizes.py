"""Sizes of responses of three published workloads, for `cure_map`.

Sizes of at most 60 kB are kept, because the map is about short responses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Final

from tcpsf.lab import LabMix

LARGEST: Final = 60_000

CAMPUS: Final = (
    *(119, 179, 251, 334, 428, 529, 658, 948, 1650, 2861, 4706, 8015, 13_681, 26_641, 284_454),
)
"""Classes of flows of the web that are equally likely (Mellia, Meo and Casetti, Table I)."""

HADOOP: Final = (
    *((300, 0.05), (350, 0.15), (400, 0.2), (500, 0.3), (600, 0.4), (700, 0.5), (1000, 0.6)),
    *((2000, 0.67), (7000, 0.7), (30_000, 0.72), (50_000, 0.82), (80_000, 0.87), (120_000, 0.9)),
)
"""Points (bytes, share of smaller ones) of Hadoop at Facebook (Roy et al., SIGCOMM 2015).

Simulators of data centres use these points.
"""

RPC: Final = (
    *((4, 0.5), (256, 0.857), (512, 0.939), (1024, 0.961), (4096, 0.981), (8192, 0.99)),
    (16_384, 0.996),
)
"""Points of all remote procedure calls at Google (Montazeri et al., Homa, SIGCOMM 2018)."""

PARTS: Final = 200
"""Number of sizes that stand for a distribution."""


def quantiles(points: Sequence[tuple[int, float]]) -> Iterator[int]:
    """Yield equally likely sizes up to the largest, by linear interpolation of the logarithm."""
    places = [(number + 0.5) / PARTS for number in range(PARTS)]
    known = [(points[0][0], 0.0), *points]
    for place in places:
        for (low, below), (high, above) in itertools.pairwise(known):
            if below <= place < above:
                part = (place - below) / (above - below)
                yield round(math.exp(math.log(low) + part * math.log(high / low)))


WORKLOADS: Final = tuple(
    LabMix(name, tuple(size for size in sizes if size <= LARGEST))
    for name, sizes in (
        ("campus", CAMPUS),
        ("Hadoop", tuple(quantiles(HADOOP))),
        ("RPC", tuple(quantiles(RPC))),
    )
)

"""Flow lengths of a capture, and their classes with the same number of flows.

The Smart Framing paper (section II-B) divides the flows into 15 groups with the same number of
flows, and takes the mean length of each group.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcpsf import text
from tcpsf.distribution import BIN, EXACT

if TYPE_CHECKING:
    import polars as pl

CLASSES = 15
"""Number of classes in the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthClass:
    """Flows of similar length."""

    flows: float
    """Number of flows; all classes have the same number."""
    least: float
    """Least length in bytes."""
    most: float
    """Greatest length in bytes."""
    mean: float
    """Mean length in bytes."""


class FlowLengths:
    """Lengths of flows in bytes: all of them up to `EXACT`, otherwise sums of logarithmic bins.

    The means of bins are exact, and a bin at the border of two classes counts with its mean in both.
    """

    def __init__(self) -> None:
        self._values = array("q")
        self._bins: dict[int, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._values) + sum(count for count, _ in self._bins.values())

    @property
    def is_exact(self) -> bool:
        """Whether every length is kept."""
        return not self._bins

    def add(self, lengths: pl.Series) -> None:
        """Add lengths in bytes; those of zero are left out."""
        self._values.extend(lengths.filter(lengths > 0).to_list())
        if self._bins or len(self._values) > EXACT:
            for value in self._values:
                place = math.floor(math.log(value) / BIN)
                count, total = self._bins.get(place, (0, 0))
                self._bins[place] = count + 1, total + value
            del self._values[:]

    def up_to(self, count: int) -> Iterator[tuple[float, float]]:
        """Yield at most ``count`` lengths, and the share of the flows that are not longer."""
        groups = self._groups()
        total, seen = len(self), 0
        every = max(1, total // count)
        waiting = 0
        for number, (value, flows) in enumerate(groups):
            seen += flows
            waiting += flows
            if waiting >= every or number in (0, len(groups) - 1):
                waiting = 0
                yield value, seen / total

    def classes(self, number: int = CLASSES) -> list[LengthClass]:
        """Return classes with the same number of flows; empty with fewer flows than classes."""
        total = len(self)
        if total < number:
            return []
        size = total / number
        found: list[LengthClass] = []
        room, least, most, mass = size, math.inf, 0.0, 0.0
        for value, flows in self._groups():
            left = float(flows)
            while left > 1e-9 * total:
                taken = min(left, room)
                left, room, mass = left - taken, room - taken, mass + taken * value
                least, most = min(least, value), max(most, value)
                if room <= 1e-9 * total and len(found) < number:
                    found.append(LengthClass(flows=size, least=least, most=most, mean=mass / size))
                    room, least, most, mass = size, math.inf, 0.0, 0.0
        return found

    def _groups(self) -> list[tuple[float, int]]:
        """Lengths in ascending order with the number of their flows."""
        if self.is_exact:
            return [(value, 1) for value in sorted(self._values)]
        return [(total / count, count) for _, (count, total) in sorted(self._bins.items())]


def size_file(classes: list[LengthClass], *, source: str) -> str:
    """Return the classes as a size file: `sizes = { file = … }` of a scenario reads it.

    A line has the mean length of a class in bytes. All classes are equally likely.
    """
    flows = text.plain(sum(each.flows for each in classes), 0)
    lines = [
        f"# Flow lengths in {source}: {len(classes)} classes with the same number of flows, {flows} flows.",
        "# Each line has the mean length of a class in bytes, which a scenario takes as equally likely.",
    ]
    lines += [
        f"{round(each.mean):<12}# from {round(each.least)} to {round(each.most)} bytes"
        for each in classes
    ]
    return "\n".join(lines) + "\n"

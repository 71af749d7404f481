"""The distribution of completion times: every value of up to `EXACT`, a histogram of more.

Both are functions of the set of values alone: neither the order in which they come nor the size of the batches
changes a digit. A histogram has logarithmic bins, so its quantiles have a relative error of at most `ERROR`.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

EXACT = 100_000
"""Values up to which each is kept: 0.8 MB."""

BIN = math.log(1.005)
"""Width of a histogram's bin on the logarithmic axis."""

ERROR = math.exp(BIN / 2.0) - 1.0
"""Relative error of a histogram's quantiles at the most: the middle of a bin is within 0.25 % of every value in it."""


class Distribution:
    """Times in nanoseconds."""

    __slots__ = ("_bins", "_values")

    def __init__(self, nanoseconds: Iterable[int] = ()) -> None:
        self._values = array("q", nanoseconds)
        self._bins: Counter[int] = Counter()
        self._keep_small()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._values) + self._bins.total()

    @property
    def is_exact(self) -> bool:
        """Whether every value is kept."""
        return not self._bins

    def update(self, other: Distribution) -> None:
        """Add the values of another."""
        self._values.extend(other._values)
        self._bins.update(other._bins)
        self._keep_small()

    def _keep_small(self) -> None:
        if self._bins or len(self._values) > EXACT:
            self._bins.update(map(_bin, self._values))
            del self._values[:]

    def quantile(self, share: float) -> float | None:
        """Seconds that ``share`` of the values do not exceed: the smallest value for which that is so.

        >>> Distribution([5_000_000_000, 1_000_000_000, 2_000_000_000]).quantile(0.5)
        2.0
        """
        wanted = share * len(self)
        if self.is_exact:
            place = max(1, math.ceil(wanted))
            return sorted(self._values)[place - 1] / 1e9 if self._values else None
        seen = 0
        for position in sorted(self._bins):
            seen += self._bins[position]
            if seen >= wanted:
                return math.exp((position + 0.5) * BIN)
        return None

    def below(self, seconds: float) -> int:
        """Count the values below ``seconds``; of a histogram, those in bins that end there.

        >>> Distribution([1_000_000_000, 2_000_000_000]).below(2.0)
        1
        """
        if self.is_exact:
            return bisect_left(sorted(self._values), seconds * 1e9)
        last = math.log(seconds) / BIN
        return sum(count for position, count in self._bins.items() if position < last)

    def up_to(self, seconds: float) -> int:
        """Count the values that do not exceed ``seconds``; of a histogram, those in bins that begin there or before."""
        if self.is_exact:
            return bisect_right(sorted(self._values), round(seconds * 1e9))
        last = math.log(seconds) / BIN
        return sum(count for position, count in self._bins.items() if position <= last)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"values": sorted(self._values), "bins": sorted(map(list, self._bins.items()))}

    @classmethod
    def from_dict(cls, data: dict[str, Sequence[Any]]) -> Distribution:
        """Read it again."""
        found = cls(data["values"])
        found._bins.update(dict(data["bins"]))
        found._keep_small()
        return found


def _bin(nanoseconds: int) -> int:
    return math.floor(math.log(max(nanoseconds, 1) / 1e9) / BIN)

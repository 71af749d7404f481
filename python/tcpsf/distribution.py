"""The distribution of completion times: every value of up to `EXACT`, a histogram of more.

Both are functions of the set of values alone: neither the order in which they come nor the size of
the batches changes a digit. A histogram has logarithmic bins, so its quantiles have a relative
error of at most `ERROR`.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tcpsf.sums import Sums

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

    @property
    def values(self) -> Sequence[int]:
        """The values in the order in which they came; none where they are not kept."""
        return self._values

    def bins(self) -> Counter[int]:
        """Return how many values each bin of a histogram has, also while each value is kept."""
        return self._bins + Counter(map(_bin, self._values))

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


class RunTimes:
    """The times of several runs together, and how the number up to any time varies from run to run.

    Memory grows neither with the runs nor with the times: up to `EXACT` times each is kept with its
    run, beyond that what each bin adds to the sums over runs.
    """

    __slots__ = (
        "_ends",
        "_product_steps",
        "_sizes_squared",
        "_square_steps",
        "_values",
        "together",
    )

    def __init__(self) -> None:
        self.together = Distribution()
        """The times of all runs."""
        self._values = array("q")
        self._ends = array("q")
        """While each time is kept: how many there were after each run that had any."""
        self._sizes_squared = 0
        # With h the number of a run's times up to a bin and n that of all its times: what the bin
        # adds to Σh² and Σhn.
        self._square_steps: Counter[int] = Counter()
        self._product_steps: Counter[int] = Counter()

    def add(self, run: Distribution) -> None:
        """Take the times of a run."""
        if not len(run):
            return
        self._sizes_squared += len(run) ** 2
        if self.together.is_exact and run.is_exact and len(self.together) + len(run) <= EXACT:
            self._values.extend(run.values)
            self._ends.append(len(self._values))
        else:
            for kept in self._kept():
                self._step(Distribution(kept).bins())
            del self._values[:], self._ends[:]
            self._step(run.bins())
        self.together.update(run)

    def _kept(self) -> Iterator[array[int]]:
        """Yield the times of each run, while each time is kept."""
        begin = 0
        for end in self._ends:
            yield self._values[begin:end]
            begin = end

    def _step(self, bins: Counter[int]) -> None:
        size, below = bins.total(), 0
        for position in sorted(bins):
            count = bins[position]
            self._square_steps[position] += count * (2 * below + count)
            self._product_steps[position] += count * size
            below += count

    def up_to(self, seconds: float) -> Sums:
        """Sum over runs: how many times do not exceed ``seconds``, or lie in bins that begin there or before, of all.

        >>> times = RunTimes()
        >>> times.add(Distribution([1_000_000_000, 2_000_000_000, 3_000_000_000]))
        >>> found = times.up_to(2.0)
        >>> found.above, found.below
        (2, 3)
        """
        if self.together.is_exact:
            most, found = round(seconds * 1e9), Sums()
            for kept in self._kept():
                found.add(sum(value <= most for value in kept), len(kept))
            return found
        last = math.log(seconds) / BIN
        return Sums.of(
            sum(count for position, count in self.together.bins().items() if position <= last),
            len(self.together),
            aa=sum(step for position, step in self._square_steps.items() if position <= last),
            ab=sum(step for position, step in self._product_steps.items() if position <= last),
            bb=self._sizes_squared,
        )


def _bin(nanoseconds: int) -> int:
    return math.floor(math.log(max(nanoseconds, 1) / 1e9) / BIN)

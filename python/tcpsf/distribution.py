"""The distribution of completion times: all values up to `EXACT` of them, otherwise a histogram.

Both depend only on the set of values, not on their order or on the size of batches. A histogram has
logarithmic bins, so that its quantiles have a relative error of at most `ERROR`.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tcpsf.sums import Sums

EXACT = 100_000
"""Maximum number of values that are kept individually: 0.8 MB."""

MANY = 2_000
"""Number of values for which it pays to load NumPy."""

BIN = math.log(1.005)
"""Width of a histogram's bin on the logarithmic axis."""

ERROR = math.exp(BIN / 2.0) - 1.0
"""Maximum relative error of a histogram's quantiles.

The middle of a bin differs by at most 0.25 % from every value in the bin.
"""


class Distribution:
    """The distribution of a set of times in nanoseconds."""

    __slots__ = ("_bins", "_ordered", "_values")

    def __init__(self, nanoseconds: Iterable[int] = ()) -> None:
        self._values = array("q", nanoseconds)
        self._bins: Counter[int] = Counter()
        # The values in ascending order, if they were needed since the last change.
        self._ordered: array[int] | None = None
        self._keep_small()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._values) + self._bins.total()

    @property
    def is_exact(self) -> bool:
        """Whether every value is stored, instead of a histogram."""
        return not self._bins

    def bins(self) -> Counter[int]:
        """Return the number of values in each bin, also while all values are kept."""
        return self._bins + Counter(map(_bin, self._values))

    def update(self, other: Distribution) -> None:
        """Add the values of another distribution."""
        self._values.extend(other._values)
        self._bins.update(other._bins)
        self._keep_small()

    @classmethod
    def merged(cls, parts: Iterable[Distribution]) -> Distribution:
        """Return the values of several distributions, in ascending order."""
        found = cls()
        for part in parts:
            found.update(part)
        found._values = _sorted(found._values)
        return found

    def _keep_small(self) -> None:
        self._ordered = None
        if self._bins or len(self._values) > EXACT:
            self._bins.update(map(_bin, self._values))
            del self._values[:]

    def stored_bins(self) -> Counter[int]:
        """Return the number of values in each bin; empty while all values are kept."""
        return self._bins

    def ordered(self) -> array[int]:
        """Return the values in ascending order; empty if the values are not kept."""
        if self._ordered is None:
            self._ordered = _sorted(self._values)
        return self._ordered

    def quantile(self, share: float) -> float | None:
        """Quantile in seconds: the smallest value that ``share`` of the values do not exceed.

        >>> Distribution([5_000_000_000, 1_000_000_000, 2_000_000_000]).quantile(0.5)
        2.0
        """
        wanted = share * len(self)
        if self.is_exact:
            place = max(1, math.ceil(wanted))
            return self.ordered()[place - 1] / 1e9 if self._values else None
        seen = 0
        for position in sorted(self._bins):
            seen += self._bins[position]
            if seen >= wanted:
                return math.exp((position + 0.5) * BIN)
        return None

    def below(self, seconds: float) -> int:
        """Count the values below ``seconds``; in a histogram, with whole bins.

        >>> Distribution([1_000_000_000, 2_000_000_000]).below(2.0)
        1
        """
        if self.is_exact:
            return bisect_left(self.ordered(), seconds * 1e9)
        last = math.log(seconds) / BIN
        return sum(count for position, count in self._bins.items() if position < last)

    def up_to(self, seconds: float) -> int:
        """Count the values up to ``seconds``; in a histogram, bins whose middle is not beyond it.

        >>> Distribution([1_000_000_000, 2_000_000_000]).up_to(2.0)
        2
        """
        if self.is_exact:
            return bisect_right(self.ordered(), round(seconds * 1e9))
        last = math.log(seconds) / BIN - 0.5 + 1e-9
        return sum(count for position, count in self._bins.items() if position <= last)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"values": list(self.ordered()), "bins": sorted(map(list, self._bins.items()))}

    @classmethod
    def from_dict(cls, data: dict[str, Sequence[Any]]) -> Distribution:
        """Return the distribution that `to_dict` has converted."""
        found = cls(data["values"])
        found._bins.update(dict(data["bins"]))
        found._keep_small()
        return found


def _sorted(values: array[int]) -> array[int]:
    """Return the values in ascending order. NumPy sorts many values ten times as fast."""
    if len(values) < MANY:
        return array("q", sorted(values))
    import numpy as np

    found = array("q")
    found.frombytes(np.sort(np.frombuffer(values, np.int64)).tobytes())
    return found


class RunTimes:
    """Times of several runs, with the variation among runs of the count up to any time.

    Memory is constant: up to `EXACT` times are kept individually with their run. Otherwise the
    contribution of each bin to the sums over runs is kept.
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
        # The times of each run in ascending order, one run after the other.
        self._values = array("q")
        self._ends = array("q")
        """While all times are kept: the number of times after each run that has any."""
        self._sizes_squared = 0
        # Contribution of each bin to Σh² and Σhn, where h is the number of a run's times up to the
        # bin, and n the number of all its times.
        self._square_steps: Counter[int] = Counter()
        self._product_steps: Counter[int] = Counter()

    def add(self, run: Distribution) -> None:
        """Add the completion times of a run."""
        if not len(run):
            return
        self._sizes_squared += len(run) ** 2
        if self.together.is_exact and run.is_exact and len(self.together) + len(run) <= EXACT:
            self._values.extend(run.ordered())
            self._ends.append(len(self._values))
        else:
            for times in self._times_of_runs():
                self._step(Distribution(times).bins())
            del self._values[:], self._ends[:]
            self._step(run.bins())
        self.together.update(run)

    def _times_of_runs(self) -> Iterator[array[int]]:
        """Yield the times of each run, while all times are kept."""
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
        """Sums over runs of the number of times up to ``seconds``, and of the number of all times.

        In a histogram, a bin counts if it begins at or before ``seconds``.

        >>> times = RunTimes()
        >>> times.add(Distribution([1_000_000_000, 2_000_000_000, 3_000_000_000]))
        >>> found = times.up_to(2.0)
        >>> found.above, found.below
        (2, 3)
        """
        if self.together.is_exact:
            most, found, begin = round(seconds * 1e9), Sums(), 0
            for end in self._ends:
                found.add(bisect_right(self._values, most, begin, end) - begin, end - begin)
                begin = end
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

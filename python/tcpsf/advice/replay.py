"""Replay of transfers with each remedy and each loss law, and the measures of the runs.

Runs with the same random seed are pairs: they have the same transfers and the same random numbers for
losses. The completion time is the time from the first packet of a transfer until the receiver has all
of its data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tcpsf import paired, stats
from tcpsf.advice.law_variants import LawVariant
from tcpsf.advice.population import HEADER_BYTES, TIMESTAMP_BYTES
from tcpsf.advice.remedy_list import Remedy
from tcpsf.advice.setups import BURST_PARTS, ReplaySetup, drawn, scenario
from tcpsf.distribution import Distribution, RunTimes
from tcpsf.measurements import BEYOND, RunMeasure
from tcpsf.result import Batch, Provenance
from tcpsf.runs import Job, Progress, results_of

if TYPE_CHECKING:
    import polars as pl

MEAN = RunMeasure("mean_s", "mean", "s")
PERCENTILES = {
    RunMeasure("median_s", "median", "s"): 0.5,
    RunMeasure("p95_s", "p95", "s"): 0.95,
    RunMeasure("p99_s", "p99", "s"): 0.99,
    RunMeasure("p999_s", "p99.9", "s"): 0.999,
}
"""Percentiles of the completion time."""
PACKETS = RunMeasure("packets", "data packets per transfer", "")
BYTES = RunMeasure("bytes", "bytes per transfer, headers included", "bytes")
TIMES = (MEAN, *PERCENTILES)
"""Measures of time, whose differences are tested."""
REPLAY_MEASURES = (*TIMES, PACKETS, BYTES)

MOST_TRANSFERS = 5000
"""Largest number of transfers of a run."""
LEAST_TRANSFERS = 250
"""Smallest number of transfers of a run."""
SEGMENTS = 80_000_000
"""Number of segments that all runs together send, about: this is half a minute on two cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRun:
    """Results of one run."""

    transfers: int
    completed: int
    receiver: Distribution
    """Times until the receiver had all data, of the completed transfers."""
    sender: Distribution
    """Times until the sender had the acknowledgment of all data."""
    packets: int
    """Data packets, with retransmissions and copies."""
    bytes: int
    """Their bytes, headers included."""


class _ReplayFold:
    """Reduction of the rows of a run. ``headers`` are the header bytes by workload."""

    def __init__(self, headers: Mapping[str, int]) -> None:
        self._headers = headers
        self._flows: list[pl.DataFrame] = []

    def add(self, batch: Batch) -> None:
        if batch.flows.height:
            columns = ("workload", "sender_s", "receiver_s", "segments", "sent_bytes")
            self._flows.append(batch.flows.select(columns))

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> ReplayRun:  # noqa: ARG002
        import polars as pl

        flows = pl.concat(self._flows, rechunk=False)
        done = flows.filter(flows["receiver_s"].is_not_null())
        packets = {
            str(name): int(count)
            for name, count in flows.group_by("workload").agg(pl.col("segments").sum()).iter_rows()
        }
        headers = sum(self._headers[name] * count for name, count in packets.items())
        return ReplayRun(
            transfers=flows.height,
            completed=done.height,
            receiver=_nanoseconds(done["receiver_s"]),
            sender=_nanoseconds(done["sender_s"].drop_nulls()),
            packets=sum(packets.values()),
            bytes=int(flows["sent_bytes"].sum()) + headers,
        )


def _nanoseconds(seconds: pl.Series) -> Distribution:
    return Distribution((seconds * 1e9).round().cast(int).to_list())


class ReplayArm:
    """Runs with one remedy and one loss law, in the order of the seeds."""

    def __init__(self) -> None:
        self.runs: list[ReplayRun] = []
        self._values: dict[RunMeasure, stats.Estimate | None] = {}

    def value(self, measure: RunMeasure) -> stats.Estimate | None:
        """Estimate a measure; ``None`` if fewer than `BEYOND` transfers exceed a percentile.

        All runs must have been added.
        """
        if measure not in self._values:
            self._values[measure] = self._estimate(measure)
        return self._values[measure]

    def _estimate(self, measure: RunMeasure) -> stats.Estimate | None:
        if measure in PERCENTILES:
            return _percentile([run.receiver for run in self.runs], PERCENTILES[measure])
        above, below = zip(*self._pairs(measure), strict=True)
        return stats.ratio(above, below, possible=stats.POSITIVE)

    def sender_percentile(self, part: float) -> stats.Estimate | None:
        """Estimate a percentile of the time until the sender had all acknowledgments."""
        return _percentile([run.sender for run in self.runs], part)

    def difference(self, other: ReplayArm, measure: RunMeasure) -> paired.Difference | None:
        """Compare a measure of ``other`` with that of these runs."""
        if measure in PERCENTILES:
            values = self.value(measure), other.value(measure)
            times = [[run.receiver for run in arm.runs] for arm in (self, other)]
            return paired.quantiles(times[0], times[1], *values)
        return paired.ratios(self._pairs(measure), other._pairs(measure))

    @property
    def unfinished(self) -> int:
        """Number of transfers that the runs did not complete."""
        return sum(run.transfers - run.completed for run in self.runs)

    def _pairs(self, measure: RunMeasure) -> list[tuple[float, float]]:
        """Numerators and denominators of a ratio of totals, by run."""
        if measure is MEAN:
            return [(_total_s(run.receiver), run.completed) for run in self.runs]
        counts = [run.packets if measure is PACKETS else run.bytes for run in self.runs]
        return [(count, run.transfers) for count, run in zip(counts, self.runs, strict=True)]


def _percentile(runs: Sequence[Distribution], part: float) -> stats.Estimate | None:
    times = RunTimes()
    for run in runs:
        times.add(run)
    if len(times.together) * (1.0 - part) < BEYOND:
        return None
    return stats.quantile_of(times, len(runs), part)


def _total_s(times: Distribution) -> float:
    return sum(times.ordered()) / 1e9


def transfers_of_a_run(parts: Sequence[ReplaySetup], runs: int) -> int:
    """Return the number of transfers of each of ``runs`` runs, which bounds the time."""
    total = sum(len(part.sizes) for part in parts)
    mean = sum(part.segments * len(part.sizes) for part in parts) / total
    return max(LEAST_TRANSFERS, min(MOST_TRANSFERS, int(SEGMENTS / runs / (mean + 1.0))))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """All runs of a replay."""

    parts: Sequence[ReplaySetup]
    laws: Sequence[LawVariant]
    remedies: Sequence[Remedy]
    """The first one is the sender as it is."""
    initial_window: int
    seeds: Sequence[int]

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.seeds) * len(self.laws) * len(self.remedies)

    @property
    def transfers(self) -> int:
        """Number of transfers of a run."""
        return transfers_of_a_run(self.parts, self.runs)

    def replay(
        self, *, workers: int | None, progress: Callable[[Progress], None] | None
    ) -> list[list[ReplayArm]]:
        """Make all runs. Returns an arm for each remedy, for each law."""
        arms = [[ReplayArm() for _ in self.remedies] for _ in self.laws]
        with contextlib.closing(
            results_of(self._jobs(), runs=self.runs, workers=workers, progress=progress)
        ) as results:
            for at, run in enumerate(results):
                law, remedy = divmod(at % (len(self.laws) * len(self.remedies)), len(self.remedies))
                arms[law][remedy].runs.append(run)
        return arms

    def _jobs(self) -> Iterator[Job[ReplayRun]]:
        headers = {
            f"setup-{number}-{at}": HEADER_BYTES + TIMESTAMP_BYTES * part.timestamps
            for number, part in enumerate(self.parts)
            for at in range(BURST_PARTS)
        }
        for seed in self.seeds:
            sizes = drawn(self.parts, self.transfers, seed)
            for law in self.laws:
                for remedy in self.remedies:
                    made = scenario(
                        self.parts,
                        sizes,
                        law=law,
                        remedy=remedy,
                        initial_window=self.initial_window,
                    )
                    yield Job(scenario=made, seed=seed, fold=partial(_ReplayFold, headers))

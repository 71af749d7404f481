"""Results of the trials of a point, with intervals, and their differences from the closed models.

Transfers do not overlap, so each one is an independent observation (`stats`).
"""

from __future__ import annotations

import base64
import hashlib
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tcpsf import stats
from tcpsf.distribution import Distribution
from tcpsf.errors import TcpsfError
from tcpsf.evaluation.judge import exact
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.models import short_flows as sf
from tcpsf.papers.short_flows_simulated import (
    CLOSEST,
    TEXT,
    TRIALS,
    Assumptions,
    TransferPoint,
    network,
)
from tcpsf.result import Batch, Provenance
from tcpsf.summary import RunSummary

if TYPE_CHECKING:
    import polars as pl

Array = NDArray[np.float64]
Readings = Literal["text", "closest"]
READ: Mapping[Readings, Assumptions] = {"text": TEXT, "closest": CLOSEST}

Model = Literal[1, 4, 14]
"""A closed model, by the number of its equation."""
MODELS: tuple[Model, ...] = (1, 4, 14)
NAMED: Mapping[Model, str] = {1: "(1), no loss", 4: "(4), steady state", 14: "(14), short flows"}
STATISTICS = ("minimum", "median", "mean", "80 %")

RESAMPLES = 4000
"""Resampled sets of every bootstrap: ten values lie beyond an interval of 99.5 %."""
SAME_S = 1e-9
"""Difference in seconds below which times are equal; the simulator counts nanoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """A watch that stores columns of the transfers, packed, in the order of their start times."""

    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        """Key of the data in `RunSummary.watched`."""
        return "transfers"

    @property
    def version(self) -> str:
        """Text that identifies what the data depend on, apart from the run."""
        return f"1 {self.columns}"

    def fold(self) -> _OutcomesFold:
        """Return a new fold, which collects the data of one run."""
        return _OutcomesFold(self.columns)


class _OutcomesFold:
    def __init__(self, columns: Sequence[str]) -> None:
        self._parts: dict[str, list[Array]] = {name: [] for name in ("flow", *columns)}

    def add(self, batch: Batch) -> None:
        """Add rows."""
        for name, parts in self._parts.items():
            parts.append(batch.flows[name].to_numpy().astype(np.float64))

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> dict[str, str]:  # noqa: ARG002 (a fold's)
        """Return the columns, packed."""
        found = {
            name: np.concatenate(parts) if parts else np.empty(0)
            for name, parts in self._parts.items()
        }
        order = np.argsort(found.pop("flow"), kind="stable")
        return {name: packed(column[order]) for name, column in found.items()}


def packed(column: Array) -> str:
    """Return an array of numbers as text, for the store of runs."""
    return base64.b64encode(zlib.compress(column.astype("<f8").tobytes())).decode()


def unpacked(text: str) -> Array:
    """Return the array of numbers that `packed` has converted."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<f8").astype(np.float64)


OUTCOMES = Outcomes(
    columns=(
        "receiver_s",
        "sender_s",
        "fast_retransmits",
        "timeouts",
        "syn_timeouts",
        "waited_s",
        "segments",
        "rto_s",
    )
)


class Trials:
    """The trials of a point.

    ``receiver_s`` are the times from opening until the receiver has all data. ``events`` are the
    reductions of the window: fast retransmits and timeouts, without SYN timeouts.
    """

    def __init__(self, columns: Mapping[str, Array], *, name: str) -> None:
        self.seconds = columns["receiver_s"]
        self.fast = columns["fast_retransmits"]
        self.timeouts = columns["timeouts"]
        self.syn_timeouts = columns["syn_timeouts"]
        self.waited_s = columns["waited_s"]
        self.segments = columns["segments"]
        self.rto_s = columns["rto_s"]
        self.events = self.fast + self.timeouts
        self._name = name
        missing = int(np.isnan(self.seconds).sum())
        if missing or not self.seconds.size:
            raise TcpsfError(
                f"cannot sum the transfers of {name}: {missing} of {self.seconds.size} did not end",
                hint="the loss is too high for the duration of the run",
            )

    @classmethod
    def of(cls, runs: Sequence[RunSummary], *, name: str, at_sender: bool = False) -> Trials:
        """Return the trials of all runs.

        With ``at_sender``, times end when the sender knows that all data arrived.
        """
        stored = [run.watched[OUTCOMES.name] for run in runs]
        columns = {
            column: np.concatenate([unpacked(each[column]) for each in stored])
            for column in OUTCOMES.columns
        }
        if at_sender:
            columns["receiver_s"] = columns["sender_s"]
        return cls(columns, name=name)

    def chosen(self, which: NDArray[np.bool_]) -> Trials | None:
        """Return a selection of the trials; ``None`` if it is empty."""
        if not which.any():
            return None
        columns = {
            "receiver_s": self.seconds, "fast_retransmits": self.fast, "timeouts": self.timeouts,
            "syn_timeouts": self.syn_timeouts, "waited_s": self.waited_s, "segments": self.segments,
            "rto_s": self.rto_s,
        }  # fmt: skip
        stored = {name: column[which] for name, column in columns.items()}
        return Trials(
            stored, name=f"{self._name}, {hashlib.sha256(which.tobytes()).hexdigest()[:12]}"
        )

    def together(self, flows: int) -> Trials:
        """Combine each group of ``flows`` transfers into one, which ends with the last of them."""
        count = len(self) // flows * flows

        def grouped(column: Array) -> Array:
            return np.asarray(column[:count].reshape(-1, flows))

        summed = ("fast", "timeouts", "syn_timeouts", "waited_s", "segments")
        columns: dict[str, Array] = {
            name: grouped(getattr(self, name)).sum(axis=1) for name in summed
        }
        columns["fast_retransmits"] = columns.pop("fast")
        columns["receiver_s"] = grouped(self.seconds).max(axis=1)
        columns["rto_s"] = grouped(self.rto_s).max(axis=1)
        return Trials(columns, name=f"{self._name}, {flows} at once")

    def __len__(self) -> int:
        return int(self.seconds.size)

    @cached_property
    def ordered(self) -> Array:
        """Times in seconds in ascending order."""
        return np.sort(self.seconds)

    @cached_property
    def distribution(self) -> Distribution:
        """Distribution of the times, for quantiles."""
        return Distribution(np.rint(self.ordered * 1e9).astype(np.int64).tolist())

    def minimum(self) -> stats.Estimate:
        """Minimum time; it is exact if several trials have it, as undisturbed trials do."""
        least = float(self.ordered[0])
        if len(self) > 1 and self.ordered[1] - least < SAME_S:
            return exact(least)
        return stats.Estimate(least, None, len(self))

    def quantile(self, part: float) -> stats.Estimate | None:
        """Quantile ``part`` of the transfers' times in seconds, with a binomial interval."""
        return stats.quantile_of_one(self.distribution, part)

    def median(self) -> stats.Estimate | None:
        """Median of the transfers' times in seconds."""
        return self.quantile(0.5)

    def mean(self) -> stats.Estimate | None:
        """Mean of the transfers' times in seconds."""
        return stats.mean(self.seconds.tolist(), possible=stats.POSITIVE)

    def deviation(self) -> float:
        """Standard deviation of the transfers' times in seconds."""
        return float(self.seconds.std())

    def statistic(self, name: str) -> stats.Estimate | None:
        """Return the statistic of `STATISTICS` with this name."""
        if name == "minimum":
            return self.minimum()
        if name == "mean":
            return self.mean()
        return self.quantile(0.8 if name == "80 %" else 0.5)

    def share(self, chosen: NDArray[np.bool_]) -> stats.Estimate | None:
        """Share of the trials that a mask selects."""
        return stats.proportion(int(chosen.sum()), len(self))

    @cached_property
    def medians(self) -> Array:
        """The median, followed by the medians of `RESAMPLES` resampled sets of trials."""
        ordered, count = self.ordered, len(self)
        middle = math.ceil(0.5 * count)
        # No resampling is necessary: the k-th of n uniform numbers has a beta distribution.
        places = count * self.generator("median").beta(middle, count - middle + 1, RESAMPLES)
        return np.asarray(
            ordered[np.concatenate(([middle - 1], np.minimum(places.astype(np.int64), count - 1)))]
        )

    def bootstrap(
        self, statistic: Callable[[Array], Sequence[float]], *, sets: int = RESAMPLES
    ) -> Array:
        """Return values of a statistic, one row per resampled set of trials."""
        chance = self.generator("bootstrap")
        rows = [
            statistic(self.seconds[chance.integers(0, len(self), len(self))]) for _ in range(sets)
        ]
        return np.asarray(rows, dtype=np.float64)

    def generator(self, purpose: str) -> np.random.Generator:
        """Return a random generator with a fixed seed that depends on the point and the purpose."""
        digest = hashlib.blake2b(f"{self._name} {purpose}".encode(), digest_size=8).digest()
        return np.random.default_rng(int.from_bytes(digest, "little"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Settings that all points of a report share."""

    readings: Readings = "text"
    trials: int = TRIALS
    """Trials of each run."""

    @property
    def assumed(self) -> Assumptions:
        """Return the assumptions of the simulation under these readings of the text."""
        return READ[self.readings]

    def case(self, point: TransferPoint, assumed: Assumptions | None = None) -> Case:
        """Return the case that simulates the transfers of a point."""
        scenario = network(point, assumed or self.assumed, trials=self.trials)
        return Case(scenario=scenario, watches=(OUTCOMES,), classes=False)

    def seen(
        self,
        point: TransferPoint,
        runs: Runs,
        assumed: Assumptions | None = None,
        *,
        at_sender: bool = False,
    ) -> PointTrials:
        """Return a point's trials with its models; ``at_sender`` as for `Trials.of`."""
        wanted = assumed or self.assumed
        trials = Trials.of(
            runs.of(self.case(point, wanted)),
            name=f"{point.random_name} {wanted}",
            at_sender=at_sender,
        )
        return PointTrials(point=point, assumed=wanted, trials=trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointTrials:
    """A point with its trials and its models."""

    point: TransferPoint
    assumed: Assumptions
    trials: Trials

    def model(self, number: Model, *, rto: float | None = None) -> float:
        """Return a model's time in seconds; ``rto`` is T₀, by default the assumed timeout."""
        return closed(self.point, number, self.assumed, rto=rto)


def closed(
    point: TransferPoint, number: Model, assumed: Assumptions, *, rto: float | None = None
) -> float:
    """Return a model's time of a point, in seconds."""
    path: dict[str, Any] = {
        "rtt": point.rtt,
        "mss": point.mss,
        "delayed_ack": assumed.delayed_ack_s if assumed.initial_window < assumed.ack_every else 0.0,
        "ack_every": float(assumed.ack_every),
    }
    window = {"initial_window": float(assumed.initial_window)}
    timer = assumed.rto_s if rto is None else rto
    if number == 1:
        return float(sf.lossless(point.size, **path, **window))
    if number == 4:
        limit = float(assumed.receive_buffer or sf.WINDOW_LIMIT)
        return float(sf.steady_state(point.size, point.loss, rto=timer, window_limit=limit, **path))
    return float(sf.short_flow(point.size, point.loss, rto=timer, **path, **window))


def fitted(points: Sequence[PointTrials]) -> list[PointTrials]:
    """Return the points over which fits are taken."""
    return [seen for seen in points if seen.assumed.lone_segments or seen.point.segments > 1]


def off(points: Sequence[PointTrials], models: Sequence[float]) -> stats.Estimate | None:
    """Mean over the points of |ln(model/median)|; ``None`` without points."""
    predicted = np.log(np.asarray(models))[:, np.newaxis]
    return (
        of_medians(points, lambda rows: np.abs(predicted - np.log(rows)).mean(axis=0))
        if points
        else None
    )


def nearer(
    points: Sequence[PointTrials], ours: Sequence[float], theirs: Sequence[float]
) -> stats.Estimate | None:
    """Decrease of the mean |ln(model/median)| from the second model to the first."""
    a, b = (np.log(np.asarray(each))[:, np.newaxis] for each in (ours, theirs))
    if not points:
        return None
    return of_medians(
        points, lambda rows: (np.abs(b - np.log(rows)) - np.abs(a - np.log(rows))).mean(axis=0)
    )


def off_minimum(points: Sequence[PointTrials], models: Sequence[float]) -> stats.Estimate | None:
    """Mean over the points of |ln(model/minimum time)|.

    The value is exact if each minimum time is that of undisturbed trials.
    """
    if not points:
        return None
    least = [seen.trials.minimum() for seen in points]
    value = float(np.mean([abs(math.log(a / b.value)) for a, b in zip(models, least, strict=True)]))
    if any(each.spread is None for each in least):
        return stats.Estimate(value, None, _least(points))
    return exact(value)


def of_medians(points: Sequence[PointTrials], function: Callable[[Array], Array]) -> stats.Estimate:
    """Estimate a function of the points' medians.

    The function takes an array with one row per point, and returns one value per column.
    """
    found = function(np.stack([seen.trials.medians for seen in points]))
    return stats.resampled(float(found[0]), found[1:].tolist(), _least(points))


def _least(points: Sequence[PointTrials]) -> int:
    return min(len(seen.trials) for seen in points)


def straight(x: Sequence[float], y: Array) -> Array:
    """R² of a straight line through the points of each column.

    >>> straight([0.0, 1.0, 2.0], np.asarray([[1.0, 1.0], [3.0, 1.0], [5.0, 4.0]])).round(2).tolist()
    [1.0, 0.75]
    """
    across = np.asarray(x, dtype=np.float64)
    across = across - across.mean()
    up = y - y.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = (across @ up) ** 2 / ((across @ across) * (up * up).sum(axis=0))
    return np.asarray(np.nan_to_num(squares, nan=1.0))

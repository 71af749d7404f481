"""Differences between the closed models and measured transfers.

The parameters of the path come from the transfers themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from tcpsf import stats
from tcpsf.errors import TcpsfError
from tcpsf.intervals import EVERYTHING, Ends, Student
from tcpsf.models import short_flows as sf
from tcpsf.papers import short_flows as paper

if TYPE_CHECKING:
    import polars as pl

    from tcpsf.live.experiment_result import Live

Array = NDArray[np.float64]

SYN_TIMEOUT_S = 1.0
"""Time in seconds after which Linux repeats a SYN: the first timeout of RFC 6298."""
LATE = 2.5
"""Time to the first byte, in round trips, from which on the handshake or the request was lost.

The minimum is two round trips.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathParameters:
    """Measured parameters of a path, which the models take."""

    mss: float
    """Maximum segment size in bytes."""
    rtt_s: float
    rto_s: float
    loss: float
    """Share of the server's packets that were dropped."""
    loss_back: float
    """Share of the clients' packets that were dropped."""
    window: float
    """Receive window in bytes."""


def path(live: Live) -> PathParameters:
    """Return the parameters of a path.

    They are from the sender's records, the clients' sockets and the emulator.
    """
    flows = live.answered
    windows = flows["window_bytes"].drop_nulls().to_list()
    segments = flows["segment_bytes"].drop_nulls().to_list()
    offered = live.experiment.receive_buffer
    return PathParameters(
        mss=float(max(segments, default=paper.MSS)),
        rtt_s=_mean(flows["srtt_s"]),
        rto_s=_mean(flows["rto_s"]),
        loss=_share(live.link["down"]),
        loss_back=_share(live.link["up"]),
        window=float(np.median(windows)) if windows else float(offered or sf.WINDOW_LIMIT),
    )


def _mean(column: pl.Series) -> float:
    found = column.drop_nulls().to_list()
    return math.fsum(found) / len(found) if found else math.nan


def _share(direction: Mapping[str, float]) -> float:
    return direction["dropped_loss_packets"] / max(direction["offered_packets"], 1)


Curve = Callable[[Array, PathParameters], Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathModel:
    """A closed model with the parameters that a path does not determine."""

    key: str
    label: str
    seconds: Curve
    """Function that returns the times of transfers of given sizes."""


def _lossless(ack_every: float) -> Curve:
    return lambda size, parameters: sf.lossless(
        size,
        rtt=parameters.rtt_s,
        mss=parameters.mss,
        initial_window=paper.INITIAL_WINDOW,
        ack_every=ack_every,
        delayed_ack=0.0,
    )


def _steady(form: Literal["approximate", "full"]) -> Curve:
    return lambda size, parameters: sf.steady_state(
        size,
        parameters.loss,
        rtt=parameters.rtt_s,
        rto=parameters.rto_s,
        mss=parameters.mss,
        window_limit=parameters.window,
        ack_every=paper.ACK_EVERY,
        delayed_ack=0.0,
        form=form,
    )


def _short(ack_every: float) -> Curve:
    return lambda size, parameters: sf.short_flow(
        size,
        parameters.loss,
        rtt=parameters.rtt_s,
        rto=parameters.rto_s,
        mss=parameters.mss,
        initial_window=paper.INITIAL_WINDOW,
        ack_every=ack_every,
        delayed_ack=0.0,
    )


def _latency(ack_every: float) -> Curve:
    return lambda size, parameters: (
        sf.latency(
            size,
            parameters.loss,
            rtt=parameters.rtt_s,
            rto=parameters.rto_s,
            mss=parameters.mss,
            initial_window=paper.INITIAL_WINDOW,
            ack_every=ack_every,
            window_limit=parameters.window,
            delayed_ack=0.0,
            loss_back=parameters.loss_back,
            syn_timeout=SYN_TIMEOUT_S,
        ).total_s
    )


LOSSLESS = PathModel(key="lossless", label="(1), r = 1.5", seconds=_lossless(paper.ACK_EVERY))
STEADY = PathModel(key="steady", label="(4)", seconds=_steady("approximate"))
STEADY_FULL = PathModel(key="steady-full", label="(4), full form", seconds=_steady("full"))
SHORT = PathModel(key="short", label="(14), r = 1.5", seconds=_short(paper.ACK_EVERY))
LOSSLESS_2 = PathModel(key="lossless-2", label="(1), r = 2", seconds=_lossless(1.0))
SHORT_2 = PathModel(key="short-2", label="(14), r = 2", seconds=_short(1.0))
LATENCY_2 = PathModel(key="latency-2", label="of 2000, r = 2", seconds=_latency(1.0))
MODELS = (LOSSLESS, STEADY, STEADY_FULL, SHORT, LOSSLESS_2, SHORT_2, LATENCY_2)
"""The models.

They are the paper's three with its parameters, Padhye's full form in (4), a window that doubles,
and the refinement of 2000.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathTransfers:
    """Completed transfers of one sender over one path, with the path's parameters."""

    path: PathParameters
    bytes: Array
    """Transfer sizes in bytes, including the header of the response."""
    seconds: Array
    resent: Array
    """Segments that the sender retransmitted."""
    clean: Array
    """1.0 for a transfer without a detected loss.

    No segment was retransmitted, and the first byte arrived in time.
    """

    @property
    def lossy(self) -> Array:
        """1.0 for each transfer with a retransmission, otherwise 0.0."""
        return np.asarray(self.resent > 0, dtype=np.float64)

    def logs(self, model: PathModel) -> Array:
        """Logarithm ln(time/model) of each transfer."""
        return np.asarray(np.log(self.seconds / model.seconds(self.bytes, self.path)))


def seen(live: Live) -> PathTransfers:
    """Return the completed transfers of a live measurement, with the path's parameters."""
    import polars as pl

    flows = live.answered.filter(pl.col("completion_s").is_not_null())
    if flows.is_empty():
        reasons = [each for each in live.flows["failure"].to_list() if each]
        why = reasons[0] if reasons else "the server has no record of one"
        raise TcpsfError(
            f"cannot fit `{live.experiment.name}`: none of {live.flows.height} transfers completed: {why}",
            hint="try again, or start fewer transfers per second (`--per-second`)",
        )
    parameters = path(live)
    resent = _floats(flows["retransmitted_segments"])
    early = (_floats(flows["first_byte_s"]) < LATE * parameters.rtt_s) & (
        _floats(flows["syn_timeouts"]) == 0.0
    )
    return PathTransfers(
        path=parameters,
        bytes=_floats(flows["size_bytes"]) + _floats(flows["head_bytes"]),
        seconds=_floats(flows["completion_s"]),
        resent=resent,
        clean=np.asarray((resent == 0.0) & early, dtype=np.float64),
    )


def _floats(column: pl.Series) -> Array:
    return np.asarray(column.to_numpy(), dtype=np.float64)


def off(
    found: PathTransfers, model: PathModel, *, where: Array | None = None
) -> stats.Estimate | None:
    """Mean |ln(time/model)| over the transfers, or over those for which ``where`` is not 0."""
    return _over(np.abs(found.logs(model)), where, stats.POSITIVE)


def bias(found: PathTransfers, model: PathModel) -> stats.Estimate | None:
    """Mean ln(time/model); it is positive if transfers take longer than in the model."""
    return _over(found.logs(model), None)


def nearer(found: PathTransfers, ours: PathModel, theirs: PathModel) -> stats.Estimate | None:
    """Decrease of |ln(time/model)| from ``theirs`` to ``ours``; transfers compared in pairs."""
    return _over(np.abs(found.logs(theirs)) - np.abs(found.logs(ours)), None)


def spread(found: PathTransfers, where: Array) -> stats.Estimate | None:
    """Mean absolute deviation of ln(time) from that of transfers without a loss.

    Times are divided by equation (1) at their size; the reference is the median without a loss.
    """
    logs = found.logs(LOSSLESS)
    without = logs[found.clean > 0.0]
    return _over(np.abs(logs - np.median(without)), where, stats.POSITIVE) if without.size else None


def _over(values: Array, where: Array | None, possible: Ends = EVERYTHING) -> stats.Estimate | None:
    return stats.mean(
        (values if where is None else values[where > 0.0]).tolist(), possible=possible
    )


def longer(found: PathTransfers, model: PathModel) -> stats.Estimate | None:
    """Geometric mean of time/model, with an interval by linearization."""
    parameters = bias(found, model)
    if parameters is None:
        return None
    value = math.exp(parameters.value)
    if not isinstance(parameters.spread, Student):
        return stats.Estimate(value, parameters.spread, parameters.runs)
    return stats.Estimate(
        value,
        Student(value * parameters.spread.error, parameters.spread.degrees, stats.POSITIVE),
        parameters.runs,
    )


BIN_BYTES = 8000
"""Width of a size bin in bytes; there are sixteen bins."""


def by_size(found: PathTransfers) -> list[tuple[float, list[float]]]:
    """Return the middle of each size bin and the times of its transfers."""
    edges = range(0, paper.SIZES[-1], BIN_BYTES)
    inside = np.minimum(found.bytes // BIN_BYTES, len(edges) - 1)
    return [
        (edge + BIN_BYTES / 2.0, found.seconds[inside == number].tolist())
        for number, edge in enumerate(edges)
        if (inside == number).any()
    ]


def off_medians(found: PathTransfers, model: PathModel) -> stats.Estimate | None:
    """Mean |ln(median/model)| over the size bins.

    Unlike `off`, it does not contain the differences between transfers.
    """
    bins = by_size(found)
    sizes = np.asarray([middle for middle, _ in bins])
    medians = np.asarray([np.median(times) for _, times in bins])
    if not bins:
        return None
    logs = np.abs(np.log(medians / model.seconds(sizes, found.path)))
    return stats.mean(logs.tolist(), possible=stats.POSITIVE)

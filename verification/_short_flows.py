"""Cardwell, Savage and Anderson's simulations (1998, section 5), by our simulator: one sender, one receiver.

Two hops of 100 Mb/s each way, packets lost independently in both directions, Reno with delayed acknowledgements. What
the text leaves open: the acknowledgement of a single segment waits 100 ms, as the models take it on average; timeouts
are 1 s at the least; a lost SYN costs 6 s, which the histograms show and the text does not (3 s).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tcpsf.models import short_flows as sf
from tcpsf.runs import run
from tcpsf.scenario import Link, PacketLoss, Scenario, Tcp, Transfers

TRIALS = 4000
SPACING_S = 20
"""Between two trials: on links this fast even those that overlap do not meet."""
DELAYED_ACK_S = 0.1
RTO_S = 1.0
SYN_TIMEOUT_S = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One setting; the default is the paper's."""

    size: int = 10_000
    mss: int = 1460
    rtt: float = 0.07
    loss: float = 0.05
    loss_back: float | None = None
    """As ``loss`` where it is left out."""

    @property
    def seen(self) -> Seen:
        """Its trials."""
        return _simulate(self)

    def model(self, number: int) -> float:
        """Model (1), (4) or (14)."""
        path: dict[str, Any] = {"rtt": self.rtt, "mss": self.mss, "delayed_ack": DELAYED_ACK_S}
        if number == 1:
            return float(sf.lossless(self.size, **path))
        if number == 4:
            return float(sf.steady_state(self.size, self.loss, rto=RTO_S, **path))
        return float(sf.short_flow(self.size, self.loss, rto=RTO_S, **path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the trials of a point came to."""

    seconds: np.ndarray[tuple[int], np.dtype[np.float64]]
    """Times from opening until the receiver has everything."""
    events: np.ndarray[tuple[int], np.dtype[np.int64]]
    """Reductions of the window: fast retransmits and timeouts, SYNs apart."""
    timeouts: np.ndarray[tuple[int], np.dtype[np.int64]]
    """Those of them that are timeouts."""
    syn_timeouts: np.ndarray[tuple[int], np.dtype[np.int64]]

    @property
    def median(self) -> float:
        """Median time."""
        return float(np.median(self.seconds))

    @property
    def mean(self) -> float:
        """Mean time."""
        return float(self.seconds.mean())

    @property
    def deviation(self) -> float:
        """Standard deviation of the times."""
        return float(self.seconds.std())

    def statistics(self) -> dict[str, float]:
        """What the figures show."""
        return {
            "minimum": float(self.seconds.min()),
            "median": self.median,
            "mean": self.mean,
            "80 %": float(np.quantile(self.seconds, 0.8)),
        }

    def quick(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Trials whose handshake lost nothing."""
        return np.asarray(self.syn_timeouts == 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A figure: one quantity varies."""

    key: str
    title: str
    along: str
    unit: str
    values: tuple[float, ...]
    points: tuple[Point, ...]


def sweeps() -> tuple[Sweep, ...]:
    """Figs. 7 to 13."""
    small = (500, 1000, 2000, 4000, 8000, 16_000, 24_000, 32_000)
    large = (32_000, 64_000, 128_000, 192_000, 256_000, 384_000, 512_000)
    segments = (400, 536, 800, 1200, 1460, 2200, 3200)
    trips = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
    high = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15)
    low = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02)
    return (
        _sweep("fig-7", "Fig. 7: sizes to 32 kB", "size", "bytes", small, [Point(size=n) for n in small]),
        _sweep("fig-8", "Fig. 8: sizes to 512 kB", "size", "bytes", large, [Point(size=n) for n in large]),
        _sweep("fig-9", "Fig. 9: MSS", "MSS", "bytes", segments, [Point(mss=n) for n in segments]),
        _sweep("fig-10", "Fig. 10: round trip", "round trip", "s", trips, [Point(rtt=t) for t in trips]),
        _sweep("fig-11", "Fig. 11: loss, 10 kB", "loss", "", high, [Point(loss=p) for p in high]),
        _sweep("fig-12", "Fig. 12: low loss, 10 kB", "loss", "", low, [Point(loss=p) for p in low]),
        _sweep("fig-13", "Fig. 13: low loss, 128 kB", "loss", "", low, [Point(size=128_000, loss=p) for p in low]),
    )


def _sweep(key: str, title: str, along: str, unit: str, values: Sequence[float], points: Sequence[Point]) -> Sweep:
    return Sweep(key=key, title=title, along=along, unit=unit, values=tuple(values), points=tuple(points))


def simulate_all(points: Sequence[Point]) -> None:
    """Make the trials of all points, a core each; a point that stands in several figures once."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(lambda point: point.seen, dict.fromkeys(points)))


@cache
def _simulate(point: Point) -> Seen:
    quarter = f"{point.rtt / 4}s"
    back = point.loss if point.loss_back is None else point.loss_back
    fast: dict[str, Any] = {"rate": "100Mb/s", "delay": quarter}
    scenario = Scenario(
        name="short flows",
        duration=f"{TRIALS * SPACING_S + 4000}s",
        link=(
            Link(name="up", from_="sender", to="router", **fast),
            Link(name="on", from_="router", to="receiver", loss=PacketLoss(probability=point.loss), **fast),
            Link(name="back", from_="receiver", to="router", **fast),
            Link(name="down", from_="router", to="sender", loss=PacketLoss(probability=back), **fast),
        ),
        workload=(
            Transfers(
                name="w",
                from_="sender",
                to="receiver",
                sender="reno / full / iw=1",
                sizes=(point.size,) * TRIALS,
                spacing=f"{SPACING_S}s",
                handshake=True,
            ),
        ),
        tcp=Tcp(
            profile="bsd",
            mss=point.mss,
            tick="10ms",
            rto_initial=f"{SYN_TIMEOUT_S}s",
            rto_min=f"{RTO_S}s",
            ack_delay=f"{DELAYED_ACK_S}s",
        ),
    )
    flows = run(scenario, seed=1).flows
    done = flows.drop_nulls("receiver_s")
    if flows.height != TRIALS or done.height != TRIALS:
        raise RuntimeError(f"{TRIALS - done.height} of {TRIALS} transfers did not end: {point}")
    return Seen(
        seconds=done["receiver_s"].to_numpy(),
        events=(done["fast_retransmits"].cast(int) + done["timeouts"].cast(int)).to_numpy(),
        timeouts=done["timeouts"].cast(int).to_numpy(),
        syn_timeouts=done["syn_timeouts"].cast(int).to_numpy(),
    )


def distance(models: Sequence[float], seen: Sequence[float]) -> float:
    """Mean of |ln(model / seen)|: about how far off a model is, as a share.

    >>> round(distance([1.1, 0.9], [1.0, 1.0]), 2)
    0.1
    """
    return float(np.mean([abs(math.log(a / b)) for a, b in zip(models, seen, strict=True)]))


def straight(x: Sequence[float], y: Sequence[float]) -> float:
    """R² of a straight line through the points."""
    return float(np.corrcoef(np.asarray(x, dtype=np.float64), np.asarray(y))[0, 1] ** 2)


def binomial(trials: int, chance: float, most: int) -> Iterator[float]:
    """Probabilities of 0, 1, … most successes."""
    for count in range(most + 1):
        yield math.comb(trials, count) * chance**count * (1.0 - chance) ** (trials - count)

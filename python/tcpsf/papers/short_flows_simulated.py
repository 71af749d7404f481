"""Network of Cardwell, Savage and Anderson's simulations (1998, section 5), and its assumptions.

The network has one sender, one router and one receiver, with two hops in each direction. Each hop
has a quarter of the round-trip time. The router loses packets independently in both directions
(Fig. 4). Transfers start one after the other and do not share the network, so each is an
independent trial.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from tcpsf.papers.short_flows import MSS
from tcpsf.scenario import BurstLoss, Link, PacketLoss, Scenario, Tcp, Transfers

TRIALS = 4000
"""Number of trials for each point, as in the paper."""
SPACING_S = 20
"""Time between the starts of two trials; on links this fast, overlapping trials do not interact."""
TAIL_S = 4000
"""Time that is left for the last trials to finish.

A connection that loses packet after packet backs off for a long time.
"""
WORKLOAD = "w"
ROUND_TRIP_S = 0.07
LOSS = 0.05
SIZE = 10_000
RENO = "reno / full / iw=1"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferPoint:
    """One setting of the simulation; the default is the paper's."""

    size: int = SIZE
    """Size of a transfer in bytes."""
    mss: int = MSS
    rtt: float = ROUND_TRIP_S
    """Round-trip time in seconds."""
    loss: float = LOSS
    """Share of the packets that are lost on the forward path."""
    loss_back: float | None = None
    """Share of the packets that are lost on the return path; ``None``: the same as ``loss``."""

    @property
    def segments(self) -> int:
        """Number of segments: the full ones and the last one.

        >>> TransferPoint().segments
        7
        """
        return math.ceil(self.size / self.mss)

    @property
    def random_name(self) -> str:
        """Name that determines the random resampling of the point's transfers.

        Intervals of medians depend on it, so it must not change.

        >>> TransferPoint(size=1000).random_name
        'Point(size=1000, mss=1460, rtt=0.07, loss=0.05, loss_back=None)'
        """
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        return f"Point({values})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """Assumptions where the text is not specific, and the limits that section 7 names.

    The default is the reading of the text.
    """

    rto_s: float = 1.0
    """Minimum retransmission timeout, and T₀ of the models, in seconds; the paper has no number."""
    delayed_ack_s: float = 0.1
    """Time for which the receiver delays the acknowledgment of a single segment.

    The default is the models' mean, section 3.1.
    """
    syn_timeout_s: float = 6.0
    """First timeout of a SYN: that of Figs. 5 and 6. Section 4.2.2 has 3 s."""
    tick_s: float = 0.01
    """Granularity of the sender's clock."""
    rate: str = "100Mb/s"
    """Rate of each link; the paper has none, only "high bandwidth", so the rate does not matter."""
    line: str | None = None
    """Rate of the line between router and receiver, in both directions; ``None``: ``rate``."""
    sender: str = RENO
    ack_every: int = 2
    """Segments per acknowledgment: b of the models."""
    initial_window: int = 1
    """Initial window in segments: w of the models. ``sender`` must have the same window."""
    receive_buffer: int | None = None
    """Bytes of the receiver's window; ``None``: 65 535, the largest without scaling."""
    timed_ack: bool = False
    """Whether every acknowledgment gives a sample of the round-trip time.

    Otherwise one segment of each window gives a sample.
    """
    halves_flight: bool = False
    """Whether a loss halves `FlightSize` (RFC 5681); otherwise it halves the window, as in BSD."""
    nagle: bool = True
    """Whether Nagle's algorithm is used, as in BSD."""
    burst: float | None = None
    """Mean number of packets lost in a row; ``None``: losses are independent."""
    lone_segments: bool = True
    """Whether transfers of one segment count in fits.

    In such transfers, no sender waits for a delayed acknowledgment.
    """


TEXT = Assumptions()
CLOSEST = replace(TEXT, rto_s=0.2, lone_segments=False)
"""Assumptions with which the simulations are closest to the paper.

T₀ and the minimum timeout are two ticks of 100 ms, as in the ns of that time. Fits are over
transfers of several segments.
"""


def duration_s(trials: int) -> int:
    """Return the simulated time of ``trials`` trials, in seconds."""
    return trials * SPACING_S + TAIL_S


def trials_in(seconds: int) -> int:
    """Return the number of trials in a run of ``seconds`` seconds.

    >>> trials_in(duration_s(4000))
    4000
    """
    return (seconds - TAIL_S) // SPACING_S


@lru_cache(maxsize=2048)
def network(point: TransferPoint, assumed: Assumptions = TEXT, *, trials: int = TRIALS) -> Scenario:
    """Return the scenario of a point: ``trials`` transfers, one every `SPACING_S` seconds.

    Scenarios are kept, because a report asks for each several times, and to check one takes 5 ms.
    """
    back = point.loss if point.loss_back is None else point.loss_back
    hop: dict[str, Any] = {"rate": assumed.rate, "delay": f"{point.rtt / 4}s"}
    line = hop if assumed.line is None else {**hop, "rate": assumed.line}
    others: dict[str, Any] = (
        {} if assumed.receive_buffer is None else {"receive_buffer": f"{assumed.receive_buffer}B"}
    )
    if assumed.timed_ack:
        others["rtt_sample"] = "ack"
    if assumed.halves_flight:
        others["halving"] = "flight"
    if not assumed.nagle:
        others["nagle"] = False
    return Scenario(
        name="short flows",
        duration=f"{duration_s(trials)}s",
        link=(
            Link(name="up", from_="sender", to="router", **hop),
            Link(name="on", from_="router", to="receiver", loss=_loss(point.loss, assumed), **line),
            Link(name="back", from_="receiver", to="router", **line),
            Link(name="down", from_="router", to="sender", loss=_loss(back, assumed), **hop),
        ),
        workload=(
            Transfers(
                name=WORKLOAD,
                from_="sender",
                to="receiver",
                sender=assumed.sender,
                sizes=(point.size,) * trials,
                spacing=f"{SPACING_S}s",
                handshake=True,
            ),
        ),
        tcp=Tcp(
            profile="bsd",
            mss=point.mss,
            tick=f"{assumed.tick_s}s",
            rto_initial=f"{assumed.syn_timeout_s}s",
            rto_min=f"{assumed.rto_s}s",
            ack_delay=f"{assumed.delayed_ack_s}s",
            ack_every=assumed.ack_every,
            **others,
        ),
    )


def _loss(probability: float, assumed: Assumptions) -> PacketLoss | BurstLoss | None:
    if not probability:
        return None
    if assumed.burst is not None:
        return BurstLoss(probability=probability, run=assumed.burst)
    return PacketLoss(probability=probability)


SMALL = (500, 1000, 2000, 4000, 8000, 16_000, 24_000, 32_000)
"""Sizes of transfers in Fig. 7, from 500 to 32 000 bytes."""
LARGE = (32_000, 64_000, 128_000, 192_000, 256_000, 384_000, 512_000)
"""Sizes of transfers in Fig. 8, from 32 000 to 512 000 bytes."""
SEGMENTS = (400, 536, 800, 1200, 1460, 2200, 3200)
"""MSS in Fig. 9, from 400 to 3200 bytes."""
ROUND_TRIPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
"""Round-trip times in Fig. 10, from 5 to 400 ms; in seconds."""
HIGH = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15)
"""Loss in Fig. 11, from 1 to 15 %."""
LOW = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02)
"""Loss in Figs. 12 and 13, from 0.01 to 2 %."""

READINGS = (
    (
        "Two hops each way of 100 Mb/s, a quarter of the round trip each; the second hop of each direction loses each "
        "packet independently, SYNs and pure acknowledgments too. The paper gives no rate."
    ),
    (
        "The sender is Reno with an initial window of one segment and delayed acknowledgments, with a clock of 10 ms. "
        "Time runs from its first SYN until the receiver has the last byte."
    ),
    (
        "The acknowledgment of a lone segment waits for 100 ms, which the models take as the average. A transfer of "
        "one segment ends before it, so no model that adds the delay can fit it."
    ),
    (
        "A lost SYN costs 6 s, which Figs. 5 and 6 show, then 12 s; section 4.2.2 has 3 s. T₀ of the models and the "
        "least timeout of the simulator are 1 s (`--readings text`; RFC 6298's least, the paper has no number) or "
        "200 ms (`--readings closest`), two ticks of 100 ms, the default of the simulator that the paper used."
    ),
    (
        "With `--readings closest`, fits are taken over transfers of more than one segment, whose time includes the "
        "delayed acknowledgment that the models add."
    ),
    (
        "Which sizes, loss rates and round trips the paper simulated within the ranges of its figures is not said: "
        "seven or eight points each, with both ends."
    ),
    (
        "A reduction of the window is a timeout, each step of the back-off counted, or a fast retransmit. Losses of "
        "SYNs are not counted."
    ),
    (
        "A fit is the mean over the points of |ln(model/median)|: 0.2 is off by a fifth. Up to 0.2 goes as a close "
        "fit, up to 0.35 as a fair one: chosen before anything was simulated, since the paper has words only."
    ),
    (
        "Each transfer is an observation: none meets another. Intervals of medians and of the 80th percentile are "
        "binomial; those of fits are percentiles of resampled medians (bootstrap)."
    ),
)
"""Assumptions of this project where the text of section 5 is not specific."""

"""The network of Cardwell, Savage and Anderson's simulations (1998, section 5), and how their text is read.

One sender, one router and one receiver; two hops each way, each with a quarter of the round trip.
The router loses packets independently in both directions (Fig. 4). Transfers follow each other and
do not meet, so each is a trial.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from tcpsf.papers.short_flows import MSS
from tcpsf.scenario import BurstLoss, Link, PacketLoss, Scenario, Tcp, Transfers

TRIALS = 4000
"""Of the paper, for each point."""
SPACING_S = 20
"""Between the starts of two trials: on links this fast even those that overlap do not meet."""
TAIL_S = 4000
"""Left to the last trials: a connection that loses packet after packet backs off for a long time."""
WORKLOAD = "w"
ROUND_TRIP_S = 0.07
LOSS = 0.05
SIZE = 10_000
RENO = "reno / full / iw=1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One setting of the simulation; the default is the paper's."""

    size: int = SIZE
    """Bytes."""
    mss: int = MSS
    rtt: float = ROUND_TRIP_S
    """Seconds."""
    loss: float = LOSS
    """Share of the packets that are lost on the way there."""
    loss_back: float | None = None
    """The same of the way back; as ``loss`` where it is left out."""

    @property
    def segments(self) -> int:
        """Full segments and the last one.

        >>> Point().segments
        7
        """
        return math.ceil(self.size / self.mss)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What the text leaves open, and what section 7 names as limits. The default is the reading of the text."""

    rto_s: float = 1.0
    """Least retransmission timeout, and T₀ of the models; the paper has no number."""
    delayed_ack_s: float = 0.1
    """How long the receiver delays the acknowledgment of a lone segment: the models' average, section 3.1."""
    syn_timeout_s: float = 6.0
    """First timeout of a SYN: that of Figs. 5 and 6. Section 4.2.2 has 3 s."""
    tick_s: float = 0.01
    """Granularity of the sender's clock."""
    rate: str = "100Mb/s"
    """Of each link; the paper has none. "High bandwidth" means that it does not matter."""
    line: str | None = None
    """Rate of the line between router and receiver, in both directions; as ``rate`` where it is left out."""
    sender: str = RENO
    ack_every: int = 2
    """Segments: b of the models."""
    initial_window: int = 1
    """Segments: w of the models. ``sender`` must have the same."""
    receive_buffer: int | None = None
    """Bytes of the receiver's window; 65 535, the largest without scaling, where it is left out."""
    timed_ack: bool = False
    """Every acknowledgment gives a sample of the round trip; otherwise one segment of a window does."""
    halves_flight: bool = False
    """A loss halves what is in flight (RFC 5681); otherwise the window, as BSD had it."""
    nagle: bool = True
    """Nagle's algorithm, as in BSD."""
    burst: float | None = None
    """Mean number of packets lost in a row; independent losses where it is left out."""
    lone_segments: bool = True
    """Whether transfers of one segment count in fits. Nobody waits for a delayed acknowledgment in them."""


TEXT = Assumptions()
CLOSEST = replace(TEXT, rto_s=0.2, lone_segments=False)
"""T₀ and the least timeout are two ticks of 100 ms, as ns had them then; fits over transfers of several segments."""


def duration_s(trials: int) -> int:
    """Return the simulated time of so many trials, in seconds."""
    return trials * SPACING_S + TAIL_S


def trials_in(seconds: int) -> int:
    """Return how many trials a run of so many seconds has.

    >>> trials_in(duration_s(4000))
    4000
    """
    return (seconds - TAIL_S) // SPACING_S


def network(point: Point, assumed: Assumptions = TEXT, *, trials: int = TRIALS) -> Scenario:
    """Return the scenario of a point: so many transfers, one every `SPACING_S` seconds."""
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
"""Bytes: Fig. 7, from 500 to 32 000."""
LARGE = (32_000, 64_000, 128_000, 192_000, 256_000, 384_000, 512_000)
"""Bytes: Fig. 8, from 32 000 to 512 000."""
SEGMENTS = (400, 536, 800, 1200, 1460, 2200, 3200)
"""Bytes of the MSS: Fig. 9, from 400 to 3200."""
ROUND_TRIPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
"""Seconds: Fig. 10, from 5 to 400 ms."""
HIGH = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15)
"""Loss: Fig. 11, from 1 to 15 %."""
LOW = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02)
"""Loss: Figs. 12 and 13, from 0.01 to 2 %."""

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
"""How this project reads what the text leaves open in its section 5."""
